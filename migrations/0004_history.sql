-- The past of files, from git: how often the last commits changed a path, and when the last of them did. By path, not by document:
-- a file that is taken in later has its past already, and one that comes back has it again.

CREATE TABLE histories (
    repository_id INTEGER PRIMARY KEY REFERENCES repositories (id),
    head          TEXT NOT NULL,      -- the commit up to which it was read; empty: the next run tries again
    terms         TEXT NOT NULL,      -- a hash of all else that decides what is read
    time          INTEGER NOT NULL,   -- of the head, unix seconds
    commits       INTEGER NOT NULL,   -- that were read
    whole         INTEGER NOT NULL,   -- whether there are no others
    fault         TEXT NOT NULL       -- why the history is not known; empty if it is
);

CREATE TABLE changes (
    repository_id INTEGER NOT NULL REFERENCES repositories (id),
    path          TEXT NOT NULL,      -- as documents have it
    commits       INTEGER NOT NULL,
    changed_at    INTEGER NOT NULL,   -- unix seconds
    PRIMARY KEY (repository_id, path)
) WITHOUT ROWID;
CREATE INDEX changes_by_commits ON changes (repository_id, commits);   -- the most first

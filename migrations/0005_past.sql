-- What an index was before: a line for each state that a run left, and what lay in the last of them.
-- The newest facts are whole, older ones are told by what is newer (codelens/store/snapshots.py), so that many cost little.

ALTER TABLE documents ADD COLUMN digest BLOB NOT NULL DEFAULT x'';   -- SHA-256 of its bytes; empty: the next run that writes makes it

CREATE TABLE snapshot_log (
    number    INTEGER PRIMARY KEY,    -- in the order of the runs
    snapshot  TEXT NOT NULL,          -- as in `meta`
    root      TEXT NOT NULL,          -- of the Merkle tree over documents (codelens/merkle.py)
    time      INTEGER NOT NULL,       -- of the newest head commit, unix seconds; 0: no git
    documents INTEGER NOT NULL,
    symbols   INTEGER NOT NULL,
    edges     INTEGER NOT NULL,
    facts     BLOB                    -- symbols and edges, zstandard; NULL: no longer kept
);

-- Which commit wrote each line, along the first line of descent: what symbols' last changes are told from.

CREATE TABLE line_histories (
    repository_id INTEGER PRIMARY KEY REFERENCES repositories (id),
    head          TEXT NOT NULL,      -- the commit up to which it was read; empty: the next run tries again
    terms         TEXT NOT NULL,      -- a hash of all else that decides what is read
    fault         TEXT NOT NULL       -- why it is not known; empty if it is
);

CREATE TABLE commits (
    repository_id INTEGER NOT NULL REFERENCES repositories (id),
    id            INTEGER NOT NULL,   -- the first 60 bits of its name
    time          INTEGER NOT NULL,   -- unix seconds
    author        TEXT NOT NULL,      -- Name <address>
    PRIMARY KEY (repository_id, id)
) WITHOUT ROWID;

CREATE TABLE written_lines (
    repository_id INTEGER NOT NULL REFERENCES repositories (id),
    path          TEXT NOT NULL,      -- as documents have it
    blob          BLOB NOT NULL,      -- git's name of the content that the lines are of
    last          INTEGER NOT NULL,   -- the last commit that changed the file
    runs          BLOB NOT NULL,      -- commits of lines, packed (codelens/store/lines.py)
    PRIMARY KEY (repository_id, path)
) WITHOUT ROWID;

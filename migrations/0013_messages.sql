-- The messages of recent commits: people ask in the words in which changes were described.

CREATE TABLE messages (
    id            INTEGER PRIMARY KEY,
    repository_id INTEGER NOT NULL REFERENCES repositories (id),
    name          BLOB NOT NULL,      -- the commit's object id
    time          INTEGER NOT NULL,   -- unix seconds
    weight        REAL NOT NULL,      -- how much it says about each file that it changed; 0 for a mass change
    subject       TEXT NOT NULL,
    body          TEXT NOT NULL,      -- the beginning of the rest of the message
    changes       BLOB NOT NULL       -- paths and renames: JSON, zstandard
);
CREATE INDEX messages_by_repository ON messages (repository_id);
CREATE VIRTUAL TABLE message_terms USING fts5 (   -- rowid is a message's id
    text, content = '', contentless_delete = 1, detail = none,
    tokenize = "porter unicode61 remove_diacritics 2 tokenchars '_'"
);

ALTER TABLE changes ADD COLUMN said REAL NOT NULL DEFAULT 0;        -- sum of the weights of its messages
ALTER TABLE changes ADD COLUMN messages BLOB NOT NULL DEFAULT x'';  -- their ids, newest first: 32-bit integers, little-endian
DROP INDEX changes_by_commits;

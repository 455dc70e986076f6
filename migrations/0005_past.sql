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

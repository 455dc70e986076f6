-- Large files in parts, so that none is ever in memory whole: their row in `snapshots` is empty, and each part has a row of
-- trigrams of its own, under the part's id. Units lie in one part each.

CREATE TABLE parts (
    id         INTEGER PRIMARY KEY,   -- 2^40 + document * 2^20 + number of the part, from 0
    start_byte INTEGER NOT NULL,      -- in the file's own bytes
    line       INTEGER NOT NULL,      -- that the part begins in, from 1
    before     INTEGER NOT NULL,      -- characters of this line that stand in earlier parts
    bytes      BLOB NOT NULL          -- the part's own bytes, zstandard
);

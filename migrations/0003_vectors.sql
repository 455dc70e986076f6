-- Vectors in two plain tables: bits that a query compares with all of, and whole vectors for the nearest of them. A vec0 table took
-- four times as long to give some hundreds of neighbours, and never shrank. Documents are embedded anew by the next run.

ALTER TABLE documents ADD COLUMN embedder TEXT NOT NULL DEFAULT '';   -- the fingerprint that its vectors are of; empty: it has none

DROP TABLE IF EXISTS vectors;

CREATE TABLE vectors (
    id        INTEGER PRIMARY KEY,    -- unit * 64 + piece
    embedding BLOB NOT NULL           -- int8, of length 127
);
CREATE TABLE vector_bits (
    id   INTEGER PRIMARY KEY,
    bits BLOB NOT NULL                -- one for each dimension: whether it is above 0
);

UPDATE units SET pieces = 0;

-- The signs of vectors by dimension, so that one operation compares those of thousands of vectors with a query's. Documents are
-- embedded anew by the next run, from the text and units that the index has.

DROP TABLE vector_bits;

CREATE TABLE vector_bits (
    block INTEGER PRIMARY KEY,        -- unit / 8192
    ids   BLOB NOT NULL,              -- the vectors' ids less that of the block's first, in order: 32-bit integers, little-endian
    bits  BLOB NOT NULL               -- for each dimension, one bit for each vector: whether it is above 0; in whole bytes
);

UPDATE documents SET embedder = '';
UPDATE meta SET value = '' WHERE key = 'snapshot';  -- which names the documents as they were embedded before

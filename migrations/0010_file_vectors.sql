-- A vector for each file, of its path and what it exports and imports, or of its path and title: files are found by meaning.
-- Documents are embedded anew by the next run, from the text and units that the index has.

CREATE TABLE file_vectors (
    id        INTEGER PRIMARY KEY,    -- the document
    embedding BLOB NOT NULL           -- int8, of length 127
);

UPDATE documents SET embedder = '';
UPDATE meta SET value = '' WHERE key = 'snapshot';  -- which names the documents as they were embedded before

-- Trigrams are made by the program, each once for a text, so that FTS5 need not read every character of it: half the time.
-- They stand between newlines; tabs and all printable characters belong to them. All documents are derived again.

DROP TABLE text_trigrams;
CREATE VIRTUAL TABLE text_trigrams USING fts5 (
    text, content = '', contentless_delete = 1, detail = none,
    tokenize = "ascii tokenchars '	 !""#$%&''()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\]^_`abcdefghijklmnopqrstuvwxyz{|}~'"
);

-- Leaves of 4,030 bytes fit a page; those of 4,050, which is the default, overflow into a second one: an eighth of these tables.
INSERT INTO unit_terms (unit_terms, rank) VALUES ('pgsz', 4030);
INSERT INTO text_trigrams (text_trigrams, rank) VALUES ('pgsz', 4030);
INSERT INTO name_trigrams (name_trigrams, rank) VALUES ('pgsz', 4030);
INSERT INTO ref_names (ref_names, rank) VALUES ('pgsz', 4030);
INSERT INTO link_asks (link_asks, rank) VALUES ('pgsz', 4030);

UPDATE documents SET recipe = '';
UPDATE meta SET value = '' WHERE key = 'snapshot';  -- which names the documents by recipe

-- A walk reads the tier of each edge that ends at a node: with it in the index, no row of the table is looked up.
DROP INDEX edges_by_target;
CREATE INDEX edges_by_target ON edges (target, kind, tier);

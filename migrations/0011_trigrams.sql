-- Trigrams are made by the program, each once for a text, so that FTS5 need not read every character of it: half the time.
-- They stand between newlines; tabs and all printable characters belong to them. All documents are derived again.

DROP TABLE text_trigrams;
CREATE VIRTUAL TABLE text_trigrams USING fts5 (
    text, content = '', contentless_delete = 1, detail = none,
    tokenize = "ascii tokenchars '	 !""#$%&''()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\]^_`abcdefghijklmnopqrstuvwxyz{|}~'"
);

UPDATE documents SET recipe = '';

-- A walk reads the tier of each edge that ends at a node: with it in the index, no row of the table is looked up.
DROP INDEX edges_by_target;
CREATE INDEX edges_by_target ON edges (target, kind, tier);

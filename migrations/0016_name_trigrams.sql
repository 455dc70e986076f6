-- Trigrams of names without FTS5's record of each row, which only deleting by number needs: the unit's own row has the name.

DROP TABLE name_trigrams;
CREATE VIRTUAL TABLE name_trigrams USING fts5 (
    name, content = '', columnsize = 0, detail = none, tokenize = 'trigram'
);
INSERT INTO name_trigrams (name_trigrams, rank) VALUES ('pgsz', 4030);
INSERT INTO name_trigrams (rowid, name)
SELECT id, folded FROM units WHERE kind <> 'todo' AND NOT EXISTS (SELECT 1 FROM meta WHERE key = 'fuzzy' AND value = '0');

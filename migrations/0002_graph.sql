-- The symbol graph: edges between units, documents and externals, as the linker derived them from references and imports.
-- A node is a unit by its id, a document by minus its id, or an external by 2^40 and its id.

ALTER TABLE documents ADD COLUMN linked TEXT NOT NULL DEFAULT '';   -- the linker's recipe, empty where it has still to link

ALTER TABLE refs ADD COLUMN bindings BLOB NOT NULL DEFAULT x'';     -- types and values of names, packed as references are

CREATE TABLE externals (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE             -- module:numpy.random, env:HOME, process:git, route:/login, …
);

CREATE TABLE edges (
    source INTEGER NOT NULL,
    kind   INTEGER NOT NULL,              -- codelens/relations.py gives the numbers of kinds and tiers
    target INTEGER NOT NULL,
    line   INTEGER NOT NULL,              -- of the source's document; 0 where an edge follows from others
    tier   INTEGER NOT NULL,
    PRIMARY KEY (source, kind, target, line)
) WITHOUT ROWID;
CREATE INDEX edges_by_target ON edges (target, kind);

-- What the linker asked for when it linked a document: keys of facts, hashed. A document whose answers change is linked anew.
CREATE VIRTUAL TABLE link_asks USING fts5 (
    keys, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii'
);

CREATE TABLE changes (
    repository_id INTEGER NOT NULL REFERENCES repositories (id),
    path          TEXT NOT NULL,      -- as documents have it
    commits       INTEGER NOT NULL,
    changed_at    INTEGER NOT NULL, said REAL NOT NULL DEFAULT 0, messages BLOB NOT NULL DEFAULT x'',   -- unix seconds
    PRIMARY KEY (repository_id, path)
) WITHOUT ROWID

CREATE TABLE commits (
    repository_id INTEGER NOT NULL REFERENCES repositories (id),
    id            INTEGER NOT NULL,   -- the first 60 bits of its name
    time          INTEGER NOT NULL,   -- unix seconds
    author        TEXT NOT NULL,      -- Name <address>
    PRIMARY KEY (repository_id, id)
) WITHOUT ROWID

CREATE TABLE documents (
    id            INTEGER PRIMARY KEY,
    repository_id INTEGER NOT NULL REFERENCES repositories (id),
    path          TEXT NOT NULL,      -- POSIX, relative to the root; bytes that are not UTF-8 as \xNN
    os_path       BLOB,               -- the path's own bytes, only where they differ from `path`
    size          INTEGER NOT NULL,
    mtime_ns      INTEGER NOT NULL,
    inode         INTEGER NOT NULL,
    content_hash  BLOB NOT NULL,      -- xxh3_128
    language      TEXT NOT NULL,
    roles         TEXT NOT NULL,      -- test, example, vendored, docs, generated; separated by spaces
    encoding      TEXT NOT NULL,
    confidence    REAL NOT NULL,
    bom           INTEGER NOT NULL,
    lines         INTEGER NOT NULL,
    recipe        TEXT NOT NULL,
    namespace     TEXT NOT NULL,
    fault         TEXT NOT NULL, linked TEXT NOT NULL DEFAULT '', embedder TEXT NOT NULL DEFAULT '', digest BLOB NOT NULL DEFAULT x'', ctime_ns INTEGER NOT NULL DEFAULT 0,
    UNIQUE (repository_id, path)
)

CREATE INDEX documents_by_hash ON documents (content_hash)

CREATE TABLE edges (
    source INTEGER NOT NULL,
    kind   INTEGER NOT NULL,              -- codelens/relations.py gives the numbers of kinds and tiers
    target INTEGER NOT NULL,
    line   INTEGER NOT NULL,              -- of the source's document; 0 where an edge follows from others
    tier   INTEGER NOT NULL,
    PRIMARY KEY (source, kind, target, line)
) WITHOUT ROWID

CREATE INDEX edges_by_target ON edges (target, kind, tier)

CREATE TABLE externals (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE             -- module:numpy.random, env:HOME, process:git, route:/login, …
)

CREATE TABLE file_vectors (
    id        INTEGER PRIMARY KEY,    -- the document
    embedding BLOB NOT NULL           -- int8, of length 127
)

CREATE TABLE histories (
    repository_id INTEGER PRIMARY KEY REFERENCES repositories (id),
    head          TEXT NOT NULL,      -- the commit up to which it was read; empty: the next run tries again
    terms         TEXT NOT NULL,      -- a hash of all else that decides what is read
    time          INTEGER NOT NULL,   -- of the head, unix seconds
    commits       INTEGER NOT NULL,   -- that were read
    whole         INTEGER NOT NULL,   -- whether there are no others
    fault         TEXT NOT NULL       -- why the history is not known; empty if it is
)

CREATE TABLE imports (
    document_id INTEGER NOT NULL REFERENCES documents (id),
    start_byte  INTEGER NOT NULL,
    line        INTEGER NOT NULL,
    module      TEXT NOT NULL,
    name        TEXT NOT NULL,
    alias       TEXT NOT NULL,
    PRIMARY KEY (document_id, start_byte, name, alias, module)
) WITHOUT ROWID

CREATE TABLE line_histories (
    repository_id INTEGER PRIMARY KEY REFERENCES repositories (id),
    head          TEXT NOT NULL,      -- the commit up to which it was read; empty: the next run tries again
    terms         TEXT NOT NULL,      -- a hash of all else that decides what is read
    fault         TEXT NOT NULL       -- why it is not known; empty if it is
)

CREATE VIRTUAL TABLE link_asks USING fts5 (
    keys, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii'
)

CREATE TABLE 'link_asks_config'(k PRIMARY KEY, v) WITHOUT ROWID

CREATE TABLE 'link_asks_data'(id INTEGER PRIMARY KEY, block BLOB)

CREATE TABLE 'link_asks_docsize'(id INTEGER PRIMARY KEY, sz BLOB, origin INTEGER)

CREATE TABLE 'link_asks_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID

CREATE TABLE link_counts (
    document_id INTEGER PRIMARY KEY REFERENCES documents (id),
    resolved    INTEGER NOT NULL,     -- names that lead to a definition of the repository
    external    INTEGER NOT NULL,     -- names of something outside of it
    local       INTEGER NOT NULL,     -- names of variables and modules
    guessed     INTEGER NOT NULL,     -- resolved by the name alone
    unresolved  INTEGER NOT NULL,
    out_of_fuel INTEGER NOT NULL      -- those of the guessed and unresolved that took more steps than a reference has
, places BLOB NOT NULL DEFAULT x'') WITHOUT ROWID

CREATE VIRTUAL TABLE message_terms USING fts5 (   -- rowid is a message's id
    text, content = '', contentless_delete = 1, detail = none,
    tokenize = "porter unicode61 remove_diacritics 2 tokenchars '_'"
)

CREATE TABLE 'message_terms_config'(k PRIMARY KEY, v) WITHOUT ROWID

CREATE TABLE 'message_terms_data'(id INTEGER PRIMARY KEY, block BLOB)

CREATE TABLE 'message_terms_docsize'(id INTEGER PRIMARY KEY, sz BLOB, origin INTEGER)

CREATE TABLE 'message_terms_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID

CREATE TABLE messages (
    id            INTEGER PRIMARY KEY,
    repository_id INTEGER NOT NULL REFERENCES repositories (id),
    name          BLOB NOT NULL,      -- the commit's object id
    time          INTEGER NOT NULL,   -- unix seconds
    weight        REAL NOT NULL,      -- how much it says about each file that it changed; 0 for a mass change
    subject       TEXT NOT NULL,
    body          TEXT NOT NULL,      -- the beginning of the rest of the message
    changes       BLOB NOT NULL       -- paths and renames: JSON, zstandard
)

CREATE INDEX messages_by_repository ON messages (repository_id)

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID

CREATE VIRTUAL TABLE name_trigrams USING fts5 (
    name, content = '', columnsize = 0, detail = none, tokenize = 'trigram'
)

CREATE TABLE 'name_trigrams_config'(k PRIMARY KEY, v) WITHOUT ROWID

CREATE TABLE 'name_trigrams_data'(id INTEGER PRIMARY KEY, block BLOB)

CREATE TABLE 'name_trigrams_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID

CREATE TABLE parts (
    id         INTEGER PRIMARY KEY,   -- 2^40 + document * 2^20 + number of the part, from 0
    start_byte INTEGER NOT NULL,      -- in the file's own bytes
    line       INTEGER NOT NULL,      -- that the part begins in, from 1
    before     INTEGER NOT NULL,      -- characters of this line that stand in earlier parts
    bytes      BLOB NOT NULL          -- the part's own bytes, zstandard
)

CREATE VIRTUAL TABLE ref_names USING fts5 (
    names, content = '', contentless_delete = 1, detail = none, tokenize = "unicode61 remove_diacritics 0 tokenchars '_$'"
)

CREATE TABLE 'ref_names_config'(k PRIMARY KEY, v) WITHOUT ROWID

CREATE TABLE 'ref_names_data'(id INTEGER PRIMARY KEY, block BLOB)

CREATE TABLE 'ref_names_docsize'(id INTEGER PRIMARY KEY, sz BLOB, origin INTEGER)

CREATE TABLE 'ref_names_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID

CREATE TABLE refs (
    document_id INTEGER PRIMARY KEY REFERENCES documents (id),
    packed      BLOB NOT NULL         -- codelens/store/codec.py
)

CREATE TABLE repositories (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    root TEXT NOT NULL UNIQUE   -- relative to the index file's folder where it lies at or above it, else absolute
)

CREATE TABLE skips (
    repository_id INTEGER NOT NULL REFERENCES repositories (id),
    path          TEXT NOT NULL,
    reason        TEXT NOT NULL,
    detail        TEXT NOT NULL,
    size          INTEGER,
    mtime_ns      INTEGER,
    inode         INTEGER, ctime_ns INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (repository_id, path)
) WITHOUT ROWID

CREATE TABLE snapshot_log (
    number    INTEGER PRIMARY KEY,    -- in the order of the runs
    snapshot  TEXT NOT NULL,          -- as in `meta`
    root      TEXT NOT NULL,          -- of the Merkle tree over documents (codelens/merkle.py)
    time      INTEGER NOT NULL,       -- of the newest head commit, unix seconds; 0: no git
    documents INTEGER NOT NULL,
    symbols   INTEGER NOT NULL,
    edges     INTEGER NOT NULL,
    facts     BLOB                    -- symbols and edges, zstandard; NULL: no longer kept
)

CREATE TABLE snapshots (
    document_id INTEGER PRIMARY KEY REFERENCES documents (id),
    bytes       BLOB NOT NULL         -- the file's own bytes, zstandard
)

CREATE TABLE sqlite_sequence(name,seq)

CREATE VIRTUAL TABLE text_trigrams USING fts5 (
    text, content = '', contentless_delete = 1, detail = none,
    tokenize = "ascii tokenchars '	 !""#$%&''()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\]^_`abcdefghijklmnopqrstuvwxyz{|}~'"
)

CREATE TABLE 'text_trigrams_config'(k PRIMARY KEY, v) WITHOUT ROWID

CREATE TABLE 'text_trigrams_data'(id INTEGER PRIMARY KEY, block BLOB)

CREATE TABLE 'text_trigrams_docsize'(id INTEGER PRIMARY KEY, sz BLOB, origin INTEGER)

CREATE TABLE 'text_trigrams_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID

CREATE VIRTUAL TABLE unit_terms USING fts5 (
    body, name, concepts, path, container, doc, signature,
    content = '', contentless_delete = 1,
    tokenize = "porter unicode61 remove_diacritics 2 tokenchars '_'"
)

CREATE TABLE 'unit_terms_config'(k PRIMARY KEY, v) WITHOUT ROWID

CREATE TABLE 'unit_terms_data'(id INTEGER PRIMARY KEY, block BLOB)

CREATE TABLE 'unit_terms_docsize'(id INTEGER PRIMARY KEY, sz BLOB, origin INTEGER)

CREATE TABLE 'unit_terms_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID

CREATE TABLE units (
    id          INTEGER PRIMARY KEY,
    document_id INTEGER NOT NULL REFERENCES documents (id),
    parent_id   INTEGER,
    kind        TEXT NOT NULL,
    name        TEXT NOT NULL,
    folded      TEXT NOT NULL,        -- the name's letters in lower case, without separators
    container   TEXT NOT NULL,
    start_byte  INTEGER NOT NULL,
    end_byte    INTEGER NOT NULL,
    name_start  INTEGER NOT NULL,
    name_end    INTEGER NOT NULL,
    body_start  INTEGER NOT NULL,
    start_line  INTEGER NOT NULL,
    end_line    INTEGER NOT NULL,
    name_line   INTEGER NOT NULL,
    name_column INTEGER NOT NULL,
    local       INTEGER NOT NULL,
    pieces      INTEGER NOT NULL,     -- vectors: their rowids are id * 64 + 0 … pieces - 1
    signature   TEXT NOT NULL,
    doc         TEXT NOT NULL,
    decorators  TEXT NOT NULL         -- one a line
)

CREATE INDEX units_by_document ON units (document_id)

CREATE INDEX units_by_folded ON units (folded)

CREATE TABLE uses (
    unit  INTEGER PRIMARY KEY,
    files INTEGER NOT NULL                -- at least 1
)

CREATE TABLE vector_bits (
    block INTEGER PRIMARY KEY,        -- unit / 8192
    ids   BLOB NOT NULL,              -- the vectors' ids less that of the block's first, in order: 32-bit integers, little-endian
    bits  BLOB NOT NULL               -- for each dimension, one bit for each vector: whether it is above 0; in whole bytes
)

CREATE TABLE vectors (
    id        INTEGER PRIMARY KEY,    -- unit * 64 + piece
    embedding BLOB NOT NULL           -- int8, of length 127
)

CREATE TABLE written_lines (
    repository_id INTEGER NOT NULL REFERENCES repositories (id),
    path          TEXT NOT NULL,      -- as documents have it
    blob          BLOB NOT NULL,      -- git's name of the content that the lines are of
    last          INTEGER NOT NULL,   -- the last commit that changed the file
    runs          BLOB NOT NULL,      -- commits of lines, packed (codelens/store/lines.py)
    PRIMARY KEY (repository_id, path)
) WITHOUT ROWID

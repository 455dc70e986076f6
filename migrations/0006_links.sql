-- What became of the references of each document when it was linked, for the summary of a run and for `status`.

CREATE TABLE link_counts (
    document_id INTEGER PRIMARY KEY REFERENCES documents (id),
    resolved    INTEGER NOT NULL,     -- names that lead to a definition of the repository
    external    INTEGER NOT NULL,     -- names of something outside of it
    local       INTEGER NOT NULL,     -- names of variables and modules
    guessed     INTEGER NOT NULL,     -- resolved by the name alone
    unresolved  INTEGER NOT NULL,
    out_of_fuel INTEGER NOT NULL      -- those of the guessed and unresolved that took more steps than a reference has
) WITHOUT ROWID;

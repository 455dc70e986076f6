"""The index file. Only this package uses SQLite: all SQL is here and in the migrations."""

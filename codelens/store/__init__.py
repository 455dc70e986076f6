"""The index file. The only door to SQLite: all SQL is in this package and in the migrations."""

"""The index file. Only this package uses SQLite: it holds all SQL except the migrations."""

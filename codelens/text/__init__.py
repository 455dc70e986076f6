"""Identifiers, terms, trigrams and lines: the same code when indexing and when searching."""

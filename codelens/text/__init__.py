"""Identifiers, terms, trigrams and lines; indexing and searching share this code."""

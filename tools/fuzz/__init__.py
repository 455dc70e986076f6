"""Fuzzing of the inputs of codelens: queries, sources, file formats, requests and messages."""

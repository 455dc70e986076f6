"""A query → ranked hits with an account of each score: the query language, the channels, fusion and signals."""

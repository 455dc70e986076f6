"""Ranks hits for a query and explains each score: the query language, the channels, fusion and signals."""

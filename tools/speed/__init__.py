"""Measures the cost of indexing and searching a tree, with public tools for comparison: `make bench`."""

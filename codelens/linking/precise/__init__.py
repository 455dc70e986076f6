"""Indexes that language servers leave in a repository (SCIP, LSIF), and the edges that follow from them."""

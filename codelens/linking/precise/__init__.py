"""Indexes that language servers leave in a repository (SCIP), and the edges that follow from them."""

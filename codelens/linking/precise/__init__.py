"""SCIP indexes that language servers leave in a repository, and the edges that follow from them."""

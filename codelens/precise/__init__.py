"""Indexes that language servers leave in a repository (SCIP, LSIF) → facts about who defines and who uses what."""

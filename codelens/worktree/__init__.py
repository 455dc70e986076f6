"""Trees on disk: which files count, how their bytes are decoded, and whether they changed. The only door to git."""

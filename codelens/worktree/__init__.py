"""Trees on disk: which files count, how their bytes are decoded, and whether they changed. Only this package runs git."""

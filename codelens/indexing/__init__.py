"""Trees → the index: the pipeline of an index run, its worker processes, and what it remembers."""

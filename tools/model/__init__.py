"""Make the shipped embedding: packages, pairs, training."""

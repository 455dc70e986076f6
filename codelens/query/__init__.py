"""The query language: parses a text to tokens and a tree of terms and filters, and decides which units satisfy the tree."""

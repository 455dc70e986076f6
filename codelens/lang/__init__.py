"""Languages: which one a file is in, its grammar, and what the grammar's query finds. The only door to tree-sitter."""

"""Languages: detect a file's language, load its grammar, and run its queries. Only this package uses tree-sitter."""

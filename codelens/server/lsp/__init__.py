"""The language server (LSP): serves the index to editors, and takes their unsaved texts into account."""

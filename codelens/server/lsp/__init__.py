"""The Language Server Protocol: the index for editors, with their unsaved texts."""

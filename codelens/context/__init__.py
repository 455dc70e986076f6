"""A task, files or a change → a pack: the symbols that matter for it, within a budget of tokens."""

"""Train the embedding on pairs of words and code: the model in the wheel, from permissively licensed code, or a user's own."""

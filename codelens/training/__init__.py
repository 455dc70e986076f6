"""Pairs of words and code from permissively licensed packages → the embedding that ships in the wheel, or a user's own."""

"""Keeps an index up to date while its trees change."""

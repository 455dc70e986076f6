"""Writes results as text and as JSON objects. Renderers look nothing up: they show only what they are given."""

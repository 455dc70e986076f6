"""Measure the ranking, make evaluation tasks from a git history, and learn feature weights."""

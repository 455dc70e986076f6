"""Snapshots: a log of the states of an index, the facts of each state, and the difference between two."""

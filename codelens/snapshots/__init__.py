"""Snapshots: a log of an index's states, the facts about each state, and the differences between two states."""

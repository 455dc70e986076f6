"""Feedback on results, and records of their use, stored with a digest of the code at that time."""

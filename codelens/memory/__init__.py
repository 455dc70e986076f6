"""Feedback on results and their use, recorded together with the state of the code at that time."""

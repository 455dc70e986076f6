"""Keeping an index fresh while its trees change: events of the file system in, index runs out."""

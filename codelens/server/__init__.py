"""Front ends for programs: a protocol in front of the same index."""

"""OpenTelemetry spans: read from files, matched with symbols, and stored in a file next to the index."""

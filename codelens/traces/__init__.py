"""OpenTelemetry spans: read, matched with symbols, and stored in a file next to the index."""

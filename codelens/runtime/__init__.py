"""What ran, by the spans of OpenTelemetry: read, matched with symbols, kept beside an index."""

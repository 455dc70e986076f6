"""What codelens must answer without breaking: any query, source, file format, request or message."""

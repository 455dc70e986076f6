"""The HTTP server of `codelens serve`: an API that answers with JSON objects, and a page that shows the same objects."""

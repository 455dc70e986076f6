"""The HTTP server of `codelens serve`: an API of JSON objects, and a page made of the same objects."""

"""codelens: offline code search that accounts for every rank."""

__version__ = "0.1.0"

"""The query language: text → tokens → a tree of terms and filters, and which documents satisfy it."""

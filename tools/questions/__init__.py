"""A collection of questions about packages, with their answers: see README.md in this folder."""

"""The Model Context Protocol: the index as tools for a program that writes code."""

"""A small web application for plain-text notes."""

__version__ = "1.2.0"

"""Shapes and what can be measured of them."""

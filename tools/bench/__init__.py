"""Benchmarks and measurements for maintainers."""

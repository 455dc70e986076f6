"""The zstd of Python's own library, which came with 3.14, and its backport for older ones."""

import sys

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

__all__ = ["zstd"]

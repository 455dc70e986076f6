"""Indexes that a test has copied or moved, which codelens opens only once the user has accepted them."""

from __future__ import annotations

from pathlib import Path

from codelens.index import Index


def accepted(index: Path) -> Path:
    Index.accept(index)
    return index

"""Pairs on disk: one file a package, JSON lines compressed with zstandard."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import zstandard

ENDING = ".jsonl.zst"
Record = dict[str, Any]
"""kind, query, name, context, signature, body, language, path, line."""


def read_pairs(file: Path) -> Iterator[Record]:
    """The records of one package's file, in its order."""
    with file.open("rb") as compressed:
        text = zstandard.ZstdDecompressor().stream_reader(compressed).read()
    for line in text.split(b"\n"):
        if line:
            yield json.loads(line)


def write_pairs(file: Path, records: Iterable[Record]) -> None:
    """Records as JSON lines, compressed; the file is there as a whole or not at all."""
    lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    partial = file.with_suffix(".partial")
    partial.write_bytes(zstandard.ZstdCompressor(level=6).compress(lines.encode("utf-8", "replace")))
    partial.replace(file)

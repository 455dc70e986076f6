"""The references of one document in a few bytes each: columns of numbers over a list of its texts, compressed.

A row for each use of a name would be half the size of the source (measured on Django: 48 bytes a row with its index,
5 packed), and nothing asks for one row: a document's references are read together, and `names` finds the documents.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from codelens.derived import PackedReferences, Reference

LEVEL = 6


def pack_references(references: Sequence[Reference]) -> PackedReferences:
    """The columns, compressed, and the distinct names; `unpack_references` is the way back."""
    if not references:
        return PackedReferences(b"", "")
    import zstandard

    texts = dict.fromkeys(t for r in references for t in (r.name, r.receiver, r.kind))
    place = {text: i for i, text in enumerate(texts)}
    starts = [r.start for r in references]
    lines = [r.line for r in references]
    columns = [
        list(texts),
        [place[r.kind] for r in references],
        [place[r.name] for r in references],
        [place[r.receiver] for r in references],
        [-1 if r.unit is None else r.unit for r in references],
        _differences(starts),
        _differences(lines),
    ]
    raw = json.dumps(columns, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    names = " ".join(sorted({r.name for r in references}))
    return PackedReferences(zstandard.ZstdCompressor(level=LEVEL).compress(raw), names)


def unpack_references(columns: bytes) -> tuple[Reference, ...]:
    """What was packed, in the same order."""
    if not columns:
        return ()
    import zstandard

    raw = zstandard.ZstdDecompressor().decompress(columns)
    texts, kinds, names, receivers, units, starts, lines = json.loads(raw.decode("utf-8", "surrogatepass"))
    found, start, line = [], 0, 0
    for kind, name, receiver, unit, more, below in zip(kinds, names, receivers, units, starts, lines, strict=True):
        start, line = start + more, line + below
        found.append(Reference(texts[kind], texts[name], texts[receiver], None if unit < 0 else unit, start, line))
    return tuple(found)


def _differences(numbers: Sequence[int]) -> list[int]:
    return [b - a for a, b in zip([0, *numbers[:-1]], numbers, strict=True)]

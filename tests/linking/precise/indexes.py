"""Real indexes of two small trees, and reading them as text.

`tests/cases/precise/typescript` was indexed by scip-typescript 0.4.0, `…/python` by scip-python 0.6.6.
The sources hold letters and emoji before the names, so that UTF-8, UTF-16 and UTF-32 columns all differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from codelens.linking.precise.scip import PreciseDocument, RefusedDocument, convert_to_utf8, read_scip

CASES = Path(__file__).parents[2] / "cases" / "precise"
INDEXES = ("typescript/index.scip", "python/index.scip")


def read(index: str, content: bytes | None = None) -> list[PreciseDocument | RefusedDocument]:
    """All that the index of one case says, or what other bytes do in its place."""
    return list(read_scip((CASES / index).read_bytes() if content is None else content, index))


def converted(index: str) -> Iterator[PreciseDocument]:
    """The facts that are of the case's own tree, in UTF-8 columns."""
    for facts in read(index):
        if isinstance(facts, PreciseDocument):
            text = ((CASES / index).parent / facts.path).read_text(encoding="utf-8")
            utf8 = convert_to_utf8(facts, text)
            assert isinstance(utf8, PreciseDocument)
            yield utf8


def named(index: str, facts: PreciseDocument) -> list[tuple[str, str, bool]]:
    """(place, the bytes there, whether it is a definition) of each occurrence."""
    lines = ((CASES / index).parent / facts.path).read_bytes().split(b"\n")
    found = []
    for occurrence in facts.occurrences:
        line, start, _, end = occurrence.range
        found.append((f"{line}:{start}", lines[line - 1][start - 1 : end - 1].decode(), occurrence.is_definition))
    return found

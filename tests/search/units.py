"""Units for tests that need no index."""

from __future__ import annotations

from codelens.model.code import DocumentId, Span, UnitId, UnitRow


def unit(number: int, path: str = "a.py") -> UnitRow:
    return UnitRow(
        UnitId(number), DocumentId(1), "function", f"f{number}", "", None, Span(number, number + 1), Span(number, number),
        number, 1, 1, 1, 1, "def f", "", path, "python", "repo",
    )  # fmt: skip

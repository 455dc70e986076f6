"""Units for tests that need no index."""

from __future__ import annotations

from codelens.model.code import DocumentId, UnitId, UnitRow
from codelens.model.search import Candidate


def unit(number: int, path: str = "a.py") -> UnitRow:
    return UnitRow(
        UnitId(number), DocumentId(1), "function", f"f{number}", "", None, number, number + 1, number, number,
        number, 1, 1, 1, 1, "def f", "", path, "python", "repo",
    )  # fmt: skip


def order(candidate: Candidate) -> tuple[float, tuple[str, str, int, str, str]]:
    """The key of the total order, as documented: by score, then by content."""
    return (-candidate.score, candidate.unit.content_order())

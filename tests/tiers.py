"""How many examples a property test draws: a tenth of them, unless `pytest --all` runs the second tier too."""

from __future__ import annotations

every_test = False
"""Set by conftest.py from `--all`, before any test module is imported."""


def examples(most: int) -> int:
    """The number of examples for `settings(max_examples=…)`."""
    return most if every_test else max(5, most // 10)

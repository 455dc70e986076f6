"""How many examples a property test draws: a tenth in the first tier, a fifth with `pytest --all`, all with `pytest --many`."""

from __future__ import annotations

share = 0.1  # Set by conftest.py from the options, before any test module is imported


def examples(most: int) -> int:
    """The number of examples for `settings(max_examples=…)`."""
    return max(5, round(most * share))


def many() -> bool:
    """True in a campaign: a test may take minutes."""
    return share == 1.0

"""A file's history → how recent its last change is and how often it was changed, each in [0, 1] and with its reason.

The present is the time of the indexed commit, or one that somebody names: the clock would give another answer every day.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from codelens.past import History

SECONDS_A_DAY = 86_400
FADING = 0.005
"""Recency is exp(-.005 days), half after 139 days: the seed of Marketplace's ranking."""


class Aged(NamedTuple):
    """A value from 0 to 1, and in a person's words what it rests on."""

    value: float
    reason: str


def recency(history: History | None, present: int, named: bool = False) -> Aged | None:
    """exp(-.005 days) from the file's last commit to the present (unix seconds); 1 for what lies after it.

    None for a file that no commit changed that was read. `named`: whether somebody named the present.
    """
    if history is None:
        return None
    days = max(0, present - history.changed) / SECONDS_A_DAY
    whole = int(days)
    when = "on the day of" if not whole else f"{whole} day{'' if whole == 1 else 's'} before"
    return Aged(math.exp(-FADING * days), f"changed {when} {'the present as named' if named else 'the indexed commit'}")


def churn(history: History | None, most: int) -> Aged | None:
    """ln(1 + commits) / ln(1 + most), `most` being the commits of the file of the repository that has most; None as above."""
    if history is None or history.commits <= 0:
        return None
    value = math.log1p(history.commits) / math.log1p(max(most, history.commits))
    return Aged(value, f"{history.commits} commit{'' if history.commits == 1 else 's'} touched its file")

"""Measured tasks → the weight of every feature in every set, all sets fitted together as queries mix them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from codelens.config import load_weights
from codelens.errors import UsageError
from codelens.evaluation.learning.listwise import Question, fit
from codelens.evaluation.learning.measured import COLUMNS, RANKS, Measured
from codelens.evaluation.learning.recipe import FEWEST_OF_A_KIND, KINDS, SIDE, UNTAUGHT, bounds_of
from codelens.nouns import dataclass
from codelens.search.intent import SHAPES

if TYPE_CHECKING:
    import numpy as np

    Floats = np.ndarray[Any, np.dtype[np.float32]]

Weights = Mapping[str, float | Mapping[str, float]]
"""Feature → its weight, or its weight by set: as `[codelens.features]` has them."""
COMMIT, TOPIC, SECTION = "commit", "topic", COLUMNS.index("section")
UNASKED = tuple(COLUMNS.index(role) for role in ("test", "docs", "example"))
"""Features of paths that the query does not speak of."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """What was learned, and from how much."""

    weights: Weights
    loss: float
    """The mean over queries, with the pull."""
    tasks: Mapping[str, int]
    """Kind → tasks with an answer among their candidates, of those that teach."""


def need_scipy() -> None:
    """Raises UsageError, with a hint, where it is not installed."""
    try:
        import scipy.optimize  # noqa: F401
    except ImportError:
        raise UsageError("learning weights needs scipy", "pip install 'codelens[train]'") from None


def fit_weights(measured: Sequence[Measured], start: Weights, pull: float, for_all: bool = False) -> Fitted:
    """`start` is what weights are pulled to: none, or those that are to be adapted. Raises UsageError where nothing teaches.

    Weights `for_all` do not learn from commits that change only tests or documents of which their subjects do not speak: that is a
    habit of whoever made the history, which weights of one's own may have.
    """
    need_scipy()
    taught = [one for one in measured if one.answered and KINDS.get(one.kind) and not (for_all and _is_aside(one))]
    counts = Counter(one.kind for one in taught)
    if not counts:
        raise UsageError("no task has an answer among its candidates", "make more tasks, or of another repository")
    origin = [[_weight({**start, RANKS: 1.0}, name, shape) for shape in SHAPES] for name in COLUMNS]
    found, loss = fit(list(_questions(taught, counts)), origin, pull, [bounds_of(name) for name in COLUMNS])
    weights: dict[str, float | Mapping[str, float]] = {}
    shipped: Weights = load_weights()["codelens"]["features"]
    for name, row in zip(COLUMNS, found, strict=True):
        weights[name] = shipped.get(name, 0.0) if name in UNTAUGHT else dict(zip(SHAPES, row, strict=True))
    weights |= {name: weight for name, weight in shipped.items() if name not in weights}
    return Fitted(weights, loss, dict(sorted(counts.items())))


def scores(measured: Measured, weights: Weights) -> Floats:
    """The score of each candidate by these weights, in units of the best that ranks can give."""
    import numpy as np

    weights, shares = {**weights, RANKS: 1.0}, dict(zip(SHAPES, measured.shares, strict=True))
    mixed = [math.fsum(share * _weight(weights, name, shape) for shape, share in shares.items()) for name in COLUMNS]
    found: Floats = measured.values @ np.array(mixed, np.float32)
    return found


def _weight(weights: Weights, name: str, shape: str) -> float:
    weight = weights.get(name, 0.0)
    return float(weight if isinstance(weight, float | int) else weight.get(shape, 0.0))


def _is_aside(one: Measured) -> bool:
    """Whether a commit changed what its subject does not speak of alone. (nDCG@10 of the development tasks / commits without these
    214 of 5 426: .426 to .429, .400 to .405.)"""
    if one.kind != COMMIT:
        return False
    meant = (one.values[:, UNASKED] == 0).all(axis=1)
    return not ((one.credits >= 0) & meant).any()


def _questions(measured: Sequence[Measured], counts: Mapping[str, int]) -> Iterator[Question]:
    """What is asked about a topic, the section that is about it cannot answer: it is the query's origin."""
    for one in measured:
        weight = KINDS[one.kind] / max(counts[one.kind], FEWEST_OF_A_KIND)
        values, deserts = one.values, deserts_of(one)
        if one.kind == TOPIC:
            kept = (values[:, SECTION] == 0) | (one.credits >= 0)
            values, deserts = values[kept], deserts[kept]
        yield Question(values, deserts, one.shares, weight)


def deserts_of(measured: Measured) -> Floats:
    """What each candidate deserves: an answer 1, one aside of the code SIDE where there are answers in code."""
    import numpy as np

    answers = measured.credits >= 0
    in_code = answers & ~measured.aside
    beside = SIDE if in_code.any() else 1.0
    return np.where(in_code, 1.0, np.where(answers, beside, 0.0)).astype(np.float32)

"""Measured candidates of many queries → the weights under which the right ones come first.

Listwise: for each query the cross entropy between what the answers deserve and the softmax of the candidates' scores (ListNet's
top-one loss, Cao et al. 2007), with an L2 pull towards the weights to start from. The score is linear, so the loss is convex
and the answer does not depend on where the search for it begins. Signs that meaning demands are bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from codelens.nouns import dataclass

if TYPE_CHECKING:
    import numpy as np

    Floats = np.ndarray[Any, np.dtype[np.float32]]

STEPS = 300
"""Most iterations of L-BFGS-B; it ends by itself after some 100."""


@dataclass(frozen=True, slots=True)
class Question:
    """One query's candidates: `values` is candidates × features, `deserts` what each deserves, 0 for what is no answer."""

    values: Floats
    deserts: Floats
    weight: float = 1.0
    """What the query counts beside others."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a weight may be; None for no limit."""

    least: float | None = None
    most: float | None = None


def fit(
    questions: Sequence[Question], start: Sequence[float], pull: float, bounds: Sequence[Bounds]
) -> tuple[list[float], float]:
    """(a weight for each feature, the loss). Questions without an answer among their candidates say nothing and are left out.

    `pull` times the squared distance from `start` is added to the mean loss. Raises ValueError where no question has an answer.
    """
    import numpy as np
    from scipy.optimize import minimize

    asked = [q for q in questions if q.deserts.any()]
    if not asked:
        raise ValueError("no question has an answer among its candidates")
    values = np.concatenate([q.values for q in asked])
    sizes = np.array([len(q.deserts) for q in asked])
    begins = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    wanted = np.concatenate([q.deserts / q.deserts.sum() for q in asked])
    counts = np.array([q.weight for q in asked])
    each, total = np.repeat(counts, sizes), counts.sum()
    origin = np.asarray(start, np.float64)

    def loss(weights: Any) -> tuple[float, Any]:
        scores = values @ weights.astype(np.float32)
        highest = np.maximum.reduceat(scores, begins)
        powers = np.exp(scores - np.repeat(highest, sizes))
        sums = np.add.reduceat(powers, begins)
        chances = powers / np.repeat(sums, sizes)
        losses = highest + np.log(sums) - np.add.reduceat(wanted * scores, begins)
        slope = values.T @ ((chances - wanted) * each).astype(np.float32) / total
        away = weights - origin
        return float(losses @ counts / total + pull * away @ away), slope.astype(np.float64) + 2 * pull * away

    limits = [(b.least, b.most) for b in bounds]
    lowest = [-np.inf if b.least is None else b.least for b in bounds]
    highest_allowed = [np.inf if b.most is None else b.most for b in bounds]
    begin = np.clip(origin, lowest, highest_allowed)
    found = minimize(loss, begin, jac=True, method="L-BFGS-B", bounds=limits, options={"maxiter": STEPS})
    return [float(w) for w in found.x], float(found.fun)

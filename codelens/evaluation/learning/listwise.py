"""Measured candidates of many queries → the weights under which the right ones come first.

Listwise: for each query the cross entropy between what the answers deserve and the softmax of the candidates' scores (ListNet's
top-one loss, Cao et al. 2007), with an L2 pull towards the weights to start from. A query takes a share of each set of weights,
and all sets are fitted together under these shares, as they are used. The score is linear, so the loss is convex and the answer
does not depend on where the search for it begins. Signs that meaning demands are bounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from codelens.nouns import dataclass

if TYPE_CHECKING:
    import numpy as np

    Floats = np.ndarray[Any, np.dtype[np.float32]]

STEPS = 300
"""Most iterations of L-BFGS-B; it ends by itself after some 100."""
ROWS = 200_000
"""Candidates of queries that are reckoned together: a matrix of 50 MB, so that no copy of all is made."""


@dataclass(frozen=True, slots=True)
class Question:
    """One query's candidates: `values` is candidates × features, `deserts` what each deserves, 0 for what is no answer."""

    values: Floats
    deserts: Floats
    shares: tuple[float, ...] = (1.0,)
    """What it takes of each set of weights."""
    weight: float = 1.0
    """What the query counts beside others."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a weight may be, in each set; None for no limit."""

    least: float | None = None
    most: float | None = None


def fit(
    questions: Sequence[Question], start: Sequence[Sequence[float]], pull: float, bounds: Sequence[Bounds]
) -> tuple[list[list[float]], float]:
    """(for each feature its weight in each set, the loss). Questions without an answer among their candidates say nothing.

    `start` has a row for each feature and a column for each set. `pull` times the squared distance from it is added to the mean
    loss. Raises ValueError where no question has an answer.
    """
    import numpy as np
    from scipy.optimize import minimize

    asked = [q for q in questions if q.deserts.any()]
    if not asked:
        raise ValueError("no question has an answer among its candidates")
    blocks = [_Block(part) for part in _parted(asked)]
    total = sum(q.weight for q in asked)
    origin = np.asarray(start, np.float64)

    def loss(flat: Any) -> tuple[float, Any]:
        weights = flat.reshape(origin.shape)
        found, slope = 0.0, np.zeros(origin.shape)
        for block in blocks:
            of_block, its_slope = block.loss(weights)
            found += of_block
            slope += its_slope
        away = weights - origin
        return found / total + pull * float((away * away).sum()), (slope / total + 2 * pull * away).ravel()

    limits = [(b.least, b.most) for b in bounds for _ in range(origin.shape[1])]
    lowest = [-np.inf if low is None else low for low, _ in limits]
    highest = [np.inf if high is None else high for _, high in limits]
    begin = np.clip(origin.ravel(), lowest, highest)
    found = minimize(loss, begin, jac=True, method="L-BFGS-B", bounds=limits, options={"maxiter": STEPS})
    return [[float(w) for w in row] for row in found.x.reshape(origin.shape)], float(found.fun)


def _parted(questions: Sequence[Question]) -> Iterator[list[Question]]:
    """The questions in their order, some ROWS candidates at a time."""
    part, rows = list[Question](), 0
    for question in questions:
        part.append(question)
        rows += len(question.deserts)
        if rows >= ROWS:
            yield part
            part, rows = [], 0
    if part:
        yield part


class _Block:
    """Some questions, one below the other."""

    def __init__(self, questions: Sequence[Question]) -> None:
        import numpy as np

        sizes = np.array([len(q.deserts) for q in questions])
        self.values = np.concatenate([q.values for q in questions])
        self.sizes = sizes
        self.begins = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        self.wanted = np.concatenate([q.deserts / q.deserts.sum() for q in questions])
        self.counts = np.array([q.weight for q in questions])
        self.shares = np.repeat(np.array([q.shares for q in questions], np.float32), sizes, axis=0)

    def loss(self, weights: Any) -> tuple[float, Any]:
        """(the sum of the questions' losses, each by its weight; its slope, as `weights` features × sets)."""
        import numpy as np

        scores = ((self.values @ weights.astype(np.float32)) * self.shares).sum(axis=1)
        highest = np.maximum.reduceat(scores, self.begins)
        powers = np.exp(scores - np.repeat(highest, self.sizes))
        sums = np.add.reduceat(powers, self.begins)
        chances = powers / np.repeat(sums, self.sizes)
        losses = highest + np.log(sums) - np.add.reduceat(self.wanted * scores, self.begins)
        pushes = ((chances - self.wanted) * np.repeat(self.counts, self.sizes)).astype(np.float32)
        slope = self.values.T @ (self.shares * pushes[:, None])
        return float(losses.astype(np.float64) @ self.counts), slope.astype(np.float64)

"""Seeds → how much of a random walk with restart each node holds, by steps over a graph in memory.

A walker at a node restarts with probability alpha at a seed, by the seeds' weights, and else follows an edge, by its
weight; from a dead end it goes back to a seed. This is knowing's power iteration with its rules to stop, and touches
every edge within reach at each step: `push` finds nearly the same masses in a graph of any size.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from codelens.graph.adjacency import Adjacency, Neighbour, Node, shares
from codelens.nouns import dataclass

ALPHA = 0.2
"""knowing, experiments 13 to 16: every other value and scheme lost more than it won."""
MAX_STEPS = 20
TOLERANCE = 1e-3
STABLE_TOP = 10
STABLE_STEPS = 2
FAINT = 0.02
"""These five are knowing's: section 4, parameters."""


@dataclass(frozen=True, slots=True)
class Walk:
    """The masses after the last step (they sum to 1), and why it was the last: `converged`, `stable` or `steps`."""

    mass: dict[Node, float]
    steps: int
    stopped: str


def walk(
    adjacency: Adjacency,
    seeds: Mapping[Node, float],
    alpha: float = ALPHA,
    max_steps: int = MAX_STEPS,
    tolerance: float = TOLERANCE,
    stable_top: int = STABLE_TOP,
    stable_steps: int = STABLE_STEPS,
) -> Walk:
    """Steps from the seeds until one moves less than `tolerance` (L1), or the first `stable_top` nodes keep their
    order for `stable_steps` steps (0: go on whatever they do), or there were `max_steps`.

    Seeds weigh in proportion; without any weight there is no mass. Raises ValueError for a weight or alpha out of range.
    """
    restart = spread_over_seeds(seeds, alpha)
    mass = dict(restart)
    rows: dict[Node, list[Neighbour]] = {}
    top: list[Node] | None = None  # the first step's order is compared with nothing: seeds alone always come first
    stable = 0
    for step in range(1, max_steps + 1):
        before, mass = mass, _step(adjacency, rows, restart, mass, alpha)
        if _distance(before, mass) < tolerance:
            return Walk(mass, step, "converged")
        last, top = top, best(mass, stable_top)
        stable = stable + 1 if top == last else 0
        if 0 < stable_steps <= stable:
            return Walk(mass, step, "stable")
    return Walk(mass, max_steps, "steps")


def spread_over_seeds(seeds: Mapping[Node, float], alpha: float) -> list[Neighbour]:
    """Where a restart goes: the seeds with their parts of 1, by number. Raises ValueError for an alpha outside (0, 1]."""
    if not 0 < alpha <= 1:
        raise ValueError(f"a walk restarts with a probability above 0 and up to 1, not {alpha}")
    return shares(seeds.items())


def best(mass: Mapping[Node, float], count: int) -> list[Node]:
    """The nodes with most mass, most first; of equals, the smaller number first."""
    if len(mass) > count > 0:
        least = sorted(mass.values())[-count]
        return sorted((node for node, held in mass.items() if held >= least), key=lambda n: (-mass[n], n))[:count]
    return sorted(mass, key=lambda node: (-mass[node], node))[:count]


def relative(mass: Mapping[Node, float], faint: float = FAINT) -> dict[Node, float]:
    """Masses ÷ the largest, best first, without those under `faint`."""
    most = max(mass.values(), default=0.0)
    kept = {node: held / most for node, held in mass.items() if held >= faint * most} if most else {}
    return {node: kept[node] for node in best(kept, len(kept))}


def _step(
    adjacency: Adjacency,
    rows: dict[Node, list[Neighbour]],
    restart: list[Neighbour],
    mass: dict[Node, float],
    alpha: float,
) -> dict[Node, float]:
    """One step of all mass. Nodes keep the order in which they were reached, so that sums do not depend on the input's."""
    after = dict.fromkeys(mass, 0.0)
    stuck = []
    for node, held in mass.items():
        row = rows.get(node)
        if row is None:
            row = rows[node] = shares(adjacency.get(node, ()))
        if not row:
            stuck.append(held)
        going = (1 - alpha) * held
        for target, part in row:
            after[target] = after.get(target, 0.0) + going * part
    back = alpha + (1 - alpha) * math.fsum(stuck)
    for seed, part in restart:
        after[seed] += back * part
    return after


def _distance(before: Mapping[Node, float], after: Mapping[Node, float]) -> float:
    return math.fsum(abs(held - before.get(node, 0.0)) for node, held in after.items())

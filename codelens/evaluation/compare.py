"""Two runs of the scorer over the same tasks → which is better, and whether that could be chance.

    python -m codelens.evaluation.compare BEFORE.json AFTER.json [--metric snDCG@10]

Reads the files that `score.py --out` writes. The test is a paired sign-flip permutation test on the differences per
task (two-sided), as IR evaluation uses it; the interval is a percentile bootstrap over tasks. Both are seeded.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

TRIALS = 10_000
SEED = 20_261_121


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs over the tasks that both have: their means, and how sure the difference is."""

    tasks: int
    before: float
    after: float
    p_value: float
    low: float
    high: float
    """95 % interval of the mean difference."""
    better: int
    worse: int


def load_run(path: Path, metric: str) -> dict[str, tuple[str, float]]:
    """Task's id → (repository, value)."""
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    return {f"{row['repo']}/{row['id']}": (row["repo"], float(row[metric])) for row in rows if metric in row}


def compare(before: Mapping[str, float], after: Mapping[str, float]) -> Comparison:
    """Of the tasks that both runs have. Raises ValueError if there are none."""
    common = sorted(before.keys() & after.keys())
    if not common:
        raise ValueError("the runs have no task in common")
    differences = [after[t] - before[t] for t in common]
    low, high = bootstrap(differences)
    return Comparison(
        tasks=len(common),
        before=statistics.mean(before[t] for t in common),
        after=statistics.mean(after[t] for t in common),
        p_value=_permutation(differences),
        low=low,
        high=high,
        better=sum(d > 0 for d in differences),
        worse=sum(d < 0 for d in differences),
    )


def _permutation(differences: Sequence[float]) -> float:
    """Share of random sign flips whose mean is at least as far from zero as the one seen."""
    chance, seen = random.Random(SEED), abs(sum(differences)) - 1e-12
    moved = [d for d in differences if d]
    extreme = sum(abs(sum(d if chance.random() < 0.5 else -d for d in moved)) >= seen for _ in range(TRIALS))
    return (extreme + 1) / (TRIALS + 1)


def bootstrap(differences: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of a mean, by percentiles of the means of samples drawn with replacement (Efron 1979)."""
    chance, count = random.Random(SEED), len(differences)
    means = sorted(sum(chance.choices(differences, k=count)) / count for _ in range(TRIALS // 5))
    return means[int(0.025 * len(means))], means[int(0.975 * len(means))]


def main() -> None:
    """Prints one line: both means, their difference with its interval, p, and how many tasks moved."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--metric", default="snDCG@10")
    options = parser.parse_args()
    runs = [load_run(path, options.metric) for path in (options.before, options.after)]
    found = compare(*({task: value for task, (_, value) in run.items()} for run in runs))
    print(
        f"{options.metric} {found.before:.4f} → {found.after:.4f}  {found.after - found.before:+.4f} "
        f"[{found.low:+.4f}, {found.high:+.4f}]  p {found.p_value:.4f}  "
        f"{found.better} better, {found.worse} worse of {found.tasks}"
    )


if __name__ == "__main__":
    main()

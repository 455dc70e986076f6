"""Learn how sure a hit is (`[codelens.confidence]`) from the tasks and indexes that `python -m tools.weights` left in its folder.

python -m tools.weights.confidence WORK

Each repository is asked some of its tasks, and queries of words that it does not have but others do. The rows are the first hits
and the answers; the fit is a logistic regression whose signs never speak against a hit.
"""

from __future__ import annotations

import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from codelens.config import Settings
from codelens.evaluation.metrics import NamedHit, same_file
from codelens.evaluation.tasks import ABSENT, Task, read_tasks
from codelens.model.fast_dataclass import dataclass
from codelens.model.request import SearchOptions
from codelens.search.confidence import BIAS, FLOOR, SIGNS, measure_signs
from codelens.search.pipeline import rank
from codelens.store.store import Store

OF_A_KIND, ABSENT_TASKS = 10, 25  # Tasks of each kind, and queries of absent words, that each tree is asked
FIRST_HITS = 10
PULL = 0.05
CHOSEN = {"resemblance": 1.0, "instead": 0.5}
"""Log odds of what made tasks do not have: typing mistakes, aliases, classes."""
LEAST = 0.005  # Log odds above the bias that some hit must have: any word of the query in its file is enough. Chosen.


@dataclass(frozen=True, slots=True)
class Asked:
    """A query's kind, and the signs of its first hits and answers: hits × SIGNS."""

    kind: str
    values: Any
    right: Any


def ask(index: Path, tasks: Sequence[Task]) -> Iterator[Asked]:
    """Ask the tasks of one index."""
    with Store.read(index) as store, store.reading():
        for task in tasks:
            run = rank(task.query, store, SearchOptions(min_score=0.0), Settings(query_seconds=0.0))
            rows, right = list[list[float]](), list[float]()
            if (evidence := run.evidence) is None:
                continue
            for place, candidate in enumerate(run.candidates):
                hit = NamedHit(candidate.unit.qualified_name, candidate.unit.path)
                answers = any(same_file(hit, entry) for entry in task.relevant)
                if place < FIRST_HITS or answers:
                    found = measure_signs(candidate.unit, evidence)
                    rows.append([found[name] for name in SIGNS])
                    right.append(float(answers))
            yield Asked(task.kind, np.array(rows).reshape(-1, len(SIGNS)), np.array(right))


def absent_tasks(store: Store, words: Sequence[str], wanted: int, seed: int) -> Iterator[Task]:
    """Queries of one to three words that the index does not have."""
    luck = random.Random(seed)
    missing = [word for word in words if not store.postings.count_units(word)]
    luck.shuffle(missing)
    for number in range(wanted):
        chosen = [missing.pop() for _ in range(luck.choice((1, 2, 2, 3))) if missing]
        if chosen:
            yield Task(str(number), "", " ".join(chosen), (), kind=ABSENT)


def fit(asked: Sequence[Asked]) -> dict[str, float]:
    """Sign → log odds, with the bias and the floor."""
    from scipy.optimize import minimize

    values = np.concatenate([np.hstack([np.ones((len(one.right), 1)), one.values]) for one in asked])
    right = np.concatenate([one.right for one in asked])
    share = np.concatenate([np.full(len(one.right), 1.0 / max(1, len(one.right))) for one in asked])

    def loss(weights: Any) -> tuple[float, Any]:
        odds = values @ weights
        chances = 1.0 / (1.0 + np.exp(-odds))
        slope = values.T @ (share * (chances - right))
        pulled = np.concatenate([[0.0], weights[1:]])
        away = PULL * (pulled**2).sum()
        return float((share * (np.logaddexp(0, odds) - right * odds)).sum() + away), slope + 2 * PULL * pulled

    bounds = [(None, None), *((CHOSEN[name],) * 2 if name in CHOSEN else (0.0, None) for name in SIGNS)]
    found = minimize(loss, np.zeros(len(bounds)), jac=True, method="L-BFGS-B", bounds=bounds).x
    weights = {name: round(float(value), 3) for name, value in zip((BIAS, *SIGNS), found, strict=True)}
    weights[FLOOR] = round(1.0 / (1.0 + float(np.exp(-weights[BIAS] - LEAST))), 4)
    return weights


def _best(one: Asked, weights: Mapping[str, float]) -> float:
    values = one.values
    if not len(values):
        return 0.0
    odds = weights[BIAS] + values @ np.array([weights[name] for name in SIGNS])
    return float((1.0 / (1.0 + np.exp(-odds))).max())


def main(arguments: Sequence[str]) -> int:
    """Print the table of weights, and how many answers of each kind the floor loses."""
    work = Path(arguments[0])
    tasks: dict[Path, list[Task]] = {}
    words: dict[str, set[str]] = defaultdict(set)
    for folder in sorted(path.parent for path in work.glob("*/measured.npz")):
        files = [file for file in sorted((folder / "tasks").glob("*.jsonl")) if file.stat().st_size]
        for task in read_tasks(files):
            tree = "docs" if task.kind == "documentation" else "commits"
            own = tasks.setdefault(folder / f"{tree}.db", [])
            if sum(one.kind == task.kind for one in own) < OF_A_KIND:
                own.append(task)
            words[folder.name] |= {word.lower() for word in task.query.split() if word.isalpha() and len(word) > 3}
    asked = list[Asked]()
    for seed, (index, own) in enumerate(sorted(tasks.items())):
        others = sorted(set().union(*(said for name, said in words.items() if name != index.parent.name)))
        with Store.read(index) as store, store.reading():
            own += absent_tasks(store, others, ABSENT_TASKS, seed)
        asked += ask(index, own)
        print(index, len(asked), file=sys.stderr)
    weights = fit(asked)
    print("[codelens.confidence]", *(f"{name} = {value}" for name, value in weights.items()), sep="\n")
    lost = Counter(one.kind for one in asked if one.kind != ABSENT and _best(one, weights) < weights[FLOOR])
    whole = Counter(one.kind for one in asked)
    passed = sum(_best(one, weights) >= weights[FLOOR] for one in asked if one.kind == ABSENT)
    print(f"# absent: {passed} of {whole[ABSENT]} pass; queries without a hit: {dict(lost)} of {dict(whole)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

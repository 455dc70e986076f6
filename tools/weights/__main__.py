"""Learn the shipped weights from the repositories of the manifest.

python -m tools.weights --clones CLONES --work WORK --out FILE
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import codelens.config
from codelens.config import load_weights
from codelens.errors import CodelensError
from codelens.evaluation.fitting import FittedWeights, Sample, Weights
from codelens.evaluation.runner import open_workers
from codelens.evaluation.tune import TABLE, format_features
from codelens.model.runs import Progress
from codelens.render.terminal import Columns, format_plain_columns
from codelens.search.intent import SHAPES
from codelens.text.notation import parse_toml
from tools.weights.folds import cross_validate, fit_shipped, mean_by_kind, ndcg_by_task
from tools.weights.repositories import FIRST, measure_all, read_manifest, sources


def main(arguments: list[str] | None = None) -> int:
    """Measure what is not measured yet, fit, write the file of all weights, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m tools.weights", description=__doc__)
    parser.add_argument("--clones", type=Path, required=True, help="folder with clones of the manifest's repositories")
    parser.add_argument(
        "--work", type=Path, required=True, help="folder for intermediate results, to resume after a break"
    )
    parser.add_argument("--out", type=Path, required=True, help="file to write: weights.toml with the learned features")
    parser.add_argument("--manifest", type=Path, help="repositories and commits [default: repositories.tsv]")
    parser.add_argument(
        "--sets", nargs="+", choices=SHAPES, default=list(SHAPES), help="the sets of weights to write; others stay"
    )
    parser.add_argument("--jobs", type=int, default=1, help="number of processes")
    parser.add_argument("--folds", type=int, default=0, help="also cross-validate with this many folds of repositories")
    options = parser.parse_args(arguments)
    out = options.out.absolute()
    if options.jobs < 1 or options.folds < 0 or options.folds == 1:
        parser.error("--jobs must be at least 1, and --folds at least 2")
    if out.is_dir() or not out.parent.is_dir():
        parser.error(f"--out {options.out}: no such folder")
    try:
        found = sources(read_manifest(options.manifest), options.clones.absolute(), options.work.absolute())
        with open_workers(options.jobs) as pool:
            measured = [one for own in measure_all(found, pool, _print_progress) for one in own]
        fitted = fit_shipped(measured)
        first: Weights = parse_toml(FIRST.read_text(encoding="utf-8"))["codelens"]["features"]
        weights = replace_sets(
            load_weights()["codelens"]["features"], average_weights(first, fitted.weights), options.sets
        )
        out.write_text(with_features(_current_weights(), weights), encoding="utf-8", newline="")
        folds = cross_validate(measured, options.folds) if options.folds else {}
    except (CodelensError, OSError) as error:
        parser.error("\n".join(filter(None, [str(error), getattr(error, "hint", "")])))
    for line in format_plain_columns(_table(measured, fitted, folds)):
        sys.stdout.write(line)
    counts = Counter(m.repository for m in measured)
    print("; ".join(f"{name}: {count} tasks" for name, count in sorted(counts.items())), file=sys.stderr)
    learned_from = ", ".join(f"{count} {kind}" for kind, count in fitted.tasks.items())
    print(f"loss {fitted.loss:.4f}; learned from {learned_from}; written to {options.out}", file=sys.stderr)
    return 0


def _print_progress(step: Progress) -> None:
    print(f"{step.done} of {step.total}: {step.path}", file=sys.stderr)


WEIGHTS = Path(codelens.config.__file__).with_name("weights.toml")


def _current_weights() -> str:
    return WEIGHTS.read_text(encoding="utf-8")


def average_weights(first: Weights, learned: Weights) -> Weights:
    """The mean of the weights that candidates were measured under and of the learned ones, for features that both have in sets.

    Learning alone prefers guides and tasks to documentation: nDCG@10 .555 before, .543 after, .551 with the mean.
    """
    found: dict[str, float | Mapping[str, float]] = {}
    for name, new in learned.items():
        old = first.get(name)
        if old is not None and not isinstance(old, float | int) and not isinstance(new, float | int):
            found[name] = {shape: (old.get(shape, 0.0) + new.get(shape, 0.0)) / 2 for shape in SHAPES}
    return found


def replace_sets(current: Weights, learned: Weights, names: Sequence[str]) -> Weights:
    """The current weights with some learned sets. A weight that is one number for all sets stays."""
    found: dict[str, float | Mapping[str, float]] = dict(current)
    for name, new in learned.items():
        old = current.get(name, {})
        if not isinstance(old, float | int) and not isinstance(new, float | int):
            found[name] = {**old, **{shape: new.get(shape, 0.0) for shape in names}}
    return found


def with_features(text: str, weights: Weights) -> str:
    """`text` with its table of features replaced. Comments directly above the next table belong to that table and stay.

    Raises ValueError if the text has no such table.
    """
    lines = text.splitlines(keepends=True)
    heads = [at for at, line in enumerate(lines) if re.match(r"\[", line)]
    begin = next((at for at in heads if lines[at].startswith(TABLE)), None)
    if begin is None:
        raise ValueError(f"there is no {TABLE}")
    end = next((at for at in heads if at > begin), len(lines))
    while lines[end - 1].strip() == "" or lines[end - 1].startswith("#"):
        end -= 1
    return "".join(lines[:begin]) + format_features(weights) + "".join(lines[end:])


def _table(measured: Sequence[Sample], fitted: FittedWeights, folds: Mapping[str, float]) -> Columns:
    fit = mean_by_kind(measured, ndcg_by_task(measured, fitted.weights))
    held_out = mean_by_kind(measured, folds) if folds else {}
    counts, answered = Counter(m.kind for m in measured), Counter(m.kind for m in measured if m.has_answer)
    heads = ("kind", "tasks", "with an answer", "nDCG@10", *(("held out",) if held_out else ()))
    rows = (
        (
            kind,
            str(counts[kind]),
            str(answered[kind]),
            f"{fit[kind]:.3f}",
            *((f"{held_out[kind]:.3f}",) if held_out else ()),
        )
        for kind in fit
    )
    return Columns(heads, tuple(rows))


if __name__ == "__main__":
    raise SystemExit(main())

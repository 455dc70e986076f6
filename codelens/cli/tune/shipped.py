"""codelens tune --clones: the weights that are shipped, made anew from the repositories of the manifest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from codelens.cli.progress import watcher
from codelens.cli.streams import say, write, write_json
from codelens.cli.tune import TuneFlags
from codelens.cli.workplace import working_folder
from codelens.errors import CannotWrite, UsageError
from codelens.evaluation.learning.file import with_features
from codelens.evaluation.learning.fitting import Fitted, fit_weights
from codelens.evaluation.learning.folds import crossed, means, values_of
from codelens.evaluation.learning.manifest import read_manifest
from codelens.evaluation.learning.measured import Measured
from codelens.evaluation.learning.recipe import PULL
from codelens.evaluation.learning.shipped import measure_all, sources
from codelens.evaluation.runner import workers
from codelens.render.columns import Columns, plain_columns
from codelens.render.records import SCHEMA, to_json

PLACES = 6


def make_shipped(flags: TuneFlags) -> int:
    """Measure what is not measured yet, fit, write. Exit code 0."""
    cwd = working_folder()
    if flags.work is None or flags.out is None or flags.clones is None:
        raise UsageError(
            "--clones needs --work and --out", "codelens tune --clones CLONES --work WORK --out weights.toml"
        )
    if flags.jobs < 1 or flags.folds < 0 or flags.folds == 1:
        raise UsageError("--jobs is at least 1, and --folds at least 2")
    out = cwd / flags.out
    if out.is_dir() or not out.parent.is_dir():
        raise UsageError(f"--out {flags.out}: no such place for a file", "name a file in a folder that there is")
    found = sources(read_manifest(flags.manifest), cwd / flags.clones, cwd / flags.work)
    measured = list[Measured]()
    try:
        with watcher(flags.progress, flags.quiet) as progress, workers(flags.jobs) as pool:
            for own in measure_all(found, pool, progress):
                measured += own
    except OSError as fault:
        raise CannotWrite(f"{fault.filename or flags.work}: {fault.strerror or fault}", "make room there") from None
    fitted = fit_weights(measured, {}, PULL, for_all=True)
    _write(out, fitted)
    _show(flags, measured, fitted, crossed(measured, {}, PULL, flags.folds) if flags.folds else {})
    return 0


def _write(out: Path, fitted: Fitted) -> None:
    """The whole file of weights with the learned table in it."""
    import codelens.config

    shipped = Path(codelens.config.__file__).with_name("weights.toml").read_text(encoding="utf-8")
    try:
        out.write_text(with_features(shipped, fitted.weights), encoding="utf-8", newline="")
    except OSError as fault:
        raise CannotWrite(f"{out}: {fault.strerror or fault}", "name a file that can be written") from None


def _show(flags: TuneFlags, measured: Sequence[Measured], fitted: Fitted, values: dict[str, float]) -> None:
    fit, held = means(measured, values_of(measured, fitted.weights)), means(measured, values) if values else {}
    if flags.json:
        write_json([to_json(_record(measured, fitted, fit, held))])
    elif not flags.quiet:
        counts, found = Counter(m.kind for m in measured), Counter(m.kind for m in measured if m.answered)
        heads = ("kind", "tasks", "with an answer", "nDCG@10", *(("in other folds",) if held else ()))
        rows = (
            (kind, str(counts[kind]), str(found[kind]), f"{fit[kind]:.3f}", *((f"{held[kind]:.3f}",) if held else ()))
            for kind in fit
        )
        write(plain_columns(Columns(heads, tuple(rows))))
        for name, count in sorted(Counter(m.repository for m in measured).items()):
            say(f"{name}: {count} tasks")
    if not flags.quiet:
        say(f"loss {fitted.loss:.4f} of {sum(fitted.tasks.values())} tasks; written to {flags.out}")


def _record(
    measured: Sequence[Measured], fitted: Fitted, fit: dict[str, float], held: dict[str, float]
) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "loss": round(fitted.loss, PLACES),
        "learned_from": dict(fitted.tasks),
        "repositories": dict(sorted(Counter(m.repository for m in measured).items())),
        "kinds": dict(sorted(Counter(m.kind for m in measured).items())),
        "nDCG@10": {kind: round(value, PLACES) for kind, value in fit.items()},
        "folds": {kind: round(value, PLACES) for kind, value in held.items()} or None,
        "exit_code": 0,
    }

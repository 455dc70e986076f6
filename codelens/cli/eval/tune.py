"""codelens eval tune: weights learned from a repository's own history."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from codelens import __version__
from codelens.cli.declare import argument, command, option
from codelens.cli.eval.make_tasks import explain_failures
from codelens.cli.flags import CommonFlags, JsonFlags, ProgressFlags
from codelens.cli.progress import watcher
from codelens.cli.streams import say, say_plain, write, write_record
from codelens.cli.workplace import settings_at, working_folder
from codelens.config import Settings
from codelens.errors import CannotWrite, UsageError
from codelens.evaluation.compare import PLACES, Comparison
from codelens.evaluation.make_tasks import find_repository, name_of, summary_lines
from codelens.evaluation.tune import (
    ALL,
    DECIDES,
    FEWEST_TO_ASK,
    FEWEST_TO_LEARN,
    TunedWeights,
    format_features,
    tune_weights,
)
from codelens.model.fast_dataclass import replace
from codelens.render.records import SCHEMA
from codelens.render.terminal import Columns, plain_columns
from codelens.text.counts import quantity
from codelens.worktree.repository import Repository


class TuneFlags(ProgressFlags, JsonFlags, CommonFlags):
    """Options: the repository, and the file to keep."""

    repo: Path | None = argument(None, "[REPO]", "A clone with its history; a bare one too [default: this repository]")
    keep: Path | None = option(None, "--keep FILE", "Write the weights to FILE if they improve the newest tasks")
    head: str = option("HEAD", "--head REV", "The last commit to use [default: HEAD]")


CERTAIN = 0.05  # p below which chance is not named


@command(
    epilog='Exit: 0 measured, or written; 1 no gain to keep, or too few tasks; 2 error. `weights = "FILE"` in a configuration\n'
    "file makes a search rank by it."
)
def tune(flags: TuneFlags) -> int:
    """Learn ranking weights from your own git history. Learns from older commits, and measures on the newest fifth.

    Tasks, trees and indexes are created in a temporary folder; nothing in the repository is executed.
    """
    from codelens.evaluation.fitting import require_scipy
    from codelens.evaluation.metrics import load_ir_measures

    require_scipy()  # before any work, if they are not installed
    load_ir_measures()
    cwd = working_folder()
    repository = find_repository(cwd / flags.repo if flags.repo else cwd)
    name = name_of(repository)
    place = _place(flags, cwd)
    chosen = settings_at(cwd, None, flags).values
    settings = replace(Settings(), model=chosen.model, allow_network=chosen.allow_network, jobs=chosen.jobs)
    if not flags.quiet:
        say(f"{name}: making tasks from its history, learning from older ones and measuring the newest")
    with (
        explain_failures(flags.repo or cwd, Path(tempfile.gettempdir())),
        tempfile.TemporaryDirectory() as folder,
        watcher(flags.progress, flags.quiet) as progress,
    ):
        tuned = tune_weights(repository, name, flags.head, Path(folder), settings, progress)
    written = place if tuned.has_gained else None
    if written is not None:
        _write(written, name, tuned)
    code = 0 if tuned.groups and (written or place is None) else 1
    if flags.json:
        write_record(_record(name, tuned, written, code))
    elif tuned.groups and not flags.quiet:
        write(plain_columns(_table(tuned)))
    if not flags.quiet:
        _explain(flags, name, tuned, written, repository)
    return code


def _place(flags: TuneFlags, cwd: Path) -> Path | None:
    """The file to write, judged before the work."""
    if flags.keep is None:
        return None
    place = cwd / flags.keep
    if place.is_dir() or not place.parent.is_dir():
        what = "is a folder" if place.is_dir() else f"there is no folder {place.parent}"
        raise UsageError(f"--keep {flags.keep}: {what}", "name a file in an existing folder, as --keep weights.toml")
    return place


def _write(place: Path, name: str, tuned: TunedWeights) -> None:
    assert tuned.weights is not None
    decided, older = tuned.deciding_comparison, sum(tuned.older.values())
    text = (
        f"# Weights of codelens {__version__}, learned from {quantity(older, 'task')} of {name} up to {tuned.tasks.head}.\n"
        f"# {DECIDES} of its newest {decided.tasks}: shipped weights {decided.before:.3f}, these {decided.after:.3f}.\n"
    )
    try:
        place.write_text(text + format_features(tuned.weights), encoding="utf-8", newline="")
    except OSError as fault:
        raise CannotWrite(f"{place}: {fault.strerror or fault}", "name a writable file") from None


def _explain(flags: TuneFlags, name: str, tuned: TunedWeights, written: Path | None, repository: Repository) -> None:
    """Say on stderr what the figures mean, and what to do next."""
    if not tuned.groups:
        for line in summary_lines(name, tuned.tasks):
            say(line)
        counts = f"{sum(tuned.older.values())} to learn from and {sum(tuned.newest.values())} to ask"
        say(f"{name}: too few tasks: {counts}; at least {FEWEST_TO_LEARN} and {FEWEST_TO_ASK} are needed")
        say_plain(["hint: name a repository with more history; the shipped weights need none\n"])
        return
    decided = tuned.deciding_comparison
    difference = f"{DECIDES} {decided.before:.3f} → {decided.after:.3f} of the newest {quantity(decided.tasks, 'task')}"
    chance = "" if decided.p_value < CERTAIN else ", which may be chance"
    say(f"a gain: {difference} (p {decided.p_value:.2f}{chance})" if tuned.has_gained else f"no gain: {difference}")
    if written is not None:
        say(f"written to {written}")
        say_plain([f"hint: {_configuration_line(written, repository)}\n"])
    elif flags.keep is not None:
        say("nothing written: the learned weights rank no better here than the shipped ones")
        say_plain(["hint: with more history there is more to learn from; the shipped weights stay\n"])


def _configuration_line(written: Path, repository: Repository) -> str:
    """The line that makes a search use the file. A project's configuration may name only what lies below it."""
    top = repository.top.resolve()
    if written.resolve().is_relative_to(top) and repository.top.name != ".git":
        relative = written.resolve().relative_to(top).as_posix()
        setting, where = json.dumps(relative, ensure_ascii=False), f"{top / '.codelens.toml'} makes searches there"
    else:
        setting, where = json.dumps(str(written), ensure_ascii=False), "your own configuration file makes searches"
    return f"weights = {setting} in {where} rank by it"


def _table(tuned: TunedWeights) -> Columns:
    heads = ("kind", "older", "newest", "nDCG@10", "after", "difference", "95 %", "p", "hit@10", "after")
    rows = []
    for kind, metrics in (tuned.groups or {}).items():
        ndcg, hit = metrics["nDCG@10"], metrics["hit@10"]
        older = sum(tuned.older.values()) if kind == ALL else tuned.older.get(kind, 0)
        interval = f"{ndcg.low:+.3f} to {ndcg.high:+.3f}" if ndcg.tasks > 1 else ""
        figures = (f"{ndcg.before:.3f}", f"{ndcg.after:.3f}", f"{ndcg.after - ndcg.before:+.3f}", interval)
        rows.append(
            (
                kind,
                str(older),
                str(ndcg.tasks),
                *figures,
                f"{ndcg.p_value:.2f}",
                f"{hit.before:.3f}",
                f"{hit.after:.3f}",
            )
        )
    return Columns(heads, tuple(rows))


def _record(name: str, tuned: TunedWeights, written: Path | None, code: int) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "name": name,
        "head": tuned.tasks.head,
        "base": tuned.tasks.base,
        "older": dict(tuned.older),
        "newest": dict(tuned.newest),
        "loss": round(tuned.fitted.loss, PLACES) if tuned.fitted else None,
        "groups": [
            {
                "kind": kind,
                "metrics": {metric: _comparison_record(comparison) for metric, comparison in metrics.items()},
            }
            for kind, metrics in (tuned.groups or {}).items()
        ],
        "gained": tuned.has_gained,
        "path": str(written) if written else None,
        "exit_code": code,
    }


def _comparison_record(comparison: Comparison) -> dict[str, float | int]:
    means = {"before": round(comparison.before, PLACES), "after": round(comparison.after, PLACES)}
    return {"n": comparison.tasks, **means, **comparison.difference_record()}

"""codelens eval tune: weights learned from a repository's own history."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from codelens import __version__
from codelens.cli.declare import argument, command, option
from codelens.cli.flags import CommonFlags, JsonFlags, ProgressFlags
from codelens.cli.progress import watcher
from codelens.cli.streams import say, say_plain, write, write_record
from codelens.cli.workplace import settings_at, working_folder
from codelens.config import Settings
from codelens.errors import CannotWrite, UsageError
from codelens.evaluation.compare import Comparison
from codelens.evaluation.make_tasks import cannot_write, name_meant, repository_meant, summary_lines
from codelens.evaluation.tune import DECIDES, FEWEST_TO_ASK, FEWEST_TO_LEARN, TunedWeights, own_text, tune_own
from codelens.model.fast_dataclass import replace
from codelens.render.records import SCHEMA
from codelens.render.terminal import Columns, plain_columns
from codelens.text.counts import quantity
from codelens.worktree.repository import GitError, Repository


class TuneFlags(ProgressFlags, JsonFlags, CommonFlags):
    """Options: the repository, and the file to keep."""

    repo: Path | None = argument(None, "[REPO]", "A clone with its history; a bare one too [default: this repository]")
    keep: Path | None = option(None, "--keep FILE", "Write the weights to FILE if they improve the newest tasks")
    head: str = option("HEAD", "--head REV", "The last commit to use [default: HEAD]")


@command(
    epilog='Exit: 0 measured, or written; 1 no gain to keep, or too few tasks; 2 error. `weights = "FILE"` in a configuration\n'
    "file makes a search rank by it."
)
def tune(flags: TuneFlags) -> int:
    """Learn ranking weights from your own git history. Learns from older commits, and measures on the newest fifth.

    Tasks, trees and indexes are created in a temporary folder; nothing in the repository is executed.
    """
    from codelens.evaluation.fitting import need_scipy
    from codelens.evaluation.metrics import ir_measures_module

    need_scipy()  # before any work, if they are not installed
    ir_measures_module()

    return tune_here(flags)


CERTAIN = 0.05  # p below which chance is not named
PLACES = 6


def tune_here(flags: TuneFlags) -> int:
    """Exit code 0 where it is a gain, or nothing was to be kept."""
    cwd = working_folder()
    repository = repository_meant(cwd / flags.repo if flags.repo else cwd)
    name = name_meant("", repository)
    place = _place(flags, cwd)
    chosen = settings_at(cwd, None, flags).values
    settings = replace(Settings(), model=chosen.model, allow_network=chosen.allow_network, jobs=chosen.jobs)
    try:
        with tempfile.TemporaryDirectory() as folder, watcher(flags.progress, flags.quiet) as progress:
            if not flags.quiet:
                say(f"{name}: making tasks from its history, learning from older ones and measuring the newest")
            tuned = tune_own(repository, name, flags.head, Path(folder), settings, progress)
    except GitError as fault:
        hint = "`git log` there shows what there is; --head names a commit"
        raise UsageError(f"{flags.repo or cwd}: {fault}", hint) from None
    except OSError as fault:
        raise cannot_write(Path(tempfile.gettempdir()), fault) from None
    kept = place is not None and tuned.gained
    if kept and place is not None:
        _write(place, name, tuned)
    code = 0 if tuned.groups and (kept or place is None) else 1
    _show(flags, name, tuned, place if kept else None, repository, code)
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
    decided, older = tuned.deciding, sum(tuned.older.values())
    origin = (
        f"Weights of codelens {__version__}, learned from {quantity(older, 'task')} of {name} up to {tuned.tasks.head}.",
        f"{DECIDES} of its newest {decided.tasks}: shipped weights {decided.before:.3f}, these {decided.after:.3f}.",
    )
    try:
        place.write_text(own_text(tuned.weights, origin), encoding="utf-8", newline="")
    except OSError as fault:
        raise CannotWrite(f"{place}: {fault.strerror or fault}", "name a writable file") from None


def _show(
    flags: TuneFlags, name: str, tuned: TunedWeights, kept: Path | None, repository: Repository, code: int
) -> None:
    if flags.json:
        write_record(_record(name, tuned, kept, code))
    elif tuned.groups and not flags.quiet:
        write(plain_columns(_table(tuned)))
    if flags.quiet:
        return
    if not tuned.groups:
        for line in summary_lines(name, tuned.tasks):
            say(line)
        have = f"{sum(tuned.older.values())} to learn from and {sum(tuned.newest.values())} to ask"
        say(f"{name}: too few tasks: {have}; at least {FEWEST_TO_LEARN} and {FEWEST_TO_ASK} are needed")
        say_plain(["hint: name a repository with more history; the shipped weights need none\n"])
        return
    say(_verdict(tuned.deciding))
    if kept is not None:
        say(f"written to {kept}")
        say_plain([f"hint: {_line(kept, repository)}\n"])
    elif flags.keep is not None:
        say("nothing written: the learned weights rank no better here than the shipped ones")
        say_plain(["hint: with more history there is more to learn from; the shipped weights stay\n"])


def _verdict(found: Comparison) -> str:
    difference = f"{DECIDES} {found.before:.3f} → {found.after:.3f} of the newest {quantity(found.tasks, 'task')}"
    if found.after <= found.before:
        return f"no gain: {difference}"
    chance = "" if found.p_value < CERTAIN else ", which may be chance"
    return f"a gain: {difference} (p {found.p_value:.2f}{chance})"


def _line(kept: Path, repository: Repository) -> str:
    """The line that makes a search rank by it: a project's file may name what lies below it, the user's own any."""
    top = repository.top.resolve()
    if kept.resolve().is_relative_to(top) and repository.top.name != ".git":
        own = kept.resolve().relative_to(top).as_posix()
        return f"weights = {json.dumps(own, ensure_ascii=False)} in {top / '.codelens.toml'} makes searches there rank by it"
    return f"weights = {json.dumps(str(kept), ensure_ascii=False)} in your own configuration file makes searches rank by it"


def _table(tuned: TunedWeights) -> Columns:
    heads = ("kind", "older", "newest", "nDCG@10", "after", "difference", "95 %", "p", "hit@10", "after")
    return Columns(heads, tuple(_row(tuned, at) for at in range(len(tuned.groups))))


def _row(tuned: TunedWeights, at: int) -> tuple[str, ...]:
    group = tuned.groups[at]
    first, second = group.metrics["nDCG@10"], group.metrics["hit@10"]
    older = tuned.older.get(group.kind, 0) if at else sum(tuned.older.values())
    difference = f"{first.after - first.before:+.3f}"
    reach = f"{first.low:+.3f} to {first.high:+.3f}" if first.tasks > 1 else ""
    figures = (f"{first.before:.3f}", f"{first.after:.3f}", difference, reach, f"{first.p_value:.2f}")
    return (group.kind, str(older), str(first.tasks), *figures, f"{second.before:.3f}", f"{second.after:.3f}")


def _record(name: str, tuned: TunedWeights, kept: Path | None, code: int) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "name": name,
        "head": tuned.tasks.head,
        "base": tuned.tasks.base,
        "older": dict(tuned.older),
        "newest": dict(tuned.newest),
        "loss": round(tuned.fitted.loss, PLACES) if tuned.fitted else None,
        "groups": [
            {"kind": group.kind, "metrics": {metric: _compared(found) for metric, found in group.metrics.items()}}
            for group in tuned.groups
        ],
        "gained": tuned.gained,
        "path": str(kept) if kept else None,
        "exit_code": code,
    }


def _compared(found: Comparison) -> dict[str, float | int]:
    figures = {"before": found.before, "after": found.after, "difference": found.after - found.before}
    figures |= {"low": found.low, "high": found.high, "p": found.p_value}
    return {"n": found.tasks, **{name: round(value, PLACES) for name, value in figures.items()}}

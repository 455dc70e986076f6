"""codelens eval make-tasks and eval tune: make tasks from a repository's history, and learn weights from them."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from codelens import __version__
from codelens.cli.declare import Section, argument, command, option
from codelens.cli.flags import CommonFlags, JsonFlags, ProgressFlags
from codelens.cli.progress import show_progress
from codelens.cli.streams import inform, say, say_without_prefix, write, write_fields
from codelens.cli.workplace import find_working_folder, load_settings_at
from codelens.config import Settings
from codelens.errors import UsageError
from codelens.evaluation import make_tasks as tasks_of_history
from codelens.evaluation.fitting import require_scipy
from codelens.evaluation.make_tasks import choose_name, find_repository, format_summary
from codelens.evaluation.metrics import load_ir_measures
from codelens.evaluation.report import PLACES, Comparison
from codelens.evaluation.tune import (
    ALL,
    DECIDES,
    FEWEST_TO_ASK,
    FEWEST_TO_LEARN,
    TunedWeights,
    format_features,
    tune_weights,
)
from codelens.files import write_output
from codelens.model.fast_dataclass import replace
from codelens.render.records import Record
from codelens.render.terminal import Columns, format_plain_columns
from codelens.text.counts import quantity
from codelens.worktree.repository import GitError, Repository

MUCH = Section("How much")


class MakeTasksFlags(ProgressFlags, JsonFlags, CommonFlags):
    repo: Path | None = argument("[REPO]", "A clone with its history; a bare one too [default: this repository]")
    out: Path | None = option("--out FOLDER", "A new folder, or one that make-tasks wrote")
    name: str = option("--name NAME", "The repository's name in tasks [default: its folder's name]", default="")
    head: str = option("--head REV", "The last commit to use [default: HEAD]", default="HEAD")
    commits: int = MUCH("--commits N", "Tasks of commits [default: 60]", default=60)
    docs: int = MUCH("--docs N", "Tasks of documentation [default: 40]", default=40)
    identifiers: int = MUCH("--identifiers N", "Names to look up [default: 40]", default=40)
    topics: int = MUCH("--topics N", "Tasks of guides [default: 40]", default=40)
    queries: int = MUCH(
        "--queries N", "Short queries of each kind: messages, literals, fragments … [default: 15]", default=15
    )
    max_files: int = MUCH(
        "--max-files N", "Most files of a tree; a larger one is sampled [default: 3000]", default=3000
    )


@command(
    epilog="Exit: 0 made, 1 nothing to ask, 2 error. Then `codelens index` the trees, and `codelens eval` the tasks."
)
def make_tasks(flags: MakeTasksFlags) -> int:
    """Make evaluation tasks from a git history. A commit's subject is the query, the definitions that it changed are the answers.

    Queries run on the tree before those commits, which is written too: NAME-commits.jsonl, NAME-tasks.jsonl (with what
    commits explain), NAME-names.jsonl, NAME-topics.jsonl (sections of guides, for the definitions that they name) and the
    short queries NAME-messages.jsonl, -literals, -fragments, -namesakes and -qualified go with NAME-commits/;
    NAME-docs.jsonl (first sentences of comments) with NAME-docs/, which has none. Nothing of the repository is run, and the
    same history gives the same files.
    """
    if flags.out is None:
        raise UsageError("--out is missing", "name a folder for the tasks, as --out ../tasks")
    cwd = find_working_folder()
    repository = find_repository(cwd / flags.repo if flags.repo else cwd)
    name = choose_name(repository, flags.name)
    counts = flags.commits, flags.docs, flags.identifiers, flags.topics, flags.queries
    wanted = tasks_of_history.TaskCounts(*counts, max_files=flags.max_files)
    if min(counts) < 0 or flags.max_files < 1:
        names = "--commits, --docs, --identifiers, --topics and --queries"
        raise UsageError(f"{names} must be at least 0, --max-files at least 1")
    with explain_failures(flags.repo or cwd, flags.out), show_progress(flags.progress, flags.quiet) as progress:
        made = tasks_of_history.make_tasks(repository, name, cwd / flags.out, wanted, flags.head, progress)
    code = 0 if any(made.tasks.values()) else 1
    if flags.json:
        fields = {"name": name, **{field: getattr(made, field) for field in ("base", "head", "tasks", "files")}}
        fields |= {"files_left_out": made.not_drawn + made.not_written, "commits": made.looked_at}
        write_fields(code, **fields, commits_left_out=made.left_out)
    for line in format_summary(name, made):
        inform(flags, line)
    if code and not flags.quiet:
        say_without_prefix(["hint: name a repository with more history, or in another language\n"])
    return code


@contextmanager
def explain_failures(source: Path, folder: Path) -> Iterator[None]:
    """Turn git's errors about `source` and the system's errors about `folder` into user errors."""
    try:
        yield
    except GitError as fault:
        hint = "`git log` there shows what there is; --head names a commit"
        raise UsageError(f"{source}: {fault}", hint) from None
    except OSError as fault:
        raise tasks_of_history.write_error(folder, fault) from None


class TuneFlags(ProgressFlags, JsonFlags, CommonFlags):
    repo: Path | None = argument("[REPO]", "A clone with its history; a bare one too [default: this repository]")
    keep: Path | None = option("--keep FILE", "Write the weights to FILE if they improve the newest tasks")
    head: str = option("--head REV", "The last commit to use [default: HEAD]", default="HEAD")


CERTAIN = 0.05  # p value below which a difference is not called chance


@command(
    epilog='Exit: 0 measured, or written; 1 no gain to keep, or too few tasks; 2 error. `weights = "FILE"` in a configuration\n'
    "file makes a search rank by it."
)
def tune(flags: TuneFlags) -> int:
    """Learn ranking weights from your own git history. Learns from older commits, and measures on the newest fifth.

    Tasks, trees and indexes are created in a temporary folder; nothing in the repository is executed.
    """
    require_scipy()  # fails before any work if it is not installed
    load_ir_measures()
    cwd = find_working_folder()
    repository = find_repository(cwd / flags.repo if flags.repo else cwd)
    name = choose_name(repository)
    place = cwd / flags.keep if flags.keep else None
    if place and (place.is_dir() or not place.parent.is_dir()):
        what = "is a folder" if place.is_dir() else f"there is no folder {place.parent}"
        raise UsageError(f"--keep {flags.keep}: {what}", "name a file in an existing folder, as --keep weights.toml")
    chosen = load_settings_at(cwd, None, flags).values
    settings = replace(Settings(), model=chosen.model, allow_network=chosen.allow_network, jobs=chosen.jobs)
    inform(flags, f"{name}: making tasks from its history, learning from older ones and measuring the newest")
    with (
        explain_failures(flags.repo or cwd, Path(tempfile.gettempdir())),
        tempfile.TemporaryDirectory() as folder,
        show_progress(flags.progress, flags.quiet) as progress,
    ):
        tuned = tune_weights(repository, name, flags.head, Path(folder), settings, progress)
    written = place if tuned.has_gained else None
    if written is not None:
        _write(written, name, tuned)
    code = 0 if tuned.groups and (written or place is None) else 1
    if flags.json:
        write_fields(code, **_build_record(name, tuned, written))
    elif tuned.groups:
        write(format_plain_columns(_tabulate(tuned)))
    if not flags.quiet:
        _explain_result(flags, name, tuned, written, repository)
    return code


def _write(place: Path, name: str, tuned: TunedWeights) -> None:
    assert tuned.weights is not None
    decided, older = tuned.deciding_comparison, sum(tuned.older.values())
    text = (
        f"# Weights of codelens {__version__}, learned from {quantity(older, 'task')} of {name} up to {tuned.tasks.head}.\n"
        f"# {DECIDES} of its newest {decided.tasks}: shipped weights {decided.before:.3f}, these {decided.after:.3f}.\n"
    )
    text += format_features(tuned.weights)
    write_output(place, text.encode())


def _explain_result(
    flags: TuneFlags, name: str, tuned: TunedWeights, written: Path | None, repository: Repository
) -> None:
    """Explain on stderr what the figures mean, and what to do next."""
    if not tuned.groups:
        for line in format_summary(name, tuned.tasks):
            say(line)
        counts = f"{sum(tuned.older.values())} to learn from and {sum(tuned.newest.values())} to ask"
        say(f"{name}: too few tasks: {counts}; at least {FEWEST_TO_LEARN} and {FEWEST_TO_ASK} are needed")
        say_without_prefix(["hint: name a repository with more history; the shipped weights need none\n"])
        return
    decided = tuned.deciding_comparison
    difference = f"{DECIDES} {decided.before:.3f} → {decided.after:.3f} of the newest {quantity(decided.tasks, 'task')}"
    chance = "" if decided.p_value < CERTAIN else ", which may be chance"
    say(f"a gain: {difference} (p {decided.p_value:.2f}{chance})" if tuned.has_gained else f"no gain: {difference}")
    if written is not None:
        top, file = repository.top.resolve(), written.resolve()
        if file.is_relative_to(top) and repository.top.name != ".git":  # a project may name files below its folder
            setting, where = file.relative_to(top).as_posix(), f"{top / '.codelens.toml'} makes searches there"
        else:
            setting, where = str(written), "your own configuration file makes searches"
        say(f"written to {written}")
        say_without_prefix([f"hint: weights = {json.dumps(setting, ensure_ascii=False)} in {where} rank by it\n"])
    elif flags.keep is not None:
        say("nothing written: the learned weights rank no better here than the shipped ones")
        say_without_prefix(["hint: with more history there is more to learn from; the shipped weights stay\n"])


def _tabulate(tuned: TunedWeights) -> Columns:
    heads = ("kind", "older", "newest", "nDCG@10", "after", "difference", "95 %", "p", "hit@10", "after")
    rows = []
    for kind, metrics in (tuned.groups or {}).items():
        ndcg, hit = metrics["nDCG@10"], metrics["hit@10"]
        older = sum(tuned.older.values()) if kind == ALL else tuned.older.get(kind, 0)
        interval = f"{ndcg.low:+.3f} to {ndcg.high:+.3f}" if ndcg.tasks > 1 else ""
        figures = (f"{ndcg.before:.3f}", f"{ndcg.after:.3f}", f"{ndcg.after - ndcg.before:+.3f}", interval)
        chance_and_hits = (f"{ndcg.p_value:.2f}", f"{hit.before:.3f}", f"{hit.after:.3f}")
        rows.append((kind, str(older), str(ndcg.tasks), *figures, *chance_and_hits))
    return Columns(heads, tuple(rows))


def _build_record(name: str, tuned: TunedWeights, written: Path | None) -> Record:
    def build_metric_record(comparison: Comparison) -> Record:
        means = {"before": round(comparison.before, PLACES), "after": round(comparison.after, PLACES)}
        return {"n": comparison.tasks, **means, **comparison.make_record()}

    groups = (tuned.groups or {}).items()
    return {
        "name": name,
        "head": tuned.tasks.head,
        "base": tuned.tasks.base,
        "older": dict(tuned.older),
        "newest": dict(tuned.newest),
        "loss": round(tuned.fitted.loss, PLACES) if tuned.fitted else None,
        "groups": [
            {"kind": k, "metrics": {m: build_metric_record(c) for m, c in by_metric.items()}} for k, by_metric in groups
        ],
        "gained": tuned.has_gained,
        "path": str(written) if written else None,
    }

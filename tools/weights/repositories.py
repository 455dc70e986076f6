"""Sample the tasks of the manifest's repositories, and cache the samples of each in a folder.

Candidates are measured under `first.toml`, not under the current weights: so the same repositories always give the same weights.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Collection, Iterator, Sequence
from dataclasses import astuple, replace
from importlib.resources import files
from pathlib import Path
from zipfile import BadZipFile

import xxhash

from codelens.config import Settings, load_weights
from codelens.errors import UsageError
from codelens.evaluation.fitting import COLUMNS, Sample, sample_tasks
from codelens.evaluation.make_tasks import TaskCounts, find_repository, make_tasks
from codelens.evaluation.tune import index_tasks
from codelens.model.fast_dataclass import dataclass
from codelens.model.runs import Progress, ProgressSink
from codelens.processes.pool import WorkerPool
from codelens.worktree.repository import GitError

HEAD = ("name", "repository", "head", "language")


@dataclass(frozen=True, slots=True)
class LearnedRepository:
    """A repository: what tasks call it, OWNER/NAME on GitHub, the commit that is its last, and its main language."""

    name: str
    repository: str
    head: str
    language: str

    def clone(self, folder: Path) -> Path:
        """Its path in a folder of clones: OWNER+NAME/repo, OWNER+NAME or NAME. Raises UsageError if it is missing."""
        joined, own = self.repository.replace("/", "+"), self.repository.rpartition("/")[2]
        places = (folder / joined / "repo", folder / joined, folder / own)
        found = next((place for place in places if place.is_dir()), None)
        if found is None:
            raise UsageError(
                f"no clone of {self.repository} in {folder}",
                f"git clone https://github.com/{self.repository} {folder / own}",
            )
        return found


def read_manifest(path: Path | None = None) -> list[LearnedRepository]:
    """The rows of a manifest, by default the shipped one. Raises UsageError with the line for an invalid row."""
    try:
        text = (path or Path(__file__).with_name("repositories.tsv")).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        raise UsageError(f"{path}: {fault}") from None
    head, *lines = text.splitlines() or [""]
    hint = f"a table with tabs between its columns: {', '.join(HEAD)}"
    if tuple(head.split("\t")) != HEAD:
        raise UsageError(f"{path}:1: no such table", hint)
    found: dict[str, LearnedRepository] = {}
    for number, line in enumerate(lines, start=2):
        cells = line.split("\t")
        if len(cells) != len(HEAD) or not all(cells) or cells[0] in found:
            raise UsageError(f"{path}:{number}: no row, or a second one of its name: {line[:80]}", hint)
        found[cells[0]] = LearnedRepository(*cells)
    return list(found.values())


def write_measured(path: Path, fingerprint: str, measured: Sequence[Sample]) -> None:
    """Write the samples atomically. Raises OSError."""
    import numpy as np

    rows = [[m.task, m.repository, m.kind, m.shares, m.entries, len(m.credits)] for m in measured]
    record = json.dumps({"fingerprint": fingerprint, "rows": rows}).encode()
    beside = path.with_suffix(".part")
    with beside.open("wb") as file:
        np.savez_compressed(
            file,
            record=np.frombuffer(record, np.uint8),
            values=np.concatenate([m.values for m in measured]),
            credits=np.concatenate([m.credits for m in measured]),
            aside=np.concatenate([m.aside for m in measured]),
            loosely_right=np.concatenate([m.loosely_right for m in measured]),
        )
    beside.replace(path)


def read_measured(path: Path, fingerprint: str) -> list[Sample] | None:
    """The cached samples; None if the file is missing or has another fingerprint."""
    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as held:
            record = json.loads(held["record"].tobytes())
            if record["fingerprint"] != fingerprint:
                return None
            columns = [held[name] for name in ("values", "credits", "aside", "loosely_right")]
    except (OSError, ValueError, KeyError, EOFError, BadZipFile):
        return None
    found, at = [], 0
    for task, repository, kind, shares, entries, rows in record["rows"]:
        own = slice(at, at + rows)
        found.append(Sample(task, repository, kind, tuple(shares), entries, *(column[own] for column in columns)))
        at += rows
    return found


MANIFEST_TASKS = TaskCounts(commits=45, docs=22, identifiers=10, topics=30, queries=25)
"""Number of tasks per repository. Chosen so that each kind of query is worth the time to sample it."""
FIRST = Path(__file__).with_name("first.toml")
DECIDING = ("search", "text", "graph")
"""Packages whose sources decide what is measured of a tree; what decides an index, the index itself knows."""
MAKING = ("commits", "docstrings", "guides", "make_tasks", "queries", "tasks", "trees")
"""Modules of evaluation whose sources decide which tasks are made."""
DONE = "made"  # File with the fingerprint of the tasks next to it


@dataclass(frozen=True, slots=True)
class Source:
    """One repository, its clone and its working folder; absolute paths."""

    row: LearnedRepository
    clone: Path
    work: Path


def sources(rows: Sequence[LearnedRepository], clones: Path, work: Path) -> list[Source]:
    """The sources of all rows. Raises UsageError before any work if a clone is missing."""
    return [Source(row, row.clone(clones), work / row.name) for row in rows]


def measure_all(
    found: Sequence[Source], pool: WorkerPool | None, progress: ProgressSink | None = None
) -> Iterator[list[Sample]]:
    """Samples of each repository, in the order of the manifest. Raises UsageError if git cannot read one."""
    waiting = [pool.submit(measure_one, source) for source in found] if pool else []
    answers = (one.result() for one in waiting) if pool else map(measure_one, found)
    for done, (source, measured) in enumerate(zip(found, answers, strict=True), start=1):
        if progress:
            progress(Progress("repositories", done, len(found), source.row.name))
        yield measured


def measure_one(source: Source) -> list[Sample]:
    """Read the cached samples of a repository, or make, index and sample its tasks."""
    making, measuring = _fingerprints(source.row)
    kept = source.work / "measured.npz"
    if (measured := read_measured(kept, measuring)) is not None:
        return measured
    settings = replace(Settings(), jobs=1, weights=str(FIRST))
    done = source.work / DONE
    try:
        if not done.is_file() or done.read_text(encoding="utf-8") != making:
            if source.work.exists():
                _clear(source.work)
            tasks = source.work / "tasks"
            made = make_tasks(find_repository(source.clone), source.row.name, tasks, MANIFEST_TASKS, source.row.head)
            add_history(source.clone, tasks / f"{source.row.name}-commits", made.base)
            done.write_text(making, encoding="utf-8")
        batches = index_tasks(source.row.name, source.work, settings)
    except GitError as fault:
        raise UsageError(f"{source.clone}: {fault}", f"fetch {source.row.head} of {source.row.repository}") from None
    measured = [one for batch in batches for one in sample_tasks(batch.tasks, batch.index, settings)]
    if measured:
        write_measured(kept, measuring, measured)
    return measured


def add_history(clone: Path, tree: Path, base: str) -> None:
    """Give a tree the history of the clone up to the tree's commit, as a repository that borrows the clone's objects.

    Raises GitError.
    """
    objects = next(place for place in (clone / "objects", clone / ".git" / "objects") if place.is_dir())
    git = ["git", "-C", str(tree)]
    try:
        subprocess.run([*git, "init", "--quiet"], check=True, capture_output=True)
        borrowed = tree / ".git" / "objects" / "info" / "alternates"
        borrowed.write_text(f"{objects}\n", encoding="utf-8")
        subprocess.run([*git, "update-ref", "--no-deref", "HEAD", base], check=True, capture_output=True)
    except subprocess.CalledProcessError as fault:
        raise GitError(fault.stderr.decode("utf-8", "replace").strip()) from None


def _clear(work: Path) -> None:
    """Remove the files of another run, and nothing else. Raises OSError."""
    for entry in sorted(work.iterdir()):
        if entry.name == "tasks":
            shutil.rmtree(entry)
        elif entry.name in (DONE, "measured.npz", "measured.part") or entry.name.startswith(("commits.db", "docs.db")):
            entry.unlink()


def _fingerprints(row: LearnedRepository) -> tuple[str, str]:
    """Fingerprints of how tasks are made, and of how they are sampled."""
    making = repr([row.name, row.head, astuple(MANIFEST_TASKS), "with history", _sources("evaluation", MAKING)])
    ranked = {name: section for name, section in load_weights()["codelens"].items() if name != "features"}
    parts = [making, COLUMNS, ranked, FIRST.read_text(encoding="utf-8"), [_sources(name) for name in DECIDING]]
    return xxhash.xxh3_128_hexdigest(making.encode()), xxhash.xxh3_128_hexdigest(repr(parts).encode())


def _sources(package: str, modules: Collection[str] = ()) -> list[str]:
    """Name and hash of each module of a package, or of the named ones."""
    top = files("codelens").joinpath(package)
    names = [f"{name}.py" for name in modules] or [entry.name for entry in top.iterdir() if entry.name.endswith(".py")]
    with_names = [(name, top.joinpath(name).read_bytes()) for name in names]
    return [f"{name} {xxhash.xxh3_128_hexdigest(raw)}" for name, raw in sorted(with_names)]

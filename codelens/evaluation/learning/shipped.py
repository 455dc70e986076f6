"""The manifest's repositories → measured tasks of all of them, each repository's kept in a folder: what ships is learned from.

The candidates are measured under `first.toml`, not under the weights that hold now: so the same repositories give the same weights,
however often they are learned.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import astuple, replace
from importlib.resources import files
from pathlib import Path

import xxhash

from codelens.config import Settings, load_weights
from codelens.errors import UsageError
from codelens.evaluation.learning.batches import batches_of, make_batches
from codelens.evaluation.learning.cached import read_measured, write_measured
from codelens.evaluation.learning.manifest import Named
from codelens.evaluation.learning.measured import COLUMNS, Measured, measure_tasks
from codelens.evaluation.learning.recipe import MANIFEST_TASKS
from codelens.evaluation.made.folder import repository_meant
from codelens.nouns import dataclass
from codelens.processes.pool import WorkerPool
from codelens.runs import Progress, ProgressSink
from codelens.worktree.plumbing import GitError

FIRST = Path(__file__).with_name("first.toml")
DECIDING = ("search", "text", "graph")
"""Packages whose sources decide what is measured of a tree; what decides an index, the index itself knows."""
DONE = "made"
"""A file that says of which commit, and how, the tasks beside it were made."""


@dataclass(frozen=True, slots=True)
class Source:
    """One repository of the manifest, where its clone lies, and where its tasks and values are kept; absolute paths."""

    row: Named
    clone: Path
    work: Path


def sources(rows: Sequence[Named], clones: Path, work: Path) -> list[Source]:
    """All of them there, or a UsageError before any work."""
    return [Source(row, row.clone(clones), work / row.name) for row in rows]


def measure_all(
    found: Sequence[Source], pool: WorkerPool | None, progress: ProgressSink | None = None
) -> Iterator[list[Measured]]:
    """For each repository its measured tasks, in the order of the manifest. Raises UsageError for one that git cannot read."""
    waiting = [pool.submit(measure_one, source) for source in found] if pool else []
    answers = (one.result() for one in waiting) if pool else map(measure_one, found)
    for done, (source, measured) in enumerate(zip(found, answers, strict=True), start=1):
        if progress:
            progress(Progress("repositories", done, len(found), source.row.name))
        yield measured


def measure_one(source: Source) -> list[Measured]:
    """Read what is kept; make, index and measure what is not."""
    making, measuring = _fingerprints(source.row)
    kept = source.work / "measured.npz"
    if (measured := read_measured(kept, measuring)) is not None:
        return measured
    settings = replace(Settings(), jobs=1, weights=str(FIRST))
    done = source.work / DONE
    try:
        if done.is_file() and done.read_text(encoding="utf-8") == making:
            batches = batches_of(source.row.name, source.work, settings)
        else:
            if source.work.exists():
                _clear(source.work)
            repository = repository_meant(source.clone)
            _, batches = make_batches(
                repository, source.row.name, source.work, MANIFEST_TASKS, settings, source.row.head
            )
            done.write_text(making, encoding="utf-8")
    except GitError as fault:
        raise UsageError(f"{source.clone}: {fault}", f"fetch {source.row.head} of {source.row.repository}") from None
    measured = [one for batch in batches for one in measure_tasks(batch.tasks, batch.index, settings)]
    if measured:
        write_measured(kept, measuring, measured)
    return measured


def _clear(work: Path) -> None:
    """Take away what was made otherwise; nothing that is not ours. Raises OSError where that cannot be."""
    for entry in sorted(work.iterdir()):
        if entry.name == "tasks":
            shutil.rmtree(entry)
        elif entry.name in (DONE, "measured.npz", "measured.part") or entry.name.startswith(("commits.db", "docs.db")):
            entry.unlink()


def _fingerprints(row: Named) -> tuple[str, str]:
    """(of how tasks are made, of how they are measured)."""
    making = repr([row.name, row.head, astuple(MANIFEST_TASKS), _sources("evaluation/made")])
    ranked = {name: section for name, section in load_weights()["codelens"].items() if name != "features"}
    said = [making, COLUMNS, ranked, FIRST.read_text(encoding="utf-8"), [_sources(name) for name in DECIDING]]
    return xxhash.xxh3_128_hexdigest(making.encode()), xxhash.xxh3_128_hexdigest(repr(said).encode())


def _sources(package: str) -> list[str]:
    top = files("codelens").joinpath(package)
    with_names = [(entry.name, entry.read_bytes()) for entry in top.iterdir() if entry.name.endswith(".py")]
    return [f"{name} {xxhash.xxh3_128_hexdigest(raw)}" for name, raw in sorted(with_names)]

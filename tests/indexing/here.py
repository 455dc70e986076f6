"""Index runs whose files are derived in this process: the same function and the same pickles, without the workers' start."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pytest

from codelens.config import Settings
from codelens.index import Index
from codelens.indexing.derive import Job, Result
from codelens.indexing.embedding import open_worker_embedder
from codelens.indexing.workers import derive_file
from codelens.model.code import Skip, SkipReason
from codelens.model.extraction import DerivedDocument
from codelens.model.fast_dataclass import replace
from codelens.model.runs import IndexReport
from tests.dump import dump, orphans

T = TypeVar("T")


@dataclass
class Derivations:
    """Replaces the pool of workers, and records the derived paths."""

    derived: list[str] = field(default_factory=list)

    def __call__(self, jobs: Iterable[Job], settings: Settings, kept: object = None) -> Iterator[Result]:
        embedder = open_worker_embedder(settings)
        for job in jobs:
            result: Result
            try:
                result = derive_file(job, settings, embedder)
            except OSError as fault:
                result = Skip(job.seen.path, SkipReason.UNREADABLE, str(fault), job.seen.stamp)
            if isinstance(result, DerivedDocument):
                self.derived.append(job.seen.path)
                yield replace(sent(replace(result, parts=())), parts=map(sent, result.parts))
            else:
                yield sent(result)


def sent(value: T) -> T:
    """What arrives of a value that a worker sends."""
    copy: T = pickle.loads(pickle.dumps(value))
    return copy


def derive_here(monkeypatch: pytest.MonkeyPatch) -> Derivations:
    derivations = Derivations()
    monkeypatch.setattr("codelens.indexing.pipeline.derive_all", derivations)
    return derivations


@dataclass
class Tree:
    """A folder, its index, and what its runs derived."""

    root: Path
    index: Path
    derivations: Derivations

    def write(self, path: str, content: str | bytes) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file

    def run(self, *roots: Path, settings: Settings | None = None, **how: bool) -> IndexReport:
        """One index run; the report of the first root."""
        self.derivations.derived.clear()
        reports = Index.build(self.index, roots or [self.root], settings or Settings(), **how)  # type: ignore[arg-type]
        for report in reports:
            assert report.seen == report.indexed + sum(report.skipped.values())
            assert report.indexed == report.added + report.changed + report.renamed + report.unchanged
        assert [file.name for file in self.index.parent.glob("index.db*")] == ["index.db"]
        return reports[0]

    def rests(self, settings: Settings | None = None) -> None:
        """A further run finds nothing and leaves the file alone."""
        before = (self.index.read_bytes(), self.index.stat().st_mtime_ns)
        report = self.run(settings=settings)
        assert not report.wrote
        assert (report.added, report.changed, report.renamed, report.removed) == (0, 0, 0, 0)
        assert self.derivations.derived == []
        assert (self.index.read_bytes(), self.index.stat().st_mtime_ns) == before

    def equals_fresh(self, settings: Settings | None = None, *roots: Path) -> None:
        """The index holds what a new one would."""
        fresh = self.index.with_name("fresh.db")
        Index.build(fresh, roots or [self.root], settings or Settings())
        assert dump(self.index) == dump(fresh)
        assert orphans(self.index) == []
        fresh.unlink()

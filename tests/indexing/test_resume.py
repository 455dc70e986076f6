"""A build that is interrupted goes on where it was; and what cannot be read is left out with a reason."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from codelens.config import Settings
from codelens.index import Index
from codelens.model.runs import Progress
from tests.dump import dump
from tests.indexing.here import derive_here

pytestmark = pytest.mark.slow

COUNT = 400
"""More than a batch of linking, whose edges are committed together (`AT_ONCE` in codelens/linking/linker.py)."""
SETTINGS = Settings(jobs=1, fuzzy=False, vector=False)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    root.mkdir()
    for i in range(COUNT):
        text = f"from m{(i + 1) % COUNT} import f{(i + 1) % COUNT}\n\n\ndef f{i}():\n    return f{(i + 1) % COUNT}()\n"
        (root / f"m{i}.py").write_text(text)
    return root


class Interruption:
    """A watcher of progress that interrupts the run at a step of a phase, and knows how many steps each phase had."""

    def __init__(self, phase: str = "", at: int = 0) -> None:
        self._phase, self._at = phase, at
        self.first: dict[str, Progress] = {}

    def __call__(self, step: Progress) -> None:
        self.first.setdefault(step.phase, step)
        if step.phase == self._phase and step.done >= self._at:
            raise KeyboardInterrupt


def test_a_build_interrupted_while_linking_resumes_with_linking(tree: Path, tmp_path: Path) -> None:
    index = tmp_path / "index.db"
    with pytest.raises(KeyboardInterrupt):
        Index.build(index, [tree], SETTINGS, progress=Interruption("link", COUNT * 3 // 4))
    watched = Interruption()
    (report,) = Index.build(index, [tree], SETTINGS, progress=watched)
    assert report.resumed and report.unchanged == COUNT
    assert "index" not in watched.first  # nothing is parsed again
    assert watched.first["link"].total <= COUNT // 2
    Index.build(tmp_path / "fresh.db", [tree], SETTINGS)
    assert dump(index) == dump(tmp_path / "fresh.db")


def test_a_build_resumed_over_changed_files_links_all_again(tree: Path, tmp_path: Path) -> None:
    index = tmp_path / "index.db"
    with pytest.raises(KeyboardInterrupt):
        Index.build(index, [tree], SETTINGS, progress=Interruption("link", COUNT * 3 // 4))
    (tree / "m0.py").write_text("def other(): pass\n")
    (tree / "m1.py").unlink()
    Index.build(index, [tree], SETTINGS)
    Index.build(tmp_path / "fresh.db", [tree], SETTINGS)
    assert dump(index) == dump(tmp_path / "fresh.db")


def test_a_build_interrupted_while_reading_keeps_whole_batches(tree: Path, tmp_path: Path) -> None:
    index, settings = tmp_path / "index.db", Settings(jobs=1, fuzzy=False, vector=False, commit_bytes=2_000)
    with pytest.raises(KeyboardInterrupt):
        Index.build(index, [tree], settings, progress=Interruption("index", COUNT * 3 // 4))
    (report,) = Index.build(index, [tree], settings)
    assert report.resumed and report.unchanged > COUNT // 2


@contextmanager
def without_rights() -> Iterator[None]:
    """Run as a user other than root, so that file permissions apply."""
    if os.geteuid():
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.skipif(sys.platform == "win32", reason="rights are others there")
def test_folders_that_cannot_be_read_are_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    derive_here(monkeypatch)
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        place.chmod(0o777)
        with without_rights():
            for folder in ("closed", "listed", "fine"):
                (place / "tree" / folder).mkdir(parents=True)
                (place / "tree" / folder / "a.py").write_text("def f(): pass\n")
            (place / "tree" / "closed").chmod(0o000)
            (place / "tree" / "listed").chmod(0o444)
            (report,) = Index.build(place / "index.db", [place / "tree"], SETTINGS)
            (place / "tree" / "closed").chmod(0o755)
            (place / "tree" / "listed").chmod(0o755)
        assert (report.indexed, report.skipped) == (1, {"unreadable": 2})

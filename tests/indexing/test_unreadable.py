"""Folders and files that may not be read: each is a skip with its reason, and the run goes on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from codelens.config import Settings
from codelens.index import Index
from codelens.model.request import SearchOptions
from tests.indexing.here import Tree, derive_here

pytestmark = pytest.mark.skipif(os.name == "nt", reason="modes")
NOBODY = 65534


@pytest.fixture(scope="module", autouse=True)
def _loaded_modules(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What a run imports is there before the rights go: Python itself may lie where only root may read."""
    place = tmp_path_factory.mktemp("before")
    (place / ".git").mkdir()
    for name, text in (("a.py", "def wanted(): pass\n"), (".git/HEAD", "ref: refs/heads/main\n"), (".git/config", "")):
        (place / name).write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        derive_here(patch)
        Index.build(place / "index.db", [place], Settings())
    with Index.open(place / "index.db") as index:
        assert index.search("wanted", SearchOptions(literal=True)).hits and index.status(check=True)


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """Not in pytest's folder, which another run may close to other users at any time."""
    with TemporaryDirectory() as name:
        yield Path(name).resolve()


@pytest.fixture
def as_somebody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Root may read everything; so the effective user is another while the test runs, with a key of its own."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    if os.geteuid() != 0:
        yield
        return
    for folder in (tmp_path, *tmp_path.rglob("*")):
        os.chown(folder, NOBODY, NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


CLOSED = ("closed", "src/closed", ".codelens/notes", "src/.codelens", ".git", "src/.git", ".scip")


@pytest.mark.parametrize("mode", [0o000, 0o400, 0o100])
@pytest.mark.parametrize("name", CLOSED)
def test_an_unreadable_folder_does_not_end_the_run(name: str, mode: int, tree: Tree, as_somebody: None) -> None:
    tree.write("good.py", "def wanted(): pass\n")
    tree.write(f"{name}/inner.py", "def hidden_away(): pass\n")
    tree.write(f"{name}/index.scip", b"\0")
    closed = tree.root / name
    closed.chmod(mode)
    try:
        report = tree.run()
        assert report.added == 1
        with Index.open(tree.index) as index:
            assert [hit.unit.path for hit in index.search("wanted", SearchOptions(literal=True)).hits] == ["good.py"]
            index.status(check=True)
        if "." not in name:
            assert report.skipped.get("unreadable", 0) >= 1
        assert not tree.run().wrote
    finally:
        closed.chmod(0o700)


@pytest.mark.parametrize(
    "name", ["shut.py", ".gitignore", ".codelensignore", "src/.gitignore", ".gitattributes", "index.scip"]
)
def test_an_unreadable_file_does_not_end_the_run(name: str, tree: Tree, as_somebody: None) -> None:
    tree.write("good.py", "def wanted(): pass\n")
    tree.write(name, "*.log\n").chmod(0)
    tree.write(".git/HEAD", "ref: refs/heads/main\n")
    assert tree.run().added == 1

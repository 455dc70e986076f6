"""Another model: all vectors are computed again from the index, and never mixed with those of the old model."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from codelens.config import Settings
from codelens.embed.registry import open_embedder
from codelens.errors import UsageError
from codelens.index import Index
from codelens.indexing import files
from codelens.indexing.build import BUILDING
from codelens.indexing.embedding import update_vectors
from codelens.indexing.run import IndexRun, LazyTransaction
from codelens.model.request import SearchOptions
from codelens.model.runs import Progress
from codelens.store.store import Store
from codelens.worktree.files import hash_content
from tests.dump import dump
from tests.embed.models import make_model
from tests.indexing.here import Tree

SOURCES: dict[str, bytes] = {
    "a.py": b'import os\n\n\ndef first(path):\n    """Say first."""\n    return os.stat(path)\n',
    "lib/b.lua": b"local M = {}\nfunction M.greet(name) return name end\nreturn M\n",
    "docs/read.md": b"# Title\n\nWords here.\n\n## Part\n\nMore words.\n",
    "marked.py": b"\xef\xbb\xbf" + "class Größe:\n    def first(self):\n        return 'ß'\n\n    x = 1\n".encode(),
    "wide.py": "\ufeff# Größe\ndef greet(name):\n    'ü'\n    return name\n\n\nclass B:\n    def c(self): pass\n".encode(
        "utf-16-le"
    ),
    "old.py": "# Die Größe prüfen: für Bücher\ndef first(name):\n    'Prüfe die Länge'\n    return name\n".encode(
        "cp1252"
    ),
    "long.txt": b"reserve the stock of a reader\n" * 300,
}


@pytest.fixture
def sources(tree: Tree) -> Tree:
    for path, content in SOURCES.items():
        tree.write(path, content)
    return tree


def using(model: Path | str) -> Settings:
    return Settings(model=str(model))


def vectors(index: Path) -> list[object]:
    return list(dump(index)["vectors"])


def codes(index: Path, settings: Settings) -> list[str]:
    with Index.open(index, settings) as opened:
        return [notice.code for notice in opened.search("first", SearchOptions()).notices]


def test_a_changed_model_file_re_embeds_without_reading_or_parsing(
    sources: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = using(make_model(tmp_path / "m.model", seed=1))
    sources.run(settings=settings)
    before = vectors(sources.index)
    make_model(tmp_path / "m.model", seed=2)
    read = list[str]()
    monkeypatch.setattr(files, "hash_content", lambda raw: read.append("a file") or hash_content(raw))
    report = sources.run(settings=settings)
    assert sources.derivations.derived == read == []
    assert (report.unchanged, report.changed, report.wrote) == (len(SOURCES), 0, True)
    assert [n.text for n in report.notices] == [f"{len(SOURCES)} documents were embedded again, with made-2"]
    assert vectors(sources.index) != before
    sources.rests(settings)
    sources.equals_fresh(settings)


def test_vectors_follow_a_model_of_other_dimensions_and_back_to_hashing(sources: Tree, tmp_path: Path) -> None:
    sources.run(settings=using("hashing"))
    before = dump(sources.index)
    for dimensions in (32, 128):
        settings = using(make_model(tmp_path / f"{dimensions}.model", dimensions=dimensions))
        assert sources.run(settings=settings).unchanged == len(SOURCES)
        sources.equals_fresh(settings)
    sources.run(settings=using("hashing"))
    assert dump(sources.index) == before


def test_a_new_model_embeds_all_repositories_again(sources: Tree, tmp_path: Path) -> None:
    other = sources.root.with_name("other")
    shutil.copytree(sources.root, other)
    sources.run(sources.root, other, settings=using("hashing"))
    settings = using(make_model(tmp_path / "m.model"))
    sources.run(sources.root, settings=settings)
    assert codes(sources.index, settings) == []
    sources.equals_fresh(settings, sources.root, other)


def test_a_search_asks_the_model_that_made_the_index(sources: Tree, tmp_path: Path) -> None:
    model = make_model(tmp_path / "m.model")
    sources.run(settings=using(model))
    assert codes(sources.index, using("hashing")) == [], "the index says where its model lies"
    shutil.move(model, tmp_path / "moved.model")
    assert codes(sources.index, using("hashing")) == ["other-embedder"]
    assert codes(sources.index, using(tmp_path / "moved.model")) == [], "what it is called does not matter"
    make_model(model, seed=2)
    assert codes(sources.index, using(model)) == ["other-embedder"]


def test_a_refresh_keeps_the_model_of_the_index(sources: Tree, tmp_path: Path) -> None:
    settings = using(make_model(tmp_path / "m.model"))
    sources.run(settings=settings)
    sources.write("new.py", "def reserve(stock): pass\n")
    sources.run(settings=using("hashing"), as_indexed=True)
    sources.equals_fresh(settings)


def test_a_model_that_cannot_be_read_stops_the_run_before_it_does_anything(sources: Tree, tmp_path: Path) -> None:
    sources.run()
    before = sources.index.read_bytes()
    (tmp_path / "broken.model").write_bytes(b"codelens embedding 1\n\x05\0\0\0{}{}{")
    for model in ("nowhere.model", "broken.model", "."):
        with pytest.raises(UsageError):
            sources.run(settings=using(tmp_path / model))
        assert sources.index.read_bytes() == before


class Killed(BaseException):
    """In the place of a signal."""


def stop_at(number: int) -> Callable[[Progress], None]:
    def progress(step: Progress) -> None:
        if step.phase == "embed" and step.done == number:
            raise Killed

    return progress


def test_an_interrupted_update_leaves_the_old_vectors(sources: Tree, tmp_path: Path) -> None:
    sources.run(settings=using("hashing"))
    before = dump(sources.index)
    settings = using(make_model(tmp_path / "m.model"))
    with pytest.raises(Killed):
        Index.build(sources.index, [sources.root], settings, progress=stop_at(4))
    assert dump(sources.index) == before
    assert codes(sources.index, settings) == []
    sources.run(settings=settings)
    sources.equals_fresh(settings)


def test_a_build_resumed_with_another_model_has_only_its_vectors(sources: Tree, tmp_path: Path) -> None:
    building = sources.index.with_name(sources.index.name + BUILDING)
    first, second = (using(make_model(tmp_path / f"{seed}.model", seed)) for seed in (1, 2))
    batches = {"commit_bytes": 1}

    def cut_off(step: Progress) -> None:
        if step.phase == "index" and step.done == 3:
            raise Killed

    with pytest.raises(Killed):
        Index.build(sources.index, [sources.root], Settings(model=first.model, **batches), progress=cut_off)
    assert building.exists()
    for _ in range(2):
        with pytest.raises(Killed):
            Index.build(sources.index, [sources.root], Settings(model=second.model, **batches), progress=stop_at(1))
    with Store.write(building, sources.index) as store:
        others = store.documents.list_embedded_otherwise(open_embedder(second.model).compute_fingerprint())
    assert 0 < len(others) < 3, "batches stay"
    sources.run(settings=second)
    sources.equals_fresh(second)


def test_nothing_is_embedded_without_vectors(sources: Tree) -> None:
    settings = Settings(vector=False, model="nowhere")
    sources.run(settings=settings)
    with Store.write(sources.index) as store, LazyTransaction(store, None) as transaction:
        assert update_vectors(store, IndexRun(settings, store.path), transaction) == (0, 0)
        assert transaction.writes == 0
    sources.equals_fresh(settings)

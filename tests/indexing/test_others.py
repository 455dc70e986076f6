"""Indexes whose vectors are of models of others: made after the files, in any dimensions, and found again."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from codelens.config import Settings
from codelens.errors import EmbedderFault, UsageError
from codelens.index import Index
from codelens.model.request import SearchOptions
from codelens.model.search import SearchResult
from codelens.store.store import Store
from tests.dump import dump
from tests.embed.endpoints import Endpoint, endpoint, given
from tests.embed.folders import make_graph, make_table
from tests.indexing.here import Tree

SOURCES = {
    "a.py": "def first(path):\n    return open(path)\n\n\ndef greet(name):\n    return name\n",
    "lib/b.lua": "local M = {}\nfunction M.reserve(stock) return stock end\nreturn M\n",
    "read.md": "# Stock\n\nThe reader of a file.\n",
}


@pytest.fixture
def sources(tree: Tree, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Tree:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("CODELENS_API_KEY", raising=False)
    for path, content in SOURCES.items():
        tree.write(path, content)
    return tree


@pytest.fixture
def other() -> Iterator[Endpoint]:
    with endpoint() as found:
        yield found


def using(model: Path | str, allow_network: bool = False) -> Settings:
    return Settings(model=str(model), allow_network=allow_network)


def ask(index: Path, settings: Settings, query: str = "stock", mode: str = "hybrid") -> SearchResult:
    with Index.open(index, settings) as opened:
        return opened.search(query, SearchOptions(mode=mode))


def notices(index: Path, settings: Settings) -> list[str]:
    return [f"{n.code}: {n.text}" for n in ask(index, settings).notices]


@pytest.mark.slow
@pytest.mark.parametrize("make", [make_table, make_graph])
@pytest.mark.parametrize("dimensions", [3, 20, 64])
def test_folders_with_models_of_any_dimensions_are_used(
    make: Callable[..., Path], dimensions: int, sources: Tree, tmp_path: Path
) -> None:
    settings = using(make(tmp_path / "m", dimensions=dimensions))
    report = sources.run(settings=settings)
    assert [n.code for n in report.notices] == [], "what is new is not embedded anew"
    with Store.read(sources.index) as store:
        assert store.vectors.read_width() == -(-dimensions // 8) * 8
    found = ask(sources.index, settings, "def greet name return name", mode="vector")
    assert found.channels == ("vector",) and found.hits
    assert found.notices == ()
    sources.rests(settings)
    sources.write("new.py", "def stock(): pass\n")
    assert sources.run(settings=settings).added == 1
    sources.equals_fresh(settings)


@pytest.mark.slow
def test_an_index_can_change_its_model_and_change_back(sources: Tree, tmp_path: Path) -> None:
    sources.run(settings=using("hashing"))
    before = dump(sources.index)["vectors"]
    for make, name in ((make_table, "table"), (make_graph, "graph")):
        settings = using(make(tmp_path / name))
        report = sources.run(settings=settings)
        assert [n.text for n in report.notices] == [f"3 documents were embedded again, with {name}"]
        assert sources.derivations.derived == [], "nothing is parsed again"
        sources.equals_fresh(settings)
    sources.run(settings=using("hashing"))
    assert dump(sources.index)["vectors"] == before


@pytest.mark.slow
def test_a_missing_model_folder_disables_only_the_vector_channel(sources: Tree, tmp_path: Path) -> None:
    settings = using(make_graph(tmp_path / "m"))
    sources.run(settings=settings)
    shutil.rmtree(tmp_path / "m")
    found = ask(sources.index, settings)
    assert found.hits and "vector" not in found.channels
    (said,) = notices(sources.index, settings)
    assert said.startswith(f"no-model: no vector results: no model at {tmp_path / 'm'}; ")


@pytest.mark.slow
def test_a_model_folder_named_only_by_an_index_is_not_opened(sources: Tree, tmp_path: Path) -> None:
    sources.run(settings=using(make_graph(tmp_path / "m")))
    (said,) = notices(sources.index, using("hashing"))
    assert said.startswith("other-embedder: the vectors come from another embedder (m)")


def test_an_endpoint_is_used_if_allowed(sources: Tree, other: Endpoint) -> None:
    settings = using(other.setting, allow_network=True)
    sources.run(settings=settings)
    assert len(other.asked) == 1, "all that is small goes together"
    found = ask(sources.index, settings, "def greet name return name", mode="vector")
    assert found.hits and found.notices == ()
    assert other.asked[-1].body["input"] == ["def greet name return name"]
    sources.rests(settings)
    assert len(other.asked) == 2, "and what is known is not asked for"
    sources.equals_fresh(settings)


def test_a_search_without_network_permission_answers_without_vectors(sources: Tree, other: Endpoint) -> None:
    sources.run(settings=using(other.setting, allow_network=True))
    asked = len(other.asked)
    found = ask(sources.index, using(other.setting))
    assert found.hits and "exact" in found.channels and "vector" not in found.channels
    (said,) = notices(sources.index, using(other.setting))
    assert said.startswith("no-model: no vector results: made at 127.0.0.1:")
    assert "--allow-network" in said
    assert len(other.asked) == asked
    assert notices(sources.index, using("hashing", allow_network=True))[0].startswith("other-embedder: ")
    assert len(other.asked) == asked, "an index says nothing of where to send questions"


def test_a_run_without_network_permission_writes_nothing(sources: Tree, other: Endpoint) -> None:
    sources.run()
    before = sources.index.read_bytes()
    with pytest.raises(UsageError, match="not allowed"):
        sources.run(settings=using(other.setting))
    assert sources.index.read_bytes() == before
    assert other.asked == []


def test_a_failing_endpoint_disables_only_the_vector_channel(sources: Tree, other: Endpoint) -> None:
    settings = using(other.setting, allow_network=True)
    sources.run(settings=settings)
    other.answers = [given({}, 400)]
    found = ask(sources.index, settings)
    assert found.hits and "vector" not in found.channels
    other.answers = [given({}, 400)]
    (said,) = notices(sources.index, settings)
    assert said.startswith("no-embedding: no vector results: http://127.0.0.1:")
    other.dimensions = 30
    (said,) = notices(sources.index, settings)
    assert said.endswith(" gives 32 dimensions now, and the index has 16")


def test_similar_code_is_found_by_names_if_the_endpoint_fails(sources: Tree, other: Endpoint) -> None:
    settings = using(other.setting, allow_network=True)
    sources.run(settings=settings)
    other.answers = [given({}, 400)]
    with Index.open(sources.index, settings) as opened:
        found = opened.search("", SearchOptions(like="-", snippet="def greet(name): pass", snippet_language="python"))
    assert [n.code for n in found.notices if n.code == "no-embedding"]
    assert found.hits[0].unit.name == "greet"


def test_an_update_without_vectors_leaves_the_index_unchanged(sources: Tree, other: Endpoint) -> None:
    settings = using(other.setting, allow_network=True)
    sources.run(settings=settings)
    before = dump(sources.index)
    sources.write("new.py", "def added(): pass\n")
    other.answers = [given({}, 400)]
    with pytest.raises(EmbedderFault):
        sources.run(settings=settings)
    assert dump(sources.index) == before
    sources.run(settings=settings)
    sources.equals_fresh(settings)


def test_vectors_of_different_widths_are_never_stored_together(sources: Tree, other: Endpoint) -> None:
    settings = using(other.setting, allow_network=True)
    sources.run(settings=settings)
    before = dump(sources.index)
    other.dimensions = 30
    sources.write("new.py", "def added(): pass\n")
    with pytest.raises(EmbedderFault, match="of 16 and 32 dimensions") as told:
        sources.run(settings=settings)
    assert "--rebuild" in told.value.hint
    assert dump(sources.index) == before

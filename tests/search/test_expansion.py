"""Graph Memory's expansion over a small tree, by its profile and added to others."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from codelens.config import load_weights
from codelens.errors import UsageError
from codelens.index import Index
from codelens.model.search import Hit
from tests.search.trees import QUICK, STORE, Tree, ask_one, checked, find, names

MORE = {**STORE, "README.md": "# Bakery\n\nBread and cake.\n\n## Ovens\n\nHot and cold ovens for journal paper.\n"}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    tree = Tree(tmp_path_factory.mktemp("expansion"), MORE)
    tree.index().close()
    with Index.open(tree.db, QUICK) as opened:
        yield opened


def expansion(hit: Hit) -> str:
    return next((c.reason for c in hit.contributions if c.source == "expansion"), "")


def named(hits: tuple[Hit, ...], name: str) -> Hit:
    return next(h for h in hits if h.unit.qualified_name == name)


def test_neighbours_inherit_what_an_edge_keeps(index: Index) -> None:
    found = find(index, "post_entry", expand="bfs", limit=100).hits
    best, flush = named(found, "Ledger.post_entry"), named(found, "flush_pages")
    assert expansion(flush) == "0.8 of the score it comes from: reached from Ledger.post_entry, which calls it"
    assert flush.score == pytest.approx(0.8 * best.score)
    ledger = named(found, "Ledger")
    assert expansion(ledger) == "0.95 of the score it comes from: reached from Ledger.post_entry, which it contains"
    assert "sync_blocks" not in {h.unit.name for h in found}


def test_depth_and_decay(index: Index) -> None:
    far = find(index, "post_entry", expand="bfs", depth=2, limit=100).hits
    reason = expansion(named(far, "sync_blocks"))
    assert (
        reason
        == "0.64 of the score it comes from: reached from Ledger.post_entry, which calls flush_pages, which calls it"
    )
    decayed = find(index, "post_entry", expand="bfs", decay=0.5, limit=100).hits
    assert named(decayed, "flush_pages").score == pytest.approx(0.5 * named(decayed, "Ledger.post_entry").score)
    assert "flush_pages" not in names(find(index, "post_entry", expand="bfs", depth=0, limit=100))


def test_files_are_stations_and_no_results(index: Index) -> None:
    found = find(index, "`sync_blocks`", expand="bfs", depth=4, limit=100).hits
    assert all(h.unit.id > 0 for h in found)
    assert expansion(named(found, "flush_pages"))


def test_an_expansion_lowers_no_score(index: Index) -> None:
    before = {h.unit.id: h.score for h in find(index, "journal entry", expand="none", limit=1000).hits}
    after = {h.unit.id: h.score for h in find(index, "journal entry", expand="bfs", limit=1000).hits}
    assert before.keys() <= after.keys()
    assert all(after[unit] >= score for unit, score in before.items())


def test_the_walk_gives_way_to_another_expansion(index: Index) -> None:
    def sources(**options: str) -> set[str]:
        return {c.source for h in find(index, "journal entry", limit=100, **options).hits for c in h.contributions}

    assert "walk" in sources() & sources(profile="rrf", expand="walk")
    assert not {"walk", "expansion"} & (sources(expand="none") | sources(profile="rrf"))
    assert "walk" not in sources(expand="bfs")
    assert "expansion" in sources(expand="bfs") & sources(profile="rrf", expand="bfs")


def test_the_profile_leaves_out_what_is_under_its_minimum(index: Index) -> None:
    found = find(index, "write a journal entry", profile="graph-memory", limit=100)
    best = found.hits[0].score
    least = load_weights()["graph-memory"]["minimum"]
    assert all(h.score >= best * least["text" if h.unit.kind in ("section", "text") else "code"] for h in found.hits)
    lost = ask_one(index, "write a journal entry", "parse_form", profile="graph-memory").loss
    assert lost is not None
    lower = find(index, "write a journal entry", profile="graph-memory", limit=100, min_score=0.0)
    assert lower.total >= found.total


def test_graph_memory_joins_two_ranks_and_nothing_else(index: Index) -> None:
    """Of code and of documents alike: half of 1 / (60 + rank) by words, half by vectors."""
    asked: dict[str, Any] = {"profile": "graph-memory", "expand": "none", "min_score": 0.0, "limit": 1000}
    found = find(index, "journal paper entry", **asked)
    rankings = [found.trace.rankings[name] for name in ("exact", "vector")]
    ranks = [{match.unit: rank for rank, match in enumerate(ranking, start=1)} for ranking in rankings]
    assert {"method", "section"} <= {hit.unit.kind for hit in found.hits}
    assert {hit.unit.id for hit in found.hits} == ranks[0].keys() | ranks[1].keys()
    for hit in found.hits:
        parts = [0.5 / (60 + places[hit.unit.id]) for places in ranks if hit.unit.id in places]
        assert hit.score == pytest.approx(math.fsum(parts), abs=1e-15)


def test_graph_memory_shows_seeds_and_their_neighbours_alone(tmp_path: Path) -> None:
    """At most five seeds, by its top k; what else the words found is no result, and `why` says so."""
    files = {
        f"f{i}.py": f"def barge_{i}():\n    return crew_{i}()\n\n\ndef crew_{i}():\n    return hull_{i}()\n\n\n"
        f"def hull_{i}():\n    return {i}\n"
        for i in range(20)
    }
    asked: dict[str, Any] = {"profile": "graph-memory", "mode": "keyword", "min_score": 0.0, "limit": 100}
    with Tree(tmp_path, files).index() as index:
        every, seeds, near = (
            {hit.unit.name: hit.score for hit in find(index, "barge", **asked, **more).hits}
            for more in ({"expand": "none"}, {"depth": 0}, {})
        )
        assert (len(every), len(seeds)) == (20, 5)
        crews = {name: name.replace("barge", "crew") for name in seeds}
        assert near.keys() == {*seeds, *crews.values()}, "one hop, to no hull"
        assert all(near[crew] == pytest.approx(0.8 * near[name]) for name, crew in crews.items())
        loss = ask_one(index, "barge", min(every.keys() - seeds.keys()), **asked).loss
    assert loss is not None
    assert (loss.stage, loss.text) == ("not reached", "neither one of the first 5 nor a neighbour of theirs")


def test_all_of_a_long_body_is_found(tmp_path: Path) -> None:
    """Graph Memory reads 2,000 characters of a body; here its end is found by word and by vector, too."""
    body = "".join(f"    step_{i} = {i}\n" for i in range(400))
    body += "".join(f"    marsh_{i} = drain_swamp(mud, {i})\n" for i in range(60))
    source = f"def long_one():\n{body}    return quagmire\n\n\ndef short_one():\n    return 1\n"
    with Tree(tmp_path, {"a.py": source}).index() as index:
        found = find(index, "quagmire", profile="graph-memory", mode="keyword")
        assert [hit.unit.name for hit in found.hits] == ["long_one"]
        found = find(index, "bog and swamp", profile="graph-memory", mode="vector", expand="none")
        assert [hit.unit.name for hit in found.hits] == ["long_one"], "by the nearest of its pieces"


def test_literal_finds_have_no_minimum(index: Index) -> None:
    everywhere = {h.unit.id for h in find(index, '"entry"', limit=1000).hits}
    found = {h.unit.id for h in find(index, '"entry"', limit=1000, profile="graph-memory", expand="none").hits}
    assert found == everywhere


def test_units_that_join_pass_the_filters(index: Index) -> None:
    found = find(index, "post_entry path:store/ledger.py", expand="bfs", limit=100)
    assert {h.unit.path for h in found.hits} == {"store/ledger.py"}


@pytest.mark.parametrize(
    "options",
    [
        {"profile": "graph-memory"},
        {"profile": "graph-memory", "depth": 3},
        {"expand": "bfs", "depth": 2},
        {"profile": "knowing", "expand": "bfs"},
        {"profile": "rrf", "expand": "walk"},
        {"profile": "knowing", "depth": 1},
    ],
)
def test_every_sum_is_recomputed(index: Index, options: dict[str, str]) -> None:
    checked(index, "write a journal entry", **options)


def test_why_names_the_way_of_an_expansion(index: Index) -> None:
    told = ask_one(index, "post_entry", "flush_pages", expand="bfs")
    assert told.candidate is not None
    assert "0.8 of the score it comes from: reached from Ledger.post_entry, which calls it" in [
        c.reason for c in told.candidate.contributions
    ]


@pytest.mark.parametrize(
    "options", [{"expand": "sideways"}, {"depth": 2}, {"decay": 0.5}, {"expand": "walk", "decay": 0.5}]
)
def test_depth_and_decay_without_an_expansion_are_refused(index: Index, options: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        find(index, "entry", **options)


def test_a_note_reaches_the_notes_that_it_links_to_and_that_link_to_it(tmp_path: Path) -> None:
    notes: dict[str, str | bytes] = {
        ".codelens/notes/disputes.md": "---\ntitle: Disputes\n---\nSee [the ledger](ledger.md).\n",
        ".codelens/notes/ledger.md": "---\ntitle: Ledger\n---\nKeep books.\n",
    }
    with Tree(tmp_path, notes).index() as index:
        for query, other in (("disputes", "Ledger"), ("keep books", "Disputes")):
            hits = find(index, query, profile="graph-memory", kinds=("note",)).hits
            assert hits[1].unit.name == other
            assert hits[1].contributions[-1].source == "expansion"


def test_a_method_outside_of_its_type_is_a_member_of_it(tmp_path: Path) -> None:
    source = (
        "package sluice\n\n// Holds back a flood.\ntype Gate struct{}\n\nfunc (g *Gate) Raise() {}\n\nfunc Lower() {}\n"
    )
    with Tree(tmp_path, {"gate.go": source}).index() as index:
        hits = find(index, "flood", profile="graph-memory", mode="keyword").hits
        raised = next(hit for hit in hits if hit.unit.name == "Raise")
        assert (
            raised.contributions[-1].reason == "0.95 of the score it comes from: reached from Gate, which contains it"
        )

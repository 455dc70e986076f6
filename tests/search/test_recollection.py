"""Memory changes scores by separate contributions, with knowing's arithmetic; an empty memory changes nothing."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from codelens.config import load_weights
from codelens.errors import MemoryOff
from codelens.index import Index
from codelens.model.memory import Feedback, Place, make_file_place, make_place
from codelens.model.request import SearchOptions
from codelens.model.search import SearchResult
from codelens.render.records import to_json
from codelens.render.why_json import build_why_record, recompute_scores
from codelens.search.recollection import find_learnable_words, weigh_session, weigh_uses
from codelens.store.connection import remove_database
from codelens.store.records import Memory
from codelens.worktree.place import locate_memory
from tests.search.trees import QUICK, Tree, ask, find, names

FILES = {
    "ledger.py": '''\
from disk import flush_pages


class Ledger:
    """Keeps journal entries."""

    def post_entry(self, entry):
        """Write a journal entry."""
        flush_pages([entry])
        return entry
''',
    "disk.py": "def flush_pages(pages):\n    return len(pages)\n",
    "forms.py": "def parse_form(text):\n    return text.split('&')\n\n\ndef journal_form():\n    return 'journal entry'\n",
    "tools/drums.py": "def beat_slowly():\n    return 4\n",
}
POST = Place("tree", "ledger.py", "Ledger.post_entry", "method")
DRUMS = Place("tree", "tools/drums.py", "beat_slowly", "function")
QUERY = "write a journal entry"
NOW = 1_700_000_000
ON = replace(QUICK, memory=True)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path, FILES, ON)


@pytest.fixture
def index(tree: Tree) -> Iterator[Index]:
    with tree.index() as opened:
        yield opened


def remember(index: Index, query: str = QUERY, **options: Any) -> SearchResult:
    return find(index, query, memory=True, now=NOW, **options)


def parts(result: SearchResult, name: str) -> dict[str, tuple[float, str]]:
    """Source → (amount, reason) of what memory gave a hit."""
    hit = next(h for h in result.hits if h.unit.qualified_name == name)
    of_memory = ("useful", "useless", "session", "pin", "rating")
    return {c.source: (c.amount, c.reason) for c in hit.contributions if c.source in of_memory}


def told(index: Index, query: str = QUERY, **options: Any) -> str:
    """All that a search says, with each sum, but for how long it took."""
    return to_json(build_why_record(ask(index, query, **options), 0))


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["codelens", "knowing", "knowing-base", "rrf", "graph-memory"])
def test_a_cold_start_answers_to_the_byte_as_without_memory(index: Index, profile: str) -> None:
    cold = told(index, profile=profile, now=NOW)
    path = locate_memory(Path(index.info().path))
    assert told(index, profile=profile, now=NOW, memory=True) == cold
    assert not path.exists(), "searching makes no file"
    with Memory.open_for_writing(path):
        pass
    assert path.exists()
    assert told(index, profile=profile, now=NOW, memory=True) == cold
    with Memory.open_for_writing(path) as memory:
        memory.pin_place(Place("other", "elsewhere.py", "f", "function"), NOW)
    assert told(index, profile=profile, now=NOW, memory=True) == cold


@pytest.mark.parametrize("profile", ["rrf", "graph-memory"])
def test_profiles_without_weights_of_memory_do_without_it(index: Index, profile: str) -> None:
    index.open_notebook(now=NOW).pin("ledger.py")
    index.open_notebook(now=NOW).judge("Ledger.post_entry", True)
    assert told(index, profile=profile, memory=True) == told(index, profile=profile)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("useful", "useless", "amount"),
    [(1, 0, 0.25), (0, 1, -0.05), (0, 4, -0.05), (3, 1, 0.125), (1, 3, -0.025), (2, 1, 0.25 / 3)],
)
def test_feedback_by_knowings_arithmetic(index: Index, useful: int, useless: int, amount: float) -> None:
    before = find(index, QUERY, profile="knowing")
    for verdict in [True] * useful + [False] * useless:
        index.open_notebook(now=NOW).judge("Ledger.post_entry", verdict)
    after = remember(index, profile="knowing")
    source = "useful" if amount > 0 else "useless"
    given = parts(after, POST.name)
    assert given.keys() == {source}
    assert given[source][0] == pytest.approx(amount, abs=1e-15)
    assert given[source][1] == f"useful {useful} of {useful + useless} time{'s' * (useful + useless > 1)}"
    scores = [{h.unit.qualified_name: h.score for h in result.hits} for result in (before, after)]
    assert scores[1][POST.name] - scores[0][POST.name] == pytest.approx(amount, abs=1e-12)
    assert [scores[1][name] for name in scores[0] if name != POST.name] == [
        scores[0][name] for name in scores[0] if name != POST.name
    ]


def test_feedback_counts_by_the_likeness_of_queries(index: Index) -> None:
    """The words of the judged query are write, journal and entry."""
    notebook = index.open_notebook(now=NOW)
    notebook.judge("Ledger.post_entry", True, QUERY)
    for query, share in (
        (QUERY, 1.0),
        ("journal of an entry", 4 / 9),
        ("entry of a form", 1 / 16),
        ("flush the pages", 0.0),
    ):
        found = parts(remember(index, query, profile="knowing", limit=100), POST.name)
        assert found.get("useful", (0.0, ""))[0] == pytest.approx(0.25 * share), query
    told_of = parts(remember(index, "entry of a form", profile="knowing", limit=100), POST.name)["useful"][1]
    assert told_of == "useful 1 of 1 time for queries that share up to 25% of their words with this one"
    notebook.judge("Ledger.post_entry", True)
    found = parts(remember(index, "flush the pages", profile="knowing", limit=100), POST.name)
    assert found["useful"] == (0.25, "useful 1 of 1 time, 1 more for other queries"), (
        "one without a query counts for all"
    )


def test_as_much_praise_as_blame_counts_nothing(index: Index) -> None:
    before = find(index, QUERY, profile="knowing")
    for verdict in (True, False):
        index.open_notebook(now=NOW).judge("Ledger.post_entry", verdict)
    after = remember(index, profile="knowing")
    assert [(h.unit.id, h.contributions) for h in after.hits] == [(h.unit.id, h.contributions) for h in before.hits]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "old", "new", "holds"),
    [
        ("ledger.py", "return entry", "return [entry]", False),
        ("disk.py", "return len(pages)", "return 0", False),
        ("ledger.py", "class Ledger:", "class Ledger(dict):", False),
        ("forms.py", "'&'", "';'", True),
        ("ledger.py", "from disk", "# moved down\nfrom disk", True),
    ],
)
def test_feedback_expires_when_the_code_around_changes(tree: Tree, path: str, old: str, new: str, holds: bool) -> None:
    """The unit itself, what it calls, what it lies in; neither what is elsewhere nor its line."""
    with tree.index() as index:
        index.open_notebook(now=NOW).judge("Ledger.post_entry", True)
        assert "useful" in parts(remember(index), POST.name)
    tree.write({path: FILES[path].replace(old, new)})
    with tree.index() as index:
        assert ("useful" in parts(remember(index), POST.name)) is holds
    tree.write({path: FILES[path]})
    with tree.index() as index:
        assert "useful" in parts(remember(index), POST.name), "what was judged is back"


def test_expired_feedback_next_to_later_feedback_counts_only_in_words(tree: Tree) -> None:
    with tree.index() as index:
        index.open_notebook(now=NOW).judge("Ledger.post_entry", False)
    tree.write({"ledger.py": FILES["ledger.py"].replace("return entry", "return [entry]")})
    with tree.index() as index:
        index.open_notebook(now=NOW).judge("Ledger.post_entry", True)
        amount, reason = parts(remember(index, profile="knowing"), POST.name)["useful"]
    assert (amount, reason) == (0.25, "useful 1 of 1 time, 1 more expired as the code changed")


def test_a_rebuilt_index_keeps_what_is_remembered(tree: Tree) -> None:
    with tree.index() as index:
        index.open_notebook(now=NOW).judge("Ledger.post_entry", True)
        before = told(index, memory=True, now=NOW)
    tree.write({"aaa_first.py": "def other():\n    return 1\n"})
    Index.build(tree.db, [tree.root], ON, rebuild=True)
    (tree.root / "aaa_first.py").unlink()
    with tree.index() as index:
        assert "useful" in parts(remember(index), POST.name)
        contributions = [
            e["candidate"]["contributions"] for e in json.loads(told(index, memory=True, now=NOW))["explanations"]
        ]
    assert contributions == [e["candidate"]["contributions"] for e in json.loads(before)["explanations"]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("age", "times", "amount"),
    [
        (0, 1, 0.10),
        (180, 1, 0.05),
        (360, 1, 0.025),
        (0, 2, 0.20),
        (0, 25, 0.20),
        (180, 3, 0.15),
        (180 * 7, 1, None),
        (-1, 1, None),
    ],
)
def test_the_session_fades_by_knowings_arithmetic(index: Index, age: int, times: int, amount: float | None) -> None:
    """.20 of a boost that halves in 180 s and is at most 2; under .01, and of what is still to come, nothing."""
    hit = next(h for h in find(index, QUERY).hits if h.unit.qualified_name == POST.name)
    for _ in range(times):
        index.record_answer(QUERY, [(1, hit.unit, hit.line)], now=NOW - age)
    given = parts(remember(index, profile="knowing"), POST.name)
    if amount is None:
        assert given == {}
    else:
        assert given["session"][0] == pytest.approx(amount, abs=1e-15)
        assert given["session"][1].endswith(f"the last {age} s ago")


def test_the_boost_of_a_session_fades_and_has_a_most() -> None:
    assert weigh_session([], NOW) == 0
    assert weigh_session([NOW - 180], NOW) == pytest.approx(0.25)
    assert weigh_session([NOW - 1190], NOW) == pytest.approx(math.exp(-1190 * math.log(2) / 180) / 2)
    assert weigh_session([NOW - 1200], NOW) == 0, "under .01"
    assert weigh_session([NOW] * 20, NOW) == 1


@pytest.mark.slow
@pytest.mark.parametrize(("times", "weight"), [(2, 0.3), (6, 0.55), (10, 0.8), (40, 0.8)])
def test_words_lead_to_what_was_used_for_them(index: Index, times: int, weight: float) -> None:
    """Once is chance; the weight grows to ten uses."""
    query = "rhythm of the metronome"
    assert DRUMS.name not in names(find(index, query, mode="keyword"))
    with Memory.open_for_writing(locate_memory(Path(index.info().path))) as memory:
        memory.learn_word("metronom", DRUMS, NOW)
    assert DRUMS.name not in names(remember(index, query, mode="keyword"))
    with Memory.open_for_writing(locate_memory(Path(index.info().path))) as memory:
        for _ in range(times - 1):
            memory.learn_word("metronom", DRUMS, NOW)
    result = remember(index, query, mode="keyword", profile="knowing")
    assert DRUMS.name in names(result)
    match = next(m for m in result.trace.rankings["equivalence"])
    assert match.raw_score == pytest.approx(weight)
    assert match.reason == f'"metronom…" led to it {times} times'
    drums = next(hit.unit.id for hit in result.hits if hit.unit.qualified_name == DRUMS.name)
    fused = dict(remember(index, query, mode="keyword", profile="knowing").trace.fused)
    share = load_weights()["knowing"]["channels"]["equivalence"] / 6.7  # of 2 : 2 : 2 and .7
    assert fused[drums] == pytest.approx(share / 61 * weight)  # its rank weighs no more than its uses say
    assert DRUMS.name not in names(remember(index, query + " path:ledger.py", mode="keyword", profile="knowing"))
    assert DRUMS.name not in names(remember(index, query, mode="keyword")), "the default does without"
    assert DRUMS.name not in names(find(index, query, mode="keyword"))


def test_nothing_is_learned_from_words_that_say_nothing() -> None:
    assert find_learnable_words(["fix the parse_form function of a file in 2024", "Parsing and forms"]) == (
        "pars",
        "form",
    )
    assert weigh_uses(2) == 0.3
    assert weigh_uses(10) == weigh_uses(11) == 0.8


def test_pins_ratings_and_uses_are_parts_of_the_sum(index: Index) -> None:
    notebook = index.open_notebook(now=NOW)
    notebook.pin("ledger.py")
    notebook.rate("Ledger.post_entry", 10)
    notebook.rate("ledger.py", 0)
    hits = find(index, QUERY).hits
    place = next(h for h in hits if h.unit.qualified_name == POST.name)
    index.record_answer(QUERY, [(1, place.unit, place.line)], now=NOW - 10_000)
    notebook.open_hit(1)
    given = parts(remember(index), POST.name)
    assert {source: reason for source, (_, reason) in given.items()} == {
        "pin": "pinned",
        "rating": "rated 10 of 10",
        "useful": "useful 1 of 1 time",
    }
    assert [given[s][0] for s in ("pin", "rating")] == pytest.approx([0.5 / 61, 0.4 / 61])
    assert parts(remember(index), "Ledger")["rating"][0] == pytest.approx(-0.4 / 61)
    for profile in ("codelens", "knowing"):
        record = build_why_record(ask(index, QUERY, memory=True, now=NOW, profile=profile), 0)
        count, differences = recompute_scores(json.loads(to_json(record)))
        assert (count > 2, differences) == (True, [])


def test_unused_hits_of_an_answer_with_used_ones_are_judged_useless(index: Index) -> None:
    notebook = index.open_notebook(now=NOW)
    shown = [(hit.rank, hit.unit, hit.line) for hit in find(index, QUERY).hits if hit.unit.path != "disk.py"]
    assert len(shown) > 2
    index.record_answer(QUERY, shown, now=NOW)
    index.record_answer(QUERY, shown, now=NOW)
    assert not any(known.feedback for known in notebook.load_records().values()), (
        "nothing was used, so nothing is known"
    )
    assert notebook.record_use(["disk.py"]) == []
    assert notebook.record_use(["ledger.py:8"]) == [POST]
    assert notebook.record_use(["Ledger.post_entry"]) == [POST]
    assert [known.feedback for known in notebook.load_records().values() if known.feedback] == [
        (Feedback(True, notebook.compute_digests([POST])[POST], True, QUERY),)
    ]
    index.record_answer(QUERY, [], now=NOW)
    judged = {place: [one.useful for one in known.feedback] for place, known in notebook.load_records().items()}
    assert judged == {make_place(unit): [make_place(unit) == POST] for _, unit, _ in shown}
    index.record_answer(QUERY, [], now=NOW)
    assert {place: len(known.feedback) for place, known in notebook.load_records().items()} == dict.fromkeys(judged, 1)


def test_sessions_do_not_settle_each_others_answers(index: Index) -> None:
    shown = [(hit.rank, hit.unit, hit.line) for hit in find(index, QUERY).hits]
    index.record_answer(QUERY, shown, session="a", now=NOW)
    index.record_answer("other", shown[:1], session="b", now=NOW)
    a = index.open_notebook("a", NOW)
    last = a.find_last_answer()
    assert last is not None and last.query == QUERY
    assert a.record_use(["ledger.py:8"]) == [POST]
    index.record_answer("other", [], session="b", now=NOW)
    assert not any(False in [f.useful for f in known.feedback] for known in a.load_records().values())


def test_the_same_memory_and_present_give_the_same_bytes(index: Index) -> None:
    index.record_answer(QUERY, [(h.rank, h.unit, h.line) for h in find(index, QUERY).hits], now=NOW - 60)
    index.open_notebook(now=NOW).judge("1", True)
    first = told(index, memory=True, now=NOW, profile="knowing")
    assert first == told(index, memory=True, now=NOW, profile="knowing")
    assert first != told(index, memory=True, now=NOW + 100, profile="knowing")
    assert first != told(index, profile="knowing")


def test_a_damaged_memory_is_reported_and_left_out(index: Index) -> None:
    path = locate_memory(Path(index.info().path))
    plain = find(index, QUERY)
    path.write_bytes(b"no database at all, by any reading of it" * 40)
    damaged = remember(index)
    assert [n.code for n in damaged.notices if n not in plain.notices] == ["memory"]
    assert [h.contributions for h in damaged.hits] == [h.contributions for h in plain.hits]
    assert remove_database(path)


def test_nothing_is_recorded_while_memory_is_off(tree: Tree) -> None:
    with tree.index():
        pass
    with Index.open(tree.db, QUICK) as index:
        notebook, path = index.open_notebook(now=NOW), locate_memory(tree.db)
        for ask_for in (
            lambda: notebook.pin("ledger.py"),
            lambda: notebook.unpin("ledger.py"),
            lambda: notebook.rate("ledger.py", 3),
            lambda: notebook.judge("ledger.py", True),
            lambda: notebook.record_use(["ledger.py"]),
            lambda: notebook.open_hit(1),
            lambda: index.record_answer("x", []),
        ):
            with pytest.raises(MemoryOff):
                ask_for()
        assert not path.exists()


def test_forgetting_by_what_the_index_no_longer_has(tree: Tree) -> None:
    with tree.index() as index:
        notebook = index.open_notebook(now=NOW)
        notebook.pin("beat_slowly")
        notebook.pin("ledger.py")
    (tree.root / "tools/drums.py").unlink()
    with tree.index() as index:
        notebook = index.open_notebook(now=NOW)
        assert notebook.forget("beat_slowly") == [DRUMS]
        assert list(notebook.load_records()) == [make_file_place(POST)]


def test_options_name_no_memory_by_themselves() -> None:
    assert not SearchOptions().memory

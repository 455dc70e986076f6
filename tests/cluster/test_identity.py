"""A search over shards gives the same bytes as one over a single index of the same repositories."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from codelens.cluster.shards import Shard
from codelens.cluster.sketch import build_sketch
from codelens.config import Settings
from codelens.index import Index
from codelens.model.code import UnitRow
from codelens.model.request import SearchOptions
from codelens.search.lines import LineSearch
from codelens.store.store import Store
from tests.cluster.local import LocalShards, Measured, sharded
from tests.cluster.queries import SHAPES, Question, answer_bytes, questions, why_bytes
from tests.commands import SAMPLES
from tests.tiers import examples

MOST_ROUNDS = 9
KNOWING = 33
"""The shape that asks for knowing's ranker, which follows edges step by step through names outside of all shards."""
MISTYPED = (4, 9)
"""Shapes that may have a mistyped word: the words that stand in for it are read in the texts of units that have them."""
MORE_ROUNDS = {KNOWING: 42} | dict.fromkeys(MISTYPED, 15)
SLACK = 2  # Rounds more that rare stages take: a second look at edges, or at what joins
UNLIMITED = Settings(query_seconds=0)
GROUPS = (("a/shop", "a/notes"), ("b/shop",), ("b/notes", "c/shop"))
"""The repositories of each shard. Most units are in several, so that ties run over all shards; names need their folders."""


class Both:
    """The same repositories in one index and in shards."""

    def __init__(self, one: Store, shards: Sequence[Store]) -> None:
        self.one, self.shards = one, shards
        self.measured = Measured(LocalShards([Shard(store) for store in shards]))
        self.many = sharded(one.path, shards, self.measured)
        rows = (unit for d in one.documents.read_rows() for unit in one.units.list_in_document(d.id))
        self.units: list[UnitRow] = sorted(rows, key=UnitRow.content_order)
        self.names = [row.name for row in one.documents.list_repositories()]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    with built(tmp_path_factory.mktemp("fleet"), copies=1) as found:
        yield found


@pytest.fixture(scope="module")
def larger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    """Each file of the repositories is there several times."""
    with built(tmp_path_factory.mktemp("larger"), copies=6) as found:
        yield found


@contextmanager
def built(folder: Path, copies: int) -> Iterator[Both]:
    for group in GROUPS:
        for place in group:
            for copy in range(copies):
                shutil.copytree(
                    SAMPLES / place.rpartition("/")[2] / "repo",
                    folder / place / (f"c{copy}" * (copy > 0)),
                    dirs_exist_ok=True,
                )
    extra = folder / "b/shop/only_here.py"
    extra.write_text("def settle_invoice(amount):\n    return format_money(amount)\n")
    files = [folder / "one.db", *(folder / f"{number}.db" for number in range(len(GROUPS)))]
    held: list[Sequence[str]] = [[place for group in GROUPS for place in group], *GROUPS]
    for file, places in zip(files, held, strict=True):
        Index.build(file, [folder / place for place in places], UNLIMITED)
    with ExitStack() as stack:
        one, *shards = [stack.enter_context(Store.read(file)) for file in files]
        yield Both(one, shards)


def asked(both: Both, number: int, seed: int) -> list[Question]:
    return list(questions(both.units, both.names, number, seed))


def test_answers_are_the_same_bytes(both: Both) -> None:
    for question in asked(both, examples(400), seed=1):
        assert answer_bytes(question, both.many, UNLIMITED) == answer_bytes(question, both.one, UNLIMITED), question


@pytest.mark.slow
def test_sketches_save_messages_and_change_no_answer(both: Both) -> None:
    """Three shards have the names, and one has `settle_invoice`. Vectors are compared in all of them, so `mode` is exact."""
    sketches = {number: build_sketch(store) for number, store in enumerate(both.shards)}
    plain = ("settle_invoice", SearchOptions(limit=50, mode="exact"))
    messages = []
    for known in ({}, sketches):
        both.many.set_sketches(known)
        before = both.measured.traffic.messages
        assert answer_bytes(plain, both.many, UNLIMITED) == answer_bytes(plain, both.one, UNLIMITED)
        messages.append(both.measured.traffic.messages - before)
    for question in asked(both, 40, seed=3):
        assert answer_bytes(question, both.many, UNLIMITED) == answer_bytes(question, both.one, UNLIMITED), question
    both.many.set_sketches({})
    assert messages[1] < messages[0]


@pytest.mark.slow
def test_accounts_are_the_same_bytes(both: Both) -> None:
    for place, question in enumerate(asked(both, 24, seed=2)):
        unit = both.units[place * 37 % len(both.units)]
        target = f"{unit.repository}/{unit.path}:{unit.start_line}"
        expected = why_bytes(question, target, both.one, UNLIMITED)
        assert why_bytes(question, target, both.many, UNLIMITED) == expected, (question, target)


def test_ties_run_over_shards(both: Both) -> None:
    """What is asked above would prove little if each shard's hits were its own."""
    found = answer_bytes(("format_money", SearchOptions(limit=50)), both.many, UNLIMITED)
    for name in ("a/shop", "b/shop", "c/shop"):
        assert f'"repository": "{name}"' in found


def rounds_of(both: Both, question: Question) -> int:
    before = both.measured.traffic.rounds
    answer_bytes(question, both.many, UNLIMITED)
    return both.measured.traffic.rounds - before


@pytest.mark.slow
@pytest.mark.parametrize("shape", range(len(SHAPES)))
def test_a_question_takes_few_rounds(both: Both, shape: int) -> None:
    found = [rounds_of(both, question) for question in asked(both, 120, seed=3)[shape :: len(SHAPES)]]
    assert max(found) <= MORE_ROUNDS.get(shape, MOST_ROUNDS), found


@pytest.mark.slow
@pytest.mark.parametrize(
    "question",
    [
        ("total of an order with a coupon", SearchOptions(limit=50)),
        ("/return [a-z]+/", SearchOptions(limit=50)),
        ('"return"', SearchOptions(limit=50)),
        ("return", SearchOptions(limit=50, mode="exact")),
        ("return", SearchOptions(limit=50, files_only=True)),
    ],
)
def test_rounds_do_not_grow_with_what_is_found(both: Both, larger: Both, question: Question) -> None:
    """A loop that asks for each file, unit or word would take more of them where there are ten times as many files."""
    for store in (both, larger):
        answer_bytes(question, store.many, UNLIMITED)  # what does not depend on a query is asked for once
    assert rounds_of(larger, question) <= rounds_of(both, question) + SLACK


@pytest.mark.parametrize("text", ["return", "format_money"])
def test_lines_are_read_many_files_in_a_round_and_forgotten(both: Both, larger: Both, text: str) -> None:
    options = SearchOptions(literal=True, limit=10_000)
    rounds, kept = [], []
    for stores in (both, larger):
        stores.many.ask.forget()  # what searches of other tests asked for
        before = stores.measured.traffic.rounds
        search = LineSearch(text, stores.many, options, UNLIMITED)
        found = [(file.repository, file.path, list(file.lines)) for file in search.find_files()]
        rounds.append(stores.measured.traffic.rounds - before)
        kept += [
            d.path
            for d in stores.many.documents.read_rows()
            if stores.many.ask.has_answer("documents.read_snapshot", d.id)
        ]
        wanted = LineSearch(text, stores.one, options, UNLIMITED).find_files()
        assert found == [(file.repository, file.path, list(file.lines)) for file in wanted] != []
    assert rounds[1] <= rounds[0] + 3, "six times as many files are some batches more"
    assert kept == []


@pytest.mark.parametrize("text", ["total of an order with a coupon", "cart.py", "cart"])
def test_a_search_for_files_asks_for_few_of_them(both: Both, text: str) -> None:
    found = answer_bytes((text, SearchOptions(files_only=True)), both.many, UNLIMITED)
    assert '"kind": "file"' in found
    assert not both.many.ask.has_answer("documents.read_rows", None), "the rows of all files were sent"


@pytest.mark.parametrize("text", ["cart.py", "total of an order"])
@pytest.mark.parametrize("files", [False, True])
def test_without_time_there_is_an_answer_that_says_so(both: Both, text: str, files: bool) -> None:
    found = answer_bytes((text, SearchOptions(files_only=files)), both.many, Settings(query_seconds=1e-9))
    assert '"out-of-time"' in found


def test_nothing_that_is_sent_needs_the_process(both: Both) -> None:
    """`Measured` packs and unpacks each message."""
    before = both.measured.traffic.rounds
    answer_bytes(("settle invoice", SearchOptions()), both.many, UNLIMITED)
    assert both.measured.traffic.rounds > before
    assert both.measured.traffic.bytes > 0

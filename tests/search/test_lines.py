"""The search for lines over an index: which files, which lines, in which order, and what is read for them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from codelens.config import Settings
from codelens.errors import UsageError
from codelens.index import Index
from codelens.indexing import derive
from codelens.model.budget import TimeBudget
from codelens.model.request import SearchOptions
from codelens.model.search import MatchedLine
from codelens.search.lines import LineSearch
from codelens.store.documents import Documents
from tests.search.trees import QUICK, Tree

FILES = {
    "shop/cart.py": (
        "import os\n\n\nclass Cart:\n    def total(self):\n        return 1  # total of all\n\n"
        "    def clear(self):\n        pass\n\n\ndef total(cart):\n    return cart.total()\n"
    ),
    "shop/cart.go": "package shop\n\nfunc Total() int {\n\treturn 1\n}\n",
    "guide.md": "# Total\n\nThe total of a cart.\n",
    "latin.txt": "Gr\xf6\xdfe: total\n".encode("latin-1"),
    "crlf.txt": "total\r\nother\r\ntotal\r\n",
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    with Tree(tmp_path_factory.mktemp("lines"), FILES).index() as opened:
        yield opened


def lines(index: Index, query: str, **options: Any) -> list[str]:
    """path:number:text of each line; context has dashes."""
    with index.lines(query, SearchOptions(**({"limit": 1_000_000} | options))) as search:
        return [
            f"{file.path}{(mark := ':' if line.matched else '-')}{line.number}{mark}{line.text}"
            for file in search.find_files()
            for line in file.lines
        ]


def test_each_line_comes_once_in_the_order_of_paths(index: Index) -> None:
    """A class and its method hold the same line."""
    assert lines(index, "total", literal=True) == [
        "crlf.txt:1:total\r",
        "crlf.txt:3:total\r",
        "guide.md:1:# Total",
        "guide.md:3:The total of a cart.",
        "latin.txt:1:Größe: total",
        "shop/cart.go:3:func Total() int {",
        "shop/cart.py:5:    def total(self):",
        "shop/cart.py:6:        return 1  # total of all",
        "shop/cart.py:12:def total(cart):",
        "shop/cart.py:13:    return cart.total()",
    ]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("total kind:method", ["shop/cart.py:5", "shop/cart.py:6"]),
        ("total kind:class", ["shop/cart.py:5", "shop/cart.py:6"]),
        ("total kind:method sym:Cart.", ["shop/cart.py:5", "shop/cart.py:6"]),
        ("total lang:py -kind:class", ["shop/cart.py:12", "shop/cart.py:13"]),
        ("total lang:go", ["shop/cart.go:3"]),
        ("total path:shop -lang:py", ["shop/cart.go:3"]),
        ("return (lang:go OR kind:method)", ["shop/cart.go:4", "shop/cart.py:6"]),
        ("sym:total lang:py", ["shop/cart.py:5", "shop/cart.py:12"]),
        ("lang:go", ["shop/cart.go:1", "shop/cart.go:2", "shop/cart.go:3", "shop/cart.go:4", "shop/cart.go:5"]),
        ("total cart", ["guide.md:3", "shop/cart.py:12", "shop/cart.py:13"]),
        ("größe", ["latin.txt:1"]),
        ("nowhere", []),
    ],
)
def test_conditions_hold_for_the_place_of_a_line(index: Index, query: str, found: list[str]) -> None:
    assert [
        line.rpartition(":")[0] if line.count(":") < 3 else ":".join(line.split(":")[:2])
        for line in lines(index, query)
    ] == found


def test_reverse_turns_files_round_and_not_their_lines(index: Index) -> None:
    asked: dict[str, Any] = {"literal": True, "languages": ("python", "go")}
    forward = lines(index, "return", **asked)
    assert lines(index, "return", **asked, reverse=True) == [*forward[1:], forward[0]], (
        "files turn round, their lines do not"
    )
    assert sorted(lines(index, "return", **asked, sort="modified")) == sorted(forward)


def test_a_limit_counts_lines_over_all_files(index: Index) -> None:
    every = lines(index, "total", literal=True)
    for at in range(len(every) + 1):
        assert lines(index, "total", literal=True, limit=3, offset=at) == every[at : at + 3]
    assert lines(index, "total", literal=True, limit=0) == []


def test_context_is_each_line_once(index: Index) -> None:
    asked = lines(index, "total", literal=True, languages=("python",), context_before=1, context_after=2)
    assert [line.removeprefix("shop/cart.py")[:3].rstrip(":-") for line in asked] == [
        *("-4", ":5", ":6", "-7", "-8", "-11", ":12", ":13")
    ]


def test_files_without_a_matching_line_are_listed(index: Index) -> None:
    with index.lines("total", SearchOptions(limit=1000, case="yes")) as search:
        assert [file.path for file in search.find_files_without()] == ["shop/cart.go"]
    with index.lines("nowhere lang:go", SearchOptions(limit=1000)) as search:
        assert [file.path for file in search.find_files_without()] == ["shop/cart.go"], "conditions choose the files"


def test_as_a_result_each_line_lies_in_its_innermost_unit(index: Index) -> None:
    result = index.search_lines("total", SearchOptions(literal=True, limit=2, offset=6, context_after=1))
    first, second = result.hits
    assert (first.unit.qualified_name, first.line, first.column, first.rank) == ("Cart.total", 5, 9, 7)
    assert [line.text for line in first.snippet] == ["    def total(self):", "        return 1  # total of all"]
    assert (second.score, second.channels, second.contributions) == (0.0, {}, ())
    assert (result.total, result.left_out, result.channels) == (10, 2, ("lines",))
    carriage = index.search_lines("other", SearchOptions(literal=True, limit=1)).hits[0]
    assert (carriage.unit.name, carriage.snippet[0].text) == ("crlf.txt", "other")


@pytest.mark.parametrize(
    ("query", "alone"),
    [
        ('"a b"', True),
        ("/a+/", True),
        ("content:a", True),
        ('"a" lang:py -is:test', True),
        ('"a" -"b"', True),
        ('"a" OR /b/', True),
        ('"a" "b"', False),
        ('"a" b', False),
        ('"a" OR b', False),
        ("a b", False),
        ("-a", False),
        ("lang:py", False),
        ("", False),
    ],
)
def test_a_query_whose_only_text_is_exact_asks_for_lines(query: str, alone: bool) -> None:
    assert Index.parse(query, SearchOptions()).asks_for_lines is alone
    assert not query or Index.parse(query, SearchOptions(literal=True)).asks_for_lines


def test_only_files_with_the_trigrams_are_read(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    snapshot = Documents.read_snapshot

    def noted(self: Documents, document: Any) -> bytes:
        read.append(document)
        return snapshot(self, document)

    monkeypatch.setattr(Documents, "read_snapshot", noted)
    assert len(lines(index, "package", literal=True)) == 1
    assert len(read) == 1
    with index.lines("total", SearchOptions(limit=1000)) as search:
        next(search.find_files())
    assert len(read) == 2, "files are read as they are asked for"


def test_without_trigrams_the_lines_are_the_same(tmp_path: Path, index: Index) -> None:
    with Tree(tmp_path, FILES, Settings(jobs=1, fuzzy=False)).index() as plain:
        for query in ("total", "total cart", "/t.t/", "-total lang:py"):
            assert lines(plain, query) == lines(index, query)


def test_a_pattern_without_end_is_an_error(tmp_path: Path) -> None:
    """An answer that is not complete must not look as if it were."""
    slow = Settings(jobs=1, query_seconds=0.2)
    ends = pytest.raises(UsageError, match=r"over 0.2 s, so the answer ends at slow.txt")
    with Tree(tmp_path, {"slow.txt": f"{'a' * 60}!\n"}, slow).index() as opened, ends:
        lines(opened, "(a|aa)+$", regex=True)


def test_all_files_together_have_one_time_limit(index: Index) -> None:
    """Whenever it is spent, the lines found by then are the first ones, and an error names the file."""
    whole, cut = lines(index, "/t.t/"), 0
    for leap in range(60):
        looks = count()
        found = list[str]()
        with index.lines("/t.t/", SearchOptions(limit=1000)) as search:
            search.budget = TimeBudget(1.0, lambda looks=looks, leap=leap: float(next(looks) >= leap))  # type: ignore[misc]
            try:
                for file in search.find_files():
                    found += [f"{file.path}:{line.number}:{line.text}" for line in file.lines]
            except UsageError as fault:
                cut += 1
                assert str(fault).startswith("the regular expression took over 2 s, so the answer ends at ")
            else:
                assert found == whole
        assert found == whole[: len(found)]
    assert cut >= len({line.partition(":")[0] for line in whole})


def test_the_time_that_texts_and_readers_take_is_not_counted() -> None:
    now = [0.0]
    budget = TimeBudget(2.0, lambda: now[0])
    now[0] = 1.5
    budget.grant(0.5)
    assert budget.left == 1.0
    with budget.pause():
        now[0] = 100.0
    assert budget.left == 1.0
    budget.grant(50.0)
    assert budget.left == 2.0, "no more than the whole"


WORDS = [f"line {n} of many, with a needle" if n % 70 == 0 else f"line {n} of many" for n in range(2000)]


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_large_files_are_searched_part_by_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: str) -> None:
    monkeypatch.setattr(derive, "LARGE_SIZE", 5_000)
    monkeypatch.setattr(derive, "PART_SIZE", 2_000)
    text = ends.join(WORDS)
    with Tree(tmp_path, {"long.txt": text}, QUICK).index() as opened:
        carriage = ends[:-1]
        expected = [f"long.txt:{n + 1}:{line}{carriage}" for n, line in enumerate(WORDS) if "needle" in line]
        assert lines(opened, "needle", literal=True) == expected
        assert len(lines(opened, "line", literal=True)) == 2000
        around = lines(opened, "needle", literal=True, context_before=30, context_after=45)
        assert [line.replace("-", ":") for line in around] == [
            f"long.txt:{n + 1}:{line}{carriage if n + 1 < len(WORDS) else ''}" for n, line in enumerate(WORDS)
        ][: len(around)]
        assert len(around) == 2000
        assert len(lines(opened, "needle", literal=True, invert=True)) == 2000 - len(expected)


def test_a_line_over_several_parts_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derive, "LARGE_SIZE", 5_000)
    monkeypatch.setattr(derive, "PART_SIZE", 2_000)
    monkeypatch.setattr(derive, "MOST_HELD", 1_000)
    text = "first\n" + "word " * 3000 + "needle\nlast needle\n"
    with Tree(tmp_path, {"wide.txt": text}, Settings(jobs=1, include_vendored=True)).index() as opened:
        found = lines(opened, "needle", literal=True)
        assert [line.split(":")[1] for line in found] == ["2", "3"]
        assert lines(opened, "word", literal=True)[0] == f"wide.txt:2:{text.splitlines()[1]}"


def test_nothing_is_kept_of_what_was_given(index: Index) -> None:
    """Lines come from a generator: who stops early reads no further file."""
    with index.lines("total", SearchOptions(limit=1000)) as search:
        assert isinstance(search, LineSearch)
        file = next(search.find_files())
        assert isinstance(next(file.lines), MatchedLine)

"""Files as hits: by name, by what they define and import, by meaning; each score the sum of what it tells."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from codelens.config import load_weights
from codelens.errors import TargetError, UsageError
from codelens.index import Index
from codelens.model.search import SearchResult, WhyResult
from codelens.render.records import to_json
from codelens.render.why_json import build_why_record, recompute_scores
from tests.commands import Run
from tests.search.trees import Tree, ask, ask_one, find, paths

pytestmark = pytest.mark.usefixtures("plain_environment")

FILES = {
    "src/search/embedder.ts": "export function toVector(text: string) { return text.length; }\n",
    "src/search/index.ts": 'import { toVector } from "./embedder";\nexport class EmbedderIndex {\n  find() { return 1; }\n}\n',
    "src/login/session.py": (
        "import hashlib\n\n\ndef verify_password(user, password):\n    return True\n\n\nclass Session:\n    pass\n"
    ),
    "src/login/__init__.py": "",
    "src/shop/__init__.py": "from shop.cart import Cart\n",
    "src/shop/cart.py": "class Cart:\n    def add_item(self, item):\n        return item\n",
    "tests/test_cart.py": "from shop.cart import Cart\n\n\ndef test_cart():\n    Cart()\n",
    "docs/guide.md": "# Checkout\n\nWords.\n\n## Paying\n\nMore words.\n",
    "LICENSE": "No words of code.\n",
    "empty.txt": "",
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    made = Tree(tmp_path_factory.mktemp("files"), FILES)
    made.index().close()
    return made


@pytest.fixture
def index(tree: Tree) -> Iterator[Index]:
    with Index.open(tree.db, tree.settings) as opened:
        yield opened


def files(index: Index, query: str, **options: Any) -> SearchResult:
    return find(index, query, files_only=True, **{"limit": 10, **options})


def why(index: Index, query: str, *targets: str, **options: Any) -> WhyResult:
    return ask(index, query, *targets, files_only=True, **{"limit": 10, **options})


@pytest.mark.parametrize("path", sorted(FILES))
def test_a_file_is_found_by_its_name_and_by_its_path(index: Index, path: str) -> None:
    assert paths(files(index, path))[0] == path
    name = path.rpartition("/")[2]
    same = sorted(p for p in FILES if p.rpartition("/")[2] == name)
    assert sorted(paths(files(index, name))[: len(same)]) == same


def test_a_name_in_another_case_or_in_a_sentence_is_the_file_too(index: Index) -> None:
    assert paths(files(index, "Embedder.TS"))[0] == "src/search/embedder.ts"
    assert paths(files(index, "where is search/embedder.ts used"))[0] == "src/search/embedder.ts"


@pytest.mark.parametrize(
    ("query", "path", "reason"),
    [
        ("verify password", "src/login/session.py", "defines verify, password"),
        ("hashlib", "src/login/session.py", "imports hashlib"),
        ("login", "src/login/session.py", "name login"),
        ("paying checkout", "docs/guide.md", "defines paying, checkout"),
    ],
)
def test_a_file_is_found_by_what_it_says_of_itself(index: Index, query: str, path: str, reason: str) -> None:
    first = files(index, query, mode="keyword").hits[0]
    assert first.unit.path == path
    assert reason in first.contributions[0].reason


def test_a_file_is_found_by_meaning(index: Index) -> None:
    found = files(index, "authentication", mode="vector")
    assert found.hits[0].unit.path == "src/login/session.py"
    assert "cosine" in found.hits[0].contributions[0].reason


def test_a_file_has_a_vector_of_its_own(tree: Tree) -> None:
    """Of its path and exports, or its path and title: graph-memory uses nothing else, and a file without any text has one."""
    asked = {"profile": "graph-memory", "mode": "vector"}
    with Index.open(tree.db, tree.settings) as opened:
        first = files(opened, "authentication", **asked).hits[0]
        assert first.unit.path == "src/login/session.py"
        assert re.fullmatch(r"rank 1: cosine \d\.\d{3}", first.contributions[0].reason)
        assert paths(files(opened, "checkout", **asked))[0] == "docs/guide.md"
        assert "src/login/__init__.py" in paths(files(opened, "login", mode="vector"))


def test_the_vector_of_a_file_follows_its_path_and_its_exports(tmp_path: Path) -> None:
    tree = Tree(tmp_path, {"a/one.py": "def reserve_seat(): pass\n", "b/two.py": "def paint_wall(): pass\n"})
    tree.index().close()

    def nearest() -> str:
        with Index.open(tree.db, tree.settings) as opened:
            return paths(files(opened, "booking a seat", profile="graph-memory", mode="vector"))[0]

    assert nearest() == "a/one.py"
    (tree.root / "b/two.py").write_text("def book_seat(): pass\n\n\ndef booking_of_seat(): pass\n")
    (tree.root / "a/one.py").write_text("def mix_colour(): pass\n")
    tree.index().close()
    assert nearest() == "b/two.py"
    (tree.root / "b/two.py").rename(tree.root / "b/three.py")
    tree.index().close()
    assert nearest() == "b/three.py"


def test_a_hit_is_the_whole_file(index: Index) -> None:
    hit = files(index, "session.py").hits[0]
    source = FILES["src/login/session.py"]
    assert (hit.unit.kind, hit.unit.name, hit.unit.qualified_name) == ("file", "session.py", "session.py")
    assert (hit.unit.span.start, hit.unit.span.end, hit.unit.end_line) == (0, len(source), source.count("\n"))
    assert hit.unit.doc == "verify_password, Session"
    assert hit.snippet[0].text in source.splitlines()


def test_tests_rank_below_what_they_test_unless_the_query_asks_for_tests(index: Index) -> None:
    assert paths(files(index, "cart"))[:2] == ["src/shop/cart.py", "src/shop/__init__.py"]
    assert paths(files(index, "tests of the cart"))[0] == "tests/test_cart.py"
    plain = files(index, "cart", profile="graph-memory")
    assert {c.source for hit in plain.hits for c in hit.contributions} <= {"keyword", "vector"}


def test_filters_and_options_narrow_down(index: Index) -> None:
    assert set(paths(files(index, "cart lang:py -is:test"))) == {"src/shop/cart.py", "src/shop/__init__.py"}
    assert paths(files(index, "cart", globs=("tests/**",))) == ["tests/test_cart.py"]
    assert paths(files(index, '"No words"')) == ["LICENSE"]
    assert paths(files(index, "lang:ts", sort="path")) == ["src/search/embedder.ts", "src/search/index.ts"]
    assert paths(files(index, "words", kinds=("section",))) == ["docs/guide.md"]
    assert paths(files(index, "__init__.py", paths=("src/login",)))[0] == "src/login/__init__.py"
    assert not files(index, "nothing_of_that_kind_here", mode="keyword").hits


def test_the_minimum_is_a_share_of_the_best(index: Index) -> None:
    every = files(index, "cart", min_score=0.0, limit=100).hits
    for least in (0.3, 0.6, 1.0):
        kept = [h.unit.path for h in every if h.score >= least * every[0].score]
        assert paths(files(index, "cart", min_score=least, limit=100)) == kept
    assert files(index, "cart", limit=100).total == sum(h.score >= 0.3 * every[0].score for h in every)


def test_the_limit_changes_no_score(index: Index) -> None:
    five, one = files(index, "cart"), files(index, "cart", limit=1)
    assert (one.hits[0].score, one.total) == (five.hits[0].score, five.total)


@pytest.mark.parametrize("options", [{}, {"profile": "graph-memory"}, {"fusion": "minmax"}, {"mode": "keyword"}])
def test_every_score_is_the_sum_of_its_reasons(index: Index, options: dict[str, str]) -> None:
    for query in ("cart.py", "verify password", "cart", "lang:py"):
        explained = why(index, query, **options)
        assert explained.explanations
        assert recompute_scores(json.loads(to_json(build_why_record(explained, 0))))[1] == []


def test_why_tells_what_lost_a_file(index: Index) -> None:
    def stage(query: str, target: str, **options: Any) -> str:
        loss = why(index, query, target, **options).explanations[0].loss
        return loss.stage if loss else ""

    assert stage("cart", "src/shop/cart.py") == ""
    assert stage("cart", "Cart.add_item") == ""  # a symbol stands for its file
    assert stage("cart", "tests/test_cart.py", limit=1, min_score=0.0) == "beaten"
    assert stage("cart", "src/shop/cart.py", offset=1) == "offset"
    assert stage("cart", "tests/test_cart.py", min_score=1.0) == "below minimum"
    assert stage("cart", "LICENSE", mode="keyword") == "no channel"
    assert stage("cart lang:py", "LICENSE") == "filtered"
    assert stage("cart", "LICENSE", globs=("*.py",)) == "filtered"
    for absent in ("src/none.py", "nothing_named_so"):
        with pytest.raises(TargetError):
            why(index, "cart", absent)


def test_a_mistyped_name_finds_its_file(index: Index) -> None:
    for query in ("crat.py", "src/shop/crat.py", "cartt"):
        explained = why(index, query)
        assert explained.search.hits[0].unit.path == "src/shop/cart.py"
        assert "typing mistake" in explained.explanations[0].candidate.contributions[-1].reason


def test_a_part_of_a_name_finds_its_file(index: Index) -> None:
    assert files(index, "ca", mode="fuzzy").total == 0, "too short to say anything"
    first = files(index, "car", mode="fuzzy").hits[0]
    assert first.unit.path == "src/shop/cart.py"
    assert [part.reason for part in first.contributions] == ["its name has car"]


def test_words_that_stand_for_others_count_less(tmp_path: Path) -> None:
    tree = Tree(tmp_path, {"docs/authentication.md": "# Guide\n\nText.\n", "src/_auth.py": "def run():\n    pass\n"})
    with tree.index() as index:
        assert files(index, "_auth.py", profile="graph-memory").hits[0].unit.path == "src/_auth.py"


@pytest.mark.parametrize(
    "options",
    [
        {"like": "src/shop/cart.py"},
        {"mode": "exact"},
        {"mode": "fuzzy", "profile": "graph-memory"},
        {"weights": {"exact": 1.0}},
        {"depth": 1},
        {"intent": "path"},
        {"rerank": True},
    ],
)
def test_options_that_do_not_apply_to_files_are_refused(index: Index, options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        files(index, "cart", **options)


def test_a_search_for_units_finds_no_files(index: Index) -> None:
    assert ask_one(index, "cart", "Cart").rank == 1
    assert "file" not in {hit.unit.kind for hit in find(index, "cart").hits}


@pytest.mark.slow
def test_on_the_command_line(run: Run, indexed: Path) -> None:
    def asked(*arguments: str) -> str:
        ran = run(*arguments, cwd=indexed / "notes")
        assert ran.code == 0, ran.err
        return str(ran.out)

    assert asked("files", "auth.py", "-l").splitlines()[0] == "notes/auth.py"
    assert asked("files", "auth.py", "-m", "1").startswith("notes/auth.py:")
    assert asked("files", "auth.py", "--json") == asked("search", "--files-only", "auth.py", "--json")
    hits = json.loads(asked("files", "auth.py", "--json"))["results"]
    assert hits[0]["kind"] == "file"
    assert hits[0]["path"].endswith("notes/auth.py")
    for shown in ("--jsonl", "--vimgrep", "--csv", "--tsv", "--sarif", "--markdown", "--pretty", "-c", "-L"):
        assert asked("files", "password", shown)
    assert "named" in asked("why", "--all", "--files-only", "auth.py", "-m", "1")
    assert "all equal" in asked("why", "--files-only", "auth.py", "--check")
    assert len(asked("files", "a note of a user", "--min-score", "0").splitlines()) == 10


def test_the_defaults_by_kind_are_those_of_graph_memorys_pages() -> None:
    row = load_weights()["graph-memory"]
    assert (row["expansion"]["seeds"], row["expansion"]["depth"], row["results"]) == (5, 1, 5)
    assert row["minimum"] == {"text": 0.5, "code": 0.3, "skill": 0.3}
    assert (row["files"]["results"], row["files"]["minimum"], row["files"]["named"]) == (10, 0.3, 0.0)


def test_minimum_scores_differ_by_kind(tmp_path: Path) -> None:
    words = {f"w{i}.md": f"# {'Barge' if i < 20 else 'Page'} {i}\n\nA barge in words.\n" for i in range(60)}
    code = {f"c{i}.py": f"def unload_{i}():\n    barge = {i}\n    return barge\n" for i in range(150)}
    with Tree(tmp_path, {**words, **code}).index() as index:
        found = find(index, "barge", profile="graph-memory", expand="none", mode="keyword", limit=1000).hits
    shares: dict[bool, float] = {}
    for hit in found:
        is_text = hit.unit.kind in ("section", "text")
        shares[is_text] = min(shares.get(is_text, 1.0), hit.score / found[0].score)
    assert shares[True] >= 0.5
    assert 0.3 <= shares[False] < 0.5


LICENCE = "// Copyright 2024 The Brook Authors. All rights reserved.\n// Brook is under the MIT licence.\n\n"


def test_code_goes_before_what_is_written_about_it_and_its_licence_is_not_shown(tmp_path: Path) -> None:
    log = "# Brook log\n\n" + "\n\n".join(f"## Brook {i}\n\nBrook changed." for i in range(40))
    files = {
        "CHANGELOG.md": log,
        "README.md": "# Brook\n\nBrook is a brook.\n",
        "brook.go": f"{LICENCE}package brook\n\n// Flow flows.\nfunc Flow() int {{\n\treturn 1\n}}\n",
        "mill.go": f"{LICENCE}package mill\n\nfunc Grind() int {{\n\treturn 1\n}}\n",
    }
    with Tree(tmp_path, files).index() as index:
        hits = find(index, "brook", files_only=True).hits
        assert hits[0].unit.path == "brook.go"
        assert hits[0].line == 4
        assert any(part.reason == "its name is brook with an ending" for part in hits[0].contributions)
        shown = {hit.unit.path: hit.line for hit in find(index, "grind package", files_only=True).hits}
        assert shown["mill.go"] in (4, 6)
        assert find(index, "mill.go:6", files_only=True).hits[0].unit.path == "mill.go"
        by_meaning = find(index, "water wheel", files_only=True, mode="vector").hits
        assert all(line.number > 2 for hit in by_meaning if hit.unit.language == "go" for line in hit.snippet)

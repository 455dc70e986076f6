"""Searching small trees, end to end: conditions, literal text against a plain scan, options, encodings, freshness."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from codelens.config import Settings
from codelens.errors import QueryError, UsageError
from codelens.index import Index
from codelens.model.code import Freshness
from codelens.model.request import SearchOptions
from codelens.model.search import Hit
from tests.commands import SAMPLES, Run
from tests.search.trees import QUICK, Tree, find, functions, names, paths

pytestmark = pytest.mark.usefixtures("plain_environment")

SHOP = """\
class Cart:
    # the basket of a customer
    def add_item(self, item):
        total = "grand total"
        return total

    def addItem(self):
        pass


def parse_config(path):
    \"\"\"Reads the settings file.\"\"\"
    return open(path)


LIMIT = 10
"""
FILES: dict[str, str | bytes] = {
    "src/cart.py": SHOP,
    "src/cart.go": "package cart\n\n// AddItem puts an item into the Cart.\nfunc AddItem(item string) error {\n\treturn nil\n}\n",
    "src/Deep/store.ts": "/** Keeps things. */\nexport default class Store {\n  add_item(x: number) { return x; }\n}\n});\n",
    "tests/test_cart.py": "def test_add_item():\n    assert Cart().add_item(1)\n",
    "docs/cart.md": "# Cart\n\nThe cart keeps items. The 连接 stays open.\n\n## Totals\n\nA grand  total; naïve Straße ﬁn.\n",
    "a/same.py": "def same():\n    return 0\n",
    "b/same.py": "def same():\n    return 0\n",
    "wide.py": "连接 = 1\n\n\ndef 连接池():\n    return '😀 smile'\n",
    "signs.c": "int f(void) {\n  return a->b;\n}\n\n#define X 1\n};;\n",
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    made = Tree(tmp_path_factory.mktemp("search"), FILES)
    made.index().close()
    for age, path in enumerate(sorted(FILES)):
        os.utime(made.root / path, (1_700_000_000 + age, 1_700_000_000 + age))
    made.index().close()
    return made


@pytest.fixture(scope="module")
def index(tree: Tree) -> Iterator[Index]:
    with Index.open(tree.db, QUICK) as opened:
        yield opened


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    db = tmp_path_factory.mktemp("samples") / "index.db"
    Index.build(db, [SAMPLES / "notes/repo", SAMPLES / "shop/repo"], QUICK)
    with Index.open(db, QUICK) as opened:
        yield opened


def every(index: Index, query: str, **options: Any) -> list[Hit]:
    return list(find(index, query, **{"limit": 10_000, **options}).hits)


# Conditions

PASS: dict[str, Callable[[Hit], bool]] = {
    "lang:go": lambda h: h.unit.language == "go",
    "lang:py,go": lambda h: h.unit.language in ("python", "go"),
    "-lang:py": lambda h: h.unit.language != "python",
    "path:src/": lambda h: h.unit.path.startswith("src/"),
    "path:/src/*.py": lambda h: h.unit.path == "src/cart.py",
    "path:deep": lambda h: "/Deep/" in h.unit.path,
    "path:Deep/": lambda h: "/Deep/" in h.unit.path,
    "file:cart": lambda h: "cart" in h.unit.path.rpartition("/")[2],
    "file:*.md": lambda h: h.unit.path.endswith(".md"),
    "sym:add": lambda h: "add" in h.unit.name.lower(),
    "sym:addItem": lambda h: h.unit.name == "addItem",
    "sym:Cart.add": lambda h: h.unit.qualified_name.startswith("Cart.add"),
    "kind:class": lambda h: h.unit.kind == "class",
    "kind:func,method": lambda h: h.unit.kind in ("function", "method"),
    "repo:tree": lambda h: True,
    "repo:other": lambda h: False,
    "is:test": lambda h: h.unit.path.startswith("tests/"),
    "-is:test": lambda h: not h.unit.path.startswith("tests/"),
    "lang:py OR kind:class": lambda h: h.unit.language == "python" or h.unit.kind == "class",
    "(lang:go OR lang:ts) kind:class": lambda h: h.unit.language == "typescript" and h.unit.kind == "class",
    "NOT (lang:py OR is:test)": lambda h: h.unit.language != "python",
    "-(lang:py kind:class)": lambda h: not (h.unit.language == "python" and h.unit.kind == "class"),
    "lang:py -path:src NOT is:test": lambda h: h.unit.language == "python" and h.unit.path[:3] not in ("src", "tes"),
}


@pytest.mark.slow
@pytest.mark.parametrize("query", PASS)
def test_conditions_alone_find_all_that_pass(index: Index, query: str) -> None:
    """Compared with the same decided on every unit; with a word in front the conditions hold as well."""
    everything = every(index, "kind:" + ",".join(sorted({u.unit.kind for u in every(index, "path:*")})))
    expected = sorted(h.unit.id for h in everything if PASS[query](h))
    assert sorted(h.unit.id for h in every(index, query)) == expected
    ranked = every(index, f"item {query}")
    assert {h.unit.id for h in ranked} <= set(expected)
    assert all(PASS[query](h) for h in ranked)


def test_content_and_case(index: Index) -> None:
    assert {"Cart.add_item"} < set(names(find(index, 'content:"grand total"')))
    assert every(index, "content:cart case:yes", limit=100) != every(index, "content:cart", limit=100)
    assert not every(index, "content:CART"), "an upper-case letter means its case"
    assert every(index, "content:CART case:no")
    assert "addItem" in {h.unit.name for h in every(index, "sym:additem")}
    assert {h.unit.name for h in every(index, "sym:addItem")} == {"addItem"}


def test_words_in_an_or_must_occur(index: Index) -> None:
    found = every(index, "basket OR package")
    assert {h.unit.path for h in found} == {"src/cart.py", "src/cart.go"}
    assert {h.unit.path for h in every(index, "dd OR 连接")} == {"docs/cart.md", "wide.py"}, "as whole words"
    assert not [h for h in every(index, "item -basket") if (h.unit.path, h.unit.name) == ("src/cart.py", "Cart")]


def test_prose_never_fails(index: Index) -> None:
    for query in (
        "foo:bar",
        '"open',
        "(a",
        "a)",
        "OR",
        "NOT",
        "a OR",
        "lang:klingon",
        "kind:",
        "-",
        "()",
        '""',
        "``",
        "//",
    ):
        find(index, query)
    assert [n.code for n in find(index, "lang:pyton cart").notices]
    for query in ('"open', "(a", "a OR", "lang:klingon"):
        with pytest.raises(QueryError):
            find(index, query, strict_query=True)


# Literal text, against a plain scan

PHRASES = ["grand total", "grand  total", "dd_it", "->b", "});", "};;", "a", "::", "连接", "连", "😀", "naïve", "ﬁn", "the basket",
           "Keeps things", "export default", "return", "er's", "\t", " ", "def ", ")", "AddItem", "additem", "ITEM", "STRASSE",
           "straße", "不在", "no such text", "int f(void) {", '"""', "连接池():",
           "(self, item):\n        total", "e.\n\n## T", "\n\n\n",
           "0\n"]  # fmt: skip


def scan(tree: Tree, phrase: str, ignore: bool, word: bool = False) -> set[str]:
    """The files that contain the phrase, as ripgrep lists them."""
    pattern = re.compile(
        rf"(?<!\w){re.escape(phrase)}(?!\w)" if word else re.escape(phrase), re.IGNORECASE if ignore else 0
    )
    return {path for path in FILES if pattern.search((tree.root / path).read_text(encoding="utf-8"))}


@pytest.mark.parametrize("phrase", PHRASES)
def test_a_literal_query_finds_every_file(tree: Tree, index: Index, phrase: str) -> None:
    for mode in ("hybrid", "exact", "keyword", "fuzzy"):
        assert {h.unit.path for h in every(index, phrase, literal=True, case="yes", mode=mode)} == scan(
            tree, phrase, False
        )
    assert {h.unit.path for h in every(index, phrase, literal=True)} == scan(tree, phrase, phrase == phrase.lower())
    assert {h.unit.path for h in every(index, phrase, literal=True, case="no")} == scan(tree, phrase, True)
    if re.fullmatch(r"\w([ \w]*\w)?", phrase, re.ASCII):
        word = {h.unit.path for h in every(index, phrase, literal=True, case="no", word=True)}
        assert word == scan(tree, phrase, True, True)


@pytest.mark.slow
@pytest.mark.parametrize("phrase", [p for p in PHRASES if p.strip()])
def test_quotes_find_every_unit_with_the_text(tree: Tree, index: Index, phrase: str) -> None:
    """Every unit of the index whose own text holds it; at the line and column where it stands."""
    escaped = phrase.replace("\\", "\\\\").replace('"', '\\"')
    hits = every(index, f'"{escaped}" case:yes')
    held = {
        h.unit.id
        for h in every(index, "path:*")
        if phrase in (tree.root / h.unit.path).read_bytes()[h.unit.span.start : h.unit.span.end].decode()
    }
    assert held <= {h.unit.id for h in hits}
    for hit in hits:
        line = "\n".join((tree.root / hit.unit.path).read_text(encoding="utf-8").split("\n")[hit.line - 1 :])
        assert line.encode()[hit.column - 1 :].decode().startswith(phrase)
        assert line.encode("utf-16-le")[2 * (hit.column_utf16 - 1) :].decode("utf-16-le").startswith(phrase)


@pytest.mark.slow
def test_literal_text_of_the_samples_is_complete(samples: Index) -> None:
    """Pieces of lines of every file, from the inside of words too."""
    texts = {
        (name, str(p.relative_to(SAMPLES / name / "repo"))): p.read_text(encoding="utf-8")
        for name in ("notes", "shop")
        for p in (SAMPLES / name / "repo").rglob("*")
        if p.is_file()
    }
    pieces = {
        line.strip()[n % 5 : n % 5 + 3 + n % 17].strip()
        for t in texts.values()
        for n, line in enumerate(t.split("\n")[::9])
    }
    roots = {r.root: Path(r.root).parent.name for r in samples.info().repositories}
    for piece in sorted(pieces - {""})[::3]:
        found = {(roots[h.root], h.unit.path) for h in every(samples, piece, literal=True, case="yes")}
        assert found == {where for where, text in texts.items() if piece in text}, piece


def test_phrases_with_words_and_filters(index: Index) -> None:
    assert {h.unit.path for h in every(index, 'cart "add_it"')} == {
        "src/cart.py",
        "src/Deep/store.ts",
        "tests/test_cart.py",
    }
    assert {h.unit.path for h in every(index, '"add_it" -is:test lang:py')} == {"src/cart.py"}
    assert {h.unit.path for h in every(index, '"dd_it" OR "连"')} > {"wide.py", "src/cart.py"}
    assert "src/cart.py" not in {h.unit.path for h in every(index, '"item" -"grand total" kind:class')}


def test_a_pool_that_overflows_keeps_every_file_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codelens.search.retrieve.LITERAL_POOL", 20)
    files = {f"f{i:02}.py": functions(3, f"xx{i:02}") for i in range(12)}
    with Tree(tmp_path, files).index() as index:
        result = find(index, "turn", literal=True, limit=1000)
        assert {hit.unit.path for hit in result.hits} == set(files)
        assert [n.code for n in result.notices] == ["many-literal"]
        assert len(result.hits) == 20
        lost = index.why("turn", [f"xx11_{2:04}"], SearchOptions(literal=True)).explanations[0].loss
        assert lost is not None
        assert lost.stage == "cut"


# Patterns


def test_patterns_are_verified(index: Index) -> None:
    for query, options in (("/add_?item/", {}), ("add_?item", {"regex": True})):
        found = every(index, query, **options)
        assert {h.unit.path for h in found} == {"src/cart.py", "src/cart.go", "src/Deep/store.ts", "tests/test_cart.py"}
    assert {h.unit.name for h in every(index, "/^def [a-z]+_config/")} == {"parse_config"}
    assert {h.unit.path for h in every(index, "/add[A-Z]tem/")} == {"src/cart.py"}
    assert {h.unit.path for h in every(index, "/ADD[A-Z]TEM/", case="no")} >= {"src/cart.py", "src/cart.go"}
    assert not every(index, "/zzz+/")
    assert {h.unit.path for h in every(index, "/连./")} == {"docs/cart.md", "wide.py"}
    assert {h.unit.path for h in every(index, "item", regex=True, word=True)} == {"src/cart.py", "src/cart.go"}


def test_patterns_that_are_dangerous_or_slow_end(index: Index, tree: Tree) -> None:
    for source in ("(a+)+$", "(a|a)*b", "(.*)*x"):
        find(index, source, regex=True)
        find(index, f"cart /{source}/")
    with pytest.raises(QueryError):
        find(index, "[a", regex=True)
    with Index.open(tree.db, Settings(query_seconds=1e-9)) as hurried:
        result = hurried.search(r"\w+tem", SearchOptions(regex=True))
    assert not result.hits
    assert "conditions were decided for 0 of" in result.notices[0].text


# Ranking options


@pytest.mark.parametrize(
    ("mode", "channels"),
    [("hybrid", {"exact", "fuzzy", "lexicon", "path", "symbol", "vector"}),
     ("keyword", {"exact", "lexicon", "path", "symbol"}),
     ("vector", {"vector"}), ("exact", {"exact"}), ("fuzzy", {"fuzzy"})],
)  # fmt: skip
def test_modes(index: Index, mode: str, channels: set[str]) -> None:
    result = find(index, "parse_config", mode=mode)
    assert set(result.channels) == channels
    assert result.hits[0].unit.name == "parse_config"
    assert all(set(hit.channels) <= channels for hit in result.hits)


def test_weights_and_k(index: Index) -> None:
    def parts(**options: Any) -> dict[str, dict[str, float]]:
        hit = find(index, "parse_config", **options).hits[0]
        return {c.source: dict(c.operands) for c in hit.contributions if c.rule == "rrf"}

    assert parts(rrf_k=10)["exact"]["k"] == 10
    given = {"exact": 3.0, "fuzzy": 1.0, "vector": 0.0, "symbol": 0.0, "path": 0.0, "lexicon": 0.0}
    assert {name: part["weight"] for name, part in parts(weights=given).items()} == {"exact": 0.75, "fuzzy": 0.25}
    with pytest.raises(UsageError):
        find(index, "cart", weights={"nonsense": 1.0})
    with pytest.raises(UsageError):
        find(index, "cart", mode="nonsense")
    with pytest.raises(UsageError):
        find(index, "cart", profile="nonsense")
    with pytest.raises(UsageError):
        find(index, "cart", sort="nonsense")


@pytest.mark.slow
@pytest.mark.parametrize(
    "query", ["the stock of a product", "hash_password", "lang:go", '"return"', "/err(or)?/", "cart -is:test"]
)
@pytest.mark.parametrize("options", [{}, {"sort": "path"}, {"sort": "modified", "reverse": True}, {"min_score": 0.3}])
def test_a_limit_changes_neither_score_nor_order(samples: Index, query: str, options: dict[str, Any]) -> None:
    whole = find(samples, query, limit=50, **options).hits
    assert find(samples, query, limit=5, **options).hits == whole[:5]
    pages = [hit for at in range(0, 50, 7) for hit in find(samples, query, limit=7, offset=at, **options).hits]
    assert tuple(pages[:50]) == whole
    assert [hit.rank for hit in whole] == list(range(1, len(whole) + 1))


def test_order(tree: Tree, index: Index) -> None:
    by_path = every(index, "item cart", sort="path")
    assert [h.unit.content_order() for h in by_path] == sorted(h.unit.content_order() for h in by_path)
    assert [h.unit.id for h in every(index, "item cart", sort="path", reverse=True)] == [h.unit.id for h in by_path][
        ::-1
    ]
    by_age = [(tree.root / p).stat().st_mtime_ns for p in paths(find(index, "item cart", sort="modified", limit=100))]
    assert by_age == sorted(by_age, reverse=True)
    assert {h.unit.id: h.score for h in by_path} == {h.unit.id: h.score for h in every(index, "item cart")}


def test_minimum(index: Index) -> None:
    whole = every(index, "item cart")
    certain = [h.confidence or 0.0 for h in whole]
    least = sum(certain) / len(certain)
    kept = every(index, "item cart", min_score=least)
    assert [h.unit for h in kept] == [h.unit for h in whole if (h.confidence or 0.0) >= least]
    assert 0 < len(kept) < len(whole)
    assert every(index, "item cart", min_score=0.0) == whole


def test_a_minimum_is_a_share_of_the_best_where_hits_have_no_confidence(index: Index) -> None:
    whole = every(index, "item cart", profile="rrf")
    kept = every(index, "item cart", profile="rrf", min_score=0.7)
    assert kept == [h for h in whole if h.score / whole[0].score >= 0.7]
    assert 0 < len(kept) < len(whole)


def test_nothing_is_found_where_no_word_occurs(index: Index) -> None:
    result = find(index, "kubernetes eviction")
    assert (result.hits, result.notices[0].code) == ((), "unknown-words")
    some = find(index, "kubernetes cart")
    assert some.hits
    assert [n.text for n in some.notices] == ["'kubernetes' does not occur in this index as a word"]


def test_ties_come_in_the_order_of_paths(index: Index) -> None:
    first, second = (h for h in every(index, "same", mode="keyword") if h.unit.name == "same")
    assert [h.unit.path for h in (first, second)] == ["a/same.py", "b/same.py"]
    assert first.score >= second.score
    assert [h.unit.path for h in every(index, "return 0", literal=True, mode="keyword")][:2] == [
        "a/same.py",
        "b/same.py",
    ]


# Mistakes and parts


@pytest.mark.parametrize(
    "typed", ["parse_confg", "prase_config", "parse_cnofig", "parseconfig", "parse_configg", "parsse_config"]
)
def test_typing_mistakes(index: Index, typed: str) -> None:
    assert find(index, typed).hits[0].unit.name == "parse_config"


@pytest.mark.parametrize("part", ["parse_con", "se_config", "rse_conf", "ParseConfig", "parse config"])
def test_parts_of_names(index: Index, part: str) -> None:
    assert "parse_config" in names(find(index, part, limit=5))


# Odd queries


@pytest.mark.parametrize("query", ["", " ", "\0", "\ud800", "qqqqqqq zzzzzzz"])
def test_queries_that_say_nothing_find_nothing(index: Index, query: str) -> None:
    for mode in ("keyword", "exact", "fuzzy"):
        assert find(index, query, mode=mode).hits == ()
    assert find(index, query, literal=True).hits == () or query == " "


@pytest.mark.parametrize(
    "query",
    ["the of and", "is it", "cart\0item", "\0" * 50, "cart \ud800 item", "😀", "👩‍👩‍👧‍👦 cart", "连接", "ſtraße İı", "' OR 1=1 --",
     '"unit_terms" MATCH', "NEAR(a b)", "name:cart*", "cart*", "^cart", "{cart}", "a AND NOT b", "\r\n\t", "\u202ecart", "-" * 300,
     "(" * 200 + "cart" + ")" * 200, "cart " * 2000, "%s %d {0}", "C++ c#", "__init__", "a.b.c::d->e#f()"],
)  # fmt: skip
def test_any_text_is_a_query(index: Index, query: str) -> None:
    for options in ({}, {"literal": True}, {"word": True}, {"case": "no"}, {"mode": "vector"}):
        find(index, query, **options)


def test_stop_words_alone_are_looked_for(index: Index) -> None:
    assert "docs/cart.md" in paths(find(index, "the", limit=100))


@pytest.mark.parametrize(
    "query",
    ["parse_config " * 8000, "x" * 100_000, " ".join(f"word{i}" for i in range(12_000)), '"' + "y" * 100_000 + '"'],
)
def test_a_query_of_100_kilobytes(index: Index, query: str) -> None:
    result = find(index, query)
    assert [hit.unit.name for hit in result.hits[:1]] == (["parse_config"] if "parse" in query else [])


def test_odd_queries_through_the_command_line(tree: Tree, run: Run) -> None:
    for query, code in (("", 1), ("😀 smile", 0), ("cart\udcff", 0), ("--", 2)):
        assert run("search", "--db", str(tree.db), query, cwd=tree.root).code == code, query
    files = run("search", "--db", str(tree.db), "-lF", "add_it", cwd=tree.root).out.splitlines()
    assert sorted(files) == ["src/Deep/store.ts", "src/cart.py", "tests/test_cart.py"]


# The disk


def test_freshness_and_text_from_the_snapshot(tmp_path: Path) -> None:
    made = Tree(
        tmp_path,
        {f"{n}.py": f"def {n}_lamp():\n    return '{n}'\n" for n in ("kept", "edited", "grown", "gone", "touched")},
    )
    with made.index() as index:
        (made.root / "edited.py").write_text("def edited_xxxx():\n    return 'xxxxxx'\n")
        (made.root / "grown.py").write_text("all new, and longer than it was before: " * 3)
        (made.root / "gone.py").unlink()
        os.utime(made.root / "touched.py", (1, 1))
        hits = {hit.unit.name: hit for hit in every(index, "lamp")}
        assert {name.removesuffix("_lamp"): hit.freshness for name, hit in hits.items()} == {
            "kept": Freshness.FRESH, "edited": Freshness.CHANGED, "grown": Freshness.CHANGED, "gone": Freshness.DELETED,
            "touched": Freshness.FRESH,
        }  # fmt: skip
        for name, hit in hits.items():
            assert any(line.text == f"def {name}():" for line in hit.snippet), "as it was indexed"
        assert not every(index, "xxxxxx", literal=True)
        assert every(index, "return 'gone'", literal=True)


ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-16-be-sig", "shift_jis", "euc_jp", "gbk", "gb18030",
             "big5", "euc_kr", "koi8_r", "cp1252", "latin-1"]  # fmt: skip
"""As Python names them; of utf-16-be-sig it has no name. Those without -sig have no byte order mark, except utf-16."""
WORDS = {
    "shift_jis": "設定ファイルを読み込む関数です",
    "euc_jp": "設定ファイルを読み込む関数です",
    "latin-1": "déjà vu, café crème à côté",
    "cp1252": "“déjà vu” – café crème à côté…",
    "gb18030": "读取配置文件的函数",
    "gbk": "读取配置文件的函数",
    "big5": "讀取設定檔案的函數",
    "euc_kr": "설정 파일을 읽는 함수입니다",
    "koi8_r": "функция читает файл настроек",
}
NAMES = {
    "shift_jis": "設定を読む",
    "euc_jp": "設定を読む",
    "latin-1": "café_crème",
    "cp1252": "café_crème",
    "gb18030": "读取配置",
    "gbk": "读取配置",
    "big5": "讀取設定",
    "euc_kr": "설정_읽기",
    "koi8_r": "читать_файл",
}


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_places_in_files_of_every_encoding(tmp_path: Path, encoding: str) -> None:
    words = WORDS.get(encoding, "naïve 連接 😀 done")
    text = (
        f"# {words}\n\n\nclass Reader:\n    def read_it(self):  # {words}\n        note = '{words}'; mark = 1\n"
        "        return note\n"
    )
    text += "".join(f"\n\ndef plain_{i}(value):\n    # {words} {i}\n    return value\n" for i in range(4))
    name = NAMES.get(encoding, "naïve_連接")
    text += f"\n\ndef {name}(value):\n    return value  # {words}\n"
    raw = b"\xfe\xff" + text.encode("utf-16-be") if encoding == "utf-16-be-sig" else text.encode(encoding)
    with Tree(tmp_path, {"reader.py": raw}).index() as index:
        (hit,) = (h for h in every(index, "mark = 1", literal=True) if h.unit.name == "read_it")
        codec = {"utf-8-sig": "utf-8", "utf-16": "utf-16-le", "utf-16-be-sig": "utf-16-be"}.get(encoding, encoding)
        body = raw[hit.unit.span.start : hit.unit.span.end].decode(codec)
        assert body.startswith("def read_it(self):")
        assert body.endswith("return note")
        line = text.split("\n")[hit.line - 1]
        assert hit.line == 6
        assert hit.column == len(line[: line.index("mark")].encode()) + 1
        assert hit.column_utf16 == len(line[: line.index("mark")].encode("utf-16-le")) // 2 + 1
        assert [s.text for s in hit.snippet if s.number == 6] == [line]
        found = every(index, words, literal=True)
        assert {h.unit.name for h in found} >= {"read_it", name, *(f"plain_{i}" for i in range(4))}
        for unit in (h.unit for h in found if h.unit.kind in ("function", "method")):
            assert raw[unit.name_span.start : unit.name_span.end] == unit.name.encode(codec)
            assert raw.index(f"def {unit.name}(".encode(codec)) == unit.span.start


def test_a_word_of_a_file_s_own_name_or_folder_is_a_place(tmp_path: Path) -> None:
    files = {f"dock{n}/boat{n}.py": f"def row_{n}(): pass\n" for n in range(15)} | {
        "harbour/ship.py": "def sail(): pass\n"
    }
    with Tree(tmp_path, files).index() as index:
        for word in ("ship", "harbour"):
            (hit,) = (h for h in index.search(word, SearchOptions()).hits if h.unit.name == "sail")
            assert "path" in hit.channels, word

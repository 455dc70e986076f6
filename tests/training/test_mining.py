"""Small trees in nine languages: each has one function `parseHeader` whose doc speaks of quokkas."""

from collections import Counter
from pathlib import Path

import pytest

from codelens.indexing.embedding import cut_pieces
from codelens.indexing.extract import extract, list_own_texts
from codelens.lang.captures import extract_captures
from codelens.lang.registry import detect_language
from codelens.text.lines import TextMap
from codelens.training.mining import CAPS, Pair, mine_tree
from codelens.worktree.decode import decode
from codelens.worktree.files import hash_content

QUERY = "Splits a quokka line into its parts"
BODY = "alpha = beta(gamma, delta); epsilon = zeta(eta, theta); iota = kappa(lambda_, mu);"
BRACED = f"{{ {BODY} return parseHeader(alpha); }}"
SOURCES = {
    "src/a.py": f'class Box:\n    def parse_header(self, line):\n        """{QUERY}.\n\n        More of it.\n        """\n'
    + "".join(f"        {statement.strip()}\n" for statement in BODY.split(";") if statement.strip())
    + "        return parse_header(alpha)\n",
    "src/a.js": f"/**\n * {QUERY}.\n * @param {{string}} line\n */\nfunction parseHeader(line) {BRACED}\n",
    "src/b.ts": f"/** {QUERY}. */\nexport function parseHeader(line: string): string {BRACED}\n",
    "src/a.go": f"package a\n\n// parseHeader {QUERY.lower()}.\nfunc parseHeader(line string) string {BRACED}\n",
    "src/A.java": f"class Box {{\n  /**\n   * {QUERY}.\n   * @param line it\n   */\n"
    f"  String parseHeader(String line) {BRACED}\n}}\n",
    "src/a.rs": f"/// {QUERY}.\npub fn parse_header(line: &str) -> String {{\n    {BODY}\n    parse_header(alpha)\n}}\n",
    "src/a.c": f"/* {QUERY}. */\nchar *parse_header(char *line)\n{{\n    {BODY}\n    return parse_header(alpha);\n}}\n",
    "src/a.rb": f"class Box\n  # {QUERY}.\n  def parse_header(line)\n    {BODY}\n    parse_header(alpha)\n  end\nend\n",
    "src/a.php": f"<?php\n/**\n * {QUERY}.\n * @return string\n */\n"
    f"function parseHeader($line) {BRACED.replace('alpha', '$alpha')}\n",
    "src/A.cs": f"class Box {{\n  /// <summary>\n  /// {QUERY}.\n  /// </summary>\n"
    f"  string ParseHeader(string line) {BRACED.replace('pars', 'Pars')}\n}}\n",
}


def mined(
    root: Path, sources: dict[str, str], **held_out: frozenset[bytes] | frozenset[str]
) -> tuple[list[Pair], Counter[str]]:
    for path, text in sources.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    counts: Counter[str] = Counter()
    known, excluded = held_out.get("known", frozenset()), held_out.get("excluded", frozenset())
    return mine_tree(root, known, excluded, counts), counts  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("path", SOURCES)
def test_a_doc_asks_for_its_definition_and_stands_nowhere_in_the_answer(tmp_path: Path, path: str) -> None:
    pairs, _ = mined(tmp_path, {path: SOURCES[path]})
    (pair,) = [p for p in pairs if p.kind == "doc"]
    assert pair.query.lower() == QUERY.lower()
    assert (pair.path, pair.language) == (path, detect_language(path))
    assert pair.fields.name.lower().replace("_", "") == "parseheader"
    assert pair.fields.name in pair.fields.signature
    assert "kappa" in pair.fields.body
    assert path in pair.fields.context
    assert "quokka" not in " ".join([pair.fields.signature, pair.fields.body, pair.fields.context])


@pytest.mark.parametrize("path", SOURCES)
def test_a_name_asks_for_its_function_and_stands_nowhere_in_the_answer(tmp_path: Path, path: str) -> None:
    pairs, _ = mined(tmp_path, {path: SOURCES[path]})
    (pair,) = [p for p in pairs if p.kind == "name"]
    assert pair.query == "parse header"
    assert pair.fields.name == ""
    assert "kappa" in pair.fields.body
    answer = " ".join([pair.fields.signature, pair.fields.body, pair.fields.context]).lower()
    assert "header" not in answer and "quokka" not in answer


def test_the_fields_are_those_of_an_index_without_the_doc(tmp_path: Path) -> None:
    """The same source with its doc string cut out by hand gives, through an index's own functions, the very fields."""
    source = SOURCES["src/a.py"]
    start, end = source.index('        """'), source.rindex('"""') + 4
    text = TextMap(decode((source[:start] + source[end:]).encode(), 0.7))  # type: ignore[arg-type]
    units = extract(text, "src/a.py", "python").units
    (place,) = [i for i, unit in enumerate(units) if unit.name == "parse_header"]
    (wanted,) = cut_pieces("src/a.py", units[place], list_own_texts(text, units)[place])
    pairs, _ = mined(tmp_path, {"src/a.py": source})
    (found,) = [p.fields for p in pairs if p.kind == "doc"]
    assert (found.name, found.context, found.signature) == (wanted.name, wanted.context, wanted.signature)
    assert found.body.split() == wanted.body.split()


def test_tests_and_generated_files_and_local_functions_give_no_pairs(tmp_path: Path) -> None:
    source = SOURCES["src/a.py"]
    local = f'def f():\n    def parse_inner(line):\n        """{QUERY}."""\n        {BODY}\n'
    sources = {"tests/test_a.py": source, "b.py": "# Generated by a tool. DO NOT EDIT\n" + source, "c.py": local}
    pairs, counts = mined(tmp_path, {**sources, "third_party/d.py": source})
    assert pairs == []
    assert counts["files: test"] == counts["files: generated"] == counts["files: vendored"] == 1


def test_held_out_files_and_folders_give_no_pairs(tmp_path: Path) -> None:
    source, other = SOURCES["src/a.py"], SOURCES["src/a.rb"]
    held_out = frozenset({hash_content(source.encode())})
    pairs, counts = mined(
        tmp_path, {"a.py": source, "Flask/a.rb": other}, known=held_out, excluded=frozenset({"flask"})
    )
    assert pairs == []
    assert (counts["files: held out"], counts["files: excluded by its folder"]) == (1, 1)


def test_a_comment_asks_for_the_statements_below_it(tmp_path: Path) -> None:
    source = (
        "def f(rows):\n    x = 1\n\n    # Keep only the newest row of each account\n    newest = {}\n    for row in rows:\n"
        "        newest[row.account] = row\n    rows = list(newest.values())\n\n    return rows\n"
    )
    (pair,) = mined(tmp_path, {"a.py": source})[0]
    assert (pair.kind, pair.query, pair.line) == ("comment", "Keep only the newest row of each account", 4)
    assert pair.fields.body.split("\n")[0].strip() == "newest = {}"
    assert pair.fields.body.rstrip().endswith("rows = list(newest.values())")
    assert pair.fields.name == ""


def test_the_doc_of_a_value_is_a_kind_of_its_own(tmp_path: Path) -> None:
    source = "class Box {\n  /// <summary>The height in pixels.</summary>\n  public int Height { get; set; }\n}\n"
    (pair,) = mined(tmp_path, {"A.cs": source})[0]
    assert (pair.kind, pair.query, pair.fields.name) == ("value", "The height in pixels", "Height")


def test_an_answer_that_repeats_the_question_is_no_pair(tmp_path: Path) -> None:
    source = SOURCES["src/a.py"].replace("return", f"# {QUERY}\n        return")
    pairs, counts = mined(tmp_path, {"a.py": source})
    assert [p.kind for p in pairs] == ["name"]
    assert counts["doc: the answer holds the question"] == 1


@pytest.mark.slow
def test_the_cap_of_a_package_draws_the_same_pairs_whatever_the_order_of_files(tmp_path: Path) -> None:
    functions = [
        f'def f{i}(a):\n    """Returns the part {i} of a thing."""\n    return a[{i}]\n'
        for i in range(CAPS["doc"] + 50)
    ]
    halves = {"a.py": "".join(functions[::2]), "b.py": "".join(functions[1::2])}
    pairs, counts = mined(tmp_path / "one", halves)
    again, _ = mined(tmp_path / "two", dict(reversed(halves.items())))
    assert len(pairs) == CAPS["doc"]
    assert counts["doc: over the cap of a package"] == 50
    assert pairs == again


@pytest.mark.parametrize("path", SOURCES)
def test_a_query_for_definitions_alone_finds_the_same_units(path: str) -> None:
    utf8, language = SOURCES[path].encode(), detect_language(path)
    assert extract_captures(utf8, language, definitions_only=True).units == extract_captures(utf8, language).units

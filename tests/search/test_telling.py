"""Terms that tell nothing apart, and parts of words."""

from __future__ import annotations

from pathlib import Path

from codelens.model.request import SearchOptions
from tests.search.trees import Tree, names


def test_a_term_that_too_many_units_hold_is_named_in_the_trace(tmp_path: Path) -> None:
    many = {f"m{n}.py": f"def widget_{n}():\n    return {n}\n" for n in range(9)}
    with Tree(tmp_path, many | {"one.py": "def paint():\n    pass\n"}).index() as index:
        result = index.search("paint widget", SearchOptions())
        assert result.trace.common == ("widget",)
        assert result.hits[0].unit.name == "paint"
        alone = index.search("widget", SearchOptions())
        assert alone.trace.common == ()
        assert alone.trace.rankings["exact"], "where there is nothing else, it is searched for"


def test_mode_fuzzy_finds_parts_of_any_word(tmp_path: Path) -> None:
    files = {
        "a.py": "def render_template(): pass\ndef to_json(): pass\ndef add_url_rule(): pass\ndef io_loop(): pass\n"
    }
    with Tree(tmp_path, files).index() as index:
        fuzzy = SearchOptions(mode="fuzzy")
        assert names(index.search("templat", fuzzy)) == ["render_template"]
        assert names(index.search("jso", fuzzy)) == ["to_json"]
        assert names(index.search("url", fuzzy)) == ["add_url_rule"]
        assert names(index.search("io", fuzzy)) == ["io_loop"]

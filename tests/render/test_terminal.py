from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codelens.errors import UsageError
from codelens.model.search import SnippetLine
from codelens.render.lines import OutputOptions
from codelens.render.paths import PathStyle
from codelens.render.terminal import (
    LEAST_WIDTH,
    fit_line,
    render_snippet_line,
    render_terminal,
    resolve_link_template,
    shift_ranges,
)
from codelens.render.visible import escape_text
from tests.render.results import ROOT, result

PATHS = PathStyle("root", ROOT)
STYLE = re.compile(r"\x1b\[[0-9;]*m")


def shown(color: bool, hyperlinks: str = "") -> str:
    return "".join(render_terminal(result(), OutputOptions(PATHS, color=color, hyperlinks=hyperlinks)))


def test_a_heading_a_file_and_numbered_lines() -> None:
    lines = shown(color=False).splitlines()
    assert lines[0] == "src/conf.py"
    assert lines[1].startswith("  1. Loader.parse_config  method")
    assert lines[3] == "    10      def parse_config(self):"
    assert "changed since it was indexed" in lines[5]
    assert lines[-1].startswith("2 of 3")


def test_colour_only_where_wanted() -> None:
    assert "\x1b" not in shown(color=False)
    assert STYLE.search(shown(color=True))


def test_control_characters_of_files_never_reach_the_terminal() -> None:
    rest = STYLE.sub("", shown(color=True))
    assert "\x1b" not in rest
    assert "\u202e" not in rest
    assert "\\x1b[31mrot" in rest
    rest.encode("utf-8")


def test_matches_stay_on_their_characters_after_escaping() -> None:
    raw = "\x1b[0m parse \x07 parse"
    for start, end in shift_ranges(raw, ((5, 10), (13, 18))):
        assert escape_text(raw)[start:end] == "parse"


def test_highlighting_changes_no_character() -> None:
    for text in ("def f(x):  # hi", "\t  indented", "", "   ", "x = '''"):
        assert render_snippet_line(SnippetLine(1, text), "python", True).plain.rstrip() == text.rstrip()


def test_headings_link_to_the_first_hit() -> None:
    assert "vscode://file/srv/tree/src/conf.py:10:9" in shown(True, "vscode")
    assert "x://h/srv/tree/src/n%FF%20b.py" in shown(True, "x://h{path}")


def test_a_link_needs_a_path() -> None:
    with pytest.raises(UsageError):
        resolve_link_template("https://example.org/")


@given(st.text("ab 世\t.", max_size=300), st.lists(st.integers(0, 300), min_size=2, max_size=6), st.integers(1, 120))
def test_a_long_line_is_cut_around_its_first_match(text: str, ends: list[int], width: int) -> None:
    ends = sorted({min(end, len(text)) for end in ends})
    matches = tuple((start, end) for start, end in zip(ends[::2], ends[1::2], strict=False) if start < end)
    line = fit_line(SnippetLine(1, text, matches), width)
    if line.text == text:
        assert line.matches == matches
        return
    kept = line.text.removeprefix("…").removesuffix("…")
    assert kept in text
    assert len(line.text) <= max(width, LEAST_WIDTH)
    assert all(0 <= start < end <= len(line.text) for start, end in line.matches)
    if matches:
        first = text[matches[0][0] : matches[0][1]]
        start, end = line.matches[0]
        assert line.text[start:end] in first
        assert line.text[start:end] == first or len(first) > len(kept) // 2, "a match is cut only if it is long itself"


def test_a_line_that_fits_stays_as_it_is() -> None:
    assert fit_line(SnippetLine(1, "x" * 80, ((0, 1),)), 80).text == "x" * 80
    assert fit_line(SnippetLine(1, "x" * 60 + "needle" + "y" * 60, ((60, 66),)), 40) == SnippetLine(
        1, "…" + "x" * 16 + "needle" + "y" * 16 + "…", ((17, 23),)
    )
    assert fit_line(SnippetLine(1, "needle" + "y" * 60, ((0, 6),)), 40).text == "needle" + "y" * 32 + "…"

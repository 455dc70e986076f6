from __future__ import annotations

import re

import pytest

from codelens.errors import UsageError
from codelens.model.search import SnippetLine
from codelens.render.paths import PathStyle
from codelens.render.terminal import TerminalView, link_template, render_terminal, shifted, snippet_text
from codelens.render.visible import for_terminal
from tests.render.results import ROOT, result

PATHS = PathStyle("root", ROOT)
STYLE = re.compile(r"\x1b\[[0-9;]*m")


def shown(color: bool, hyperlinks: str = "") -> str:
    return "".join(render_terminal(result(), TerminalView(PATHS, color, hyperlinks)))


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


def test_marks_stay_on_their_characters() -> None:
    raw = "\x1b[0m parse \x07 parse"
    for start, end in shifted(raw, ((5, 10), (13, 18))):
        assert for_terminal(raw)[start:end] == "parse"


def test_highlighting_changes_no_character() -> None:
    for text in ("def f(x):  # hi", "\t  indented", "", "   ", "x = '''"):
        assert snippet_text(SnippetLine(1, text), "python", True).plain.rstrip() == text.rstrip()


def test_links() -> None:
    assert "vscode://file/srv/tree/src/conf.py:10:9" in shown(True, "vscode")
    assert "x://h/srv/tree/src/n%FF%20b.py" in shown(True, "x://h{path}")


def test_a_link_needs_a_path() -> None:
    with pytest.raises(UsageError):
        link_template("https://example.org/")

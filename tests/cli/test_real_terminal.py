"""The output that a person sees: commands on a pseudo-terminal, one stream at a time."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.search.trees import functions

if sys.platform == "win32":
    pytest.skip("no pseudo-terminals there", allow_module_level=True)

import fcntl
import pty
import struct
import termios

from tests.cli.lamps import write_lamps

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
HEADING = re.compile(r"^\x1b\[[0-9;]*m(?P<path>[^\x1b]+)\x1b\[0m$", re.MULTILINE)


class OnTerminal:
    """A finished command: what the terminal got, and what the other stream's pipe got."""

    def __init__(self, arguments: Sequence[str], cwd: Path, stream: str = "stdout", **variables: str) -> None:
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        other = "stderr" if stream == "stdout" else "stdout"
        streams = {stream: theirs, other: subprocess.PIPE}
        process = subprocess.Popen(
            [sys.executable, "-m", "codelens", *arguments],
            cwd=cwd,
            env=environment(**variables),
            stdin=theirs,
            **streams,
        )  # type: ignore[call-overload]
        os.close(theirs)
        self.seen = read_to_the_end(ours).decode("utf-8").replace("\r\n", "\n")
        self.piped = process.communicate()[stream == "stdout"].decode("utf-8")
        self.code: int = process.returncode

    @property
    def plain(self) -> str:
        return COLOUR.sub("", self.seen)


def environment(**variables: str) -> dict[str, str]:
    """A terminal of 256 colours, and nothing else that says how to print."""
    said = ("NO_COLOR", "FORCE_COLOR", "COLORTERM", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLUMNS", "LINES")
    kept = {name: value for name, value in os.environ.items() if name not in said and not name.startswith("CODELENS_")}
    return kept | {"TERM": "xterm-256color", "PYTHONUTF8": "1", "XDG_CONFIG_HOME": os.devnull} | variables


def read_to_the_end(terminal: int) -> bytes:
    """Linux reports an error where the last writer has gone; macOS an end."""
    parts = []
    with os.fdopen(terminal, "rb", buffering=0) as opened:
        try:
            while part := opened.read(1 << 16):
                parts.append(part)
        except OSError:
            pass
    return b"".join(parts)


@pytest.fixture(scope="module")
def lamps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_lamps(tmp_path_factory.mktemp("lamps"))
    subprocess.run(
        [sys.executable, "-m", "codelens", "index", "-q", "--db", ".codelens/index.db", "."], cwd=folder, check=True
    )
    return folder


SEARCH = ("search", "--sort", "path", "-F", "lamp")


@pytest.mark.slow
def test_a_search_has_coloured_headings_and_snippets(lamps: Path) -> None:
    ran = OnTerminal((*SEARCH, "--mode", "hybrid"), lamps)
    assert (ran.code, ran.piped) == (0, "")
    assert [found["path"] for found in HEADING.finditer(ran.seen)] == ["lamps.py", "shop/lamp.go"]
    lines = ran.plain.splitlines()
    assert lines[0] == "lamps.py"
    assert lines[1].startswith("  1. light_lamp  function  ")
    assert lines[2] == "     4  def light_lamp(level):"
    assert len(set(COLOUR.findall(ran.seen.splitlines()[2]))) > 3, "number, keyword, name and match differ"


def test_a_pipe_gets_lines_without_colour(lamps: Path) -> None:
    """The same command, with only stderr on the terminal."""
    ran = OnTerminal(SEARCH, lamps, stream="stderr")
    assert (ran.code, ran.seen) == (0, "")
    assert ran.piped.splitlines()[0] == "lamps.py:4:11:def light_lamp(level):"


def test_why_has_bars(lamps: Path) -> None:
    ran = OnTerminal(("why", "light_lamp", "light_lamp"), lamps)
    assert ran.code == 0
    assert "█" * 24 in ran.plain, "the longest bar"
    green = [line for line in ran.seen.splitlines() if re.search(r"\x1b\[32m[█▏▎▍▌▋▊▉]", line)]
    assert len(green) > 3


@pytest.mark.slow
@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
@pytest.mark.parametrize("command", [SEARCH, ("why", "light_lamp", "light_lamp")])
def test_no_colour_where_none_is_wanted(command: tuple[str, ...], variables: dict[str, str], lamps: Path) -> None:
    """All else stays as it is on a terminal: headings, and bars."""
    ran = OnTerminal(command, lamps, **variables)
    assert ran.code == 0
    assert "\x1b" not in ran.seen
    assert ran.seen == OnTerminal(command, lamps).plain
    assert ran.seen.startswith("lamps.py\n") if command == SEARCH else "█" in ran.seen


def test_an_empty_no_color_asks_for_nothing(lamps: Path) -> None:
    assert COLOUR.search(OnTerminal(SEARCH, lamps, NO_COLOR="").seen)
    assert COLOUR.search(OnTerminal((*SEARCH, "--color", "always"), lamps, NO_COLOR="1").seen), "the flag wins"


@pytest.mark.slow
def test_lines_are_cut_to_the_width_of_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "wide.py").write_text(f"x = 1  # {'a' * 300} needle {'b' * 300}\ny = 2  # needle\n")
    subprocess.run([sys.executable, "-m", "codelens", "index", "-q"], cwd=tmp_path, check=True, env=environment())
    seen = OnTerminal(["search", "-F", "needle"], tmp_path).plain.splitlines()
    assert (seen[0], seen[2]) == ("wide.py", "     2  y = 2  # needle")
    assert "…" in seen[1] and " needle " in seen[1] and len(seen[1]) <= 120
    piped = OnTerminal(["search", "-F", "needle"], tmp_path, "stderr")
    assert len(max(piped.piped.splitlines(), key=len)) > 600
    assert piped.seen == ""


def test_a_person_is_told_what_a_ranking_left_out(lamps: Path) -> None:
    ran = OnTerminal(["search", "lamp", "-m", "1"], lamps, "stderr")
    assert len(ran.piped.splitlines()) == 1
    assert re.search(r"note: 1 of \d+ hits; -m N shows more", ran.plain)
    assert OnTerminal(["search", "-F", "lamp"], lamps, "stderr").seen == "", "lines are all there"


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """Files enough that indexing them takes longer than a bar waits to appear."""
    for number in range(300):
        (tmp_path / f"m{number}.py").write_text(functions(20, f"widget{number}"))
    return tmp_path


BAR = re.compile(r"index +[━╸╺]+ +\d+/300")
SUMMARY = "300 files indexed (300 new)"


@pytest.mark.slow
def test_index_shows_a_bar_and_then_only_its_summary(many: Path) -> None:
    ran = OnTerminal(("index", "-j", "1"), many, stream="stderr")
    assert (ran.code, ran.piped) == (0, "")
    assert BAR.search(ran.plain)
    assert SUMMARY in ran.plain
    assert "/300" not in ran.plain[ran.plain.rindex(SUMMARY) :]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "stream"),
    [(["index"], "stdout"), (["index", "--progress", "none"], "stderr"), (["index", "-q"], "stderr")],
)
def test_no_bar_where_nobody_asks_or_looks(arguments: list[str], stream: str, many: Path) -> None:
    ran = OnTerminal((*arguments, "-j", "1"), many, stream)
    assert ran.code == 0
    assert "\x1b" not in ran.seen + ran.piped
    assert "/300" not in ran.seen + ran.piped
    first = (ran.seen + ran.piped).partition("\n")[0]
    assert first == "" if "-q" in arguments else first.startswith(f"{many}: {SUMMARY}")


@pytest.mark.slow
def test_control_characters_of_a_file_are_shown_and_not_obeyed(tmp_path: Path) -> None:
    (tmp_path / "evil.py").write_text("def evil_name():\n    return '\x1b]0;title\x07\x1b[2J'\n")
    assert OnTerminal(("index", "-q"), tmp_path).code == 0
    for options in ((), ("-C", "1"), ("--vimgrep",), ("--markdown",)):
        ran = OnTerminal(("search", "-F", "return '", *options), tmp_path)
        assert ran.code == 0
        assert "return '\\x1b]0;title\\x07\\x1b[2J'" in ran.plain, options
        assert "\x1b" not in ran.plain, options
        assert "\x07" not in ran.plain, options


def test_a_search_does_not_wait_for_typing(lamps: Path) -> None:
    ran = OnTerminal(("search", "-f", "-"), lamps)
    assert (ran.code, ran.seen) == (2, "")
    assert ran.piped.startswith("codelens: error: stdin is a terminal\n")

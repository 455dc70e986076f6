"""Patterns compared with git: a table of cases that implementations get wrong, and generated patterns."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codelens.worktree.patterns import read_rule
from tests.tiers import examples
from tests.worktree.conftest import git

TABLE = [
    ("foo", "a/foo", True),
    ("/foo", "a/foo", False),
    ("a/foo", "b/a/foo", False),
    ("foo/", "foo", False),
    ("foo/", "foo/x", True),
    ("*.o", "a/b.o", True),
    ("a/*", "a/b/c", True),
    ("a/*.c", "a/b/x.c", False),
    ("**/foo", "foo", True),
    ("**/foo", "a/b/foo", True),
    ("a/**/b", "a/b", True),
    ("a/**/b", "a/x/y/b", True),
    ("a/**", "a/x", True),
    ("a/**", "a", False),
    ("foo**/bar", "foo/x/bar", True),  # '**' comes right after literal text, which git compares separately
    ("f?o**/bar", "foo/x/bar", False),
    ("a**b", "axxb", True),
    ("a?b", "aéb", False),  # '?' is one byte
    ("a??b", "aéb", True),
    ("[[:digit:]]x", "1x", True),
    ("[[:nonsense:]]", "a", False),
    ("[!a]b", "cb", True),
    ("[^a]b", "ab", False),
    ("[]-]x", "]x", True),
    ("[z-a]", "z", True),
    ("[a", "[a", False),
    ("foo ", "foo", True),
    ("foo\\ ", "foo ", True),
    ("foo\t", "foo", False),
    ("foo\r", "foo", True),
    ("\\#x", "#x", True),
    ("#x", "#x", False),
    ("\\!x", "!x", True),
    ("a\\", "a\\", False),
    ("/", "a", False),
    ("x/**\\/y", "x/a/y", True),
]


def matches(pattern: bytes, path: bytes) -> bool:
    """True if the pattern matches the path or a folder above it."""
    rule = read_rule(pattern, 1)
    if rule is None:
        return False
    parts = path.split(b"/")
    for depth in range(1, len(parts) + 1):
        text = parts[depth - 1] if rule.by_name else b"/".join(parts[:depth])
        if (depth < len(parts) or not rule.folders_only) and re.fullmatch(rule.regex, text, re.DOTALL):
            return True
    return False


@pytest.mark.parametrize(("pattern", "path", "expected"), TABLE)
def test_patterns_match_as_the_table_says(pattern: str, path: str, expected: bool) -> None:
    assert matches(pattern.encode(), path.encode()) is expected


def test_the_pattern_table_agrees_with_git(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    for pattern, path, expected in TABLE:
        assert ask_git(tmp_path, pattern.encode(), [path.encode()]) == [expected], pattern


def ask_git(folder: Path, pattern: bytes, paths: list[bytes]) -> list[bool]:
    (folder / ".gitignore").write_bytes(pattern + b"\n")
    command = ("check-ignore", "--no-index", "--verbose", "--non-matching", "-z", "--stdin")
    try:
        fields = git(folder, *command, given=b"".join(path + b"\0" for path in paths)).split(b"\0")
    except Exception as fault:  # exit 1: nothing is ignored
        fields = fault.stdout.split(b"\0")  # type: ignore[attr-defined]
    return [bool(source) for source in fields[0:-1:4]]


WORDS = "a b ab * ** / ? [ [a [!a] [a-b] [[:alpha:]] \\ \\a \\/ - ] ! . *** []a] [a- x **/ /** /**/ é"
TOKENS = [*WORDS.split(), " "]
NAMES = st.text(alphabet="abx-]![é\\ .", min_size=1, max_size=4).filter(lambda name: name.strip(".") and name != ".git")
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)


@settings(max_examples=examples(150), deadline=None)
@given(
    pattern=st.lists(st.sampled_from(TOKENS), min_size=1, max_size=7).map("".join).filter(lambda p: p[0] != "!"),
    paths=st.lists(PATHS, min_size=1, max_size=20, unique=True),
)
def test_generated_patterns_match_as_in_git(
    tmp_path_factory: pytest.TempPathFactory, pattern: str, paths: list[str]
) -> None:
    folder = tmp_path_factory.getbasetemp() / "patterns"
    if not folder.exists():
        folder.mkdir()
        git(folder, "init", "--quiet")
    raw = [path.encode() for path in paths]
    assert [matches(pattern.encode(), path) for path in raw] == ask_git(folder, pattern.encode(), raw)


@pytest.mark.parametrize(
    "pattern", [b"*a" * 60 + b"b", b"/" + b"*a" * 60 + b"b", b"**/a/" * 30 + b"b", b"a*" * 100 + b"/c"]
)
def test_a_hostile_pattern_ends_soon(pattern: bytes) -> None:
    """Trying all ways to divide the text among the stars would take longer than the universe is old."""
    assert not matches(pattern, b"a" * 250)
    assert not matches(pattern, b"a/" * 100 + b"c")

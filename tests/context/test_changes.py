"""Locating a hunk in a text that may be of another revision."""

from __future__ import annotations

import pytest

from codelens.context.changes import NEW, OLD, OTHER, IndexedLines, PlacedHunk, place_hunk
from codelens.worktree.diffs import Hunk, read_diff


def placed(hunk: Hunk, text: list[str], encoding: str) -> PlacedHunk:
    return place_hunk(hunk, IndexedLines(text), encoding)


OLD_TEXT = ["def a():", "    one", "    two", "", "", "def b():", "    three"]
NEW_TEXT = ["def a():", "    uno", "    two", "", "", "def b():", "    three", "    four"]


def hunks(*written: str) -> tuple[Hunk, ...]:
    raw = "\n".join(["--- a/x", "+++ b/x", *written, ""]).encode()
    return read_diff(raw)[0].hunks


WITH_CONTEXT = hunks("@@ -1,3 +1,3 @@", " def a():", "-    one", "+    uno", "     two")
WITHOUT = hunks("@@ -2 +2 @@", "-    one", "+    uno", "@@ -7,0 +8 @@", "+    four")


@pytest.mark.parametrize("hunk", [WITH_CONTEXT[0], WITHOUT[0]])
def test_a_hunk_is_placed_by_the_text_of_either_side(hunk: Hunk) -> None:
    new, old = placed(hunk, NEW_TEXT, "utf-8"), placed(hunk, OLD_TEXT, "utf-8")
    assert (new.lines, new.state) == ((2,), NEW)
    assert (old.lines, old.state) == ((2,), OLD)


def test_lines_that_have_moved_are_found_where_they_are() -> None:
    moved = ["# new"] * 40 + NEW_TEXT
    assert placed(WITH_CONTEXT[0], moved, "utf-8").lines == (42,)


def test_a_missing_insertion_is_placed_by_the_line_above() -> None:
    there, missing = placed(WITHOUT[1], NEW_TEXT, "utf-8"), placed(WITHOUT[1], OLD_TEXT, "utf-8")
    assert (there.lines, there.state) == ((8,), NEW)
    assert (missing.lines, missing.state) == ((7,), OLD)


def test_a_deletion_is_placed_by_the_line_above_the_gap() -> None:
    [hunk] = hunks("@@ -3 +2,0 @@", "-    two")
    assert placed(hunk, OLD_TEXT, "utf-8").lines == (3,)
    assert placed(hunk, ["def a():", "    one", "", ""], "utf-8") == placed(hunk, ["other"], "utf-8")
    assert placed(hunk, ["def a():", "    one", ""], "utf-8").lines == (2,)
    [first] = hunks("@@ -1 +0,0 @@", "-gone")
    assert placed(first, ["a"], "utf-8").lines == (1,)


def test_a_changed_first_line_is_not_the_line_above_it() -> None:
    [hunk] = hunks("@@ -5,3 +5,3 @@", " ", "-def b():", "+def b2():", "     three")
    assert placed(hunk, [*OLD_TEXT[:5], "def b2():", "    three"], "utf-8").lines == (6,)


def test_a_text_that_has_neither_side_is_placed_by_number() -> None:
    found = placed(WITH_CONTEXT[0], ["quite", "another", "text"], "utf-8")
    assert (found.lines, found.state) == ((2,), OTHER)


def test_lines_are_read_in_the_encoding_of_the_file() -> None:
    [change] = read_diff(b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-caf\xe9\n+th\xe9\n")
    assert placed(change.hunks[0], ["thé"], "cp1252").state == NEW

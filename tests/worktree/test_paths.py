"""Paths as text: one-to-one with their bytes."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codelens.worktree.files import encode_escaped_path, escape_path, unescape_path

NAMES = st.lists(st.sampled_from([b"a", b"\\", b"x", b"5c", b"\xe9", b"\xc3\xa9", b"\xff", b"e9", b"/"])).map(b"".join)


@pytest.mark.skipif(os.name == "nt", reason="names are UTF-16 there")
@given(NAMES)
def test_the_text_of_a_path_gives_its_bytes_back(raw: bytes) -> None:
    shown = escape_path(os.fsdecode(raw))
    shown.encode("utf-8")
    assert os.fsencode(unescape_path(shown)) == raw


@pytest.mark.skipif(os.name == "nt", reason="names are UTF-16 there")
def test_bytes_are_stored_only_where_the_text_differs() -> None:
    assert encode_escaped_path("a/é.py") is None
    assert encode_escaped_path(escape_path(os.fsdecode(b"a/\xe9.py"))) == b"a/\xe9.py"

"""A mistyped word → the known word that it means."""

from __future__ import annotations

import pytest

from codelens.text.identifiers import find_nearest_word

COMMANDS = ("install", "remove", "status", "search", "serve", "symbols", "intent")


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("instal", "install"),
        ("serch", "search"),
        ("seacrh", "search"),  # a swap of neighbours is one slip
        ("sym", "symbols"),
        ("uninstall", ""),  # two slips of nine letters, but another first letter
        ("hidden", ""),
        ("se", ""),
        ("", ""),
    ],
)
def test_only_a_close_word_is_suggested(word: str, meant: str) -> None:
    assert find_nearest_word(word, COMMANDS) == meant


def test_a_word_of_another_tool_is_translated_where_there_is_such_a_word() -> None:
    assert find_nearest_word("uninstall", COMMANDS, {"uninstall": "remove"}) == "remove"
    assert find_nearest_word("uninstall", ("install", "show"), {"uninstall": "remove"}) == ""

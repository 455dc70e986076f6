"""Splits identifiers into words: getHTTPResponse → get http response; finds the known name that a mistyped one means.

Indexing and searching share this code, so that their terms match. No character is lost: the joined parts of an identifier are the
identifier without underscores.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

_WORD = re.compile(
    r"漢+"  # a run of Chinese, Japanese or Korean characters
    r"|(?<![A-Za-z\d])(?!0[xX])(?:[A-Za-z]\d+[A-Za-z]|\d+[A-Za-z]{1,2})(?![a-z\d])"  # k8s, i18n, e2e; 2fa, 3d
    r"|[A-Z]{2,}s(?![a-z])\d*"  # URLs, IDs
    r"|[A-Z]+(?=[A-Z][a-z])"  # HTTP in HTTPResponse
    r"|(?<=[A-Za-z]{2})[24](?=[A-Za-z])"  # the 2 of JSON2XML and str2int says "to"
    r"|(?:[A-Z]?[a-z]+|[A-Z]+)(?:(?![24][A-Za-z])\d+|(?<![A-Za-z]{2})\d+)?"  # bm25, x509, base64, k8
    r"|\d+"
)
_NO_LETTER = re.compile(r"[^a-z ]")
_SEPARATORS = re.compile(r"[\W_]+")
CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\U00020000-\U0003ffff"
"""Chinese, Japanese and Korean characters, for a set of a regular expression."""
_CJK = f"[{CJK}]"  # Compiling it takes 3 ms, and most searches do without
LETTERS_PER_SLIP = 4  # One slip is forgiven in up to seven letters, two in eight to eleven, and so on
SHORTEST_BEGINNING = 3  # Letters of a beginning that stands for the word


def split_identifier(identifier: str) -> list[str]:
    """The words of an identifier in lower case, in order: 'BM25Nodes' → ['bm25', 'nodes'], 'x509Cert' → ['x509', 'cert']."""
    if not identifier.isascii():
        shape = identifier.translate(_shapes)
        return [identifier[m.start() : m.end()].casefold() for m in _WORD.finditer(shape)]
    spaced = identifier.replace("_", " ")
    if not identifier.islower():
        return [word.lower() for word in _WORD.findall(spaced)]
    return _WORD.findall(spaced) if _NO_LETTER.search(spaced) else spaced.split()


@lru_cache(maxsize=20_000)
def split_cached(identifier: str) -> tuple[str, ...]:
    """The same, remembered: the candidates of one search share names with those of the next."""
    return tuple(split_identifier(identifier))


def _classify_character(character: str) -> str:
    """The ASCII character that stands for this one in the pattern above."""
    if character.isascii():
        return character
    if re.match(_CJK, character):
        return "漢"
    if character.isdigit():
        return "0"
    if character.isupper():
        return "A"
    return "a" if character.isalpha() or not character.isspace() else " "


@lru_cache(maxsize=4096)  # a unit's name is folded for its row and for its trigrams
def fold_identifier(identifier: str) -> str:
    """The letters and digits of an identifier in lower case: before_request and beforeRequest are equal."""
    folded = identifier.casefold()
    return folded if folded.isalnum() else _SEPARATORS.sub("", folded) or folded


def is_short_for(short: str, name: str) -> bool:
    """True if a name begins with the first letter of a shorter one and has its other letters in order: `ctx` and `Context`."""
    letters = iter(name.casefold())
    return (
        0 < len(short) < len(name)
        and short[0].casefold() == name[0].casefold()
        and all(c in letters for c in short.casefold())
    )


def split_qualified(text: str) -> tuple[str, str]:
    """(holder, name): Class.method, a::b, A#b, a->b and the same with `()` behind; the holder is empty without one.

    Dots separate the parts of the holder. Any other text is a name without a holder.
    """
    dotted = text.strip("` \t\n").removesuffix("()")
    for mark in ("::", "->", "#"):
        dotted = dotted.replace(mark, ".")
    holder, _, name = dotted.rpartition(".")
    return (holder, name) if all(part.isidentifier() for part in holder.split(".")) else ("", text)


class _Shapes(dict[int, str]):
    """A table for str.translate that fills itself: code point → the character that stands for it in the pattern."""

    def __missing__(self, code_point: int) -> str:
        shape = self[code_point] = _classify_character(chr(code_point))
        return shape


_shapes = _Shapes()


def is_cjk(word: str) -> bool:
    """True if a word begins with a Chinese, Japanese or Korean character; the first character decides in mixed scripts."""
    return not word.isascii() and re.match(_CJK, word) is not None


def split_cjk(word: str) -> list[str]:
    """Overlapping pairs of characters, because CJK text has no word borders and people search for parts of it."""
    return [word[i : i + 2] for i in range(len(word) - 1)] or [word]


def find_nearest_word(word: str, known: Iterable[str], meant: Mapping[str, str] | None = None) -> str:
    """The word that `meant` gives, else the one with the fewest slips; empty if none is close.

    The first letter is taken to be right: `uninstall` is not a mistyped `install`, nor `hidden` a mistyped `intent`. A word
    is also close if one begins with the other: `symbol` for `symbols`, `func` for `function`.
    """
    from rapidfuzz.distance import OSA  # 27 ms, and only mistakes need it

    known = list(known)
    if meant and meant.get(word) in known:
        return meant[word]
    most = max(1, len(word) // LETTERS_PER_SLIP)
    near = []
    for place, other in enumerate(known):
        slips = OSA.distance(word, other)
        is_beginning = min(len(word), len(other)) >= SHORTEST_BEGINNING and (
            word.startswith(other) or other.startswith(word)
        )
        if word[:1] == other[:1] and (slips <= most or is_beginning):
            near.append((slips, place, other))
    return min(near)[2] if near else ""

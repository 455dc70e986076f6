"""Splits identifiers into words (getHTTPResponse → get http response), and corrects mistyped names.

Indexing and searching share this code, so that their terms match. Joined again, the words are the identifier without its
underscores.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

_WORD = re.compile(
    r"漢+"  # a run of Chinese, Japanese or Korean characters
    r"|(?<![A-Za-z\d])(?!0[xX])(?:[A-Za-z]\d+[A-Za-z]|\d+[A-Za-z]{1,2})(?![a-z\d])"  # k8s, i18n, e2e; 2fa, 3d
    r"|[A-Z]{2,}s(?![a-z])\d*"  # URLs, IDs
    r"|[A-Z]+(?=[A-Z][a-z])"  # HTTP in HTTPResponse
    r"|(?<=[A-Za-z]{2})[24](?=[A-Za-z])"  # the 2 of JSON2XML and str2int means "to"
    r"|(?:[A-Z]?[a-z]+|[A-Z]+)(?:(?![24][A-Za-z])\d+|(?<![A-Za-z]{2})\d+)?"  # bm25, x509, base64, k8
    r"|\d+"
)
_NO_LETTER = re.compile(r"[^a-z ]")
_SEPARATORS = re.compile(r"[\W_]+")
CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\U00020000-\U0003ffff"
"""Chinese, Japanese and Korean characters, written for a character set of a regular expression."""
_CJK = f"[{CJK}]"  # Compiled on first use: it takes 3 ms, and most searches do not need it
LETTERS_PER_SLIP = 4  # One typing mistake is allowed in up to 7 letters, two in 8 to 11, and so on
SHORTEST_BEGINNING = 3  # Minimum length of a beginning that counts as the word


def split_identifier(identifier: str) -> list[str]:
    """Split an identifier into words in lower case: 'BM25Nodes' → ['bm25', 'nodes'], 'x509Cert' → ['x509', 'cert']."""
    if not identifier.isascii():
        shape = identifier.translate(_shapes)
        return [identifier[m.start() : m.end()].casefold() for m in _WORD.finditer(shape)]
    spaced = identifier.replace("_", " ")
    if not identifier.islower():
        return [word.lower() for word in _WORD.findall(spaced)]
    return _WORD.findall(spaced) if _NO_LETTER.search(spaced) else spaced.split()


@lru_cache(maxsize=20_000)
def split_cached(identifier: str) -> tuple[str, ...]:
    """Split an identifier with a cache: candidates of successive searches share names."""
    return tuple(split_identifier(identifier))


def _classify_character(character: str) -> str:
    """Return the character that replaces this one for matching with _WORD."""
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
    """Reduce an identifier to letters and digits in lower case: before_request and beforeRequest become equal."""
    folded = identifier.casefold()
    return folded if folded.isalnum() else _SEPARATORS.sub("", folded) or folded


def is_short_for(short: str, name: str) -> bool:
    """Test whether a name has the letters of a shorter name in order, and the same first letter: `ctx` and `Context`."""
    if not 0 < len(short) < len(name) or short[0].casefold() != name[0].casefold():
        return False
    letters = iter(name.casefold())
    return all(c in letters for c in short.casefold())


def split_qualified(text: str) -> tuple[str, str]:
    """Split a qualified name into (holder, name): Class.method, a::b, A#b, a->b, each also with `()` at the end.

    Dots separate the parts of the holder. Any other text is a name with an empty holder.
    """
    dotted = text.strip("` \t\n").removesuffix("()")
    for mark in ("::", "->", "#"):
        dotted = dotted.replace(mark, ".")
    holder, _, name = dotted.rpartition(".")
    return (holder, name) if all(part.isidentifier() for part in holder.split(".")) else ("", text)


class CharacterTable(dict[int, str]):
    """A self-filling table for str.translate, which replaces each character by the result of a function."""

    def __init__(self, replace: Callable[[str], str]) -> None:
        super().__init__()
        self._replace = replace

    def __missing__(self, code_point: int) -> str:
        replacement = self[code_point] = self._replace(chr(code_point))
        return replacement


_shapes = CharacterTable(_classify_character)


def is_cjk(word: str) -> bool:
    """Test whether a word begins with a Chinese, Japanese or Korean character."""
    return not word.isascii() and re.match(_CJK, word) is not None


def split_cjk(word: str) -> list[str]:
    """Split CJK text into overlapping pairs of characters, because it has no spaces between words."""
    return [word[i : i + 2] for i in range(len(word) - 1)] or [word]


def find_nearest_word(word: str, known: Iterable[str], meant: Mapping[str, str] | None = None) -> str:
    """Find the known word that a mistyped word means: by `meant`, else by the fewest typing mistakes; empty if none is close.

    The first letter must agree: `uninstall` is not a mistyped `install`, nor `hidden` a mistyped `intent`. Words are also
    close if one begins with the other: `symbol` for `symbols`, `func` for `function`.
    """
    from rapidfuzz.distance import OSA  # takes 27 ms, so it is imported only for mistakes

    known = list(known)
    if meant and meant.get(word) in known:
        return meant[word]
    most = max(1, len(word) // LETTERS_PER_SLIP)
    near = []
    for place, other in enumerate(known):
        slips = OSA.distance(word, other)
        short, long = sorted((word, other), key=len)
        is_beginning = len(short) >= SHORTEST_BEGINNING and long.startswith(short)
        if word[:1] == other[:1] and (slips <= most or is_beginning):
            near.append((slips, place, other))
    return min(near)[2] if near else ""

"""Splits identifiers into words: getHTTPResponse → get http response.

Indexing and searching share this code, so that their terms match. No character is lost: the joined parts of an identifier are the
identifier without underscores.
"""

from __future__ import annotations

import re

_WORD = re.compile(
    r"漢+"  # a run of Chinese, Japanese or Korean characters
    r"|[A-Z]{2,}s(?![a-z])\d*"  # URLs, IDs
    r"|[A-Z]+(?=[A-Z][a-z])"  # HTTP in HTTPResponse
    r"|(?<=[A-Za-z]{2})[24](?=[A-Za-z])"  # the 2 of JSON2XML and str2int says "to"
    r"|(?:[A-Z]?[a-z]+|[A-Z]+)(?:(?![24][A-Za-z])\d+|(?<![A-Za-z]{2})\d+)?"  # bm25, x509, base64, k8
    r"|\d+"
)
_SEPARATORS = re.compile(r"[\W_]+")
CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\U00020000-\U0003ffff"
"""Chinese, Japanese and Korean characters, for a set of a regular expression."""
_CJK = re.compile(f"[{CJK}]")


def split_identifier(identifier: str) -> list[str]:
    """The words of an identifier in lower case, in order: 'BM25Nodes' → ['bm25', 'nodes'], 'x509Cert' → ['x509', 'cert']."""
    if identifier.isascii():
        return _WORD.findall(identifier.replace("_", " ")) if identifier.islower() else _words(identifier, identifier)
    return _words(identifier, identifier.translate(_shapes))


def _words(identifier: str, shape: str) -> list[str]:
    return [identifier[m.start() : m.end()].casefold() for m in _WORD.finditer(shape)]


def _character_class(character: str) -> str:
    """The ASCII character that stands for this one in the pattern above."""
    if character.isascii():
        return character
    if _CJK.match(character):
        return "漢"
    if character.isdigit():
        return "0"
    if character.isupper():
        return "A"
    return "a" if character.isalpha() or not character.isspace() else " "


def fold_identifier(identifier: str) -> str:
    """The letters and digits of an identifier in lower case: before_request and beforeRequest are equal."""
    folded = identifier.casefold()
    return folded if folded.isalnum() else _SEPARATORS.sub("", folded) or folded


class _Shapes(dict[int, str]):
    """A table for str.translate that fills itself: code point → the character that stands for it in the pattern."""

    def __missing__(self, code_point: int) -> str:
        shape = self[code_point] = _character_class(chr(code_point))
        return shape


_shapes = _Shapes()


def is_cjk(word: str) -> bool:
    """True if a word begins with a Chinese, Japanese or Korean character; the first character decides in mixed scripts."""
    return not word.isascii() and _CJK.match(word) is not None


def cjk_terms(word: str) -> list[str]:
    """Overlapping pairs of characters, because CJK text has no word borders and people search for parts of it."""
    return [word[i : i + 2] for i in range(len(word) - 1)] or [word]

"""Bytes that are neither UTF-8 nor UTF-16 → likely encodings, best first.

chardet is believed where it is sure. In short files it is not: right or wrong, it says .03 to .5 for a handful of
Chinese, Japanese or Russian words. There the text itself is judged: does it consist of characters that comments in
that language are made of?
"""

from __future__ import annotations

import codecs
import re
import tomllib
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_WINDOW = re.compile(rb"[\x01-\x7f]{0,24}(?:[\x80-\xff][\x01-\x7f]{0,24})+")
"""Text around non-ASCII bytes. It starts 24 bytes behind the last of them, so never in the middle of a character."""
_SAMPLE = 60_000
"""Bytes of windows that are judged; chardet's own limit is 200 kB, at 1.5 s."""
_PLAUSIBLE = 0.3
"""Mean character score from which a reading is believed; readings in a wrong encoding stay below .15."""
_IMPOSSIBLE = -3.0
"""Score of a letter that no word holds: one of them outweighs three good ones."""
_STATELESS_NAMES = """
gb18030 gbk gb2312 big5 cp950 cp932 shift_jis euc_jp cp949 euc_kr koi8-r koi8-u cp1250 cp1251 cp1252 cp1253 cp1254
cp1255 cp1256 cp1257 cp437 cp850 cp852 cp866 cp874 iso8859-1 iso8859-2 iso8859-5 iso8859-7 iso8859-9 iso8859-15
mac-roman mac-cyrillic tis-620
"""
_STATELESS = frozenset(_STATELESS_NAMES.split())
"""Encodings in which each character stands for itself, so that any piece of text has its own bytes."""


@dataclass(frozen=True, slots=True)
class _Script:
    """What text of one script looks like."""

    codecs: tuple[str, ...]
    frequent: frozenset[str]
    usual: frozenset[str]
    alphabet: frozenset[str]
    kana: bool
    mixes: bool
    """Its words hold ASCII letters too, and mostly those."""
    level: str
    """The charset whose common rows, by lead byte, tell its everyday characters from rare ones."""
    level_lead: tuple[int, int]


def guess_legacy(raw: bytes, threshold: float) -> list[tuple[str, float]]:
    """(Python codec, confidence between 0 and 1), best first; may be empty."""
    sample = b"\n".join(_windows(raw))
    judged = [
        (score, codec)
        for script in _scripts()
        for codec in script.codecs
        if (score := _judge(sample, codec, script)) > _PLAUSIBLE
    ]
    ordered = [(codec, min(score, 0.99)) for score, codec in sorted(judged, key=lambda row: -row[0])]
    if ordered and ordered[0][1] >= threshold:
        return ordered
    detected = _detected(sample)
    return [detected, *ordered] if detected and detected[1] >= threshold else ordered


def _windows(raw: bytes) -> Iterator[bytes]:
    room = _SAMPLE
    for found in _WINDOW.finditer(raw):
        if room <= 0:
            return
        yield found[0] if len(found[0]) <= room else found[0][: found[0].rfind(b"\n", 0, room) + 1] or found[0]
        room -= len(found[0])


def _detected(sample: bytes) -> tuple[str, float] | None:
    import chardet

    said = chardet.detect(sample)
    try:
        codec = codecs.lookup(said["encoding"] or "").name
    except LookupError:
        return None
    return (codec, said["confidence"] or 0.0) if codec in _STATELESS else None


def _judge(sample: bytes, codec: str, script: _Script) -> float:
    """Mean score of the characters that are not ASCII, at most 1; -1 where the bytes do not fit."""
    try:
        text = sample.decode(codec)
    except UnicodeError:
        return -1.0
    score = _letter_score if script.alphabet else _ideograph_score
    scores = [score(text, found.start(), script) for found in re.finditer(r"[^\x00-\x7f]", text)]
    return sum(scores) / len(scores) if scores else -1.0


def _ideograph_score(text: str, place: int, script: _Script) -> float:
    letter = text[place]
    if letter in script.frequent:
        return 1.0
    if script.kana and "\u3041" <= letter <= "\u30fe":
        return 0.9
    if "\u3000" <= letter <= "\u3015" or "\uff01" <= letter <= "\uff5e" or letter in "“”‘’…—·～":
        return 0.6
    return _level_score(letter, script)


@cache
def _level_score(letter: str, script: _Script) -> float:
    try:
        lead = letter.encode(script.level)[0]
    except UnicodeError:
        return -1.0
    return 0.25 if script.level_lead[0] <= lead <= script.level_lead[1] else -1.0


def _letter_score(text: str, place: int, script: _Script) -> float:
    """For alphabets: frequent letters, in words that do not change case or script in the middle."""
    letter, before, behind = text[place], text[place - 1 : place], text[place + 1 : place + 2]
    if letter in script.usual:
        return 0.6
    if letter.lower() not in script.alphabet or (letter.isupper() and before.islower()):
        return _IMPOSSIBLE
    near = [other for other in (before, behind) if other.isalpha()]
    plain = sum(other.isascii() for other in near)
    if script.mixes and len(near) > plain:
        return 0.2 if plain else -1.0
    if plain and not script.mixes:
        return -0.5
    return (1.0 if letter in script.frequent else 0.3) if letter.islower() else 0.4


@cache
def _scripts() -> tuple[_Script, ...]:
    table = tomllib.loads((files("codelens.worktree") / "encodings.toml").read_text(encoding="utf-8"))
    return tuple(
        _Script(
            tuple(row["codecs"]),
            frozenset(unicodedata.normalize("NFC", "".join(row["frequent"].split()))),
            frozenset(row.get("usual", "")),
            frozenset(row.get("alphabet", "")),
            row.get("kana", False),
            row.get("mixes", False),
            row.get("level", "ascii"),
            tuple(row.get("level_lead", (0, 0))),
        )
        for row in table.values()
    )

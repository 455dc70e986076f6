"""Bytes that are neither UTF-8 nor UTF-16 → likely encodings, best first.

chardet is believed where it is sure. In short files it is not: right or wrong, it says .03 to .5 for a handful of
Chinese, Japanese or Russian words. There the text itself is judged: does it consist of characters that comments in
that language are made of?
"""

from __future__ import annotations

import codecs
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

_WINDOW = re.compile(rb"[\x01-\x7f]{0,24}(?:[\x80-\xff][\x01-\x7f]{0,24})+")
"""Text around non-ASCII bytes. It starts 24 bytes behind the last of them, so never in the middle of a character."""
EVIDENCE = 20_000
"""Bytes of windows that are judged: .1 s. Four times as many change no answer on the texts tried."""
_PLAUSIBLE = 0.3
"""Mean character score from which a reading is believed; readings in a wrong encoding stay below .15."""
_LATIN_SURE = 0.9
"""Below it, accents look like cp1252 and may be Polish in ISO 8859-2; German, French, Spanish and Danish are above."""
_ENOUGH = 100
"""Bytes that are not ASCII from which chardet names the right encoding..."""
_CHARDET_RIGHT = 0.03
"""...though it says .04 to .5 of it (chardet 7, the tutorials and menus of vim in 30 languages)."""
_HIGH = bytes(range(128, 256))
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
    scores: Mapping[str, float]
    """Of the characters that are expected: from 1 for the frequent ones down to .3 for the rest of an alphabet."""
    usual: frozenset[str]
    is_alphabet: bool
    mixes: bool
    """Its words hold ASCII letters too, and mostly those."""
    level: str
    """The charset whose common rows, by lead byte, tell its everyday characters from rare ones."""
    level_lead: tuple[int, int]


def guess_legacy(raw: bytes, threshold: float) -> list[tuple[str, float]]:
    """(Python codec, confidence between 0 and 1), best first; may be empty.

    Our own reading goes first where it is convincing. Otherwise chardet does, where it is sure or has enough to go by.
    """
    sample = b"\n".join(windows_of(raw))
    judged = [(codec, min(_judge(sample, codec, script), 0.99)) for script in _scripts() for codec in script.codecs]
    ordered = sorted((row for row in judged if row[1] > _PLAUSIBLE), key=lambda row: -row[1])
    if ordered and ordered[0][1] >= (max(threshold, _LATIN_SURE) if ordered[0][0] == "cp1252" else threshold):
        return ordered
    detected = _detected(sample)
    enough = len(sample) - len(sample.translate(None, _HIGH)) >= _ENOUGH
    return [detected, *ordered] if detected and detected[1] >= (_CHARDET_RIGHT if enough else threshold) else ordered


def windows_of(raw: bytes) -> Iterator[bytes]:
    """What is judged of a text: the surroundings of its bytes that are not ASCII, up to EVIDENCE bytes."""
    room = EVIDENCE
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
    score = _letter_score if script.is_alphabet else _ideograph_score
    scores = [score(text, found.start(), script) for found in re.finditer(r"[^\x00-\x7f]", text)]
    return sum(scores) / len(scores) if scores else -1.0


def _ideograph_score(text: str, place: int, script: _Script) -> float:
    letter = text[place]
    score = script.scores.get(letter)
    if score is not None:
        return score
    if "\u3000" <= letter <= "\u3015" or "\uff01" <= letter <= "\uff5e" or letter in "“”‘’…—·～":
        return 0.6
    return _level_score(letter, script.level, script.level_lead)


@lru_cache(maxsize=20_000)
def _level_score(letter: str, level: str, leads: tuple[int, int]) -> float:
    try:
        lead = letter.encode(level)[0]
    except UnicodeError:
        return -1.0
    return 0.25 if leads[0] <= lead <= leads[1] else -1.0


def _letter_score(text: str, place: int, script: _Script) -> float:
    """For alphabets: frequent letters, in words that do not change case or script in the middle."""
    letter, before, behind = text[place], text[place - 1 : place], text[place + 1 : place + 2]
    if letter in script.usual:
        return 0.6
    score = script.scores.get(letter.lower())
    if score is None or (letter.isupper() and before.islower()):
        return _IMPOSSIBLE
    near = [other for other in (before, behind) if other.isalpha()]
    plain = sum(other.isascii() for other in near)
    if script.mixes and len(near) > plain:
        return 0.2 if plain else -1.0
    if plain and not script.mixes:
        return -0.5
    return score if letter.islower() else 0.6 * score


@cache
def encoding_rules() -> str:
    """The file that says how encodings are told apart: part of each document's recipe."""
    return Path(__file__).with_name("encodings.toml").read_text(encoding="utf-8")


@cache
def _scripts() -> tuple[_Script, ...]:
    table = tomllib.loads(encoding_rules())
    return tuple(
        _Script(
            codecs=tuple(row["codecs"]),
            scores=_scores(row),
            usual=frozenset(row.get("usual", "")),
            is_alphabet="alphabet" in row,
            mixes=row.get("mixes", False),
            level=row.get("level", "ascii"),
            level_lead=tuple(row.get("level_lead", (0, 0))),
        )
        for row in table.values()
    )


def _scores(row: Mapping[str, Any]) -> Mapping[str, float]:
    """Letters of an alphabet by their rank; accents among ASCII letters are too few to be ranked."""
    frequent = "".join(row["frequent"].split())
    if "alphabet" not in row:
        kana = dict.fromkeys(map(chr, range(0x3041, 0x30FF)), 0.9) if row.get("kana") else {}
        return kana | dict.fromkeys(frequent, 1.0)
    fall = 0.0 if row.get("mixes") else 0.7 / len(frequent)
    return dict.fromkeys(row["alphabet"], 0.3) | {letter: 1.0 - fall * rank for rank, letter in enumerate(frequent)}

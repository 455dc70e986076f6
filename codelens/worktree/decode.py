"""Decodes a file's bytes to text, with the encoding and a confidence; None for binary files.

Proof in the bytes comes first: a byte order mark, strict UTF-8, the NULs of UTF-16. Only then are encodings guessed, and every
result must encode back to the same bytes. chardet is used where it is sure. In short files it is not: their text is judged by
how common its characters are in each script."""

from __future__ import annotations

import codecs
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path

from codelens.model.extraction import DecodedText
from codelens.model.fast_dataclass import dataclass

_WINDOW = re.compile(rb"[\x01-\x7f]{0,24}(?:[\x80-\xff][\x01-\x7f]{0,24})+")  # Text around non-ASCII bytes
EVIDENCE = 20_000  # Bytes of windows that are judged, which takes .1 s. Four times as many change no result on the texts tried.
_PLAUSIBLE = 0.3  # Mean character score from which an encoding is plausible; wrong encodings stay below .15
_LATIN_SURE = 0.9  # Below this score, what looks like cp1252 may be Polish in ISO 8859-2
_ENOUGH = 100  # Number of non-ASCII bytes from which chardet names the right encoding...
_CHARDET_RIGHT = 0.03  # …even if it reports a confidence of only .04 to .5
_HIGH = bytes(range(128, 256))
_IMPOSSIBLE = -3.0  # Score of a letter that occurs in no word; one outweighs three good letters
_STATELESS_NAMES = """
gb18030 gbk gb2312 big5 cp950 cp932 shift_jis euc_jp cp949 euc_kr koi8-r koi8-u cp1250 cp1251 cp1252 cp1253 cp1254
cp1255 cp1256 cp1257 cp437 cp850 cp852 cp866 cp874 iso8859-1 iso8859-2 iso8859-5 iso8859-7 iso8859-9 iso8859-15
mac-roman mac-cyrillic tis-620
"""
_STATELESS = frozenset(_STATELESS_NAMES.split())
"""Encodings in which each character stands for itself, so that any part of a text has its own bytes."""


@dataclass(frozen=True, slots=True)
class _Script:
    codecs: tuple[str, ...]
    scores: Mapping[str, float]
    """Scores of the expected characters: from 1 for frequent ones down to .3 for the rest of an alphabet."""
    usual: frozenset[str]
    is_alphabet: bool
    mixes: bool  # Words of this script mostly consist of ASCII letters
    level: str  # The charset whose common rows, by lead byte, separate everyday characters from rare ones
    level_lead: tuple[int, int]


def guess_legacy(raw: bytes, threshold: float) -> list[tuple[str, float]]:
    """Guess the encoding. Returns (Python codec, confidence between 0 and 1), best first; may be empty. Our own judgement comes
    first where it is convincing, else chardet's if sure or given enough bytes. A `threshold` above 1 turns guessing off."""
    if threshold > 1:
        return []
    sample = b"\n".join(select_windows(raw))
    judged = [
        (codec, min(_score_codec(sample, codec, script), 0.99)) for script in _read_scripts() for codec in script.codecs
    ]
    ordered = sorted((row for row in judged if row[1] > _PLAUSIBLE), key=lambda row: -row[1])
    if ordered and ordered[0][1] >= (max(threshold, _LATIN_SURE) if ordered[0][0] == "cp1252" else threshold):
        return ordered
    import chardet

    named = chardet.detect(sample)
    try:
        detected = (codecs.lookup(named["encoding"] or "").name, named["confidence"] or 0.0)
    except LookupError:
        return ordered
    enough = len(sample) - len(sample.translate(None, _HIGH)) >= _ENOUGH
    is_usable = detected[0] in _STATELESS and detected[1] >= (_CHARDET_RIGHT if enough else threshold)
    return [detected, *ordered] if is_usable else ordered


def select_windows(raw: bytes) -> Iterator[bytes]:
    """Yield the surroundings of a text's non-ASCII bytes, up to EVIDENCE bytes in all."""
    room = EVIDENCE
    for window in _WINDOW.finditer(raw):
        if room <= 0:
            return
        yield window[0] if len(window[0]) <= room else window[0][: window[0].rfind(b"\n", 0, room) + 1] or window[0]
        room -= len(window[0])


def _score_codec(sample: bytes, codec: str, script: _Script) -> float:
    """Compute the mean score of the non-ASCII characters, at most 1; -1 if the bytes do not fit the codec."""
    try:
        text = sample.decode(codec)
    except UnicodeError:
        return -1.0
    score = _score_letter if script.is_alphabet else _score_ideograph
    scores = [score(text, match.start(), script) for match in re.finditer(r"[^\x00-\x7f]", text)]
    return sum(scores) / len(scores) if scores else -1.0


def _score_ideograph(text: str, place: int, script: _Script) -> float:
    """Score an ideograph, or the punctuation around it, by its frequency in the script."""
    letter = text[place]
    score = script.scores.get(letter)
    if score is not None:
        return score
    if "\u3000" <= letter <= "\u3015" or "\uff01" <= letter <= "\uff5e" or letter in "“”‘’…—·～":
        return 0.6
    return _score_by_level(letter, script.level, script.level_lead)


@lru_cache(maxsize=20_000)
def _score_by_level(letter: str, level: str, leads: tuple[int, int]) -> float:
    """Score a rare ideograph, low if it is in the charset's common rows, negative elsewhere."""
    try:
        lead = letter.encode(level)[0]
    except UnicodeError:
        return -1.0
    return 0.25 if leads[0] <= lead <= leads[1] else -1.0


def _score_letter(text: str, place: int, script: _Script) -> float:
    """Score a letter of an alphabet, high if it is frequent and its word does not change case or script in the middle."""
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
def read_encoding_rules() -> str:
    """Read the file of rules for telling encodings apart; it is part of each document's recipe."""
    return Path(__file__).with_name("encodings.toml").read_text(encoding="utf-8")


@cache
def _read_scripts() -> list[_Script]:
    scripts = []
    for row in tomllib.loads(read_encoding_rules()).values():
        frequent, mixes, is_alphabet = "".join(row["frequent"].split()), row.get("mixes", False), "alphabet" in row
        if is_alphabet:  # scored by rank; accents among ASCII letters are too few to rank
            fall = 0.0 if mixes else 0.7 / len(frequent)
            scores = dict.fromkeys(row["alphabet"], 0.3) | {c: 1.0 - fall * rank for rank, c in enumerate(frequent)}
        else:
            kana = map(chr, range(0x3041, 0x30FF)) if row.get("kana") else ()
            scores = dict.fromkeys(kana, 0.9) | dict.fromkeys(frequent, 1.0)
        usual, level, lead = frozenset(row.get("usual", "")), row.get("level", "ascii"), row.get("level_lead", (0, 0))
        scripts.append(_Script(tuple(row["codecs"]), scores, usual, is_alphabet, mixes, level, tuple(lead)))
    return scripts


_MARKS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\0\0", "utf-32-le"),
    (b"\0\0\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
_LOOKED_AT = 8_000  # Bytes in which a NUL makes a file binary; git uses the same number
HEAD = 4 * _LOOKED_AT  # Bytes from which _LOOKED_AT characters can be decoded, whatever the encoding
_CONTROLS = bytes({*range(32), 127} - {8, 9, 10, 11, 12, 13, 26, 27})
"""Control characters that text does not contain. Tab, line ends, form feed, backspace, escape and DOS's end mark may."""
_PLAIN_SHARE = 0.02  # Share of the units that must be ASCII letters, digits or blanks: even Chinese prose has line ends


def decode(raw: bytes, threshold: float) -> DecodedText | None:
    """Decode a file such that text.encode(encoding) == raw[bom:]; None for binary. `threshold` is the confidence that chardet
    needs. The result's confidence is 1.0 if bytes prove the encoding, .9 for UTF-16 found by its NULs, 0.0 for Latin-1."""
    possible = list_readings(raw, len(raw), lambda: count_controls(raw), lambda: guess_legacy(raw, threshold))
    return next((text for name, sure, bom in possible if (text := decode_exactly(raw, name, sure, bom))), None)


Reading = tuple[str, float, int]  # Encoding, confidence, length of the byte order mark


def list_readings(
    head: bytes, size: int, controls: Callable[[], int], guess: Callable[[], Sequence[tuple[str, float]]]
) -> Iterator[Reading]:
    """Yield the possible encodings of a file of `size` bytes, best first; the first that fits all its bytes is right. `head`
    holds at least the first HEAD bytes. A binary file has no readings."""
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            yield encoding, 1.0, len(mark)
    if b"\0" in head[:_LOOKED_AT]:
        if encoding := _guess_utf16(head, size):
            yield encoding, 0.9, 0
        return
    yield "utf-8", 1.0, 0
    if controls() <= size // 200:  # else compressed or machine data that happens to have no NUL
        for encoding, sure in (*guess(), ("cp1252", 0.1), ("latin-1", 0.0)):
            yield encoding, sure, 0


def is_binary(raw: bytes) -> bool:
    """True if decode would return None; much cheaper, because no encoding is guessed."""
    possible = list_readings(raw, len(raw), lambda: count_controls(raw), lambda: ())
    return all(decode_exactly(raw, *reading) is None for reading in possible)


def decode_exactly(raw: bytes, encoding: str, confidence: float, bom: int = 0) -> DecodedText | None:
    """Decode a text in this encoding; None unless it encodes back to exactly these bytes."""
    body = raw[bom:] if bom else raw
    try:
        text = body.decode(encoding)
        if encoding != "utf-8" and text.encode(encoding) != body:
            return None
    except UnicodeError:
        return None
    return DecodedText(text, encoding, confidence, bom)


def count_controls(raw: bytes) -> int:
    """Count the control characters that texts do not contain."""
    return len(raw) - len(raw.translate(None, _CONTROLS))


def _guess_utf16(head: bytes, size: int) -> str:
    """Guess the byte order of UTF-16 without a mark by the NULs, which are the high halves of ASCII; empty if it is not."""
    looked_at = head[:_LOOKED_AT]
    low, high = looked_at[0::2].count(0), looked_at[1::2].count(0)
    encoding = "utf-16-le" if high > low else "utf-16-be"
    if size % 2 or min(low, high) * 3 > max(low, high):
        return ""
    text = head[:HEAD].decode(encoding, "ignore")[:_LOOKED_AT]
    plain = len(re.findall(r"[A-Za-z0-9\s]", text))
    odd = len(re.findall(r"[\x00-\x07\x0e-\x19\x1c-\x1f\x7f-\x9f\ue000-\uf8ff\ufff0-\uffff]", text))
    return encoding if plain >= max(1, _PLAIN_SHARE * len(text)) and odd * 200 <= len(text) else ""

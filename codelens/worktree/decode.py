"""A file's bytes → its text, with the encoding and how sure that is; None for what is no text.

What the bytes prove comes first: byte order mark, strict UTF-8, the NULs of UTF-16. Only then a guess, and every answer
must give the very bytes back. UTF-16 is asked about before NULs mean binary.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from codelens.derived import DecodedText
from codelens.worktree.legacy import guess_legacy

_MARKS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\0\0", "utf-32-le"),
    (b"\0\0\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
_LOOKED_AT = 8_000
"""Bytes in which a NUL makes a file binary: git's own measure."""
HEAD = 4 * _LOOKED_AT
"""Bytes that hold as many characters of UTF-16."""
_CONTROLS = bytes({*range(32), 127} - {8, 9, 10, 11, 12, 13, 26, 27})
"""What text does not hold. Tab, line ends, form feed, backspace, escape and the end mark of DOS may occur."""
_PLAIN_SHARE = 0.02
"""Share of the units that must be ASCII letters, digits or blanks: even Chinese prose has line ends."""


def decode(raw: bytes, threshold: float) -> DecodedText | None:
    """The text, such that text.encode(encoding) == raw[bom:]; None for binary.

    `threshold` is the confidence that chardet must reach to be believed without further evidence. Confidence is 1.0
    where bytes prove the encoding, .9 for UTF-16 known by its NULs, 0.0 for the last resort, Latin-1.
    """
    found = readings(raw, len(raw), lambda: _has_controls(raw), lambda: guess_legacy(raw, threshold))
    return next((text for name, sure, bom in found if (text := exactly(raw, name, sure, bom))), None)


Reading = tuple[str, float, int]
"""Encoding, confidence, bytes of byte order mark."""


def readings(
    head: bytes, size: int, has_controls: Callable[[], bool], guess: Callable[[], Sequence[tuple[str, float]]]
) -> Iterator[Reading]:
    """The encodings that a file of `size` bytes may have, best first: the first that fits all of its bytes is right.

    `head` are its first HEAD bytes at least, if it has so many. None fits a binary file.
    """
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            yield encoding, 1.0, len(mark)
    if b"\0" in head[:_LOOKED_AT]:
        if encoding := _utf16(head, size):
            yield encoding, 0.9, 0
        return
    yield "utf-8", 1.0, 0
    if not has_controls():
        for encoding, sure in (*guess(), ("cp1252", 0.1), ("latin-1", 0.0)):
            yield encoding, sure, 0


def is_binary(raw: bytes) -> bool:
    """Whether decode would give None, at a fraction of its cost."""
    if any(raw.startswith(mark) and exactly(raw, encoding, 1.0, len(mark)) for mark, encoding in _MARKS):
        return False
    if b"\0" in raw[:_LOOKED_AT]:
        encoding = _utf16(raw, len(raw))
        return not encoding or exactly(raw, encoding, 0.9) is None
    return _has_controls(raw) and exactly(raw, "utf-8", 1.0) is None


def exactly(raw: bytes, encoding: str, confidence: float, bom: int = 0) -> DecodedText | None:
    """The text in this encoding if it stands for these bytes and no others."""
    body = raw[bom:] if bom else raw
    try:
        text = body.decode(encoding)
        if encoding != "utf-8" and text.encode(encoding) != body:
            return None
    except UnicodeError:
        return None
    return DecodedText(text, encoding, confidence, bom)


def controls(raw: bytes) -> int:
    """How many bytes there are that no text holds."""
    return len(raw) - len(raw.translate(None, _CONTROLS))


def too_many_controls(found: int, size: int) -> bool:
    """More than one byte in two hundred: compressed or machine data that happens to have no NUL."""
    return found > size // 200


def _has_controls(raw: bytes) -> bool:
    return too_many_controls(controls(raw), len(raw))


def _utf16(head: bytes, size: int) -> str:
    """UTF-16 without a mark: the NULs are the high halves of ASCII characters, so they mostly keep to one side."""
    looked_at = head[:_LOOKED_AT]
    low, high = looked_at[0::2].count(0), looked_at[1::2].count(0)
    encoding = "utf-16-le" if high > low else "utf-16-be"
    if size % 2 or min(low, high) * 3 > max(low, high):
        return ""
    return encoding if _reads_as_text(head[:HEAD].decode(encoding, "ignore")[:_LOOKED_AT]) else ""


def _reads_as_text(text: str) -> bool:
    plain = len(re.findall(r"[A-Za-z0-9\s]", text))
    odd = len(re.findall(r"[\x00-\x07\x0e-\x19\x1c-\x1f\x7f-\x9f\ue000-\uf8ff\ufff0-\uffff]", text))
    return plain >= max(1, _PLAIN_SHARE * len(text)) and odd * 200 <= len(text)

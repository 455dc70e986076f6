"""A large file, read in blocks → its hash, encoding and number of lines, or the reason to leave it out.

It is judged by the rules that hold for any file (decode.py, classify.py), without ever being in memory whole.
"""

from __future__ import annotations

import codecs
import hashlib
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

import xxhash

from codelens.model import SkipReason
from codelens.worktree.classify import LineLengths, Reason, classify_text
from codelens.worktree.decode import HEAD, Reading, controls, readings, too_many_controls
from codelens.worktree.freshness import BLOCK
from codelens.worktree.legacy import EVIDENCE, guess_legacy, windows_of


class Survey(NamedTuple):
    """What one reading of a file told."""

    content_hash: bytes
    digest: bytes
    """SHA-256 of the file's own bytes."""
    encoding: str
    confidence: float
    bom: int
    lines: int
    """As `TextMap.lines` counts them."""


def survey(path: str, file: BinaryIO, threshold: float, include_vendored: bool = False) -> Survey | Reason:
    """Read the file from its beginning, more than once where UTF-8 does not fit. Raises OSError."""
    content, digest = xxhash.xxh3_128(), hashlib.sha256()
    head, lengths, odd, evidence, tail = b"", LineLengths(), 0, bytearray(), b""
    file.seek(0)
    while block := file.read(BLOCK):
        head = head + block if len(head) < HEAD else head
        content.update(block)
        digest.update(block)
        lengths.add(block)
        odd += controls(block)
        if len(evidence) < EVIDENCE:
            whole, newline, tail = (tail + block).rpartition(b"\n")
            if not newline and len(tail) > EVIDENCE:
                whole, tail = tail, b""
            evidence += b"\n".join([*windows_of(whole), b""])  # of whole lines: a block may end within a character
    found = readings(
        head,
        lengths.size,
        lambda: too_many_controls(odd, lengths.size),
        lambda: guess_legacy(bytes(evidence) + tail, threshold),
    )
    for reading in found:
        if (lines := _lines(file, reading)) is not None:
            reason = None if include_vendored else classify_text(path, head, lambda: lengths)
            return reason or Survey(content.digest(), digest.digest(), *reading, lines)
    return SkipReason.BINARY, "not text"


def decoded_blocks(file: BinaryIO, encoding: str, bom: int) -> Iterator[tuple[bytes, str]]:
    """(bytes, their text) of a file behind its mark, block by block; blocks end between characters.

    Raises UnicodeError where the bytes are not the text's in this encoding.
    """
    file.seek(bom)
    decoder = codecs.getincrementaldecoder(encoding)()
    pending = b""
    while True:
        block = file.read(BLOCK)
        raw, text = pending + block, decoder.decode(block, final=not block)
        pending = decoder.getstate()[0]
        raw = raw[: len(raw) - len(pending)]
        if encoding != "utf-8" and text.encode(encoding) != raw:
            raise UnicodeError(f"not {encoding}")
        if text:
            yield raw, text
        if not block:
            return


def _lines(file: BinaryIO, reading: Reading) -> int | None:
    """Number of lines; None where the encoding does not fit."""
    encoding, _, bom = reading
    lines, last = 0, "\n"
    try:
        for _, text in decoded_blocks(file, encoding, bom):
            lines += text.count("\n")
            last = text[-1]
    except UnicodeError:
        return None
    return lines + (last != "\n")

"""Surveys a large file in blocks: its hash, encoding and number of lines, or the reason to leave it out.

The rules are those for any file (decode.py, classify.py), but the file is never in memory as a whole.
"""

from __future__ import annotations

import codecs
import hashlib
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

import xxhash

from codelens.model.code import SkipReason
from codelens.worktree.classify import LineLengths, Reason, classify_text
from codelens.worktree.decode import (
    EVIDENCE,
    HEAD,
    Reading,
    controls,
    guess_legacy,
    readings,
    too_many_controls,
    windows_of,
)
from codelens.worktree.files import BLOCK


class Survey(NamedTuple):
    """Facts from reading a file once."""

    content_hash: bytes
    digest: bytes  # SHA-256 of the file's own bytes
    encoding: str
    confidence: float
    bom: int
    lines: int  # Counted like `TextMap.lines`


def survey(path: str, file: BinaryIO, threshold: float, include_vendored: bool = False) -> Survey | Reason:
    """Read the file from its beginning, more than once if it is not UTF-8. Raises OSError."""
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
            evidence += b"\n".join([*windows_of(whole), b""])  # whole lines, because a block may end inside a character
    possible = readings(
        head,
        lengths.size,
        lambda: too_many_controls(odd, lengths.size),
        lambda: guess_legacy(bytes(evidence) + tail, threshold),
    )
    for reading in possible:
        if (lines := _lines(file, reading)) is not None:
            reason = None if include_vendored else classify_text(path, head, lambda: lengths)
            return reason or Survey(content.digest(), digest.digest(), *reading, lines)
    return SkipReason.BINARY, "not text"


def decoded_blocks(file: BinaryIO, encoding: str, bom: int) -> Iterator[tuple[bytes, str]]:
    """Pairs (bytes, their text) after the byte order mark, in blocks that end between characters.

    Raises UnicodeError if the bytes do not fit the encoding.
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
    """Number of lines; None if the encoding does not fit."""
    encoding, _, bom = reading
    lines, last = 0, "\n"
    try:
        for _, text in decoded_blocks(file, encoding, bom):
            lines += text.count("\n")
            last = text[-1]
    except UnicodeError:
        return None
    return lines + (last != "\n")

"""Reads a file as decoded text, or finds the reason to skip it. A large file is surveyed and read in blocks."""

from __future__ import annotations

import codecs
import hashlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import xxhash

from codelens.config import Settings
from codelens.files import open_regular
from codelens.model.code import SeenFile, Skip, SkipReason
from codelens.model.extraction import DecodedText, UnchangedFile
from codelens.worktree.classify import LineLengths, Reason, classify_bytes, classify_text
from codelens.worktree.decode import EVIDENCE, HEAD, count_controls, decode, guess_legacy, list_readings, select_windows
from codelens.worktree.files import BLOCK, hash_content

TICK_NS = 10_000_000  # Longest tick of a Linux kernel (HZ = 100); NTFS and APFS have finer clocks


class ReadText(NamedTuple):
    """The bytes and text of a text file, as they were read."""

    raw: bytes
    content_hash: bytes
    decoded: DecodedText


def read_text(
    root: Path, seen: SeenFile, settings: Settings, known_hash: bytes | None = None
) -> ReadText | Skip | UnchangedFile:
    """Read and decode one file; UnchangedFile if it has the `known_hash`. Raises OSError."""
    wait_for_clock_tick(seen.stamp.mtime_ns, seen.stamp.ctime_ns)
    limit = settings.max_file_size
    with open_regular(root / seen.os_path) as file:
        size = min(limit, os.fstat(file.fileno()).st_size)
        raw = file.read(size + 1)  # room for the limit would be allocated for each small file
        raw += file.read(limit - size) if len(raw) > size else b""
    if len(raw) > limit:
        return Skip(seen.path, SkipReason.TOO_LARGE, "grew over the limit while indexing", seen.stamp)
    if reason := classify_bytes(seen.path, raw, settings.include_vendored):  # first: the rules may have changed
        return Skip(seen.path, *reason, seen.stamp)
    digest = hash_content(raw)
    if digest == known_hash:
        return UnchangedFile(seen, digest)
    if (decoded := decode(raw, settings.least_confidence)) is None:
        return Skip(seen.path, SkipReason.BINARY, "not text", seen.stamp)
    return ReadText(raw, digest, decoded)


def skip_unreadable(seen: SeenFile, fault: OSError) -> Skip:
    """Build the skip of a file that cannot be read, with the operating system's message."""
    reason = "vanished while indexing" if isinstance(fault, FileNotFoundError) else fault.strerror or str(fault)
    return Skip(seen.path, SkipReason.UNREADABLE, reason, seen.stamp)


def wait_for_clock_tick(*times_ns: int) -> None:
    """Wait until a write would give a file another time than these. git calls a file "racily clean" if it is written twice
    within one tick of the kernel's clock (Documentation/technical/racy-git.txt)."""
    now = time.time_ns()
    waits = [wait for noted in times_ns if 0 < (wait := noted + TICK_NS - now) <= TICK_NS]
    if waits:
        time.sleep(max(waits) / 1e9)


class Survey(NamedTuple):
    content_hash: bytes
    digest: bytes  # SHA-256 of the file's own bytes
    encoding: str
    confidence: float
    bom: int
    lines: int  # Counted like `TextMap.lines`


def survey_file(path: str, file: BinaryIO, threshold: float, include_vendored: bool = False) -> Survey | Reason:
    """Read a whole file without keeping it, more than once if it is not UTF-8. Raises OSError."""
    content, digest = xxhash.xxh3_128(), hashlib.sha256()
    head, lengths, odd, evidence, tail = b"", LineLengths(), 0, bytearray(), b""
    file.seek(0)
    while block := file.read(BLOCK):
        head = head + block if len(head) < HEAD else head
        content.update(block)
        digest.update(block)
        lengths.add(block)
        odd += count_controls(block)
        if len(evidence) < EVIDENCE:
            whole, newline, tail = (tail + block).rpartition(b"\n")
            if not newline and len(tail) > EVIDENCE:
                whole, tail = tail, b""
            # Whole lines, because a block may end inside a character
            evidence += b"\n".join([*select_windows(whole), b""])
    possible = list_readings(head, lengths.size, lambda: odd, lambda: guess_legacy(bytes(evidence) + tail, threshold))
    for encoding, confidence, bom in possible:
        lines, last = 0, "\n"
        try:
            for _, text in decode_blocks(file, encoding, bom):
                lines += text.count("\n")
                last = text[-1]
        except UnicodeError:
            continue
        reason = None if include_vendored else classify_text(path, head, lambda: lengths)
        lines += last != "\n"
        return reason or Survey(content.digest(), digest.digest(), encoding, confidence, bom, lines)
    return SkipReason.BINARY, "not text"


def decode_blocks(file: BinaryIO, encoding: str, bom: int) -> Iterator[tuple[bytes, str]]:
    """Yield (bytes, their text) after the byte order mark, in blocks that end between characters. Raises UnicodeError."""
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

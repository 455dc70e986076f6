"""Arbitrary and broken source through decode → parse → extract → derive, in every language, as a run would do it.

Through worker processes: a grammar that aborts on an input is a fault of that file, and the run must survive it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from codelens.config import Settings
from codelens.indexing.derive import Job, Result
from codelens.indexing.workers import derive_all
from codelens.lang.registry import languages
from codelens.model.code import CHUNK_KINDS, SYMBOL_KINDS, FileStamp, SeenFile, Skip
from codelens.model.extraction import DerivedDocument
from tools.campaign import ROOT, Campaign, Report, expect

JUNK = (
    *(b"\xff", b"\xc3", b"\xe2\x82", b"{", b"}", b"(", b")", b"'", b'"', b"\\", b"\r", b"/*", b"<<", b"\n\n", b"`"),
    *("漢".encode(), b"\0", b"\xef\xbb\xbf", b"((((((((", b"/* ", b"<!--", b"${", b"%{", b"#if 0\n", b"\t" * 40),
)
SEPARATOR = "\n---\n"  # In a case file, between the source and what is expected of it


def broken(source: bytes, luck: random.Random) -> bytes:
    """A source with pieces lost, doubled, moved or replaced by junk."""
    for _ in range(luck.randint(1, 12)):
        start = luck.randint(0, len(source))
        end = min(len(source), start + luck.randint(0, 40))
        piece = luck.choice((b"", source[start:end] * 2, source[: end - start], luck.choice(JUNK)))
        source = source[:start] + piece + source[end:]
    return source


@cache
def sources(language: str = "") -> Sequence[bytes]:
    """Those of the case files for extraction: of one language, or of all."""
    files = sorted((ROOT / "tests/cases/extraction" / language).rglob("*.txt"))
    return [file.read_text(encoding="utf-8").partition(SEPARATOR)[0].encode() for file in files]


def written(folder: Path, luck: random.Random, rounds: int) -> Iterator[Job]:
    """Files to derive, `rounds` in each language: the first of random bytes, others broken sources."""
    for name, row in sorted(languages().items()):
        for number in range(rounds):
            noise = number == 0 and luck.random() < 0.5
            source = b"" if noise else luck.choice(sources(name) or sources())
            raw = luck.randbytes(luck.randint(0, 400)) if noise else broken(source, luck)
            path = f"{number}/{name}"
            if row.extensions:
                path += f".{luck.choice(row.extensions)}"
            elif row.filenames:
                path = f"{number}/{row.filenames[0].replace('*', 'x')}"
            else:
                raw = f"#!/usr/bin/env {row.shebangs[0]}\n".encode() + raw
            (folder / path).parent.mkdir(exist_ok=True, parents=True)
            (folder / path).write_bytes(raw)
            yield Job(str(folder), SeenFile(path, path, FileStamp(len(raw), 0, 0)))


def check(result: Result) -> None:
    """Raise Failed unless the result is a document whose places make sense, or a skip for a reason of the file."""
    if isinstance(result, Skip):
        expect(result.reason in ("binary", "unreadable") and "Error" not in result.detail, f"skipped: {result}")
    elif isinstance(result, DerivedDocument):
        _check_document(result)


def _check_document(document: DerivedDocument) -> None:
    path, size, fault = document.seen.path, document.seen.stamp.size, document.extraction.fault
    expect("Error" not in fault and "crashed" not in fault, f"{path}: {fault}")
    units = document.extraction.units
    expect(len(document.postings) == len(document.vectors) == len(units), f"{path}: postings and vectors")
    for unit in units:
        expect(unit.kind in SYMBOL_KINDS + CHUNK_KINDS, f"{path}: {unit}")
        inside = 0 <= unit.span.start <= unit.name_span.start <= unit.name_span.end <= unit.span.end <= size
        body = unit.span.start <= unit.body_start <= unit.span.end and unit.start_line <= unit.end_line
        expect(inside and body, f"{path}, {size} bytes: {unit}")


def run(count: int, seed: int, folder: Path, report: Report) -> None:
    """At least `count` files: an attempt is a run over one in each language."""
    number = seed
    while report.tried < count:
        jobs = list(written(folder / str(number), random.Random(number), 1))
        with report.attempt(number, tries=len(jobs)):
            results = list(derive_all(jobs, Settings(include_vendored=True)))
            expect(len(results) == len(jobs), f"{len(results)} results of {len(jobs)} files")
            for result in results:
                check(result)
                report.counts[type(result).__name__] += 1
        number += 1


CAMPAIGNS = (Campaign("derive", run, 20_000, "files of random bytes and broken source, in every language"),)

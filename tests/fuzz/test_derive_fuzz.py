"""Arbitrary and broken bytes through decode → parse → extract → derive, in every language, as a run would do it.

Through worker processes: a grammar that aborts on an input is a fault of that file, and the run must survive it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from codelens.config import Settings
from codelens.derived import DerivedDocument
from codelens.indexing.workers import Job, derive_all
from codelens.lang.registry import languages
from codelens.model import CHUNK_KINDS, SYMBOL_KINDS, FileStamp, SeenFile, Skip
from tests.conftest import SEPARATOR, case_files

ROUNDS = 5
JUNK = (
    b"\xff",
    b"\xc3",
    b"\xe2\x82",
    b"{",
    b"}",
    b"(",
    b")",
    b"'",
    b'"',
    b"\\",
    b"\r",
    b"/*",
    b"<<",
    b"\n\n",
    "漢".encode(),
    b"`",
)


def broken(source: bytes, luck: random.Random) -> bytes:
    """A source with pieces lost, doubled, moved or replaced by junk."""
    for _ in range(luck.randint(1, 12)):
        start = luck.randint(0, len(source))
        end = min(len(source), start + luck.randint(0, 40))
        piece = luck.choice((b"", source[start:end] * 2, source[: end - start], luck.choice(JUNK)))
        source = source[:start] + piece + source[end:]
    return source


def files(folder: Path) -> Iterator[Job]:
    luck = random.Random(20)
    sources = [p.read_text(encoding="utf-8").partition(SEPARATOR)[0].encode() for p in case_files("extraction")]
    for name, row in sorted(languages().items()):
        own = [p.read_text(encoding="utf-8").partition(SEPARATOR)[0].encode() for p in case_files(f"extraction/{name}")]
        for number in range(ROUNDS):
            raw = luck.randbytes(luck.randint(0, 400)) if number == 0 else broken(luck.choice(own or sources), luck)
            path = f"{number}/{name}"
            if row.extensions:
                path += f".{row.extensions[0]}"
            elif row.filenames:
                path = f"{number}/{row.filenames[0].replace('*', 'x')}"
            else:
                raw = f"#!/usr/bin/env {row.shebangs[0]}\n".encode() + raw
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_bytes(raw)
            yield Job(str(folder), SeenFile(path, path, FileStamp(len(raw), 0, 0)))


def test_no_bytes_stop_a_run(tmp_path: Path) -> None:
    jobs = list(files(tmp_path))
    results = list(derive_all(jobs, Settings(include_vendored=True)))
    assert len(results) == len(jobs)
    assert sum(isinstance(r, DerivedDocument) for r in results) > len(jobs) // 2
    for result in results:
        if isinstance(result, Skip):
            assert result.reason in ("binary", "unreadable") and "Error" not in result.detail, result
        elif isinstance(result, DerivedDocument):
            check(result)


def check(document: DerivedDocument) -> None:
    size = document.seen.stamp.size
    assert "Error" not in document.extraction.fault and "crashed" not in document.extraction.fault, document.seen.path
    assert len(document.postings) == len(document.vectors) == len(document.extraction.units)
    for unit in document.extraction.units:
        assert unit.kind in SYMBOL_KINDS + CHUNK_KINDS
        assert 0 <= unit.span.start <= unit.name_span.start <= unit.name_span.end <= unit.span.end <= size
        assert unit.span.start <= unit.body_start <= unit.span.end and unit.start_line <= unit.end_line

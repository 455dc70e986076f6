"""Altered and made-up bytes through each reader of a file that people or tools write: an error of its own, or something usable."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path

from codelens.config import load_settings
from codelens.errors import CodelensError, PreciseIndexError
from codelens.linking.precise.indexes import match_units
from codelens.linking.precise.scip import PreciseDocument, convert_to_utf8, read_scip
from codelens.notes.note import read_note
from codelens.query.facts import load_metadata
from codelens.search.lexicon import load_aliases
from codelens.text.frontmatter import read_front_matter
from codelens.text.notebook import read_notebook
from codelens.traces.ingestion import read_spans
from tools.campaign import ROOT, Campaign, Report, expect
from tools.fuzz.derive import broken

CASES = ROOT / "tests/cases/precise"
TEXT = "größe = '😀'\narea()\n"
SPAN = {
    "name": "f",
    "startTimeUnixNano": "1",
    "endTimeUnixNano": "2",
    "attributes": [{"key": "code.function", "value": {"stringValue": "a.f"}}],
}
TRACES = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [SPAN, SPAN]}]}]}).encode()
NOTE = (
    b"---\ntitle: A note\nkind: decision\nlinks:\n  - a.py:3\n  - {path: b.py, symbol: f}\ntags: [x, 'y']\n---\n"
    b"# A note\n\ntext\n"
)
ALIASES = b'auth = "authentication login"\ndb = "database"\n'
METADATA = b'[{"path": "a.py", "stars": 3, "rating": 4.5, "categories": "x"}, {"path": "b.py"}]\n'
TABLE = b"path,stars,rating,updated\na.py,3,4.5,2020-01-01\nb.py,,,\n"
SETTINGS = b'limit = 5\ncolor = "never"\nprofile = "rrf"\nquery_seconds = 2\nfuzzy = false\naliases = "a.toml"\n'
NOTEBOOK = json.dumps(
    {
        "cells": [{"cell_type": "code", "source": ["x = 1\n"]}, {"cell_type": "markdown", "source": "# h"}],
        "metadata": {},
        "nbformat": 4,
    }
).encode()
VALUES = (
    *(b"null", b"-1", b"1e999", b"NaN", b'"\\ud800"', b"[]", b"{}", b"true", b"12345678901234567890", b"[" * 50_000),
    *(b'{"a":' * 50_000, b"\0"),
)


def survives(index: str, content: bytes) -> bool:
    """Test whether a reader of precise indexes accepts these bytes. Its result must be usable; its fault names a place in them."""
    try:
        documents = [facts for facts in read_scip(content, index) if isinstance(facts, PreciseDocument)]
    except PreciseIndexError as fault:
        expect(0 <= fault.offset <= len(content), f"a fault at byte {fault.offset} of {len(content)}")
        return False
    for facts in documents:
        expect(not facts.path.startswith(("/", "../")) and facts.path.encode("utf-8"), f"a path {facts.path!r}")
        for found in facts.occurrences:
            expect(1 <= found.range.start_line <= found.range.end_line < 1 << 31, f"a range {found.range}")
        convert_to_utf8(facts, TEXT)
    expect(not any(match_units(documents, lambda path: []).uses.values()), "uses without definitions")
    return True


def _text(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")


def _file(suffix: str, read: Callable[[Path], object]) -> Callable[[bytes, Path], None]:
    def run(content: bytes, file: Path) -> None:
        place = file.with_suffix(suffix)
        place.write_bytes(content)
        read(place)

    return run


def _settings(file: Path) -> object:
    (file.parent / ".codelens.toml").write_bytes(file.read_bytes())
    return load_settings(file.parent, file.parent)


def _precise(name: str) -> tuple[bytes, Callable[[bytes, Path], None]]:
    return (CASES / name).read_bytes(), lambda content, file: _ignored(survives(name, content))


def _ignored(_: object) -> None:
    return None


def _readers() -> dict[str, tuple[bytes, Callable[[bytes, Path], None]]]:
    """Name → a valid content and its reader. Each file has its own name: some readers cache by name."""
    return {
        "scip": _precise("python/index.scip"),
        "scip-typescript": _precise("typescript/index.scip"),
        "traces": (TRACES, lambda content, file: _ignored(list(read_spans(content, "traces.json")))),
        "note": (NOTE, lambda content, file: _ignored(read_note(_text(content), "n.md"))),
        "front matter": (NOTE, lambda content, file: _ignored(read_front_matter(_text(content)))),
        "aliases": (ALIASES, _file(".toml", lambda file: load_aliases(str(file)))),
        "metadata": (METADATA, _file(".json", lambda file: load_metadata(str(file)))),
        "table": (TABLE, _file(".csv", lambda file: load_metadata(str(file)))),
        "settings": (SETTINGS, _file(".toml", _settings)),
        "notebook": (NOTEBOOK, lambda content, file: _ignored(read_notebook(content))),
    }


def altered(content: bytes, luck: random.Random) -> bytes:
    """The content truncated, corrupted, with a value of another type or depth, or replaced."""
    match luck.randrange(5):
        case 0:
            return content[: luck.randrange(len(content) + 1)]
        case 1:
            return broken(content, luck)
        case 2:
            changed = bytearray(content)
            for _ in range(luck.randint(1, 8)):
                changed[luck.randrange(len(changed))] = luck.randrange(256)
            return bytes(changed)
        case 3:
            at = luck.randrange(len(content))
            places = [i for i, c in enumerate(content) if c in b':=,[" '] or [at]
            start = luck.choice(places) + 1
            return content[:start] + luck.choice(VALUES) + content[start + luck.randint(0, 12) :]
        case _:
            return luck.randbytes(luck.randint(0, 300))


def run(count: int, seed: int, folder: Path, report: Report) -> None:
    """Give one altered content per attempt to one reader, in turn."""
    readers = _readers()
    names: Sequence[str] = list(readers)
    for name, (honest, read) in readers.items():
        (folder / name).mkdir()
        read(honest, folder / name / "file")  # otherwise the altered one could be refused for another reason
    for number in range(seed, seed + count):
        name, luck = names[number % len(names)], random.Random(number)
        honest, read = readers[name]
        with report.attempt(number):
            at = folder / str(number)
            at.mkdir()
            try:
                read(altered(honest, luck), at / "file")
                report.counts[f"{name}, taken"] += 1
            except CodelensError:
                report.counts[f"{name}, refused"] += 1


CAMPAIGNS = (Campaign("readers", run, 20_000, "altered SCIP, traces, notes, metadata, aliases, settings, notebooks"),)

"""Packs that were written, kept in the user's cache folder: a second question with the same answer costs a file read.

A pack is found by a hash of all that decides it, the snapshot of the index among them, and is served only where the file
says the same hash and its files on disk are as they were. What was asked is in the hash alone: a pack does not
say it. A pack whose notices speak of the question is not kept, nor one that a slow channel is missing from.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from codelens import __version__
from codelens.config import load_weights
from codelens.model import IndexInfo, Notice
from codelens.notation import parse_json
from codelens.packed import ContextRequest, Layout, PackedText

MOST_KEPT = 50
"""Packs; the oldest go. Chosen: some days of one person's questions, 10 MB at 50 000 tokens each."""
LARGEST = 4_000_000
"""Bytes of a pack that is kept."""
OF_THE_INDEX = frozenset({"no-fuzzy", "no-vector", "many-literal", "no-graph"})
"""Notices that hold for as long as the snapshot does, and quote nothing of the question."""
QUOTES = frozenset('"`/')
ENDING = ".pack.json"

States = tuple[tuple[str, str, str], ...]
"""(repository, path, freshness) of each file of a pack."""


def key_of(request: ContextRequest, layout: Layout, info: IndexInfo, edges: int, *own: str) -> str:
    """The hash of all that decides what is written: 64 hexadecimal digits. `own` are the files that settings name, in an order."""
    asked = {
        "version": __version__,
        "weights": load_weights(),
        "own": [[path, _file_digest(path)] for path in own],
        "index": [info.path, info.schema, info.snapshot, info.embedder, edges, [r.root for r in info.repositories]],
        "source": request.source,
        "query": normalised(request.query),
        "diff": hashlib.sha256(request.diff or b"").hexdigest(),
        "options": asdict(request.options),
        "budget": request.budget,
        "forms": request.forms,
        "counter": request.counter.name,
        "layout": layout.name,
        "cwd": request.cwd if request.diff else "",
    }
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


def normalised(query: str) -> str:
    """A task with its runs of blanks as one: what differs in them alone asks the same, but where a text is quoted."""
    return " ".join(query.split()) if QUOTES.isdisjoint(query) else query


class KeptPacks:
    """A folder of packs. Whatever is wrong with it or with a file in it, the pack is made anew."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, key: str) -> tuple[PackedText, States] | None:
        """The pack, and what its files on disk were then; None where there is none that can be trusted."""
        try:
            record: Any = parse_json((self._folder / (key + ENDING)).read_text(encoding="utf-8"))
            text = str(record["text"])
            if record["key"] != key or record["digest"] != _digest(text):
                return None
            notices = tuple(Notice(str(code), str(said)) for code, said in record["notices"])
            states = tuple((str(name), str(path), str(state)) for name, path, state in record["states"])
            packed = PackedText(
                text=text,
                exit_code=int(record["exit_code"]),
                symbols=int(record["symbols"]),
                total=int(record["total"]),
                tokens=int(record["tokens"]),
                notices=notices,
                changed=tuple(map(str, record["changed"])),
                cached=True,
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None
        return packed, states

    def keep(self, key: str, packed: PackedText, states: States) -> None:
        """Write it beside and rename, so that nobody reads half of it. Where that cannot be, nothing is kept."""
        if len(packed.text) > LARGEST or any(n.code not in OF_THE_INDEX for n in packed.notices):
            return
        record = {
            "key": key,
            "digest": _digest(packed.text),
            "exit_code": packed.exit_code,
            "symbols": packed.symbols,
            "total": packed.total,
            "tokens": packed.tokens,
            "notices": [[n.code, n.text] for n in packed.notices],
            "changed": list(packed.changed),
            "states": list(states),
            "text": packed.text,
        }
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._write(self._folder / (key + ENDING), json.dumps(record))
            self._forget_old()

    def clear(self) -> int:
        """Remove all packs; how many there were."""
        packs = self._packs()
        for pack in packs:
            pack.unlink(missing_ok=True)
        with suppress(OSError):
            self._folder.rmdir()
        return len(packs)

    def _write(self, place: Path, text: str) -> None:
        handle, beside = tempfile.mkstemp(dir=self._folder, suffix=ENDING)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            Path(beside).replace(place)
        except BaseException:
            Path(beside).unlink(missing_ok=True)
            raise

    def _forget_old(self) -> None:
        newest = sorted(self._packs(), key=lambda path: (-path.stat().st_mtime_ns, path.name))
        for path in newest[MOST_KEPT:]:
            path.unlink(missing_ok=True)

    def _packs(self) -> list[Path]:
        try:
            return [path for path in self._folder.iterdir() if path.name.endswith(ENDING)]
        except OSError:
            return []


def _file_digest(path: str) -> str:
    """Empty for a file that is not there or not named: whoever needs it says so."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest() if path else ""
    except OSError:
        return ""


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

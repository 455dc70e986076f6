"""A cache of written packs in the user's cache folder: repeating a request costs a file read.

The key is a hash of everything that decides a pack, including the snapshot of the index. A pack is served only if its file
has the same key and its source files are unchanged on disk. The request is stored only as a hash, and the token of the next part,
which holds the request, without it. A pack is not cached if its notices quote the request or report a channel that ran out of time.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from codelens import __version__
from codelens.config import load_weights
from codelens.context.parts import read_token, write_token
from codelens.files import write_private_file
from codelens.model.code import IndexInfo
from codelens.model.context import ContextRequest, PackedText, PackLayout, SentParts
from codelens.model.search import Notice
from codelens.text.notation import parse_json

MOST_KEPT = 50  # Most packs; the oldest are removed. Enough for some days of one user, 10 MB at 50,000 tokens each.
LARGEST = 4_000_000  # Most bytes of a cached pack
OF_THE_INDEX = frozenset({"no-fuzzy", "no-vector", "many-literal", "no-graph"})
"""Codes of notices that depend only on the snapshot and quote nothing of the request."""
QUOTES = frozenset('"`/')  # Characters that quote text in a query; blanks between them are significant
ENDING = ".pack.json"  # Ending of the names of cached packs
TOKEN = "\0token\0"  # Stands for the token of the next part in a cached text

FileStates = tuple[tuple[str, str, str], ...]  # (repository, path, freshness) of each file of a pack


def hash_request(request: ContextRequest, layout: PackLayout, info: IndexInfo, edges: int, *setting_files: str) -> str:
    """Hash everything that decides a pack, as 64 hex digits. `setting_files` are the files that settings name."""
    own = dict.fromkeys(setting_files, "")  # stays empty for a file that is missing, which is reported elsewhere
    for path in filter(None, own):
        with suppress(OSError):
            own[path] = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    query = request.query  # blanks change the meaning of quotes alone
    parts = {
        "version": __version__,
        "weights": load_weights(),
        "own": [[path, own[path]] for path in setting_files],
        "index": [info.path, info.schema, info.snapshot, info.embedder, edges, [r.root for r in info.repositories]],
        "source": request.source,
        "query": " ".join(query.split()) if QUOTES.isdisjoint(query) else query,
        "diff": hashlib.sha256(request.diff or b"").hexdigest(),
        "options": asdict(request.options),
        "budget": request.budget,
        "forms": request.forms,
        "counter": request.counter.name,
        "layout": layout.name,
        "cwd": request.cwd if request.diff else "",
        "sent": repr(request.sent),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


class PackCache:
    """A folder of cached packs. If the folder or a file in it is damaged, packs are made again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find_pack(self, key: str, request: ContextRequest) -> tuple[PackedText, FileStates] | None:
        """Find a valid cached pack: (the pack, the states of its files when it was cached); None if it is missing."""
        try:
            record: Any = parse_json((self._folder / (key + ENDING)).read_text(encoding="utf-8"))
            text, more = str(record["text"]), ""
            if record["key"] != key or record["digest"] != _hash_text(text):
                return None
            if sent := record["sent"]:
                more = write_token(request, SentParts(bytes.fromhex(sent[0]), tuple(map(int, sent[1]))))
                text = text.replace(TOKEN, more)
            notices = tuple(Notice(str(code), str(text)) for code, text in record["notices"])
            states = tuple((str(name), str(path), str(state)) for name, path, state in record["states"])
            packed = PackedText(
                text=text,
                exit_code=int(record["exit_code"]),
                symbols=int(record["symbols"]),
                total=int(record["total"]),
                tokens=int(record["tokens"]),
                notices=notices,
                changed=tuple(map(str, record["changed"])),
                more=more,
                cached=True,
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None
        return packed, states

    def store_pack(self, key: str, packed: PackedText, states: FileStates) -> None:
        """Write a pack to a temporary file and rename it, so that nobody reads half of it. Failures are ignored."""
        if len(packed.text) > LARGEST or any(n.code not in OF_THE_INDEX for n in packed.notices):
            return
        sent = read_token(packed.more)[1] if packed.more else None
        text = packed.text.replace(packed.more, TOKEN) if sent else packed.text
        record = {
            "key": key,
            "digest": _hash_text(text),
            "exit_code": packed.exit_code,
            "symbols": packed.symbols,
            "total": packed.total,
            "tokens": packed.tokens,
            "notices": [[n.code, n.text] for n in packed.notices],
            "changed": packed.changed,
            "states": states,
            "sent": [sent.state.hex(), sent.forms] if sent else None,
            "text": text,
        }
        with suppress(OSError):
            content = json.dumps(record)
            write_private_file(self._folder / (key + ENDING), content.encode())
            newest = sorted(self._list_packs(), key=lambda path: (-path.stat().st_mtime_ns, path.name))
            for path in newest[MOST_KEPT:]:
                path.unlink(missing_ok=True)

    def clear(self) -> int:
        """Remove all packs and return their number."""
        packs = self._list_packs()
        for pack in packs:
            pack.unlink(missing_ok=True)
        with suppress(OSError):
            self._folder.rmdir()
        return len(packs)

    def _list_packs(self) -> list[Path]:
        try:
            return [path for path in self._folder.iterdir() if path.name.endswith(ENDING)]
        except OSError:
            return []


def _hash_text(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

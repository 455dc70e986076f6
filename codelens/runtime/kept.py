"""Files of spans → what an index's traces file keeps of each symbol: how often it was seen to run, and when last.

The file is none of the index's: that can be derived anew at any time, and traces cannot.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import xxhash

from codelens.remembered import Place
from codelens.runtime.matching import Matching
from codelens.runtime.otlp import read_spans
from codelens.store.store import Store
from codelens.store.traces import Traces, TracesWriter, remove_traces
from codelens.traced import Ingested, Observed
from codelens.worktree.place import traces_place


class Kept:
    """The traces of one index."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.path = traces_place(store.path)

    def ingest(self, files: Iterable[tuple[str, bytes]]) -> Ingested:
        """Read (name, content) of files, all of them or none. A file that was read before counts no second time.

        Raises TracesFault for a file that is no OTLP/JSON, and where the traces cannot be kept.
        """
        with self._store.reading():
            return self._ingest(files)

    def _ingest(self, files: Iterable[tuple[str, bytes]]) -> Ingested:
        matching, spans, matched, nameless, unknown = Matching(self._store), 0, 0, 0, 0
        known: list[str] = []
        found: dict[Place, Observed] = {}
        with TracesWriter.recording(self.path) as writer:
            for name, content in files:
                digest, before = xxhash.xxh3_128_hexdigest(content), matched
                if writer.has_read(digest):
                    known.append(name)
                    continue
                for ran in read_spans(content, name):
                    spans += 1
                    place = matching.find(ran) if ran else None
                    if ran is None or place is None:
                        nameless, unknown = nameless + (ran is None), unknown + (ran is not None)
                        continue
                    matched += 1
                    seen = found.get(place, Observed(0, 0))
                    found[place] = Observed(seen.times + 1, max(seen.last, ran.at))
                if matched > before:  # else it may say more of an index of other files
                    writer.set_read(digest)
            for place, observed in sorted(found.items()):
                writer.observe(place, observed)
        return Ingested(spans, matched, len(found), nameless, unknown, tuple(known))

    def everything(self) -> Mapping[Place, Observed]:
        """Symbol → what is kept of it, the last seen first, then by content. Raises TracesFault."""
        with Traces.reading(self.path) as traces:
            held = traces.everything()
        return dict(sorted(held.items(), key=lambda item: (-item[1].last, item[0])))

    def forget(self) -> bool:
        """Remove the file; whether there was one."""
        return remove_traces(self.path)

"""The inside of one process that links: documents come in by their ids, their links go out. It only reads the index."""

from __future__ import annotations

import marshal
from pathlib import Path

from codelens.linking.link import Linker, without_collector
from codelens.model import RepositoryId
from codelens.processes.child import connection
from codelens.processes.frames import read_frame, write_frame
from codelens.store.store import Store


def main() -> None:
    """Serve lists of documents from standard input until it ends."""
    inbox, outbox = connection()
    path, repository = marshal.loads(read_frame(inbox) or b"")
    with Store.read_unfinished(Path(path)) as store, without_collector():
        linker = Linker(store, RepositoryId(repository))
        write_frame(outbox, "ready")
        while (frame := read_frame(inbox)) is not None:
            for document in marshal.loads(frame):
                write_frame(outbox, tuple(linker.link(document, whole=True)))

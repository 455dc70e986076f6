"""The inside of a worker of a pool: pickled calls come in, pickled results and faults go out."""

from __future__ import annotations

import marshal
import pickle
import traceback

from codelens.processes.child import connection
from codelens.processes.frames import read_frame, write_frame


def main() -> None:
    """Answer calls from standard input until it ends."""
    inbox, outbox = connection()
    read_frame(inbox)  # a greeting that says nothing
    write_frame(outbox, "ready")
    while (frame := read_frame(inbox)) is not None:
        write_frame(outbox, _answer(marshal.loads(frame)))


def _answer(call: bytes) -> bytes:
    """(whether it went well, result or fault)"""
    try:
        function, arguments, keywords = pickle.loads(call)
        return pickle.dumps((True, function(*arguments, **keywords)))
    except Exception as fault:
        fault.add_note(f"in a worker process:\n{traceback.format_exc()}")
        return pickle.dumps((False, fault))

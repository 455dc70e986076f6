"""One question, answered from the index as it is now: the part of a request that takes time, in a thread or a process.

An index is opened for each question and closed behind it: that takes a millisecond, sees the newest state, and leaves no lock
that would keep a writer waiting. What crosses to another process is plain: texts in, a status and bytes out.
"""

from __future__ import annotations

import sys
import traceback
from pathlib import Path

from codelens.config import Settings
from codelens.errors import CodelensError
from codelens.index import Index
from codelens.nouns import dataclass
from codelens.render.records import to_json
from codelens.server.http.answers import ENDPOINTS
from codelens.server.http.faults import UNEXPECTED, Fault, fault_of


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a question: the JSON text of its answer, or a fault."""

    body: bytes
    snapshot: str
    """Of the index that answered; empty for a fault."""
    fault: Fault | None = None


def outcome(index: Path, settings: Settings, name: str, asked: str) -> Outcome:
    """The answer of an endpoint to its question, which comes as the JSON text of its model."""
    endpoint = ENDPOINTS[name]
    try:
        question = endpoint.asked.model_validate_json(asked)
        with Index.open(index, settings) as opened:
            record = endpoint.answer(opened, question)
            snapshot = opened.info().snapshot
        return Outcome(to_json(record).encode("utf-8", "backslashreplace"), snapshot)
    except CodelensError as error:
        return Outcome(b"", "", fault_of(error))
    except Exception:  # the edge: whoever asked gets an object, whoever serves gets the trace
        traceback.print_exc(file=sys.stderr)
        return Outcome(b"", "", UNEXPECTED)

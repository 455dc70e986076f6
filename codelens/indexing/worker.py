"""The main function of a worker process, which a grammar may crash at any time, and the messages it exchanges with the run.

Messages are plain tuples, which takes half the CPU time of pickling the data classes: 22 µs a unit for both ways, against 40.
"""

from __future__ import annotations

import contextlib
import gc
import marshal
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path
from typing import Any, BinaryIO

from codelens.config import Settings
from codelens.embed.base import Embedder
from codelens.indexing.derive import LARGE_SIZE, Job, Moved, derive, derive_large
from codelens.indexing.embedding import workers_embedder
from codelens.indexing.files import ReadText, read_text, unreadable
from codelens.model.code import FileStamp, SeenFile, Skip, SkipReason, Span
from codelens.model.extraction import (
    Binding,
    DerivedDocument,
    DerivedPart,
    Extraction,
    Import,
    PackedReferences,
    PartPlace,
    Posting,
    Reference,
    Unchanged,
    UnfinishedFile,
    Unit,
)
from codelens.model.fast_dataclass import replace, values_of
from codelens.processes.child import connection, read_frame, write_frame

LARGE = "large"
"""Sent before a result with parts. Each part follows in its own frame, then None or the reason why the rest is missing."""
LARGE_FRAME = marshal.dumps(LARGE, 2)

Result = DerivedDocument | Skip | Unchanged  # The result of one file

_UNIT_FIELDS = (
    *("kind", "name", "container", "parent", "span.start", "span.end", "name_span.start", "name_span.end"),
    *("body_start", "start_line", "end_line", "name_line", "name_column", "signature", "doc", "decorators", "local"),
)
_unit_row = attrgetter(*_UNIT_FIELDS)
_reference_row = attrgetter("kind", "name", "receiver", "unit", "start", "line")
_import_row = attrgetter("module", "name", "alias", "start", "line")
_document_row = attrgetter(
    *("content_hash", "digest", "language", "encoding", "confidence", "bom", "lines", "recipe"),
    *("references.packed", "references.names"),
    *("vectors", "file_vector", "embedder", "trigrams", "snapshot", "roles"),
)


def pack_job(job: Job) -> tuple[Any, ...]:
    """A job as plain tuples."""
    seen, moved = job.seen, values_of(job.moved) if job.moved else None
    return (job.root, seen.path, seen.os_path, values_of(seen.stamp), job.known_hash, moved, job.grammar_fault)


def _unpack_job(frame: bytes) -> Job:
    root, path, os_path, stamp, known_hash, moved, fault = marshal.loads(frame)
    return Job(root, SeenFile(path, os_path, FileStamp(*stamp)), known_hash, Moved(*moved) if moved else None, fault)


def pack(result: Result) -> tuple[Any, ...]:
    """A result as plain tuples, without the SeenFile, which the receiver knows."""
    if isinstance(result, Skip):
        return ("skip", str(result.reason), result.detail)
    if isinstance(result, Unchanged):
        return ("unchanged", result.content_hash)
    return (
        "derived",
        _document_row(result),
        pack_extraction(result.extraction),
        tuple(map(tuple, result.postings)),
    )


def pack_part(part: DerivedPart) -> tuple[Any, ...]:
    """A part of a large file as plain tuples."""
    units, postings = tuple(map(_unit_row, part.units)), tuple(map(tuple, part.postings))
    return (tuple(part.place), units, postings, part.vectors, part.trigrams, part.snapshot)


def unpack_part(payload: bytes) -> DerivedPart | None:
    """The part in a frame from `pack_part`; None at the end of the file. Raises UnfinishedFile if the frame holds a reason."""
    row = marshal.loads(payload)
    if row is None:
        return None
    if isinstance(row, str):
        raise UnfinishedFile(row)
    place, units, postings, vectors, trigrams, snapshot = row
    return DerivedPart(
        place=PartPlace(*place),
        units=tuple([_unit(unit) for unit in units]),
        postings=tuple(map(Posting._make, postings)),
        vectors=vectors,
        trigrams=trigrams,
        snapshot=snapshot,
    )


def pack_extraction(found: Extraction) -> tuple[Any, ...]:
    """An extraction as plain tuples, with the spans of units flattened."""
    return (
        found.namespace,
        tuple(map(_unit_row, found.units)),
        tuple(map(_reference_row, found.references)),
        tuple(map(_import_row, found.imports)),
        found.fault,
        tuple(map(tuple, found.bindings)),
    )


def unpack_extraction(row: Any) -> Extraction:
    """The inverse of `pack_extraction`."""
    namespace, units, references, imports, fault, bindings = row
    return Extraction(
        namespace,
        units=tuple([_unit(unit) for unit in units]),
        references=tuple([Reference(*reference) for reference in references]),
        imports=tuple([Import(*one) for one in imports]),
        fault=fault,
        bindings=tuple([Binding(*one) for one in bindings]),
    )


def is_part(payload: bytes) -> bool:
    """True if a frame holds a part of a large file; otherwise it ends the parts."""
    return payload.startswith(b"(")


def unpack(payload: bytes, seen: SeenFile, parts: Iterable[DerivedPart] = ()) -> Result:
    """The result in a frame from `pack`; `parts` are those of a large file."""
    result = _UNPACK[(row := marshal.loads(payload))[0]](seen, *row[1:])
    return replace(result, parts=parts) if parts and isinstance(result, DerivedDocument) else result


def _skip(seen: SeenFile, reason: str, detail: str) -> Skip:
    return Skip(seen.path, SkipReason(reason), detail, seen.stamp)


def _derived(seen: SeenFile, document: Any, extraction: Any, postings: Any) -> DerivedDocument:
    content_hash, digest, language, encoding, confidence, bom, lines, recipe, references, names, *rest = document
    vectors, file_vector, embedder, trigrams, snapshot, roles = rest
    return DerivedDocument(
        *(seen, content_hash, digest, language, encoding, confidence, bom, lines, recipe),
        extraction=unpack_extraction(extraction),
        references=PackedReferences(references, names),
        postings=tuple(map(Posting._make, postings)),
        vectors=vectors,
        file_vector=file_vector,
        embedder=embedder,
        trigrams=trigrams,
        snapshot=snapshot,
        roles=roles,
    )


def _unit(row: Any) -> Unit:
    kind, name, container, parent, start, end, name_start, name_end, *rest = row
    return Unit(kind, name, container, parent, Span(start, end), Span(name_start, name_end), *rest)


_UNPACK: dict[str, Callable[..., Result]] = {"skip": _skip, "unchanged": Unchanged, "derived": _derived}


def main() -> None:
    """Serve jobs from standard input until it ends."""
    inbox, outbox = connection()
    _no_core_dump()
    _collect_seldom()
    settings = Settings(*marshal.loads(read_frame(inbox) or b""))
    # Opened once: if the model vanished later, every file would fail.
    embedder = workers_embedder(settings)
    write_frame(outbox, "ready")
    while (frame := read_frame(inbox)) is not None:
        job = _unpack_job(frame)
        with _cpu_limit(settings.parse_seconds * max(1.0, job.seen.stamp.size / LARGE_SIZE)):
            result = _fault_as_skip(job, settings, embedder)
        parts = result.parts if isinstance(result, DerivedDocument) else ()
        if parts:
            write_frame(outbox, LARGE)
        write_frame(outbox, pack(result))
        if parts:
            _send_parts(parts, outbox, settings.parse_seconds)


def _send_parts(parts: Iterable[DerivedPart], outbox: BinaryIO, seconds: float) -> None:
    """Send each part, with its own CPU limit, then None or the reason why the rest is missing."""
    end: object = None
    remaining = iter(parts)
    while True:
        try:
            with _cpu_limit(seconds):
                part = next(remaining, None)
        except UnfinishedFile as fault:
            end = str(fault)
            break
        except Exception as error:  # a fault costs this file, never the run
            end = f"{type(error).__name__}: {error}"
            break
        if part is None:
            break
        write_frame(outbox, pack_part(part))
    write_frame(outbox, end)


def _no_core_dump() -> None:
    """Prevent core files from aborts in grammars."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _collect_seldom() -> None:
    """Run the cycle collector rarely: it took an eighth of a worker's time, and results hold no cycles."""
    gc.freeze()
    gc.set_threshold(200_000, 20, 100)


@contextmanager
def _cpu_limit(seconds: float) -> Iterator[None]:
    """End the process by SIGPROF after this CPU time, even inside C code. Windows has only the wall-clock limit."""
    if sys.platform == "win32":
        yield
        return
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _fault_as_skip(job: Job, settings: Settings, embedder: Embedder | None) -> Result:
    try:
        return derive_file(job, settings, embedder)
    except OSError as error:
        return unreadable(job.seen, error)
    except Exception as error:  # a fault costs this file, never the run
        return Skip(job.seen.path, SkipReason.UNREADABLE, f"{type(error).__name__}: {error}", job.seen.stamp)


def derive_file(job: Job, settings: Settings, embedder: Embedder | None) -> Result:
    """Read and derive one file. Raises OSError."""
    if (large := derive_large(job, settings, embedder)) is not None:
        return large
    read = read_text(Path(job.root), job.seen, settings, job.known_hash)
    if not isinstance(read, ReadText):
        return read
    is_moved = job.moved and job.moved.content_hash == read.content_hash
    reuse = unpack_extraction(marshal.loads(job.moved.extraction)) if job.moved and is_moved else None
    return derive(job, read, settings, embedder, reuse)

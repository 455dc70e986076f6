"""The inside of one worker process: files come in by name, results go out, and a grammar may end it at any time."""

from __future__ import annotations

import contextlib
import gc
import marshal
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from codelens.config import Settings
from codelens.derived import DerivedDocument, DerivedPart, UnfinishedFile
from codelens.embed.base import Embedder
from codelens.indexing.derive import Reuse, derive
from codelens.indexing.embedding import workers_embedder
from codelens.indexing.large import LARGE_SIZE, derive_large
from codelens.indexing.reading import ReadText, read_text, unreadable
from codelens.indexing.wire import LARGE, Result, pack, pack_part, unpack_extraction
from codelens.lang.registry import detect_language
from codelens.model import FileStamp, SeenFile, Skip, SkipReason
from codelens.processes.child import connection
from codelens.processes.frames import read_frame, write_frame


def main() -> None:
    """Serve jobs from standard input until it ends."""
    inbox, outbox = connection()
    _no_core_dump()
    _collect_seldom()
    settings = Settings(*marshal.loads(read_frame(inbox) or b""))
    embedder = workers_embedder(
        settings
    )  # once: a model that vanished while we work would else turn every file into a fault
    write_frame(outbox, "ready")
    while (frame := read_frame(inbox)) is not None:
        root, path, os_path, stamp, known_hash, moved, fault = marshal.loads(frame)
        seen = SeenFile(path, os_path, FileStamp(*stamp))
        with _cpu_limit(settings.parse_seconds * max(1.0, seen.stamp.size / LARGE_SIZE)):
            result = _fault_as_skip(Path(root), seen, known_hash, moved, fault, settings, embedder)
        parts = result.parts if isinstance(result, DerivedDocument) else ()
        if parts:
            write_frame(outbox, LARGE)
        write_frame(outbox, pack(result))
        if parts:
            _send_parts(parts, outbox, settings.parse_seconds)


def _send_parts(parts: Iterable[DerivedPart], outbox: BinaryIO, seconds: float) -> None:
    """Each part in a frame of its own, with its own time; at last none, or why there are no more."""
    end: object = None
    made = iter(parts)
    while True:
        try:
            with _cpu_limit(seconds):
                part = next(made, None)
        except UnfinishedFile as fault:
            end = str(fault)
            break
        except Exception as error:  # the per-file border
            end = f"{type(error).__name__}: {error}"
            break
        if part is None:
            break
        write_frame(outbox, pack_part(part))
    write_frame(outbox, end)


def _no_core_dump() -> None:
    """An abort in a grammar must not leave a core file in the folder of the person who runs us."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _collect_seldom() -> None:
    """A file's results are freed by their counts; looking for cycles among them took an eighth of a worker's time."""
    gc.freeze()
    gc.set_threshold(200_000, 20, 100)


@contextmanager
def _cpu_limit(seconds: float) -> Iterator[None]:
    """SIGPROF's default action ends the process, however deep in C it hangs. Windows has only the wall limit."""
    if sys.platform == "win32":
        yield
        return
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


Moved = tuple[bytes, str, bytes]
"""(content hash, old path, packed extraction)"""


def _fault_as_skip(
    root: Path,
    seen: SeenFile,
    known_hash: bytes | None,
    moved: Moved | None,
    fault: str,
    settings: Settings,
    embedder: Embedder | None,
) -> Result:
    try:
        return derive_file(root, seen, known_hash, moved, fault, settings, embedder)
    except OSError as error:
        return unreadable(seen, error)
    except Exception as error:  # the per-file border: any fault costs this file, never the run
        return Skip(seen.path, SkipReason.UNREADABLE, f"{type(error).__name__}: {error}", seen.stamp)


def derive_file(
    root: Path,
    seen: SeenFile,
    known_hash: bytes | None,
    moved: Moved | None,
    fault: str,
    settings: Settings,
    embedder: Embedder | None,
) -> Result:
    """One file from the disk to its result. A `fault` says why its grammar must not be used. Raises OSError."""
    if (large := derive_large(root, seen, known_hash, fault, settings, embedder)) is not None:
        return large
    read = read_text(root, seen, settings, known_hash)
    if not isinstance(read, ReadText):
        return read
    reuse = None
    if moved and moved[0] == read.content_hash:
        reuse = Reuse(moved[1].rpartition("/")[2], unpack_extraction(marshal.loads(moved[2])))
    language = detect_language(seen.path, read.raw[:200])
    return derive(seen, read.raw, read.decoded, language, read.content_hash, settings, embedder, fault, reuse)

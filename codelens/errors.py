"""The faults that codelens reports to people, each with its exit code and a hint.

CodelensError (2)
├── UsageError (2)            options or arguments that make no sense together
├── QueryError (2)            a query that --strict-query refuses; points at the place
├── SettingsError (2)         a configuration file or variable that cannot be taken
├── CannotWrite (2)           the disk is full, or the folder of the index cannot be written
├── PreciseIndexError (2)     a SCIP index or LSIF dump of the tree is damaged; says which file, and where in it
├── EmbedderFault (2)         an embedder that cannot be asked now, or whose answer is of no use
├── MemoryFault (2)           the memory file is damaged or cannot be written; a search says so and goes on without it
├── TracesFault (2)           spans that are no OTLP/JSON, or the traces file is damaged; a search goes on without it
├── MemoryOff (2)             memory is not switched on, and something is to be recorded
├── TargetError (2)           `why` or `symbols` was given a target that does not exist or is ambiguous
├── NoIndex (3)               there is no index here
├── IndexCorrupt (3)          the file is not an index, or is damaged
├── IndexNotTrusted (3)       codelens did not make the index here for this user, and the user has not accepted it
├── NoVectors (3)             the index holds vectors, and sqlite-vec cannot be loaded here
├── SchemaTooNew (3)          the index was written by a newer codelens
├── StaleIndex (4)            --require-fresh, and the tree has changed
├── IndexBusy (5)             another process is writing this index
└── FilesFailed (6)           --strict, and some files had errors
"""

from __future__ import annotations

from typing import ClassVar


class CodelensError(Exception):
    """What went wrong, in one line; `hint` says what to do about it."""

    exit_code: ClassVar[int] = 2
    hint: str = ""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        if hint:
            self.hint = hint


class UsageError(CodelensError):
    """Options or arguments that make no sense, alone or together."""

    hint = "see `codelens help`"


class QueryError(CodelensError):
    """A fault in a query; `position` counts characters from 0 and lies in 0..len(query)."""

    def __init__(self, message: str, query: str, position: int, hint: str = "") -> None:
        super().__init__(message, hint or "leave --strict-query out to search for it as text")
        self.query = query
        self.position = position

    def pointer(self) -> str:
        """The query with a caret under the fault, two lines."""
        shown = self.query.replace("\n", " ").replace("\t", " ")
        return f"{shown}\n{' ' * self.position}^"


class SettingsError(CodelensError):
    """A configuration file or a CODELENS_* variable that cannot be taken; the message begins with its place."""

    hint = "`codelens config --show-origin` lists every setting and where it came from"


class CannotWrite(CodelensError):
    """The disk is full or fails, or the index's folder takes no files. What was committed stays."""

    hint = "make room, or name a file elsewhere with --db; `codelens index` goes on where it was"


class PreciseIndexError(CodelensError):
    """A SCIP index or an LSIF dump that cannot be read; `offset` counts its bytes from 0."""

    hint = "make it anew with its tool, or take it out of the tree"

    def __init__(self, name: str, offset: int, what: str) -> None:
        super().__init__(f"{name}, byte {offset}: {what}")
        self.name = name
        self.offset = offset


class EmbedderFault(CodelensError):
    """An embedder that others run does not answer, or not with vectors that fit. A search goes on without them."""

    hint = "try again later, or index with another model"


class MemoryFault(CodelensError):
    """The file that remembers is damaged, a newer codelens', or cannot be used now. A search goes on without it."""

    hint = "`codelens memory forget --all` removes it"


class TracesFault(CodelensError):
    """Spans that cannot be read, or the file that keeps what was seen to run is damaged or cannot be used now."""

    hint = "`codelens traces --forget` removes it"


class MemoryOff(CodelensError):
    """Nothing is recorded unless the user switched it on."""

    hint = "set `memory = true` in your own configuration file, or CODELENS_MEMORY=1"


class TargetError(CodelensError):
    """A target that fits nothing, or several things: `candidates` are the places it may mean."""

    hint = "name it as PATH:LINE or by its qualified name"

    def __init__(self, message: str, candidates: tuple[str, ...] = (), hint: str = "") -> None:
        super().__init__(message, hint)
        self.candidates = candidates


class NoIndex(CodelensError):
    """There is no index here, or none that was finished."""

    exit_code = 3
    hint = "run `codelens index` first"


class IndexCorrupt(CodelensError):
    """The file is no index, is damaged or unfinished, or has a schema that `codelens index` must first bring up to date."""

    exit_code = 3
    hint = "`codelens index --rebuild` makes it anew from the files"


class IndexNotTrusted(CodelensError):
    """The index came with a repository, or was moved or copied here: it could say anything."""

    exit_code = 3
    hint = "`codelens index --rebuild` makes it from the files, `codelens index --trust` accepts it as it is"


class NoVectors(CodelensError):
    """A writer must keep an index's vectors in step, and cannot without sqlite-vec."""

    exit_code = 3
    hint = "`pip install sqlite-vec`, or `codelens index --rebuild --no-vector`"


class SchemaTooNew(CodelensError):
    """A newer codelens wrote the index; it is not touched."""

    exit_code = 3
    hint = "upgrade codelens, or `codelens index --rebuild` with this version"


class StaleIndex(CodelensError):
    """The tree is another than the one indexed, and --require-fresh was given."""

    exit_code = 4
    hint = "run `codelens index`, or search with --refresh"


class IndexBusy(CodelensError):
    """Another process writes this index, or readers hold the file that a new one is to replace."""

    exit_code = 5
    hint = "wait for it to end; reading is possible meanwhile"


class FilesFailed(CodelensError):
    """Files could not be read, or their grammar broke, and --strict was given."""

    exit_code = 6
    hint = "`codelens status --skipped` lists them"

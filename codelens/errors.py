"""The faults that codelens reports to its users, each with an exit code and a hint."""

import errno
from collections.abc import Sequence
from typing import ClassVar


class CodelensError(Exception):
    """A fault, described in one line; `hint` says what to do about it."""

    exit_code: ClassVar[int] = 2
    hint: str = ""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        if hint:
            self.hint = hint


class UsageError(CodelensError):
    """Options or arguments that are invalid, alone or together."""

    hint = "see `codelens help`"


class UnsafePath(UsageError):
    """A file that codelens would read or write is a link that leads elsewhere, a pipe or a device."""

    hint = "remove it, or put a file of your own in its place; nothing was read or written there"


class MissingExtra(UsageError):
    """Packages of an extra are missing; the hint tells how to install them."""

    def __init__(self, what: str, packages: Sequence[str], extra: str, otherwise: str = "") -> None:
        hint = f"{format_install_command(extra)}{f', or {otherwise}' if otherwise else ''}"
        super().__init__(f"{what} needs {' and '.join(packages)}, which a default install does not include", hint)


def require_packages(extra: str, *packages: str) -> None:
    """Raise MissingExtra for the packages that `codelens EXTRA` needs and that are not installed."""
    from importlib.util import find_spec

    if missing := [name for name in packages if find_spec(name) is None]:
        raise MissingExtra(extra, missing, extra)


def format_install_command(extra: str) -> str:
    """Format the command that installs an extra of codelens from its checkout, since codelens is not on a package index yet."""
    import json
    import os
    import re
    from importlib.metadata import PackageNotFoundError, distribution
    from pathlib import Path

    checkout = ""  # The folder that codelens was installed from or runs in, unless it was installed from a wheel
    try:
        written = distribution("codelens").read_text("direct_url.json") or "{}"
        origin = json.loads(written)  # noqa: TID251 - pip wrote it, and this module imports nothing of ours
        if (url := str(origin.get("url", ""))).startswith("file://") and "dir_info" in origin:
            path = url.removeprefix("file://").encode()
            path = re.sub(rb"%([0-9A-Fa-f]{2})", lambda match: bytes.fromhex(match[1].decode()), path)
            checkout = path.decode("utf-8", "replace").lstrip("/" if os.name == "nt" else "")
    except PackageNotFoundError:
        top = Path(__file__).resolve().parents[1]
        checkout = str(top) if (top / "pyproject.toml").is_file() else ""
    except ValueError:
        pass
    return f"pip install '{checkout or '.'}[{extra}]'" + ("" if checkout else " in a checkout of codelens")


class QueryError(CodelensError):
    """A fault in a query, at the character `position` (0 to len(query))."""

    def __init__(self, message: str, query: str, position: int, hint: str = "") -> None:
        super().__init__(message, hint or "leave --strict-query out to search for it as text")
        self.query = query
        self.position = position

    def format_pointer(self) -> str:
        """Format two lines: the query, and a caret under the fault."""
        line = self.query.replace("\n", " ").replace("\t", " ")
        return f"{line}\n{' ' * self.position}^"


class SettingsError(CodelensError):
    """A configuration file or CODELENS_* variable that cannot be used; the message begins with its file or name."""

    hint = "`codelens config --show-origin` lists every setting and where it came from"


class CannotWrite(CodelensError):
    """The disk is full or fails, or the index's folder is not writable. A complete index stays as it was."""

    hint = "make room, or name a file elsewhere with --db, and run the command again"


READ_ONLY = "nothing can be written there: keep the index elsewhere with `--db FILE`, in searches too"
"""Hint for a folder that is read-only, for everyone or for this user."""


def build_write_error(path: object, fault: OSError) -> CannotWrite:
    """Build the error for a file or folder of the index that cannot be written."""
    full = {getattr(errno, name, 0) for name in ("EDQUOT", "EIO", "ENOSPC")}
    hint = "" if fault.errno in full else READ_ONLY
    return CannotWrite(f"{path} cannot be written: {fault.strerror or fault}", hint)


class PreciseIndexError(CodelensError):
    """A SCIP index that cannot be read; `offset` is the position of the fault in bytes."""

    hint = "generate it again with its tool, or remove it from the tree"

    def __init__(self, name: str, offset: int, what: str) -> None:
        super().__init__(f"{name}, byte {offset}: {what}")
        self.name = name
        self.offset = offset


class EmbedderFault(CodelensError):
    """A remote embedder does not answer, or its vectors do not fit the index. A search goes on without vectors."""

    hint = "try again later, or index with another model"


class MemoryFault(CodelensError):
    """The memory file is damaged, was written by a newer codelens, or cannot be used now. A search goes on without it."""

    hint = "`codelens memory forget --all` removes it"


class TracesFault(CodelensError):
    """Spans cannot be read, or the file of recorded traces is damaged or cannot be used now."""

    hint = "`codelens graph traces --forget` removes it"


class MemoryOff(CodelensError):
    """Memory is off, so nothing can be recorded."""

    hint = "set `memory = true` in your own configuration file, or CODELENS_MEMORY=1"


class TargetError(CodelensError):
    """A target that matches nothing, or several places: `candidates` lists them."""

    hint = "name it as PATH:LINE or by its qualified name"

    def __init__(self, message: str, candidates: tuple[str, ...] = (), hint: str = "") -> None:
        super().__init__(message, hint)
        self.candidates = candidates


class NoIndex(CodelensError):
    """There is no index here, or it is unfinished."""

    exit_code = 3
    hint = "run `codelens index` first"


class IndexCorrupt(CodelensError):
    """The file is not an index, is damaged or unfinished, or has a schema that `codelens index` must migrate first."""

    exit_code = 3
    hint = "`codelens index --rebuild` builds it again from the files"


class IndexNotTrusted(CodelensError):
    """The index came with a repository, or was copied here, so its contents may be forged."""

    exit_code = 3
    hint = "`codelens index --rebuild` builds it from the files, `codelens index --trust` accepts it as it is"


class NoVectors(CodelensError):
    """The index has vectors, and without sqlite-vec a writer cannot keep them up to date."""

    exit_code = 3
    hint = "`pip install sqlite-vec`, or `codelens index --rebuild --no-vector`"


class SchemaTooNew(CodelensError):
    """A newer codelens wrote the index, so it is left unchanged."""

    exit_code = 3
    hint = "upgrade codelens, or `codelens index --rebuild` with this version"


class StaleIndex(CodelensError):
    """The tree differs from the index, and --require-fresh was given."""

    exit_code = 4
    hint = "run `codelens index`, or search with --refresh"


class IndexBusy(CodelensError):
    """Another process writes this index, or processes that read it prevent its replacement."""

    exit_code = 5
    hint = "wait for it to end; reading is possible meanwhile"


class FilesFailed(CodelensError):
    """Files could not be read, or their grammar broke, and --strict was given."""

    exit_code = 6
    hint = "`codelens status --skipped` lists them"


class FleetIncomplete(CodelensError):
    """No shard of a fleet responds, or one does not and the caller requires a complete answer."""

    exit_code = 7
    hint = "try again; `codelens cluster status --verify` tells what is damaged"

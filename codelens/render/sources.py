"""Files of an index → objects."""

from __future__ import annotations

from collections.abc import Sequence

from codelens.model import IndexInfo
from codelens.render.outline import outline_record
from codelens.render.records import SCHEMA, Record, index_record, path_b64
from codelens.sources import IndexedFile, SourceFile


def files_record(files: Sequence[IndexedFile], total: int, index: IndexInfo) -> Record:
    """A part of a list of files; `total` counts all of them."""
    return {
        "schema": SCHEMA,
        "files": [file_record(file) for file in files],
        "total": total,
        "index": index_record(index),
        "exit_code": 0 if files else 1,
    }


def file_record(file: IndexedFile) -> Record:
    """One file, without its text."""
    return {
        "repository": file.repository,
        "root": file.root,
        "path": file.path,
        **path_b64(file.path),
        "language": file.language,
        "bytes": file.bytes,
        "roles": list(file.roles),
    }


def source_record(source: SourceFile, index: IndexInfo) -> Record:
    """A file with its lines and the outline of `symbols --json`."""
    symbols = outline_record(source.file.path, source.units, 0)["symbols"]
    return {
        "schema": SCHEMA,
        **file_record(source.file),
        "freshness": str(source.freshness),
        "lines": list(source.lines),
        "symbols": symbols,
        "index": index_record(index),
        "exit_code": 0,
    }

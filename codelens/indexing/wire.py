"""Results of indexing as plain tuples, as they cross the pipe between the run and its worker processes.

Half the cost of pickling the dataclasses: 22 µs a unit for both ways together, against 40.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterable
from dataclasses import replace
from operator import attrgetter
from typing import Any

from codelens.derived import (
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
from codelens.model import SeenFile, Skip, SkipReason, Span

LARGE = "large"
"""A frame that goes before a result with parts: each of them follows in a frame of its own, then None, or why there are no more."""
LARGE_FRAME = marshal.dumps(LARGE, 2)

Result = DerivedDocument | Skip | Unchanged
"""What becomes of one file."""

_UNIT_FIELDS = (
    *("kind", "name", "container", "parent", "span.start", "span.end", "name_span.start", "name_span.end"),
    *("body_start", "start_line", "end_line", "name_line", "name_column", "signature", "doc", "decorators", "local"),
)
_unit_row = attrgetter(*_UNIT_FIELDS)
_reference_row = attrgetter("kind", "name", "receiver", "unit", "start", "line")
_import_row = attrgetter("module", "name", "alias", "start", "line")
_posting_row = attrgetter("name", "concepts", "path", "container", "doc", "signature", "body")
_document_row = attrgetter(
    *("content_hash", "digest", "language", "encoding", "confidence", "bom", "lines", "recipe"),
    *(
        "references.columns",
        "references.names",
        "references.bindings",
        "vectors",
        "embedder",
        "trigram_text",
        "snapshot",
        "roles",
    ),
)


def pack(result: Result) -> tuple[Any, ...]:
    """A result as plain tuples. The file itself is left out: who sent the job knows it."""
    if isinstance(result, Skip):
        return ("skip", str(result.reason), result.detail)
    if isinstance(result, Unchanged):
        return ("unchanged", result.content_hash)
    return (
        "derived",
        _document_row(result),
        pack_extraction(result.extraction),
        tuple(map(_posting_row, result.postings)),
    )


def pack_part(part: DerivedPart) -> tuple[Any, ...]:
    """A part of a large file as plain tuples."""
    units, postings = tuple(map(_unit_row, part.units)), tuple(map(_posting_row, part.postings))
    return (tuple(part.place), units, postings, part.vectors, part.trigram_text, part.snapshot)


def unpack_part(payload: bytes) -> DerivedPart | None:
    """The part that a frame from `pack_part` holds; None at the end of the file. Raises UnfinishedFile for a text there."""
    row = marshal.loads(payload)
    if row is None:
        return None
    if isinstance(row, str):
        raise UnfinishedFile(row)
    place, units, postings, vectors, trigram_text, snapshot = row
    return DerivedPart(
        place=PartPlace(*place),
        units=tuple([_unit(unit) for unit in units]),
        postings=tuple([Posting(*posting) for posting in postings]),
        vectors=vectors,
        trigram_text=trigram_text,
        snapshot=snapshot,
    )


def pack_extraction(found: Extraction) -> tuple[Any, ...]:
    """An extraction as plain tuples, units with their spans flattened; `unpack_extraction` is the way back."""
    return (
        found.namespace,
        tuple(map(_unit_row, found.units)),
        tuple(map(_reference_row, found.references)),
        tuple(map(_import_row, found.imports)),
        found.fault,
        tuple(map(tuple, found.bindings)),
    )


def unpack_extraction(row: Any) -> Extraction:
    """An extraction from what `pack_extraction` made of it, after `marshal`."""
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
    """Whether a frame holds a part of a large file, and not that there are no more."""
    return payload.startswith(b"(")


def unpack(payload: bytes, seen: SeenFile, parts: Iterable[DerivedPart] = ()) -> Result:
    """The result that a frame from `pack` holds, for the file that it is of; `parts` are those of a large one."""
    result = _UNPACK[(row := marshal.loads(payload))[0]](seen, *row[1:])
    return replace(result, parts=parts) if parts and isinstance(result, DerivedDocument) else result


def _skip(seen: SeenFile, reason: str, detail: str) -> Skip:
    return Skip(seen.path, SkipReason(reason), detail, seen.stamp)


def _derived(seen: SeenFile, document: Any, extraction: Any, postings: Any) -> DerivedDocument:
    content_hash, digest, language, encoding, confidence, bom, lines, recipe, columns, names, bindings, *rest = document
    vectors, embedder, trigram_text, snapshot, roles = rest
    return DerivedDocument(
        *(seen, content_hash, digest, language, encoding, confidence, bom, lines, recipe),
        extraction=unpack_extraction(extraction),
        references=PackedReferences(columns, names, bindings),
        postings=tuple([Posting(*row) for row in postings]),
        vectors=vectors,
        embedder=embedder,
        trigram_text=trigram_text,
        snapshot=snapshot,
        roles=roles,
    )


def _unit(row: Any) -> Unit:
    kind, name, container, parent, start, end, name_start, name_end, *rest = row
    return Unit(kind, name, container, parent, Span(start, end), Span(name_start, name_end), *rest)


_UNPACK: dict[str, Callable[..., Result]] = {"skip": _skip, "unchanged": Unchanged, "derived": _derived}

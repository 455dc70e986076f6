"""A file's bytes and decoded text → everything that the index keeps of it. The result depends on bytes, path and recipe alone.

A large file is derived in parts, which end where chunks end, to keep only a few of them in memory. It is not parsed and has no
links: it is found by its words, substrings and vectors.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import xxhash

from codelens.config import Settings
from codelens.embed.base import Embedder
from codelens.files import open_regular
from codelens.indexing.chunk import BLANKS, Gap, build_chunk, build_sections, cut_text, strip_gaps
from codelens.indexing.embedding import embed_document, embed_pieces, list_pieces
from codelens.indexing.extract import extract, find_quoted_units, list_own_texts, list_searched_texts, map_units
from codelens.indexing.files import ReadText, Survey, decode_blocks, survey_file, wait_for_clock_tick
from codelens.indexing.markup import Heading, find_headings
from codelens.indexing.run import compute_current_recipe
from codelens.lang.captures import READERS
from codelens.lang.registry import HEAD, Language, detect_language, languages
from codelens.model.code import NOTE_KINDS, SeenFile, Skip, SkipReason
from codelens.model.extraction import (
    DecodedText,
    DerivedDocument,
    DerivedPart,
    Extraction,
    PackedReferences,
    PartPlace,
    Posting,
    UnchangedFile,
    UnfinishedFile,
    Unit,
)
from codelens.model.fast_dataclass import dataclass, field, replace
from codelens.notes.note import classify_path
from codelens.store.codec import pack_references
from codelens.text.lines import TextMap
from codelens.text.notebook import NOTEBOOK, read_notebook
from codelens.text.terms import index_terms, join_body_terms, join_trigrams, split_path_words
from codelens.worktree.classify import find_roles
from codelens.zstd import zstd

SNAPSHOT_LEVEL = 6
"""zstd. On Django's 18 MB of Python, file by file, level 3 / 6 / 9 give .229 / .209 / .206 in .10 / .30 / .58 s."""


@dataclass(frozen=True, slots=True)
class RenamedFile:
    """The index's data of a file under its old path."""

    content_hash: bytes
    old_path: str
    extraction: bytes  # Packed, as it is sent to a worker: a whole tree may have moved


@dataclass(frozen=True, slots=True)
class Job:
    """One file to derive."""

    root: str  # Absolute path of the repository's root
    seen: SeenFile
    known_hash: bytes | None = None
    """Hash of the indexed content if its recipe is current; a file with this content yields UnchangedFile."""
    moved: RenamedFile | None = None
    """Set if the index holds the same content under another path; the file is then not parsed again."""
    grammar_fault: str = ""  # Why the grammar must not be used; only the text is derived then

    @property
    def file(self) -> Path:
        return Path(self.root) / self.seen.os_path


Result = DerivedDocument | Skip | UnchangedFile  # The result of one file


def derive(job: Job, read: ReadText, settings: Settings, embedder: Embedder | None) -> DerivedDocument:
    """Derive all data of one file, without vectors if there is no `embedder`."""
    path, raw, decoded = job.seen.path, read.raw, read.decoded
    language = detect_language(path, raw)
    text = TextMap(decoded)
    is_moved = job.moved and job.moved.content_hash == read.content_hash
    extraction = (is_moved and _rename_extraction(job, decoded)) or extract(text, path, language, job.grammar_fault)
    texts = list_searched_texts(text, language, extraction.units)
    mapped = _map_offsets(extraction, text.to_original, decoded)
    vectors, file_vector = embed_document(path, language, extraction, texts, embedder)
    searched = decoded.text  # by phrases and patterns; for a notebook this is its cells, without outputs and JSON
    if language == NOTEBOOK:
        cells = read_notebook(searched.encode("utf-8", "replace")).cells
        searched = "\n".join(cell.source.utf8.decode("utf-8", "replace") for cell in cells)
    digest = hashlib.sha256(raw).digest()
    return DerivedDocument(
        job.seen,
        *Survey(read.content_hash, digest, decoded.encoding, decoded.confidence, decoded.bom, text.lines),
        language=language,
        recipe=compute_current_recipe(language, settings),
        extraction=replace(mapped, references=(), bindings=()),
        references=pack_references(mapped.references, mapped.bindings),
        postings=build_postings(path, extraction.units, texts),
        vectors=vectors,
        file_vector=file_vector,
        embedder=embedder.compute_fingerprint() if embedder else "",
        trigrams=join_trigrams(searched) if settings.fuzzy else None,
        snapshot=zstd.compress(raw, SNAPSHOT_LEVEL),
        roles=find_roles(path),
    )


def _rename_extraction(job: Job, decoded: DecodedText) -> Extraction | None:
    """Put the new file name into the chunks of the old extraction. Returns None if the file must be extracted again."""
    path = job.seen.path
    if not job.moved or decoded.encoding != "utf-8" or classify_path(path):
        return None
    old = _map_offsets(pickle.loads(job.moved.extraction), lambda offset: offset - decoded.bom, decoded)
    if any(u.kind in NOTE_KINDS for u in old.units):  # the kind of a note depends on its folder
        return None
    old_name, name = job.moved.old_path.rpartition("/")[2], path.rpartition("/")[2]
    is_named = ("toplevel", "text")
    units = tuple(replace(u, name=name) if u.kind in is_named and u.name == old_name else u for u in old.units)
    return replace(old, units=units)


def _map_offsets(extraction: Extraction, there: Callable[[int], int], decoded: DecodedText) -> Extraction:
    """Convert between offsets in UTF-8 and in the file's own bytes, unless they are the same."""
    if decoded.encoding == "utf-8" and not decoded.bom:
        return extraction
    units = map_units(extraction.units, there)
    references = tuple(r._replace(start=there(r.start)) for r in extraction.references)
    imports = tuple(i._replace(start=there(i.start)) for i in extraction.imports)
    bindings = tuple(b._replace(start=there(b.start)) for b in extraction.bindings)
    return replace(extraction, units=units, references=references, imports=imports, bindings=bindings)


def build_postings(path: str, units: Sequence[Unit], texts: Sequence[str]) -> tuple[Posting, ...]:
    """Build each unit's postings, the terms that it is found by, from its text at the same position."""
    concepts, above = map(index_terms, split_path_words(path))
    quoted, postings = find_quoted_units(units), []
    for place, (unit, text) in enumerate(zip(units, texts, strict=True)):
        name = index_terms(unit.name)
        if place in quoted:
            postings.append(Posting("", name, *[""] * 5))
            continue
        body, container, doc = join_body_terms(text), index_terms(unit.container), index_terms(unit.doc)
        signature = index_terms(" ".join((unit.signature, *unit.decorators)))
        postings.append(Posting(body, name, concepts, above, container, doc, signature))
    return tuple(postings)


PART_SIZE = 1_000_000  # Characters of a part, plus at most a chunk or a section: about 25 MB to derive
LARGE_SIZE = 4_000_000  # Bytes above which a text is read in parts; twice the default of `max_file_size`
MOST_HELD = 100_000  # Bytes searched for the end of a chunk: many times a chunk's size; a limit for endless blanks
MOST_PARSED = 10_000_000  # Bytes up to which a whole file is parsed; parsing C takes 45 MB of memory per MB
MOST_NOTEBOOK = 32_000_000  # Bytes. A notebook is one JSON value, which is read whole.


def derive_large(job: Job, settings: Settings, embedder: Embedder | None) -> Result | None:
    """Derive a large file in parts. Returns None for a file that is small enough to be read whole. Raises OSError."""
    judged = judge_large_file(job, settings)
    if not isinstance(judged, tuple):
        return judged
    row, facts = judged
    if facts.content_hash == job.known_hash:
        return UnchangedFile(job.seen, facts.content_hash)
    too_large = f"over {MOST_PARSED // 1_000_000} MB: only its text is indexed" if _has_structure(row) else ""
    return DerivedDocument(
        job.seen,
        *facts,
        language=row.name,
        recipe=compute_current_recipe(row.name, settings),
        extraction=Extraction(fault=job.grammar_fault or too_large),
        references=PackedReferences(b"", ""),
        postings=(),
        vectors=(),
        file_vector=embed_document(job.seen.path, row.name, Extraction(), (), embedder)[1],
        embedder=embedder.compute_fingerprint() if embedder else "",
        trigrams="" if settings.fuzzy else None,
        snapshot=b"",
        roles=find_roles(job.seen.path),
        parts=_PartReader(job, facts, row, settings, embedder).derive_parts(),
    )


def judge_large_file(job: Job, settings: Settings) -> tuple[Language, Survey] | Skip | None:
    """Survey a large file. Returns its language and survey, the reason to skip it, or None to read it whole. Raises OSError."""
    seen = job.seen
    if seen.stamp.size <= LARGE_SIZE:
        return None
    wait_for_clock_tick(seen.stamp.mtime_ns)
    with open_regular(job.file) as file:
        language = detect_language(seen.path, file.read(HEAD))
        row = languages().get(language) or Language(language, chunks="lines")
        if row.chunks == "cells":
            detail = f"a notebook is read whole, up to {MOST_NOTEBOOK // 1_000_000} MB"
            too_large = seen.stamp.size > MOST_NOTEBOOK
            return Skip(seen.path, SkipReason.TOO_LARGE, detail, seen.stamp) if too_large else None
        if _has_structure(row) and not job.grammar_fault and seen.stamp.size <= MOST_PARSED:
            return None
        facts = survey_file(seen.path, file, settings.least_confidence, settings.include_vendored)
    return (row, facts) if isinstance(facts, Survey) else Skip(seen.path, *facts, seen.stamp)


def _has_structure(row: Language) -> bool:
    """True if texts of this language yield more than chunks: symbols, links, quoted code."""
    return bool(row.grammar or row.name in READERS or row.chunks == "headings")


@dataclass(slots=True)
class _PartReader:
    """Reads a file a second time, after its survey."""

    job: Job
    facts: Survey
    row: Language
    settings: Settings
    embedder: Embedder | None
    above: list[Heading] = field(default_factory=list)  # The headings around the current place
    inside: bool = False  # True once a non-blank byte was read: leading blanks belong to no chunk
    column: int = 0  # UTF-8 bytes before the current place on its line

    def derive_parts(self) -> Iterator[DerivedPart]:
        """Yield all parts of the file, in order. Raises UnfinishedFile."""
        try:
            with open_regular(self.job.file) as file:
                mark = file.read(self.facts.bom)
                digest = xxhash.xxh3_128(mark)
                place, pending = PartPlace(0, 1, 0), ""
                for raw, text in decode_blocks(file, self.facts.encoding, self.facts.bom):
                    digest.update(raw)
                    pending += text
                    while len(pending) >= PART_SIZE:
                        end, pieces = self._find_end(pending)
                        if not end:
                            break
                        part, place = self._derive_part(place, pending[:end], mark, pieces)
                        yield part
                        pending, mark = pending[end:], b""
                if digest.digest() != self.facts.content_hash:
                    raise UnicodeError("another file")
                if pending or not place.start:
                    yield self._derive_part(place, pending, mark, self._cut_pieces(pending.encode("utf-8")))[0]
        except (OSError, UnicodeError) as fault:
            raise UnfinishedFile(getattr(fault, "strerror", None) or "changed while it was read") from fault

    def _find_end(self, pending: str) -> tuple[int, list[Gap]]:
        """Find the end of the next part. Returns (its characters, its pieces); 0 characters if its last piece may continue
        after the text. A part with sections ends before a heading, any other at a line end."""
        utf8 = pending.encode("utf-8")
        end, pieces = len(utf8), self._cut_pieces(utf8)
        if self._has_headings:
            starts = [h.start for h in find_headings(utf8, self.row.name)]
            end = starts[-1] if starts and starts[-1] > end // 2 else utf8.rfind(b"\n") + 1 or end
        elif pieces and end - pieces[-1][0] <= MOST_HELD:
            end = pieces.pop()[0]
        return len(utf8[:end].decode("utf-8")), pieces

    @property
    def _has_headings(self) -> bool:
        """True if the text has sections. In reStructuredText the levels of headings depend on all earlier ones."""
        return self.row.chunks == "headings" and self.row.name != "restructuredtext"

    def _cut_pieces(self, utf8: bytes) -> list[Gap]:
        """Cut chunks as `chunk_text` does. The last may change when more text follows. Texts with sections yield none."""
        if self._has_headings:
            return []
        start = 0 if self.inside else len(utf8) - len(utf8.lstrip(BLANKS))
        return cut_text(utf8, start, len(utf8.rstrip(BLANKS)))

    def _derive_part(
        self, place: PartPlace, content: str, mark: bytes, pieces: Sequence[Gap]
    ) -> tuple[DerivedPart, PartPlace]:
        """Derive the part with this content, which begins at `place`. Returns the part and the place of the next one."""
        path, raw = self.job.seen.path, content.encode(self.facts.encoding)
        text = TextMap(DecodedText(content, self.facts.encoding, self.facts.confidence, 0))
        name = path.rpartition("/")[2]
        if self._has_headings:
            units = list(build_sections(text, name, self.row.name, self.above))
        else:
            kind = "toplevel" if self.row.chunks == "code" else "text"
            units = [build_chunk(kind, name, gap, text) for gap in strip_gaps(text.utf8, pieces)]
        texts, first, above = list_own_texts(text, units), place.start + len(mark), place.line - 1
        vectors = embed_pieces(list_pieces(path, self.row.name, units, texts), self.embedder) if self.embedder else ()
        moved = [
            replace(
                unit,
                start_line=unit.start_line + above,
                end_line=unit.end_line + above,
                name_line=unit.name_line + above,
                name_column=unit.name_column + (self.column if unit.name_line == 1 else 0),
            )
            for unit in map_units(units, lambda offset: first + text.to_original(offset))
        ]
        part = DerivedPart(
            place=place,
            units=tuple(moved),
            postings=build_postings(path, units, texts),
            vectors=vectors or ((),) * len(units),
            trigrams=join_trigrams(content) if self.settings.fuzzy else None,
            snapshot=zstd.compress(mark + raw, SNAPSHOT_LEVEL),
        )
        self.inside = self.inside or bool(text.utf8.strip(BLANKS))
        line = content.rfind("\n") + 1
        self.column = len(content[line:].encode("utf-8")) + (0 if line else self.column)
        before = len(content) - line + (0 if line else place.before)
        return part, PartPlace(first + len(raw), place.line + content.count("\n"), before)

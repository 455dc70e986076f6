"""Compressed values: a document's references and bindings as columns of numbers over a list of its texts.

A row for each use of a name would be half the size of the source (measured on Django: 48 bytes a row with its index, 5
packed). Single rows are never needed: a document's references are read together, and `names` finds the documents.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate, compress
from typing import Any

from codelens.errors import IndexCorrupt
from codelens.model.extraction import LITERAL_KINDS, Binding, PackedReferences, Reference

MOST_BYTES = 1 << 28
"""Size limit of an unpacked value, above all that codelens writes: SQLite accepts no value of more bytes
(`LARGEST_VALUE`).
"""
LARGEST_WINDOW = 27
"""Memory limit of unpacking, in addition to its result, as a power of 2. This is zstd's own limit for streams; levels below 20
need 8 MB at most.
"""


def decompress(packed: bytes, most: int = MOST_BYTES) -> bytes:
    """The content of a zstd frame. Raises IndexCorrupt if it is damaged, or claims or becomes too much, before memory is
    allocated for that.
    """
    from codelens.zstd import zstd  # 2 ms, which a command that unpacks nothing saves

    try:
        claimed = zstd.get_frame_info(packed).decompressed_size
    except zstd.ZstdError as fault:
        raise _damaged(fault) from None
    if claimed is not None and claimed > most:
        raise IndexCorrupt(f"a value of the index claims to be {claimed} bytes long")
    raw = next(decompressed_pieces(packed, most + 1), b"")  # its memory grows with what it finds
    if len(raw) > most:
        raise IndexCorrupt(f"a value of the index becomes longer than {most} bytes")
    return raw


def decompressed_pieces(packed: bytes, size: int) -> Iterator[bytes]:
    """The content of a zstd frame in pieces of `size` bytes, the last one shorter. Raises IndexCorrupt if it is damaged."""
    from codelens.zstd import zstd

    unpacker = zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: LARGEST_WINDOW})
    while not unpacker.eof:
        try:
            piece = unpacker.decompress(packed, size)
        except zstd.ZstdError as fault:
            raise _damaged(fault) from None
        if len(piece) < size and not unpacker.eof:
            raise _damaged("it ends too early")
        if piece:
            yield piece
        packed = b""  # the unpacker keeps what it has not read


def _damaged(fault: object) -> IndexCorrupt:
    return IndexCorrupt(f"a value of the index cannot be unpacked: {fault}")


LEVEL = 6
_reference: Callable[[Any], Reference] = partial(tuple.__new__, Reference)
_binding: Callable[[Any], Binding] = partial(tuple.__new__, Binding)
"""Does what `_make` does in a third of the time: there are millions of calls."""


def pack_references(references: Sequence[Reference], bindings: Sequence[Binding] = ()) -> PackedReferences:
    """The compressed columns and the distinct names. `unpack_references` and `unpack_bindings` reverse this."""
    texts, place = _places(t for r in references for t in (r.name, r.receiver, r.kind))
    columns = [
        texts,
        [place[r.kind] for r in references],
        [place[r.name] for r in references],
        [place[r.receiver] for r in references],
        [-1 if r.unit is None else r.unit for r in references],
        _differences([r.start for r in references]),
        _differences([r.line for r in references]),
    ]
    names = " ".join(sorted({r.name for r in references if r.kind not in LITERAL_KINDS}))
    return PackedReferences(_packed(columns) if references else b"", names, _pack_bindings(bindings))


def unpack_references(columns: bytes, name: str | None = None) -> tuple[Reference, ...]:
    """The packed references in their order; those of one name, if it is given."""
    if not columns:
        return ()
    texts, *packed, starts, lines = _unpacked(columns)
    places = [*packed, list(accumulate(starts)), list(accumulate(lines))]
    if name is not None:
        wanted = texts.index(name) if name in texts else -1
        chosen = [number == wanted for number in packed[1]]
        places = [list(compress(column, chosen)) for column in places]
    kinds, names, receivers, units, starts, lines = places
    text = texts.__getitem__
    rows = zip(
        *(map(text, kinds), map(text, names), map(text, receivers), map(_unit, units), starts, lines), strict=True
    )
    return tuple(map(_reference, rows))


def _pack_bindings(bindings: Sequence[Binding]) -> bytes:
    if not bindings:
        return b""
    texts, place = _places(t for b in bindings for t in (b.how, b.name, b.text))
    return _packed(
        [
            texts,
            [place[b.how] for b in bindings],
            [place[b.name] for b in bindings],
            [place[b.text] for b in bindings],
            [-1 if b.unit is None else b.unit for b in bindings],
            _differences([b.start for b in bindings]),
            [b.until for b in bindings],
        ]
    )


def unpack_bindings(columns: bytes) -> tuple[Binding, ...]:
    """The packed bindings in their order."""
    if not columns:
        return ()
    texts, hows, names, texts_of, units, starts, ends = _unpacked(columns)
    text = texts.__getitem__
    rows = zip(
        *(map(text, hows), map(text, names), map(text, texts_of), map(_unit, units), accumulate(starts), ends),
        strict=True,
    )
    return tuple(map(_binding, rows))


def pack_places(places: Iterable[int]) -> bytes:
    """A set of positions as bits, the lowest first."""
    packed = bytearray()
    for place in sorted(places):
        packed.extend(bytes(place // 8 + 1 - len(packed)))
        packed[place // 8] |= 1 << place % 8
    return bytes(packed)


def unpack_places(packed: bytes) -> list[int]:
    """The positions in order."""
    return [8 * at + bit for at, byte in enumerate(packed) for bit in range(8) if byte >> bit & 1]


def _unit(number: int) -> int | None:
    return None if number < 0 else number


def _places(texts: Iterable[str]) -> tuple[list[str], dict[str, int]]:
    """The distinct texts in order of first use, and the position of each."""
    distinct = list(dict.fromkeys(texts))
    return distinct, {text: i for i, text in enumerate(distinct)}


def _packed(columns: Any) -> bytes:
    from codelens.zstd import zstd

    raw = json.dumps(columns, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    return zstd.compress(raw, LEVEL)


def _unpacked(columns: bytes) -> Any:
    return json.loads(decompress(columns).decode("utf-8", "surrogatepass"))


def _differences(numbers: Sequence[int]) -> list[int]:
    return [b - a for a, b in zip([0, *numbers], numbers, strict=False)]

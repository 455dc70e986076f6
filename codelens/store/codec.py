"""Pack and unpack compressed values: a document's references and bindings, as columns of numbers that refer to texts.

With one table row per reference, the index would grow by half the size of the source (on Django: 48 bytes per row with its
index, 5 packed). A document's references are always read together, and `names` finds the documents.
"""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate, compress
from typing import Any

from codelens.errors import IndexCorrupt
from codelens.model.extraction import LITERAL_KINDS, Binding, PackedReferences, Reference

MOST_BYTES = 1 << 28  # Limit on bytes of an unpacked value; equal to SQLite's limit on values (`LARGEST_VALUE`)
LARGEST_WINDOW = 27
"""Limit on memory for unpacking, as a power of 2: zstd's default for streams. Compression levels below 20 need 8 MB."""


def decompress(packed: bytes, most: int = MOST_BYTES) -> bytes:
    """Unpack a zstd frame. Raises IndexCorrupt if it is damaged or, before memory is allocated, if it is too long."""
    from codelens.zstd import zstd  # 2 ms, which a command that unpacks nothing saves

    try:
        claimed = zstd.get_frame_info(packed).decompressed_size
    except zstd.ZstdError as fault:
        raise _make_damage_error(fault) from None
    if claimed is not None and claimed > most:
        raise IndexCorrupt(f"a value of the index claims to be {claimed} bytes long")
    raw = next(decompress_in_pieces(packed, most + 1), b"")  # memory grows with the actual size
    if len(raw) > most:
        raise IndexCorrupt(f"a value of the index becomes longer than {most} bytes")
    return raw


def decompress_in_pieces(packed: bytes, size: int) -> Iterator[bytes]:
    """Unpack a zstd frame in pieces of `size` bytes, the last one shorter. Raises IndexCorrupt if it is damaged."""
    from codelens.zstd import zstd

    unpacker = zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: LARGEST_WINDOW})
    while not unpacker.eof:
        try:
            piece = unpacker.decompress(packed, size)
        except zstd.ZstdError as fault:
            raise _make_damage_error(fault) from None
        if len(piece) < size and not unpacker.eof:
            raise _make_damage_error("it ends too early")
        if piece:
            yield piece
        packed = b""  # the unpacker keeps the rest of its input


def _make_damage_error(fault: object) -> IndexCorrupt:
    return IndexCorrupt(f"a value of the index cannot be unpacked: {fault}")


LEVEL = 6
_reference: Callable[[Any], Reference] = partial(tuple.__new__, Reference)
_binding: Callable[[Any], Binding] = partial(tuple.__new__, Binding)  # Like `_make`, but three times as fast


def pack_references(references: Sequence[Reference], bindings: Sequence[Binding] = ()) -> PackedReferences:
    """Pack references and bindings; the result also holds the distinct names. See `unpack_references`, `unpack_bindings`."""
    used = [t for r in references for t in (r.name, r.receiver, r.kind)]
    used += [t for b in bindings for t in (b.how, b.name, b.text)]
    place = {text: at for at, text in enumerate(dict.fromkeys(used))}
    columns = [
        [len(references)],
        [place[r.kind] for r in references],
        [place[r.name] for r in references],
        [place[r.receiver] for r in references],
        [-1 if r.unit is None else r.unit for r in references],
        _compute_differences([r.start for r in references]),
        _compute_differences([r.line for r in references]),
        [place[b.how] for b in bindings],
        [place[b.name] for b in bindings],
        [place[b.text] for b in bindings],
        [-1 if b.unit is None else b.unit for b in bindings],
        _compute_differences([b.start for b in bindings]),
        [b.until for b in bindings],
    ]
    names = " ".join(sorted({r.name for r in references if r.kind not in LITERAL_KINDS}))
    if not used:
        return PackedReferences(b"", names)
    from codelens.zstd import zstd

    # A line of JSON with the texts, then the lowest bytes of all numbers, then their second bytes, and so on. Most high bytes
    # are equal, so this is a fifth smaller than numbers in JSON, and faster.
    numbers = _swap_bytes(array("i", [number for column in columns for number in column])).tobytes()
    head = json.dumps(list(place), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    packed = zstd.compress(b"".join([head, b"\n", *(numbers[at::4] for at in range(4))]), LEVEL)
    return PackedReferences(packed, names)


def unpack_references(packed: bytes, name: str | None = None) -> tuple[Reference, ...]:
    """Unpack references in their order; only those with this name, if it is given."""
    if not packed:
        return ()
    texts, numbers = _unpack_columns(packed)
    *places, starts, lines = _split_columns(numbers[1 : 1 + 6 * numbers[0]])
    places += [list(accumulate(starts)), list(accumulate(lines))]
    if name is not None:
        wanted = texts.index(name) if name in texts else -1
        chosen = [number == wanted for number in places[1]]
        places = [list(compress(column, chosen)) for column in places]
    return tuple(map(_reference, _decode_rows(texts, *places)))


def unpack_bindings(packed: bytes) -> tuple[Binding, ...]:
    """Unpack bindings in their order."""
    if not packed:
        return ()
    texts, numbers = _unpack_columns(packed)
    *places, starts, ends = _split_columns(numbers[1 + 6 * numbers[0] :])
    return tuple(map(_binding, _decode_rows(texts, *places, list(accumulate(starts)), ends)))


def pack_places(places: Iterable[int]) -> bytes:
    """Pack a set of positions as bits, lowest first."""
    packed = bytearray()
    for place in sorted(places):
        packed.extend(bytes(place // 8 + 1 - len(packed)))
        packed[place // 8] |= 1 << place % 8
    return bytes(packed)


def unpack_places(packed: bytes) -> list[int]:
    """Unpack positions, in order."""
    return [8 * at + bit for at, byte in enumerate(packed) for bit in range(8) if byte >> bit & 1]


def _decode_rows(texts: Sequence[str], *columns: Sequence[int]) -> Iterable[tuple[Any, ...]]:
    """Decode six columns: three numbers of texts, a unit (-1 for None), and two plain numbers."""
    *of_texts, units, starts, ends = columns
    named = (map(texts.__getitem__, column) for column in of_texts)
    return zip(*named, (None if unit < 0 else unit for unit in units), starts, ends, strict=True)


def _split_columns(numbers: array[int]) -> list[Sequence[int]]:
    size = len(numbers) // 6
    return [numbers[at * size : (at + 1) * size] for at in range(6)]


def _unpack_columns(packed: bytes) -> tuple[list[str], array[int]]:
    """Unpack (texts, numbers of all columns)."""
    head, _, planes = decompress(packed).partition(b"\n")
    numbers, size = bytearray(len(planes)), len(planes) // 4
    for at in range(4):
        numbers[at::4] = planes[at * size : (at + 1) * size]
    return json.loads(head.decode("utf-8", "surrogatepass")), _swap_bytes(array("i", bytes(numbers)))


def _swap_bytes(numbers: array[int]) -> array[int]:
    """Convert numbers in place between this machine's byte order and the stored one (lowest byte first), either way."""
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def _compute_differences(numbers: Sequence[int]) -> list[int]:
    return [b - a for a, b in zip([0, *numbers], numbers, strict=False)]

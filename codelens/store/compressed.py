"""Compressed values of the index → their bytes, with a limit on what they may become: the file may be somebody else's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from codelens.errors import IndexCorrupt

MOST_BYTES = 1 << 28
"""What one value may become. Larger than any that codelens writes: SQLite takes no value of more bytes (`LARGEST_VALUE`)."""
_PIECE = 1 << 20
LARGEST_WINDOW = 1 << 27
"""Memory that unpacking may take beside its result. zstandard's own limit for streams; levels below 20 ask for 8 MB at most."""


def decompress(packed: bytes, most: int = MOST_BYTES) -> bytes:
    """What a zstd frame holds. Raises IndexCorrupt for one that claims or becomes too much, before memory is taken for it."""
    import zstandard  # 28 ms: a search that shows no text does without

    try:
        frame = zstandard.get_frame_parameters(packed)
        unpacker = zstandard.ZstdDecompressor(max_window_size=LARGEST_WINDOW)
        if frame.content_size == zstandard.CONTENTSIZE_UNKNOWN:
            with unpacker.stream_reader(packed) as stream:
                return b"".join(_pieces(stream, most))
        if frame.content_size > most:
            raise IndexCorrupt(f"a value of the index claims to be {frame.content_size} bytes long")
        return unpacker.decompress(packed)
    except zstandard.ZstdError as fault:
        raise IndexCorrupt(f"a value of the index cannot be unpacked: {fault}") from None


def _pieces(stream: BinaryIO, most: int) -> Iterator[bytes]:
    size = 0
    while piece := stream.read(_PIECE):
        size += len(piece)
        if size > most:
            raise IndexCorrupt(f"a value of the index becomes longer than {most} bytes")
        yield piece

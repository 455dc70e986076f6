"""Frames of zstd: those of older indexes can be read, and no frame takes more memory than its value may have."""

from __future__ import annotations

import random
import subprocess
import sys

import pytest

from codelens.errors import IndexCorrupt
from codelens.model.extraction import Binding, PackedReferences, Reference
from codelens.store.codec import decompress, decompress_in_pieces, pack_references, unpack_bindings, unpack_references
from codelens.zstd import zstd

LINES = b"def price(lamp):\n    return lamp.cost * 2\n" * 3
OLD = {
    "whole": "28b52ffd207e8501006402646566207072696365286c616d70293a0a2020202072657475726e202e636f7374202a20320a0200d1d420ca9a4e",
    "streamed": "28b52ffd0058950100a402646566207072696365286c616d70293a0a2020202072657475726e206c616d702e636f7374202a20320a"
    "01008a36a932",
}
"""LINES as zstandard 0.25 wrote them, with their size in the head and without."""


def streamed(raw: bytes) -> bytes:
    """A frame that does not tell its size."""
    packer = zstd.ZstdCompressor()
    return packer.compress(raw) + packer.flush()


@pytest.mark.parametrize("frame", OLD)
def test_frames_of_zstandard_are_read(frame: str) -> None:
    assert decompress(bytes.fromhex(OLD[frame])) == LINES
    assert b"".join(decompress_in_pieces(bytes.fromhex(OLD[frame]), 10)) == LINES


@pytest.mark.parametrize("size", [0, 1, 100, 1 << 15, (1 << 15) + 1, 3_000_000])
def test_a_value_may_be_as_long_as_its_limit(size: int) -> None:
    raw = random.Random(size).randbytes(size // 2) * 2 + bytes(size % 2)
    for frame in (zstd.compress(raw), streamed(raw)):
        assert decompress(frame, size) == raw
        if size:
            with pytest.raises(IndexCorrupt, match=r"claims to be|becomes longer"):
                decompress(frame, size - 1)
        pieces = list(decompress_in_pieces(frame, 1 << 15))
        assert b"".join(pieces) == raw
        assert {len(piece) for piece in pieces[:-1]} <= {1 << 15}


@pytest.mark.parametrize("frame", OLD)
def test_a_frame_cut_off_anywhere_is_damage(frame: str) -> None:
    whole = bytes.fromhex(OLD[frame])
    for length in range(len(whole)):
        with pytest.raises(IndexCorrupt, match="cannot be unpacked"):
            decompress(whole[:length])
        with pytest.raises(IndexCorrupt, match="cannot be unpacked"):
            list(decompress_in_pieces(whole[:length], 10))


def test_a_changed_byte_is_damage_or_another_value() -> None:
    """What else a frame can become: callers compare digests."""
    luck = random.Random(1)
    for frame in OLD.values():
        for place in range(len(frame) // 2):
            changed = bytearray.fromhex(frame)
            changed[place] ^= luck.randrange(1, 256)
            try:
                assert len(decompress(bytes(changed), 1000)) <= 1000
            except IndexCorrupt:
                continue


def test_a_large_window_is_damage() -> None:
    """256 bytes whose head asks for a window of 2 GB."""
    head = b"\x28\xb5\x2f\xfd" + bytes((0, 21 << 3))
    block = (256 << 3 | 1 << 1 | 1).to_bytes(3, "little") + b"a"
    with pytest.raises(IndexCorrupt, match=r"cannot be unpacked.*memory"):
        decompress(head + block)
    small = b"\x28\xb5\x2f\xfd" + bytes((0, 17 << 3))
    assert decompress(small + block) == b"a" * 256


def test_equal_values_have_equal_frames() -> None:
    assert len({zstd.compress(LINES * 1000, 6) for _ in range(3)}) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="limits of a process")
def test_unpacking_takes_no_memory_beyond_its_limit() -> None:
    """30 kB that become a gigabyte and do not tell."""
    code = (
        "import resource; from codelens.errors import IndexCorrupt; from codelens.store.codec import decompress;"
        "from codelens.zstd import zstd;"
        "p = zstd.ZstdCompressor(); b = bytes(1 << 20);"
        "frame = b''.join([*(p.compress(b) for _ in range(1 << 10)), p.flush()]);"
        "resource.setrlimit(resource.RLIMIT_AS, (400_000_000, 400_000_000))\n"
        "try: decompress(frame, 50_000_000)\n"
        "except IndexCorrupt as fault: print(len(frame), fault)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "becomes longer than 50000000 bytes" in ran.stdout


REFERENCES = (
    Reference("call", "two\nlines", "\0", None, 3, 1),
    Reference("use", "\udc80", "größe", 300, 70_000, 70_001),
    Reference("use", "größe", "", 0, 40_000_000, 2_000_000),
)
BINDINGS = (Binding("value", "größe", "make", 1, 4, 0), Binding("type", "", "\n", None, 31_000_000, 32_000_000))


@pytest.mark.parametrize("bindings", [(), BINDINGS])
@pytest.mark.parametrize("references", [(), REFERENCES])
def test_references_are_unpacked_as_they_were(references: tuple[Reference, ...], bindings: tuple[Binding, ...]) -> None:
    found = pack_references(references, bindings)
    assert unpack_references(found.packed) == references
    assert unpack_references(found.packed, "größe") == references[2:]
    assert unpack_bindings(found.packed) == bindings
    assert (found == PackedReferences(b"", "")) == (not references and not bindings)

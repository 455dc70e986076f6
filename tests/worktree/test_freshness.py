"""A file that was indexed, and what has become of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from codelens.model import FileStamp, Freshness
from codelens.worktree.freshness import content_hash, freshness


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.py"
    path.write_bytes(b"x = 1\n")
    return path


def judged(file: Path, stamp: FileStamp, raw: bytes = b"x = 1\n") -> Freshness:
    return freshness(file.parent, file.name, stamp, content_hash(raw))


def stamp_of(file: Path) -> FileStamp:
    found = file.stat()
    return FileStamp(found.st_size, found.st_mtime_ns, found.st_ino)


def test_hash_is_xxh3_128() -> None:
    assert content_hash(b"").hex() == "99aa06d3014798d86001c324468d497f"


def test_equal_stat_is_not_read(file: Path) -> None:
    assert judged(file, stamp_of(file), b"other") is Freshness.FRESH


def test_touched_is_fresh_by_its_content(file: Path) -> None:
    stamp = stamp_of(file)
    os.utime(file, ns=(1, 1))
    assert judged(file, stamp) is Freshness.FRESH
    assert judged(file, stamp, b"x = 2\n") is Freshness.CHANGED


def test_other_size_is_changed(file: Path) -> None:
    stamp = stamp_of(file)
    file.write_bytes(b"x = 10\n")
    assert judged(file, stamp) is Freshness.CHANGED


def test_gone_is_deleted(file: Path) -> None:
    stamp = stamp_of(file)
    file.unlink()
    assert judged(file, stamp) is Freshness.DELETED
    assert freshness(file.parent, "a.py/b", stamp, b"") is Freshness.DELETED


@pytest.mark.skipif(os.name == "nt", reason="links")
def test_what_became_a_link_or_folder_is_changed(file: Path) -> None:
    stamp = stamp_of(file)
    file.rename(file.parent / "b.py")
    file.symlink_to("b.py")
    assert judged(file, stamp) is Freshness.CHANGED
    file.unlink()
    file.mkdir()
    assert judged(file, stamp) is Freshness.CHANGED
    file.rmdir()
    (file.parent / "b.py").write_text("x")
    assert freshness(file.parent, "b.py/c", stamp, b"") is Freshness.DELETED

"""Changes of an indexed file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from codelens.model.code import FileStamp, Freshness
from codelens.worktree.files import build_stamp, check_freshness, hash_content


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.py"
    path.write_bytes(b"x = 1\n")
    return path


def judged(file: Path, stamp: FileStamp, raw: bytes = b"x = 1\n") -> Freshness:
    return check_freshness(file.parent, file.name, stamp, hash_content(raw))


def stamp(file: Path) -> FileStamp:
    return build_stamp(file.stat())


def test_hash_is_xxh3_128() -> None:
    assert hash_content(b"").hex() == "99aa06d3014798d86001c324468d497f"


def test_a_file_with_an_equal_stat_is_not_read(file: Path) -> None:
    assert judged(file, stamp(file), b"other") is Freshness.FRESH


def test_a_touched_file_is_fresh(file: Path) -> None:
    noted = stamp(file)
    os.utime(file, ns=(1, 1))
    assert judged(file, noted) is Freshness.FRESH
    assert judged(file, noted, b"x = 2\n") is Freshness.CHANGED


def test_a_preserved_mtime_does_not_hide_an_edit(file: Path) -> None:
    noted, times = stamp(file), (file.stat().st_atime_ns, file.stat().st_mtime_ns)
    file.write_bytes(b"x = 2\n")
    os.utime(file, ns=times)
    assert judged(file, noted) is (Freshness.FRESH if os.name == "nt" else Freshness.CHANGED)
    assert judged(file, noted._replace(ctime_ns=0)) is Freshness.FRESH, (
        "where no change time was noted, none is compared"
    )


def test_a_file_of_another_size_has_changed(file: Path) -> None:
    noted = stamp(file)
    file.write_bytes(b"x = 10\n")
    assert judged(file, noted) is Freshness.CHANGED


def test_a_missing_file_is_deleted(file: Path) -> None:
    noted = stamp(file)
    file.unlink()
    assert judged(file, noted) is Freshness.DELETED
    assert check_freshness(file.parent, "a.py/b", noted, b"") is Freshness.DELETED


@pytest.mark.skipif(os.name == "nt", reason="links")
def test_a_file_replaced_by_a_link_or_folder_is_changed(file: Path) -> None:
    noted = stamp(file)
    file.rename(file.parent / "b.py")
    file.symlink_to("b.py")
    assert judged(file, noted) is Freshness.CHANGED
    file.unlink()
    file.mkdir()
    assert judged(file, noted) is Freshness.CHANGED
    file.rmdir()
    (file.parent / "b.py").write_text("x")
    assert check_freshness(file.parent, "b.py/c", noted, b"") is Freshness.DELETED

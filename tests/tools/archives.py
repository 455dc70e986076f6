"""Builds small archives as the registries serve them."""

import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

from codelens.zstd import zstd


def tarball(path: Path, files: Mapping[str, str], links: Mapping[str, str] | None = None) -> Path:
    """A .tgz of `files` by name, and of symbolic `links` by name."""
    with tarfile.open(path, "w:gz") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            tar.addfile(member, io.BytesIO(text.encode()))
        for name, target in (links or {}).items():
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, target
            tar.addfile(member)
    return path


def deb(path: Path, files: Mapping[str, str], ending: str = "xz") -> Path:
    """A Debian binary package that installs `files`, its tar compressed as `ending` says."""
    inside = io.BytesIO()
    with tarfile.open(fileobj=inside, mode="w" if ending in ("", "zst") else f"w:{ending}") as tar:  # type: ignore[call-overload]
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            tar.addfile(member, io.BytesIO(text.encode()))
    content = inside.getvalue()
    if ending == "zst":
        content = zstd.compress(content)
    members = {"debian-binary": b"2.0\n", "control.tar.xz": b"odd", f"data.tar.{ending}".rstrip("."): content}
    with path.open("wb") as archive:
        archive.write(b"!<arch>\n")
        for name, data in members.items():
            archive.write(f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(data):<10}`\n".encode())
            archive.write(data + b"\n" * (len(data) % 2))
    return path


def wheel(path: Path, files: Mapping[str, str]) -> Path:
    """A zip of `files` by name."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path

"""Builds small archives as the registries serve them."""

import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path


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


def wheel(path: Path, files: Mapping[str, str]) -> Path:
    """A zip of `files` by name."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path

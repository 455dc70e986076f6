"""Turns a Debian binary package into the tar of the files that it installs.

A `.deb` is an `ar` archive (deb(5)): magic, then members behind headers of 60 bytes, one of them data.tar with the ending of its
compression. Read here, for the machine that trains need not be a Debian.
"""

import io
import tarfile
from pathlib import Path

_MAGIC = b"!<arch>\n"
_HEADER = 60
_NAME, _SIZE, _END = slice(0, 16), slice(48, 58), slice(58, 60)


def installed_files(package: Path) -> tarfile.TarFile:
    """The tar of what a package installs, to be read once in its order. Raises tarfile.ReadError where it is none."""
    name, content = _data(package.read_bytes())
    if not name.endswith(".zst"):
        return tarfile.open(fileobj=io.BytesIO(content))
    import zstandard  # what tarfile itself reads of compressions lacks this one

    try:
        return tarfile.open(fileobj=zstandard.ZstdDecompressor().stream_reader(content), mode="r|")
    except zstandard.ZstdError as error:
        raise tarfile.ReadError(str(error)) from error


def _data(archive: bytes) -> tuple[str, bytes]:
    """The name and bytes of the member data.tar.*; members begin at even places."""
    if not archive.startswith(_MAGIC):
        raise tarfile.ReadError("not an ar archive")
    at = len(_MAGIC)
    while len(header := archive[at : at + _HEADER]) == _HEADER:
        size = header[_SIZE].strip()
        if header[_END] != b"`\n" or not size.isdigit():
            raise tarfile.ReadError("a broken header")
        at += _HEADER
        name = header[_NAME].decode("ascii", "replace").strip().rstrip("/")
        if name.partition(".tar")[0] == "data":
            return name, archive[at : at + int(size)]
        at += int(size) + int(size) % 2
    raise tarfile.ReadError("no data.tar in it")

"""Turns an archive (wheel, npm tarball, Debian tarball or .deb) into a folder of the source files that training reads.

Nothing is trusted: only regular files with a source's name are written, at paths whose every part was looked at. A member that
would leave the folder refuses the whole archive: nobody makes such a one by accident.
"""

import shutil
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from itertools import takewhile
from pathlib import Path, PurePosixPath

from codelens.training.debs import installed_files
from codelens.training.kept import MAX_BYTES, is_kept

# Names of folders that hold one code in several forms when they are side by side in an npm package, the most original first.
_FORMS = "src src.ts source esm lib.esm lib-esm es es6 esnext module modules lib lib-commonjs lib.commonjs commonjs build browser"


_DOCUMENTS = ("usr", "share", "doc")  # of Debian: its examples are often copies


class BadArchive(Exception):
    """An archive that cannot be read, or whose members would be written elsewhere."""


def unpack_sources(archive: Path, folder: Path) -> int:
    """Writes the kept files of `archive` below `folder` and returns their number.

    `folder` is replaced, and appears only when it is complete. Of tarballs the one folder around all is left off, of npm's the
    builds that one source was translated to, of binary packages all folders that are around every kept file. Raises BadArchive.
    """
    growing = folder.with_name(folder.name + ".part")
    shutil.rmtree(growing, ignore_errors=True)
    growing.mkdir(parents=True)
    count = 0
    left_out = _repeated(archive) if archive.suffix == ".tgz" else frozenset()
    strip = _folders_around_all(archive) if archive.suffix == ".deb" else 0
    for path, read in _files(archive):
        if not left_out.isdisjoint([path, *path.parents]):
            continue
        target = growing.joinpath(*path.parts[strip:])
        if not target.exists():  # a name given twice: the first stays
            _write(target, read())
            count += 1
    shutil.rmtree(folder, ignore_errors=True)
    growing.rename(folder)
    return count


def _write(target: Path, content: bytes) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
        raise BadArchive(f"{target.name} is a file and a folder at once") from error


def read_member(archive: Path, ending: str) -> str | None:
    """The text of the first file of `archive` whose path is or ends with `/` + `ending`, or None."""
    for path, read in _members(archive):
        if str(path) == ending or str(path).endswith("/" + ending):
            return read().decode("utf-8", "replace")
    return None


def kept_names(archive: Path) -> frozenset[str]:
    """The names, without folders, of the files that `unpack_sources` keeps."""
    return frozenset(path.name for path, _ in _files(archive))


def _files(archive: Path) -> Iterator[tuple[PurePosixPath, Callable[[], bytes]]]:
    strip = 0 if archive.suffix in (".whl", ".deb") else 1
    for path, read in _members(archive):
        inside = PurePosixPath(*path.parts[strip:]) if len(path.parts) > strip else path
        if is_kept(str(inside)) and not (archive.suffix == ".deb" and inside.parts[:3] == _DOCUMENTS):
            yield inside, read


def _folders_around_all(package: Path) -> int:
    """How many folders all kept files of a binary package have in common: where it installs them says nothing of them."""
    levels = zip(*(path.parts[:-1] for path, _ in _files(package)), strict=False)
    return sum(1 for _ in takewhile(lambda names: len(set(names)) == 1, levels))


def _repeated(tarball: Path) -> frozenset[PurePosixPath]:
    """The folders and files of an npm package that repeat others in another module form."""
    paths = frozenset(path for path, _ in _files(tarball))
    folders = {folder for path in paths for folder in path.parents if folder.parts}
    repeated = {path for path in paths if path.suffix in (".cjs", ".mjs") and path.with_suffix(".js") in paths}
    forms = _FORMS.split()
    for folder in folders:
        if folder.name.lower() in forms:
            better = forms[: forms.index(folder.name.lower())]
            if any(folder.with_name(form) in folders for form in better):
                repeated.add(folder)
    return frozenset(repeated)


def _members(archive: Path) -> Iterator[tuple[PurePosixPath, Callable[[], bytes]]]:
    """Every small regular file with its way to be read; `read` must be called before the next member is asked for."""
    try:
        if archive.suffix == ".whl":
            with zipfile.ZipFile(archive) as wheel:
                for entry in wheel.infolist():
                    if not entry.is_dir() and entry.file_size <= MAX_BYTES:
                        yield _safe(entry.filename), lambda entry=entry: wheel.read(entry)  # type: ignore[misc]
        else:
            with installed_files(archive) if archive.suffix == ".deb" else tarfile.open(archive) as tar:
                for member in tar:
                    if member.isreg() and member.size <= MAX_BYTES:
                        yield _safe(member.name), lambda member=member: tar.extractfile(member).read()  # type: ignore[misc,union-attr]
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError) as error:
        raise BadArchive(f"{archive.name}: {error}") from error


def _safe(name: str) -> PurePosixPath:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or "\0" in name or not path.parts:
        raise BadArchive(f"a member would be written outside: {name!r}")
    return path

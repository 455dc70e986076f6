"""Unpack the source files of an archive (wheel, npm tarball, Debian tarball or .deb) that training reads.

Nothing is trusted: only regular files with a source's name are written, at checked paths. A member that would leave the folder
refuses the whole archive. Vendored copies and test data are left out by their folders' names, because they have other authors
and licences, and may be copies of an evaluation repository; so are generated and minified files.
"""

import io
import re
import shutil
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from itertools import takewhile
from pathlib import Path, PurePosixPath

from codelens.zstd import zstd

# By suffix; a header counts as C, whichever of both it is.
_LANGUAGES = {
    "python": ".py .pyi",
    "javascript": ".js .mjs .cjs .jsx",
    "typescript": ".ts .tsx .mts .cts",
    "go": ".go",
    "rust": ".rs",
    "java": ".java",
    "kotlin": ".kt .kts",
    "scala": ".scala",
    "csharp": ".cs",
    "ruby": ".rb",
    "php": ".php",
    "lua": ".lua",
    "swift": ".swift",
    "c": ".c .h",
    "cpp": ".cc .cpp .cxx .hh .hpp .hxx .inl",
}
_BY_SUFFIX = {suffix: language for language, suffixes in _LANGUAGES.items() for suffix in suffixes.split()}
_LEFT_OUT = (
    "_vendor vendor vendored _vendored vendors third_party"
    " third-party thirdparty 3rdparty 3rd_party 3rd-party node_modules"
    " fixtures __fixtures__ testdata test_data test-data syntax-tests bower_components extern external"
    " externals _extern bundled _bundled contrib-libs deps dist min site-packages Godeps"
    " dist.webgl-only _esm _cjs __cjs cjs umd amd submodules m4 autom4te.cache .git .yarn .pc debian"
)
LEFT_OUT_FOLDERS = frozenset(word.lower() for word in _LEFT_OUT.split())
_GENERATED = re.compile(
    r"([.-](min|bundle|umd|debug|coverage|esm-browser))\.[cm]?js$|\.pb\.(go|cc|h)$|_pb2(_grpc)?\.pyi?$|^zz_generated|_generated\.(go|rs|py)$|\.d\.[cm]?ts$"
)
MAX_BYTES = 600_000  # chosen, not measured: larger files are tables, bundles and amalgamations


def language_of(name: str) -> str | None:
    """The language of a source file by its name's suffix, or None for every other file."""
    return _BY_SUFFIX.get(PurePosixPath(name).suffix.lower())


def is_source_name(name: str) -> bool:
    """True if a file of this name is hand-written code."""
    return language_of(name) is not None and not _GENERATED.search(name)


def is_left_out_folder(name: str) -> bool:
    """True if a folder of this name holds other people's code, or no code."""
    return name.lower() in LEFT_OUT_FOLDERS or name.endswith((".dist-info", ".egg-info", ".data", ".dbg", ".prf"))


def is_kept(path: str) -> bool:
    """True if training reads the file at this path inside its package."""
    *folders, name = PurePosixPath(path).parts or ("",)
    return is_source_name(name) and not any(map(is_left_out_folder, folders))


_MAGIC = b"!<arch>\n"
_HEADER = 60
_NAME, _SIZE, _END = slice(0, 16), slice(48, 58), slice(58, 60)


def installed_files(package: Path) -> tarfile.TarFile:
    """The tar of the files that a package installs, to be read once in order. Raises tarfile.ReadError if it is not a package.

    A `.deb` is an `ar` archive (deb(5)). It is read here because the machine that trains need not be a Debian.
    """
    name, content = _data(package.read_bytes())
    if not name.endswith(".zst"):
        return tarfile.open(fileobj=io.BytesIO(content))
    try:  # before Python 3.14, tarfile knows no zstd
        return tarfile.open(fileobj=zstd.ZstdFile(io.BytesIO(content)), mode="r|")
    except (zstd.ZstdError, EOFError) as error:
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

"""A tree of the manifest → its folder, unpacked. The package managers fetch the archives, so no registry is named here."""

from __future__ import annotations

import hashlib
import lzma
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from fnmatch import fnmatch
from functools import cache
from pathlib import Path, PurePosixPath

from codelens.processes.python import build_python_command
from tools.tour.manifest import Tree

APT = Path("/etc/apt")
FETCH_SECONDS = 900
BROKEN = (tarfile.TarError, zipfile.BadZipFile, lzma.LZMAError, zlib.error, EOFError)


class Unfetched(Exception):
    """The tree is not available; the message says why."""


def fetched(tree: Tree, folder: Path) -> Path:
    """The tree's folder below `folder`. Fetches and unpacks it if it is not there. A Debian source may have further
    archives, each for a folder of the main one; they are left out where the manifest names parts. A clone is never fetched, since
    no registry has it. Raises Unfetched."""
    place = folder / tree.folder
    if place.is_dir():
        return place
    if tree.source == "clone":
        raise Unfetched(f"clone {tree.package} at {tree.version} into {place}")
    store = folder / "archives" / tree.folder
    if not store.is_dir():
        _download(tree, store)
    archives = _archives(store)
    if not archives:
        raise Unfetched("no archive was downloaded")
    verify(tree, archives)
    # Unpacked next to its place and then renamed, so that an interrupted run leaves no partial tree.
    with tempfile.TemporaryDirectory(dir=folder, prefix="unpack-") as temporary:
        root = Path(temporary) / "tree"
        for archive in archives:
            component = re.search(r"\.orig-([\w-]+)\.tar\.", archive.name)
            if component is None:
                unpack(archive, root, tree.parts)
            elif not tree.parts:
                unpack(archive, root / component[1])
        root.rename(place)
    return place


def _archives(store: Path) -> list[Path]:
    """The archives of the tree's own code, the main one first: no packaging of Debian, no signatures."""
    found = (p for p in store.glob("*") if re.search(r"\.(tar\.\w+|tgz|zip|whl)$", p.name))
    return sorted((p for p in found if ".debian.tar." not in p.name), key=lambda p: (".orig-" in p.name, p.name))


def verify(tree: Tree, archives: Sequence[Path]) -> None:
    """Compare each archive with the manifest's SHA-256, or print it for the manifest. Raises Unfetched if one differs."""
    sums = {}
    for archive in archives:
        with archive.open("rb") as file:
            sums[archive.name] = hashlib.file_digest(file, "sha256").hexdigest()
    if not tree.archives:
        listed = ", ".join(f'"{name}" = "{digest}"' for name, digest in sums.items())
        print(f"{tree.name}: archives = {{ {listed} }}", file=sys.stderr)
    elif wrong := sorted(n for n in sums.keys() | tree.archives.keys() if sums.get(n) != tree.archives.get(n)):
        raise Unfetched(
            f"{wrong[0]} is missing, not in the manifest, or has another SHA-256; delete {archives[0].parent}"
        )


def _download(tree: Tree, store: Path) -> None:
    """Fill the new folder `store` with the tree's archives, all of them or none."""
    store.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=store.parent, prefix="download-") as temporary:
        into = Path(temporary) / "archives"
        into.mkdir()
        for command in _download_commands(tree, store.parent):
            _run(command, into)
        into.rename(store)


def _download_commands(tree: Tree, archives: Path) -> list[list[str]]:
    """Commands that download the archives into the working directory; APT keeps its state below `archives`."""
    if tree.source == "debian":
        wanted = f"{tree.package}={tree.version}"
        return [[*_apt(archives / "apt"), "source", "--download-only", "--tar-only", wanted]]
    if tree.source == "npm":
        return [["npm", "pack", "--ignore-scripts", f"{tree.package}@{tree.version}"]]
    # Only the package itself comes as source: its build requirements may be wheels.
    kind = ["--no-binary", tree.package] if tree.source == "sdist" else ["--only-binary", ":all:"]
    pip = [*build_python_command(), "-m", "pip", "download", "--quiet", "--no-deps", "--ignore-requires-python"]
    return [[*pip, *kind, "--dest", ".", f"{tree.package}=={tree.version}"]]


def _run(command: Sequence[str], cwd: Path) -> None:
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=FETCH_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as e:
        raise Unfetched(f"{command[0]}: {e}") from e
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}").splitlines()
        reason = next((line for line in lines if line.startswith(("E: ", "ERROR: ", "npm error"))), lines[-1])
        raise Unfetched(f"{command[0]}: {re.sub(r'[a-z]+://[^ ]+', '…', reason)}")


@cache
def _apt(state: Path) -> tuple[str, ...]:
    """apt-get for the sources of the machine's own Debian archive, with its lists in the folder `state`, fetched once a run."""
    for name in ("lists/partial", "cache", "sources"):
        (state / name).mkdir(parents=True, exist_ok=True)
    parts = APT / "sources.list.d"
    for file in (APT / "sources.list", *parts.glob("*.list"), *parts.glob("*.sources")):
        if file.is_file() and (text := source_lines(file.read_text(encoding="utf-8"))):
            (state / "sources" / file.name).write_text(text, encoding="utf-8")
    settings = {
        "Dir::Etc::sourcelist": "/dev/null",
        "Dir::Etc::sourceparts": state / "sources",
        "Dir::State::lists": state / "lists",
        "Dir::Cache": state / "cache",
        "Acquire::Languages": "none",
    }
    apt = ("apt-get", "--quiet", *(part for name, value in settings.items() for part in ("-o", f"{name}={value}")))
    _run([*apt, "update"], state)
    return apt


def source_lines(text: str) -> str:
    """A file of APT's sources, of either format, with the main Debian archive's entries turned into those of its sources."""
    stanzas = []
    for stanza in re.split(r"\n\s*\n", text):
        if re.search(r"^Types:.*\bdeb\b", stanza, re.M) and re.search(r"^URIs:.*/debian/?$", stanza, re.M):
            stanzas.append(re.sub(r"^Types:.*$", "Types: deb-src", stanza.strip(), flags=re.M))
        else:
            lines = re.findall(r"^deb\s+((?:\[[^]]*\]\s+)?\S+/debian/?\s.*)$", stanza, re.M)
            stanzas += [f"deb-src {line}" for line in lines]
    return "".join(f"{s}\n\n" for s in stanzas)


def unpack(archive: Path, place: Path, parts: Sequence[str] = ()) -> None:
    """Unpack into the new folder `place`, without the one folder that holds all in the archive. Links are left out:
    codelens does not follow them. Raises Unfetched if the archive is broken or a path leads out of it."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent, prefix="unpack-") as temporary:
        inside = Path(temporary) / "inside"
        inside.mkdir()
        try:
            if archive.suffix in (".zip", ".whl"):
                _unzip(archive, inside, parts)
            else:
                _untar(archive, inside, parts)
        except (*BROKEN, OSError) as e:
            raise Unfetched(f"{archive.name}: {e}") from e
        top = list(inside.iterdir())
        if not top:
            raise Unfetched(f"{archive.name}: nothing in it" + (f" below {', '.join(parts)}" if parts else ""))
        root = top[0] if len(top) == 1 and top[0].is_dir() and archive.suffix != ".whl" else inside
        if place.is_dir():
            shutil.rmtree(place)  # an empty folder that stands for a component
        root.rename(place)


def _untar(archive: Path, inside: Path, parts: Sequence[str]) -> None:
    def chosen(member: tarfile.TarInfo, path: str) -> tarfile.TarInfo | None:
        if member.issym() or member.islnk() or not _wanted(_below_top(member.name), parts):
            return None
        return tarfile.data_filter(member, path)

    with tarfile.open(archive) as tar:
        tar.extractall(inside, filter=chosen)


def _unzip(archive: Path, inside: Path, parts: Iterable[str]) -> None:
    with zipfile.ZipFile(archive) as file:
        for name in file.namelist():
            if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
                raise zipfile.BadZipFile(f"{name!r} would be extracted outside the folder")
            if _wanted(PurePosixPath(name) if archive.suffix == ".whl" else _below_top(name), parts):
                file.extract(name, inside)


def _below_top(name: str) -> PurePosixPath:
    return PurePosixPath(*PurePosixPath(name).parts[1:])


def _wanted(path: PurePosixPath, parts: Iterable[str]) -> bool:
    """Test whether a path of the tree matches one of the parts or lies below it."""
    return not parts or any(fnmatch(str(path), part) or fnmatch(str(path), f"{part}/*") for part in parts)

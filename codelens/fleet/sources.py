"""Read the user's list of a fleet's repositories, and check cheaply whether each has changed since it was indexed.

A list is a folder of clones, JSON Lines, or TOML:

    [[repository]]
    name = "shop"                          # by default the last part of the path or URL
    url = "https://example.org/shop.git"   # or path = "clones/shop"
    ref = "main"                           # branch, tag or commit; by default HEAD, and of a path its files as they are
    group = "payments"                     # shares its shard with no repository of another group
    team = "checkout"                      # anything else is metadata
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import xxhash

from codelens.config import find_user_place
from codelens.errors import UsageError
from codelens.files import make_folder
from codelens.model.fast_dataclass import field, frozen_dataclass, replace
from codelens.store.connection import hold_writer_lock
from codelens.text.notation import parse_json, parse_toml
from codelens.worktree.commits import fetch_tree, list_tree_files, resolve_commit, resolve_remote_commit, write_tree
from codelens.worktree.history import find_head
from codelens.worktree.place import INDEX_FOLDER
from codelens.worktree.repository import GitError, Repository, find_enclosing_repository, open_bare_repository

OWN_KEYS = ("name", "path", "url", "ref", "group")
URL = re.compile(r"(?:https?|ssh|file)://[^\s]+|[\w.-]+@[\w.-]+:[^\s]+")
"""URLs with the protocols that git may use, which start no other program."""
LONGEST_NAME = 200
LOOKS_AT_ONCE = 16  # Sources that are checked in parallel, since checks mostly wait for servers and disks
UNKNOWN_BYTES = 20_000_000  # Assumed size of a repository that was not fetched yet: above the median in a company


@frozen_dataclass
class FleetSource:
    """A repository in the user's list: a folder, or a URL to fetch it from."""

    name: str
    path: str = ""  # Absolute; empty if there is a URL
    url: str = ""
    ref: str = ""
    group: str = ""  # Repositories share a shard only with others of their group
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def place(self) -> str:
        """The path or URL of the repository."""
        return self.path or self.url


@frozen_dataclass
class SourceLook:
    """The state of a source when it was checked. The same `state` means the same files."""

    source: FleetSource
    state: str = ""
    commit: str = ""  # The commit of HEAD or of the ref; empty outside of git
    bytes: int = UNKNOWN_BYTES
    fault: str = ""  # Why it cannot be indexed


def read_fleet(fleet: Path, besides: Path | None = None) -> list[FleetSource]:
    """Read the repositories from a list or a folder of clones, except the store's folder `besides`. Raises UsageError."""
    if fleet.is_dir():
        store = besides and besides.resolve()
        folders = (f for f in sorted(fleet.iterdir()) if f.is_dir() and not f.name.startswith("."))
        sources = [FleetSource(f.name, str(f.resolve())) for f in folders if f.resolve() != store]
        empty = f"{fleet} holds no folders"
    else:
        sources = [_parse_source(row, place, fleet) for place, row in _read_rows(fleet)]
        empty = f"{fleet} lists no repositories"
    if not sources:
        raise UsageError(empty, "name a folder of clones, or a file with [[repository]] tables or JSON Lines")
    names, places = dict[str, FleetSource](), set[tuple[str, str]]()
    for source in sources:
        if other := names.get(source.name):
            text = f"{fleet}: {other.place} and {source.place} are both named '{source.name}'"
            raise UsageError(text, "give one of them another `name`")
        if (source.place, source.ref) in places:
            raise UsageError(f"{fleet}: {source.place} is listed twice", "a repository is indexed once")
        names[source.name] = source
        places.add((source.place, source.ref))
    return sources


def _read_rows(fleet: Path) -> Iterator[tuple[str, Any]]:
    """Read a list's repositories: pairs (position in the file for messages, table)."""
    try:
        text = fleet.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise UsageError(f"no such file or folder: {fleet}") from None
    except UnicodeDecodeError as fault:
        raise UsageError(f"{fleet}, byte {fault.start}: not UTF-8", "save the file as UTF-8") from None
    except OSError as fault:
        raise UsageError(f"{fleet} cannot be read: {fault.strerror}") from None
    if fleet.suffix == ".toml":
        try:
            tables = parse_toml(text)
        except ValueError as fault:
            raise UsageError(f"{fleet} is not TOML: {fault}", "its tables are [[repository]]") from None
        for key in tables:
            if key != "repository" or not isinstance(tables[key], list):
                raise UsageError(f"{fleet}: unexpected '{key}'", "write each repository as [[repository]]")
        yield from ((f"{fleet}, repository {n}", row) for n, row in enumerate(tables.get("repository", ()), 1))
        return
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                yield f"{fleet}, line {number}", parse_json(line)
            except ValueError as fault:
                raise UsageError(f"{fleet}, line {number} is not JSON: {fault}", "a TOML file ends in .toml") from None


def _parse_source(row: Any, place: str, fleet: Path) -> FleetSource:
    """Parse a row of the list; `place` is its position for messages. Raises UsageError."""
    if not isinstance(row, dict):
        raise UsageError(f"{place}: not a table", 'for example {"path": "clones/shop"}')
    for key in OWN_KEYS:
        if not isinstance(row.get(key, ""), str) or (key in row and not row[key]):
            raise UsageError(f"{place}: {key} must be a string with at least one character")
    path, url, ref = row.get("path", ""), row.get("url", ""), row.get("ref", "")
    if bool(path) == bool(url):
        raise UsageError(f"{place}: {'both path and url' if path else 'neither path nor url'}", "give one of the two")
    if url and not URL.fullmatch(url):
        hint = "https://, ssh://, file:// or user@host:path; a folder is a path"
        raise UsageError(f"{place}: '{url}' is not a URL that git may use here", hint)
    if re.match(r"\w+://[^/@]*:[^/@]*@", url):
        raise UsageError(f"{place}: the URL contains a password", "use git's credential helper on each worker instead")
    if ref.startswith("-") or re.search(r"[\s\0]", ref):
        raise UsageError(f"{place}: '{ref}' is not a branch, tag or commit")
    if path:
        path = str((fleet.parent / Path(path).expanduser()).resolve())
    name = row.get("name") or re.split(r"[/:]", (path or url).rstrip("/"))[-1].removesuffix(".git")
    parts = name.split("/")
    if len(name) > LONGEST_NAME or not name.isprintable() or any(part in ("", ".", "..") for part in parts):
        raise UsageError(f"{place}: '{name[:LONGEST_NAME]}' cannot be a name", "give it a `name`")
    metadata = json.dumps({key: value for key, value in row.items() if key not in OWN_KEYS}, default=str)
    # JSON has no dates, TOML has
    return FleetSource(name, path, url, ref, row.get("group", ""), parse_json(metadata))


def check_source(source: FleetSource) -> SourceLook:
    """Check a source's state. Reads no content of files, and uses the network only for URLs."""
    try:
        if source.url:
            commit = resolve_remote_commit(source.url, source.ref)
            return SourceLook(source, commit, commit)
        if not Path(source.path).is_dir():
            return SourceLook(source, fault=f"no such folder: {source.path}")
        if not source.ref and open_bare_repository(Path(source.path)) is None:
            return _look_at_files(source)
        repository = _open_repository(source)
        commit = resolve_commit(repository, source.ref or "HEAD")
        return SourceLook(source, commit, commit, sum(file.size for file in list_tree_files(repository, commit)))
    except (GitError, OSError) as fault:
        return SourceLook(source, fault=str(fault))


def check_sources(sources: Iterable[FleetSource]) -> list[SourceLook]:
    """Check the states of several sources in parallel; returns them in order."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(LOOKS_AT_ONCE) as threads:
        return list(threads.map(check_source, sources))


def _open_repository(source: FleetSource) -> Repository:
    """Open the git repository of a source. Raises GitError if its folder is not in a repository."""
    repository = open_bare_repository(Path(source.path)) or find_enclosing_repository(Path(source.path))
    if repository is None:
        raise GitError(f"{source.path} is not a git repository, so it has no '{source.ref}'")
    return repository


def _look_at_files(source: FleetSource) -> SourceLook:
    """Compute the state of a work tree: a digest over HEAD and its files' paths, sizes and times.

    git is not asked whether the tree is clean, because it might run filters that the repository configures.
    """
    try:
        commit = find_head(Path(source.path)).commit
    except GitError:
        commit = ""
    digest, total = xxhash.xxh3_128(commit.encode()), 0
    for path, stat in _list_files(source.path):
        digest.update(f"{path}\0{stat.st_size}\0{stat.st_mtime_ns}\0".encode("utf-8", "surrogateescape"))
        total += stat.st_size
    return SourceLook(source, digest.hexdigest(), commit, total)


def _list_files(folder: str, below: str = "") -> Iterator[tuple[str, os.stat_result]]:
    """List all files, except those of git and codelens, in order: pairs (path, stat). Skips folders that cannot be read."""
    try:
        with os.scandir(folder) as listing:
            entries: Iterable[os.DirEntry[str]] = sorted(listing, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if entry.name not in (".git", INDEX_FOLDER):
                yield from _list_files(entry.path, f"{below}{entry.name}/")
        else:
            yield below + entry.name, entry.stat(follow_symlinks=False)


@contextmanager
def provide_folder(seen: SourceLook, largest: int) -> Iterator[tuple[Path, SourceLook]]:
    """Provide the folder to index, and its state. Files of a commit are written to the user's cache and removed afterwards.

    The folder's path depends only on the source, so that a later run can update its index. Raises GitError, OSError, and
    IndexBusy if another process on this machine uses the folder.
    """
    source, folder = seen.source, find_folder(seen)
    if str(folder) == source.path:
        if not folder.is_dir():
            raise GitError(f"no such folder: {source.path}")
        yield folder, seen
        return
    make_folder(folder.parent)
    with hold_writer_lock(folder):
        try:
            if source.url:
                commit = fetch_tree(source.url, source.ref, folder, largest)
                seen = replace(seen, state=commit, commit=commit)
            else:
                make_folder(folder)
                write_tree(_open_repository(source), seen.commit, folder, largest=largest)
            yield folder, seen
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def find_folder(seen: SourceLook) -> Path:
    """Find the folder in which to index a source on this machine: its own, or one in the cache for the files of a commit."""
    source = seen.source
    if source.path and seen.state != seen.commit:
        return Path(source.path)
    packs = find_user_place("packs")
    if packs is None:
        raise OSError("there is no home folder to fetch repositories to: set XDG_CACHE_HOME")
    digest = xxhash.xxh3_64_hexdigest(f"{source.place}\0{source.ref}".encode())
    return packs.parent / "fleet" / digest / source.name.rpartition("/")[2]

"""Where a git repository keeps what the walk needs, found by looking at files: no git is needed and nothing runs.

A worktree's and a submodule's `.git` is a file that names the git folder; what worktrees share lies in the common
folder.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from codelens.nouns import dataclass
from codelens.worktree.patterns import path_regex

LONGEST_RULES = 4_000_000
"""Bytes; a configuration or ignore file above this is not read. The largest honest one seen has 30 kB."""


@dataclass(frozen=True, slots=True)
class Repository:
    """A work tree with its git folder; `common` differs from `git_folder` in a linked worktree."""

    top: Path
    git_folder: Path
    common: Path


def repository_at(folder: Path) -> Repository | None:
    """The repository whose work tree begins at this folder. An empty or broken `.git` makes none, as for git."""
    entry = folder / ".git"
    named = entry if entry.is_dir() else _named_folder(entry)
    if named is None or not os.path.lexists(named / "HEAD"):
        return None
    shared = read_regular(named / "commondir")
    common = named / os.fsdecode(shared.strip()) if shared else named
    return Repository(folder, named, common) if (common / "objects").is_dir() else None


def bare_repository_at(folder: Path) -> Repository | None:
    """A git folder itself: one without a work tree, or the `.git` of one."""
    is_git = os.path.lexists(folder / "HEAD") and (folder / "objects").is_dir() and (folder / "refs").is_dir()
    return Repository(folder, folder, folder) if is_git else None


def enclosing_repository(start: Path) -> Repository | None:
    """The repository that holds `start`: the nearest one from there upwards."""
    return next((found for folder in (start, *start.parents) if (found := repository_at(folder))), None)


def _named_folder(entry: Path) -> Path | None:
    raw = read_regular(entry)
    if raw is None or not raw.startswith(b"gitdir:"):
        return None
    return entry.parent / os.fsdecode(raw.removeprefix(b"gitdir:").strip())


def read_regular(path: Path, follow: bool = True) -> bytes | None:
    """The file's bytes; None where there is no regular file that can be read (a pipe would never end, nor a device)."""
    try:
        if not path.is_file() or (not follow and path.is_symlink()) or path.stat().st_size > LONGEST_RULES:
            return None
        return path.read_bytes()
    except OSError:
        return None


def configured(repository: Repository | None) -> dict[str, str]:
    """git's configuration as 'section.key' (lower case) → last value: system, user, repository; with includes.

    Sections with a subsection are left out, but for the includes among them: nothing here needs them.
    """
    values: dict[str, str] = {}
    for path in _configuration_files(repository):
        values.update(_settings_in(path, repository, 0))
    return values


def _configuration_files(repository: Repository | None) -> Iterator[Path]:
    environment = os.environ
    if environment.get("GIT_CONFIG_NOSYSTEM", "").lower() not in ("1", "true", "yes"):
        yield Path(environment.get("GIT_CONFIG_SYSTEM", "/etc/gitconfig"))
    if "GIT_CONFIG_GLOBAL" in environment:
        yield Path(environment["GIT_CONFIG_GLOBAL"])
    else:
        yield user_folder() / "config"
        yield expanded("~/.gitconfig")
    if repository:
        yield repository.common / "config"


def user_folder() -> Path:
    """Where git looks for the user's own configuration and excludes."""
    return expanded(os.environ.get("XDG_CONFIG_HOME") or "~/.config") / "git"


def expanded(written: str) -> Path:
    """A path with ~ or ~user resolved; as written where there is no such home."""
    try:
        return Path(written).expanduser()
    except RuntimeError:
        return Path(written)


_SECTION = re.compile(r"\s*\[\s*([\w.-]+)\s*(?:\"((?:\\.|[^\"\\])*)\")?\s*\]")
_ASSIGNMENT = re.compile(r"\s*([A-Za-z][\w-]*)\s*(?:=\s*(.*))?$")
_PART = re.compile(r'"((?:\\.|[^"\\])*)"|([#;].*)|([^"#;]+)')
_DEEPEST_INCLUDE = 10
"""As in git."""


def _settings_in(path: Path, repository: Repository | None, depth: int) -> Iterator[tuple[str, str]]:
    raw = read_regular(path)
    if raw is None or depth > _DEEPEST_INCLUDE:
        return
    text = raw.decode("utf-8-sig", "surrogateescape").replace("\\\r\n", "").replace("\\\n", "")
    section, subsection = "", None
    for line in text.splitlines():
        if found := _SECTION.match(line):
            section, subsection = found[1].lower(), found[2]
            line = line[found.end() :]
        assigned = _ASSIGNMENT.match(line)
        if not assigned:
            continue
        key, value = f"{section}.{assigned[1].lower()}", _value(assigned[2])
        if key == "include.path" or (key == "includeif.path" and _applies(subsection or "", repository)):
            yield from _settings_in(path.parent / expanded(value), repository, depth + 1)
        elif subsection is None:
            yield key, value


def _value(written: str | None) -> str:
    """A value without quotes and comment; a key alone means true."""
    if written is None:
        return "true"
    text = "".join(quoted or plain for quoted, _, plain in _PART.findall(written.strip())).rstrip()
    return re.sub(r"\\(.)", lambda found: {"n": "\n", "t": "\t"}.get(found[1], found[1]), text)


def _applies(condition: str, repository: Repository | None) -> bool:
    """Whether an includeIf holds; only its gitdir forms are known, others count as false."""
    kind, _, pattern = condition.partition(":")
    if not repository or kind not in ("gitdir", "gitdir/i"):
        return False
    pattern = expanded(pattern).as_posix() + ("/**" if pattern.endswith("/") else "")
    pattern = pattern if pattern.startswith("/") else "**/" + pattern
    flags = re.DOTALL | (re.IGNORECASE if kind == "gitdir/i" else 0)
    place = os.fsencode(repository.git_folder.resolve())
    return any(re.fullmatch(path_regex(os.fsencode(pattern)), way, flags) for way in (place[1:], place))

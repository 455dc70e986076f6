"""A repository and a folder for its tasks → both judged before the work: nothing that another program made is written over.

What was made before is known by its rows. Trees lie outside any work tree, whose ignore rules would be theirs too.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from codelens.errors import CannotWrite, UsageError
from codelens.notation import parse_json
from codelens.worktree.repository import Repository, bare_repository_at, enclosing_repository

KINDS = ("commits", "tasks", "docs", "names", "topics", "concepts")
"""What files of tasks are called, after the repository's name."""
TREES = ("commits", "docs")
LONGEST_NAME = 80
_NAME = re.compile(r"\w[\w.+-]*")
_OWN = re.compile(rf"(\w[\w.+-]*)-({'|'.join(KINDS)})(\.jsonl)?")


def repository_meant(place: Path) -> Repository:
    """The repository that a folder is of, or is itself, without a work tree. Raises UsageError."""
    hint = "name a clone with its history, as codelens eval make-tasks ../clone --out ../tasks"
    if not place.is_dir():
        raise UsageError(f"no such folder: {place}", hint)
    found = bare_repository_at(place.resolve()) or enclosing_repository(place.resolve())
    if found is None:
        raise UsageError(f"{place} is in no git repository", hint)
    return found


def name_meant(name: str, repository: Repository) -> str:
    """What the repository is called in tasks and files: as it is named, else as its folder is. Raises UsageError."""
    if name:
        if not _NAME.fullmatch(name) or len(name) > LONGEST_NAME:
            raise UsageError(
                f"'{name}' is no name for files", "letters, digits, `_`, `-`, `+` and `.`, as --name our-code"
            )
        return name
    own = repository.top.parent if repository.top.name == ".git" else repository.top
    return re.sub(r"[^\w.+-]+", "-", own.name.removesuffix(".git")).strip("-.+")[:LONGEST_NAME] or "tree"


def clear(folder: Path, name: str) -> None:
    """Make the folder, and take away what was made there under this name. Raises UsageError and CannotWrite."""
    if enclosing_repository(folder.resolve()) is not None:
        hint = (
            "name one outside, as --out ~/tasks: the ignore rules around it would decide what of the trees is indexed"
        )
        raise UsageError(f"{folder} lies in a git repository", hint)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is no folder", "name a new one, or one of such tasks")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        strange = next((entry.name for entry in sorted(folder.iterdir()) if not _is_own(entry)), None)
        if strange is not None:
            raise UsageError(f"{folder} holds what make-tasks did not make: {strange}", "name an empty or a new folder")
        for tree in TREES:
            if (folder / f"{name}-{tree}").is_dir():
                shutil.rmtree(folder / f"{name}-{tree}")
        for kind in KINDS:  # empty, so that what an interruption leaves is known as our own
            (folder / f"{name}-{kind}.jsonl").write_bytes(b"")
    except OSError as fault:
        raise cannot_write(folder, fault) from None


def cannot_write(folder: Path, fault: OSError) -> CannotWrite:
    """The system's words about the place that it names, else about the folder."""
    return CannotWrite(f"{fault.filename or folder}: {fault.strerror or fault}", "name a folder that can be written")


def _is_own(entry: Path) -> bool:
    """A file with rows as these, or the tree beside one."""
    found = _OWN.fullmatch(entry.name)
    if not found or entry.is_symlink():
        return False
    name, kind, is_file = found.groups()
    if not is_file:
        return kind in TREES and entry.is_dir() and _is_own(entry.with_name(f"{entry.name}.jsonl"))
    try:
        with entry.open("rb") as file:
            line = file.readline()
        first = parse_json(line) if line else {"repo": name, "kind": ""}
    except (OSError, ValueError):
        return False
    return isinstance(first, dict) and first.get("repo") == name and "kind" in first

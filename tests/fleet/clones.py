"""Small repositories for fleets."""

from __future__ import annotations

import subprocess
from pathlib import Path


def git(folder: Path, *arguments: str) -> str:
    """Run git as somebody, with a fixed branch; its output without the line end."""
    command = [
        "git",
        "-c",
        "user.name=A",
        "-c",
        "user.email=a@example.org",
        "-c",
        "init.defaultBranch=main",
        *arguments,
    ]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


def clone(folder: Path, word: str = "first", is_git: bool = True, files: int = 1) -> Path:
    """Write a tree with functions that are named by a word, and commit it."""
    folder.mkdir(parents=True)
    for number in range(files):
        name = f"{folder.name}_{word}" + (f"_{number}" if number else "")
        (folder / f"{chr(97 + number)}.py").write_text(
            f'def {name}(items):\n    """Return {word} items."""\n    return items\n'
        )
    if is_git:
        git(folder, "init", "--quiet")
        commit(folder)
    return folder


def commit(folder: Path) -> str:
    """Commit everything; the id."""
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "change")
    return git(folder, "rev-parse", "HEAD")

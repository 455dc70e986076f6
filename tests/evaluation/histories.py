"""A small history, made by git itself with times of its own, so that its commits have the same ids wherever it is made."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

PERSON = "Ada <ada@example.org>"
Content = str | bytes | None  # None takes the file away


class History:
    """A work tree that is committed to, a minute after each other."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self._minutes = 0
        top.mkdir(parents=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str, author: str = PERSON) -> str:
        name, _, address = author.removesuffix(">").partition(" <")
        when = f"{1_600_000_000 + 60 * self._minutes} +0000"
        told = {
            f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in _said(name, address, when)
        }
        quiet = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
        ran = subprocess.run(
            ["git", *arguments], cwd=self.top, env=os.environ | quiet | told, capture_output=True, check=True
        )
        return ran.stdout.decode().strip()

    def commit(self, message: str, files: Mapping[str, Content], author: str = PERSON) -> str:
        """Write the files and commit them; the commit's id."""
        for path, content in files.items():
            place = self.top / path
            place.parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                place.unlink()
            else:
                place.write_bytes(content if isinstance(content, bytes) else content.encode())
        self._minutes += 1
        self.git("add", "-A", author=author)
        self.git("commit", "-q", "--allow-empty", "-m", message, author=author)
        return self.git("rev-parse", "HEAD")

    def merge(self, branch: str) -> None:
        self._minutes += 1
        self.git("merge", "-q", "--no-ff", "-m", f"Merge branch '{branch}'", branch)


def _said(name: str, address: str, when: str) -> tuple[tuple[str, str], ...]:
    return ("NAME", name), ("EMAIL", address), ("DATE", when)

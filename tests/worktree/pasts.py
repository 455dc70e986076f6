"""Git histories made commit by commit, with the times that a test wants."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

DAY = 86_400
START = 1_600_000_000
"""When the first commit is made, where nobody says otherwise."""


class Past:
    """A work tree whose commits follow each other by a day."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.now = START
        root.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str, fails: bool = False) -> str:
        """What git prints; with `fails`, it may fail."""
        when = f"{self.now} +0000"
        environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")} | {
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_AUTHOR_DATE": when,
            "GIT_COMMITTER_DATE": when,
            "GIT_EDITOR": "true",
        }
        names = ("user.name=t", "user.email=t@t", "protocol.file.allow=always", "gc.auto=0")
        command = ["git", *(part for name in names for part in ("-c", name)), *arguments]
        ran = subprocess.run(command, cwd=self.root, env=environment, capture_output=True, text=True)
        assert fails or ran.returncode == 0, ran.stderr
        return ran.stdout.strip()

    def commit(self, files: Mapping[str, str | None], *how: str, after: int = DAY) -> str:
        """Write files, or remove them where they are None, and commit `after` seconds later; the commit's id."""
        self.now += after
        for path, content in files.items():
            file = self.root / path
            if content is None:
                file.unlink(missing_ok=True)
            else:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(content)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message=m", *how)
        return self.git("rev-parse", "HEAD")

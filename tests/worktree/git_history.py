"""Git histories created commit by commit, with given times."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

DAY = 86_400
START = 1_600_000_000  # Default time of the first commit


class Past:
    """A work tree with one commit a day."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.now = START
        root.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str, fails: bool = False) -> str:
        """git's output; with `fails`, it may fail."""
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
        """Write files, or delete those given as None, and commit `after` seconds later. Returns the commit's id."""
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

    def recommit(self, message: str, time: int) -> str:
        """Replace the last commit by one of the same files and parents, made at a time that git's commands refuse."""
        tree = self.git("rev-parse", "HEAD^{tree}")
        parents = "".join(f"parent {parent}\n" for parent in self.git("rev-parse", "HEAD^@").split())
        written = self.root / ".git/written"
        written.write_text(f"tree {tree}\n{parents}author a <a> 1 +0000\ncommitter a <a> {time} +0000\n\n{message}\n")
        self.git("update-ref", "HEAD", self.git("hash-object", "-t", "commit", "-w", "--literally", str(written)))
        return self.git("rev-parse", "HEAD")


OLD = "def lamp_old():\n    return 1\n\n\ndef lamp_mid():\n    return 2\n"
MID = OLD.replace("return 2", "return 22")
NEW = MID + "\n\ndef lamp_new():\n    return 3\n"
DAY_1, DAY_2, DAY_3 = "2020-09-14", "2020-09-15", "2020-09-16"  # Days of the three commits, in UTC


def three_commits(folder: Path) -> Past:
    """A repository of three commits by two authors on three days."""
    made = Past(folder)
    made.commit({"lamps.py": OLD, "other.py": "def lamp_other():\n    pass\n"}, "--author=Ann Ache <ann@x>")
    made.commit({"lamps.py": MID}, "--author=Bob <bob@y>")
    made.commit({"lamps.py": NEW}, "--author=Ann Ache <ann@x>")
    return made

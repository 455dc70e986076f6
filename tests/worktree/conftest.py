"""A git without the machine's configuration, and trees written from a mapping of paths to content."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest


@pytest.fixture(autouse=True, scope="session")
def quiet_git(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An empty home, so that a developer's global excludes have no effect."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        patch.setenv("USERPROFILE", str(home))
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        patch.delenv("XDG_CONFIG_HOME", raising=False)
        for name in [name for name in os.environ if name.startswith("GIT_") and name != "GIT_CONFIG_NOSYSTEM"]:
            patch.delenv(name)
        yield home


def git(folder: Path, *arguments: str, given: bytes = b"") -> bytes:
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@t", "-c", "protocol.file.allow=always", *arguments]
    return subprocess.run(command, cwd=folder, input=given, capture_output=True, check=True).stdout


def write_tree(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files below `root`; a path that ends in a slash is an empty folder."""
    for path, content in files.items():
        place = root / path
        if path.endswith("/"):
            place.mkdir(parents=True, exist_ok=True)
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def git_tree(root: Path, files: Mapping[str, str | bytes]) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    git(root, "init", "--quiet")
    return write_tree(root, files)

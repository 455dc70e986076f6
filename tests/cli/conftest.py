"""The environment of commands, and a tree to run them on."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.commands import SAMPLES


@pytest.fixture(autouse=True)
def _environment(plain_environment: None) -> None:
    """Every test of a command has the plain environment."""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A small tree for one test, without an index."""
    shutil.copytree(SAMPLES / "notes/repo", tmp_path / "notes")
    return tmp_path / "notes"

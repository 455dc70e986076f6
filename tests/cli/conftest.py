"""A copy of the sample repositories with its index, and a way to run commands in it as a shell does."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from codelens.cli.main import main

SAMPLES = Path(__file__).parents[2] / "sample_repos"


@dataclass(frozen=True, slots=True)
class Ran:
    code: int
    out: str
    err: str
    raw: bytes


Run = Callable[..., Ran]


@pytest.fixture(scope="session")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with notes/ and shop/ in one index; tests do not change it."""
    folder = tmp_path_factory.mktemp("samples")
    for name in ("notes", "shop"):
        shutil.copytree(SAMPLES / name / "repo", folder / name)
    code = main(
        ["index", str(folder / "notes"), str(folder / "shop"), "--db", str(folder / ".codelens/index.db"), "-q"]
    )
    assert code == 0
    return folder


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A small tree for one test, without an index."""
    shutil.copytree(SAMPLES / "notes/repo", tmp_path / "notes")
    return tmp_path / "notes"


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "CODELENS_LIMIT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "no-config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("LINES", "40")


@pytest.fixture
def run(capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Run:
    """run(*arguments, cwd=…) → exit code and both streams, in this process."""

    def go(*arguments: str, cwd: Path | None = None) -> Ran:
        if cwd is not None:
            monkeypatch.chdir(cwd)
        code = main(list(arguments))
        out, err = capsysbinary.readouterr()
        return Ran(code, out.decode("utf-8", "surrogateescape"), err.decode("utf-8", "replace"), out)

    return go

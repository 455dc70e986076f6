"""Starting another Python process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from codelens.processes.python import build_import_path, start


def told(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """A new process's report about itself."""
    with start("tests.processes.test_python:tell", "a", "-b c", stdout=subprocess.PIPE) as process:
        assert process.stdout
        return dict(json.loads(process.stdout.read()))


def tell() -> int:
    import os

    said = {
        "arguments": sys.argv[1:],
        "folder": str(Path.cwd()),
        "isolated": sys.flags.isolated,
        "python": sorted(name for name in os.environ if name.startswith("PYTHON")),
        "home": os.environ.get("CODELENS_TEST"),
        "path": sys.path,
    }
    print(json.dumps(said))
    return 0


def test_the_current_folder_and_python_variables_have_no_effect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('imported from the repository')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYTHONSTARTUP", str(tmp_path / "json.py"))
    monkeypatch.setenv("CODELENS_TEST", "kept")
    monkeypatch.setattr(sys, "path", [str(tmp_path), "", *sys.path])  # like `python -m`
    said = told(monkeypatch)
    assert said["arguments"] == ["a", "-b c"]
    assert Path(str(said["folder"])).samefile(sys.prefix)
    assert (said["isolated"], said["python"], said["home"]) == (1, [], "kept")
    assert said["path"] == build_import_path()
    assert not {"", str(tmp_path)} & set(build_import_path())


def test_the_current_folder_stays_on_the_path_if_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For example site-packages, if a user indexes them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path, str(tmp_path)])
    assert build_import_path()[-1] == str(tmp_path)

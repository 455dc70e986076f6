"""A Python of its own for a test, in which a hook runs at the start of every process, isolated or not."""

from __future__ import annotations

import sys
import venv
from pathlib import Path

import codelens


def python_with(folder: Path, hook: str = "") -> Path:
    """An interpreter with our packages and the script `codelens`, and with a hook in each process, isolated or not."""
    venv.EnvBuilder(with_pip=False, symlinks=True).create(folder)
    (packages,) = folder.glob("lib/python*/site-packages")
    ours = [str(Path(codelens.__file__).parents[1]), *(entry for entry in sys.path if entry.endswith("-packages"))]
    (packages / "started_hook.py").write_text(hook)
    (packages / "ours.pth").write_text("\n".join([*ours, "import started_hook"]) + "\n")
    (folder / "bin/codelens").write_text("from codelens.cli.main import run\n\nif __name__ == '__main__':\n    run()\n")
    return folder / "bin/python"

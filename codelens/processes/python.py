"""A function of codelens → a process that runs it, isolated from the current folder and from the user's Python settings.

The current folder is somebody's repository: a module there must not be imported, whatever its name. No other module starts
a Python process; a lint rule on `sys.executable` and an import contract on `subprocess` hold that.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path
from typing import IO

Stream = int | IO[bytes] | None
_BOOT = "import sys; sys.path[:] = sys.argv[3 + int(sys.argv[2]):]; from codelens.processes.child import main; sys.exit(main())"


def start(
    program: str,
    *arguments: str,
    stdin: Stream = subprocess.DEVNULL,
    stdout: Stream = subprocess.DEVNULL,
    stderr: Stream = None,
    cwd: str = sys.prefix,
    extra: Collection[tuple[str, str]] = (),
    without: Collection[str] = (),
) -> subprocess.Popen[bytes]:
    """Run `module:function` with these arguments in `sys.argv`; what it returns is the exit code. Raises OSError.

    It works in a folder that is nobody's repository, so paths must be absolute. `extra` is added to its environment, and the
    variables `without` are taken from it.
    """
    return subprocess.Popen(
        [*interpreter(), "-c", _BOOT, program, str(len(arguments)), *arguments, *import_path()],
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        cwd=cwd,
        env={**environment(without), **dict(extra)},
    )


def interpreter() -> list[str]:
    """The command of a Python that heeds neither the current folder nor PYTHON* variables nor the user's own packages."""
    # Names of files must mean the same bytes there as here; and who wants no .pyc files here wants none from there.
    options = ["-I", "-X", f"utf8={sys.flags.utf8_mode}", *(["-B"] if sys.dont_write_bytecode else [])]
    return [sys.executable, *options]  # noqa: TID251 - the one place


def codelens_command() -> list[str]:
    """`codelens` for others to start, where its script is not on the path. They start it in a repository, hence -P.

    Not -I: packages may lie where only the user's PYTHONPATH or home folder leads.
    """
    return [sys.executable, "-P", "-m", "codelens"]  # noqa: TID251


def environment(without: Collection[str] = ()) -> dict[str, str]:
    """Our environment without the variables that only Python reads, and without those named."""
    return {k: v for k, v in os.environ.items() if not k.startswith("PYTHON") and k not in without}


def import_path() -> list[str]:
    """Where another process is to import from: as we do, without the current folder, and with the place of this package.

    `python -m` puts the current folder first, as an absolute path. In any other place it was named on purpose.
    """
    path = [entry for entry in sys.path if Path(entry).is_absolute()]
    if path and not sys.flags.safe_path and path[0] == _current_folder():
        del path[0]
    own = str(Path(__file__).parents[2])
    return path if own in path else [*path, own]


def _current_folder() -> str:
    try:
        return str(Path.cwd())
    except FileNotFoundError:
        return ""

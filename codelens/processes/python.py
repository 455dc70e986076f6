"""Starts a function of codelens in another process, isolated from the user's Python settings and from the current folder, which
is somebody's repository. No other module starts Python: a lint rule on `sys.executable` ensures that."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
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
    env: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Start a process that runs `module:function` with these arguments in `sys.argv` and exits with what it returns. By default
    it works in a folder that is not a repository, so pass absolute paths. Raises OSError."""
    return subprocess.Popen(
        [*build_python_command(), "-c", _BOOT, program, str(len(arguments)), *arguments, *build_import_path()],
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        cwd=cwd,
        env=filter_environment() if env is None else env,
    )


def build_python_command() -> list[str]:
    """Build the command line of a Python that ignores the current folder, PYTHON* variables and the user's own packages."""
    # File names must mean the same bytes in both processes, and -B carries over.
    options = ["-I", "-X", f"utf8={sys.flags.utf8_mode}", *(["-B"] if sys.dont_write_bytecode else [])]
    return [sys.executable, *options]  # noqa: TID251 - the one place


def build_codelens_command() -> list[str]:
    """Build the command line for other programs to start codelens where its script is not on the PATH. They start it inside a
    repository, hence -P. Not -I: only the user's PYTHONPATH or home folder may lead to our packages."""
    return [sys.executable, "-P", "-m", "codelens"]  # noqa: TID251


def count_cores() -> int:
    """Count the processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def guard_children() -> None:
    """Make processes that a library starts from this one ignore the current folder, too."""
    os.environ["PYTHONSAFEPATH"] = "1"


def filter_environment() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}


def build_import_path() -> list[str]:
    """Build the import path for another process: ours, with this package's folder, without the current folder that `python -m`
    puts first. The current folder stays at any other place in the path, where it was named on purpose."""
    path = [entry for entry in sys.path if Path(entry).is_absolute()]
    with suppress(FileNotFoundError):  # the current folder is gone
        if path and not sys.flags.safe_path and path[0] == str(Path.cwd()):
            del path[0]
    package_folder = str(Path(__file__).parents[2])
    return path if package_folder in path else [*path, package_folder]

"""codelens open: a hit of the last search in the editor, at its line."""

import os
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from codelens.cli.declare import argument, declare
from codelens.cli.recorded import RecordingFlags, notebook_here
from codelens.cli.streams import say
from codelens.errors import UsageError

PLUS_LINE = frozenset(
    "vi vim nvim view gvim ex nano pico micro kak joe ne mg emacs emacsclient gedit ed".split()  # noqa: SIM905 - a list of 16
)
"""Editors that take `+LINE FILE`, as vi does."""
GOTO = frozenset(("code", "code-insiders", "codium", "vscodium", "cursor", "windsurf"))
"""Those that take `--goto FILE:LINE`, as VS Code does."""
COLON = frozenset(("hx", "helix", "subl", "sublime_text", "zed", "zeditor", "atom", "lapce"))
"""Those that take `FILE:LINE`."""
LINE_OPTION = frozenset(("idea", "pycharm", "goland", "clion", "webstorm", "rider", "rubymine", "phpstorm", "kate"))
"""Those that take `--line LINE FILE`."""
SHELLS = frozenset(("cmd", "bat", "exe", "sh"))
"""Endings of a program's name that say nothing of which it is."""


class OpenFlags(RecordingFlags):
    """Which hit."""

    number: Annotated[int | None, argument("The hit's number in the last search or context pack, from 1", "N")] = None


def open_hit(flags: OpenFlags) -> int:
    """Open a hit of the last search at its line, with $VISUAL or $EDITOR, and count a use of it."""
    if flags.number is None:
        raise UsageError("open which hit?", "`codelens open 1`")
    command = _editor()
    with notebook_here(flags, flags.now) as (notebook, _, _place):
        hit, file = notebook.hit(flags.number)
        if not file.is_file():
            raise UsageError(f"{file} is gone", "`codelens index`, then search again")
        code = _run([*command, *at_line(command[0], file, hit.line)])
        if code == 0:
            notebook.opened(flags.number)
    if code:
        say(f"error: {command[0]} ended with {code}; no use was counted")
        return 2
    return 0


def at_line(editor: str, file: Path, line: int) -> list[str]:
    """The arguments by which an editor opens a file at a line; the file alone for one that is not known."""
    name = Path(editor).name.casefold()
    stem, _, ending = name.rpartition(".")
    name = stem if ending in SHELLS else name
    if name in PLUS_LINE:
        return [f"+{line}", str(file)]
    if name in GOTO:
        return ["--goto", f"{file}:{line}"]
    if name in COLON:
        return [f"{file}:{line}"]
    if name in LINE_OPTION:
        return ["--line", str(line), str(file)]
    return [str(file)]


def _editor() -> list[str]:
    for variable in ("VISUAL", "EDITOR"):
        if text := os.environ.get(variable, "").strip():
            try:
                return shlex.split(text)
            except ValueError as fault:
                raise UsageError(f"${variable} is no command: {fault}", f"as in {variable}='vim'") from None
    raise UsageError("which editor?", "set EDITOR, as in `EDITOR=vim codelens open 1`")


def _run(command: Sequence[str]) -> int:
    """The editor's exit code."""
    try:
        return subprocess.run(command, check=False).returncode
    except OSError as fault:
        raise UsageError(f"{command[0]} cannot be started: {fault.strerror}", "set EDITOR to a program") from None


command = declare(
    "open",
    OpenFlags,
    open_hit,
    epilog="Exit: 0 opened, 2 no such hit, no editor, or memory is off, 3 no index.",
)

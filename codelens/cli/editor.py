"""Opens a file, or a file at a line, in the user's editor."""

import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from codelens.errors import UsageError

OPENING: Mapping[tuple[str, ...], str] = {
    ("+{line}", "{file}"): "vi vim nvim view gvim ex nano pico micro kak joe ne mg emacs emacsclient gedit ed",
    ("--goto", "{file}:{line}"): "code code-insiders codium vscodium cursor windsurf",
    ("{file}:{line}",): "hx helix subl sublime_text zed zeditor atom lapce",
    ("--line", "{line}", "{file}"): "idea pycharm goland clion webstorm rider rubymine phpstorm kate",
}
"""The arguments by which an editor opens a file at a line → the editors that take them."""
SHELLS = frozenset(("cmd", "bat", "exe", "sh"))  # Endings of a program's name that do not tell which editor it is


def open_at_line(file: Path, line: int) -> None:
    """Open a file at a line with $VISUAL or $EDITOR. Raises UsageError if neither is set or the editor fails."""
    if not (command := find_editor_command()):
        raise UsageError("no editor is set", "set EDITOR, as in `EDITOR=vim codelens search QUERY --open 1`")
    _run_editor([*command, *build_editor_arguments(command[0], file, line)])


def build_editor_arguments(editor: str, file: Path, line: int) -> list[str]:
    """Build the arguments with which an editor opens a file at a line; the file alone for an unknown editor."""
    name = Path(editor).name.casefold()
    stem, _, ending = name.rpartition(".")
    name = stem if ending in SHELLS else name
    forms = (arguments for arguments, editors in OPENING.items() if name in editors.split())
    return [part.format(file=file, line=line) for part in next(forms, ("{file}",))]


def _run_editor(command: Sequence[str], hint: str = "") -> None:
    try:
        code = subprocess.run(command, check=False).returncode
    except OSError as fault:
        raise UsageError(f"cannot start the editor {command[0]}: {fault.strerror}", "set EDITOR to a program") from None
    if code:
        raise UsageError(f"{command[0]} ended with exit code {code}", hint)


def find_editor_command() -> list[str]:
    """Read VISUAL, else EDITOR; empty if not set. Only the environment counts, as a project's file may not name commands."""
    for variable in ("VISUAL", "EDITOR"):
        if text := os.environ.get(variable, "").strip():
            try:
                return shlex.split(text)
            except ValueError as fault:
                raise UsageError(f"${variable} is not a command: {fault}", f"for example {variable}='vim'") from None
    return []


def has_editor() -> bool:
    """True if the user can be asked to edit a text: stdin and stdout are terminals, and an editor is set."""
    return bool(find_editor_command()) and sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


def open_editor(file: Path) -> None:
    """Let the user edit a file. Raises UsageError if the editor cannot be started or fails."""
    _run_editor([*find_editor_command(), str(file)], f"{file} is as the editor left it")

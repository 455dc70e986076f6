"""Where the text of a note comes from: -m, stdin or $EDITOR."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

from codelens.cli.streams import stdin_bytes
from codelens.errors import UsageError


def said_text(message: str | None) -> str | None:
    """-m, where `-` is stdin; without it what is piped in. None on a terminal, where an editor is to be opened."""
    if message is not None and message != "-":
        return utf8(message)
    if message is None and (sys.stdin is None or sys.stdin.isatty()):
        return None
    return stdin_bytes("give the text with -m TEXT").decode("utf-8", "replace").replace("\r\n", "\n")


def utf8(said: str) -> str:
    """What came from the command line, as it is. Raises UsageError where its bytes are no UTF-8, as a note's are."""
    try:
        said.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{said[:40]!r} is no UTF-8", "notes are written in UTF-8") from None
    return said


def has_editor() -> bool:
    """Whether a person can be asked for a text: a terminal on both sides, and an editor that the environment names."""
    return bool(_editor()) and sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


def open_editor(file: Path) -> None:
    """Let a person write in a file. Raises UsageError where the editor cannot be started, or says that it failed."""
    command = _editor()
    try:
        code = subprocess.run([*command, str(file)], check=False).returncode
    except OSError as fault:
        raise UsageError(f"$EDITOR, {command[0]}: {fault.strerror}", f"set another, or edit {file} yourself") from None
    if code:
        raise UsageError(f"{command[0]} ended with {code}", f"{file} is as it left it")


def _editor() -> list[str]:
    """VISUAL before EDITOR, as git asks them; of the environment alone, since a project's file may name no command."""
    return shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "")

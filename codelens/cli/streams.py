"""Output streams: results go to stdout as bytes, everything else to stderr after the program's name."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

from codelens.errors import CodelensError, QueryError, TargetError, UsageError
from codelens.model.search import Notice
from codelens.render.lines import MATCH, PATH, PLACE
from codelens.render.visible import escape_text

_COLOR = re.compile("(\x1b\\[[0-9;]*m)")
OWN_COLORS = {f"\x1b[{code}m" for code in (PATH, PLACE, MATCH, "0")}
USUAL_ROWS = 24  # Rows of a terminal whose size is unknown
PAGER_OPTIONS = {"LESS": "FRX", "LV": "-c"}  # Default options of less and lv, as git sets them


_is_silent = False


def silence_output(is_silent: bool) -> None:
    """Choose whether results are written to stdout, in any format: with --quiet the exit code alone gives the answer."""
    global _is_silent
    _is_silent = is_silent


def write(texts: Iterable[str], styled: bool = False, paged: bool = False) -> None:
    """Write results to stdout. Paths keep their bytes; characters that cannot be encoded are escaped.

    On a terminal control characters become visible, unless the text is `styled`: its renderer did that. If `paged`,
    output that does not fit on the screen goes through the user's pager.
    """
    if _is_silent:
        return
    encoding = sys.stdout.encoding or "utf-8"
    terminal = sys.stdout.isatty()
    safe = terminal and not styled
    chunks: Iterator[bytes] = (_encode(_make_visible(text) if safe else text, encoding) for text in texts)
    if paged and terminal:
        chunks = getattr(getattr(sys.stdout.buffer, "raw", None), "page", page_long_output)(chunks)
    for chunk in chunks:
        sys.stdout.buffer.write(chunk)
    sys.stdout.buffer.flush()


def _encode(text: str, encoding: str) -> bytes:
    try:
        return text.encode(encoding, "surrogateescape")
    except UnicodeEncodeError:
        return text.encode(encoding, "backslashreplace")


def _make_visible(text: str) -> str:
    """Make control characters visible, so that the text can do no more to the terminal than set our own colours."""
    return "".join(
        part if part in OWN_COLORS else "\n".join(map(escape_text, part.split("\n"))) for part in _COLOR.split(text)
    )


def page_long_output(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Send output to the pager once it is longer than the screen. Yields the output that no pager has shown."""
    first: list[bytes] = []
    rows, most = 0, os.get_terminal_size(sys.stdout.fileno()).lines or USUAL_ROWS
    for chunk in chunks:
        first.append(chunk)
        rows += chunk.count(b"\n")
        if rows >= most:
            break
    if rows < most or not _run_pager(chain(first, chunks)):
        yield from first
        yield from chunks


def _run_pager(chunks: Iterable[bytes]) -> bool:
    """Run CODELENS_PAGER, else PAGER, else less, until the user leaves it; returns False if there is no usable pager.

    The environment alone names a command.
    """
    import shlex
    import subprocess  # imported here because most answers fit on the screen
    from shutil import which

    try:
        command = shlex.split(os.environ.get("CODELENS_PAGER", os.environ.get("PAGER", "less")))
        if not command or command == ["cat"] or not which(command[0]) or os.environ.get("TERM") == "dumb":
            return False
        pager = subprocess.Popen(command, stdin=subprocess.PIPE, env={**PAGER_OPTIONS, **os.environ})
    except (OSError, ValueError):  # the script's interpreter is missing; the command has an open quote
        return False
    assert pager.stdin
    try:
        with suppress(BrokenPipeError), pager.stdin:  # the user may leave it before the end
            for chunk in chunks:
                pager.stdin.write(chunk)
    finally:
        while pager.poll() is None:
            with suppress(KeyboardInterrupt):  # less handles Ctrl-C itself
                pager.wait()
    return True


def write_json(texts: Iterable[str]) -> None:
    """Write JSON in UTF-8, whatever the terminal's encoding is. A lone surrogate is escaped as \\udcNN, which JSON reads back."""
    if _is_silent:
        return
    for text in texts:
        sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
    sys.stdout.buffer.flush()


def write_record(record: Mapping[str, Any]) -> None:
    """Write one JSON object."""
    from codelens.render.records import to_json

    write_json([to_json(record)])


def write_fields(exit_code: int = 0, **fields: Any) -> None:
    """Write one JSON object with these fields, between the version of the format and the exit code."""
    from codelens.render.records import SCHEMA

    write_record({"schema": SCHEMA, **fields, "exit_code": exit_code})


def write_answer(flags: Any, record: Callable[[], Mapping[str, Any]], lines: Callable[[], Iterable[str]]) -> None:
    """Write an answer as an object with --json, else as text."""
    if flags.json:
        write_record(record())
    else:
        write(lines())


def say(text: str) -> None:
    """Write a line to stderr. Control characters in it become visible."""
    encoding = sys.stderr.encoding or "utf-8"
    sys.stderr.write(f"codelens: {_make_visible(text)}\n".encode(encoding, "backslashreplace").decode(encoding))
    sys.stderr.flush()


def inform(flags: Any, text: str) -> None:
    """Write a line to stderr, unless --quiet was given."""
    if not flags.quiet:
        say(text)


def say_notices(notices: Sequence[Notice]) -> None:
    """Print the notices of a result to stderr."""
    for notice in notices:
        say(f"note: {notice.text}")


def user_agrees(question: str, what: str) -> bool:
    """Ask on the terminal whether to do something. Raises UsageError if nobody can answer."""
    if not sys.stdin.isatty():
        raise UsageError(f"this would {what}", "add --yes to run without a question")
    sys.stderr.write(f"{_make_visible(question)} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def say_without_prefix(texts: Iterable[str]) -> None:
    """Write lines to stderr without the program's name."""
    for text in texts:
        sys.stderr.write(text.encode("utf-8", "backslashreplace").decode())
    sys.stderr.flush()


def report_error(fault: CodelensError) -> None:
    """Print an error and its hint, and for an error in a query a caret under its position."""
    say(f"error: {escape_text(str(fault))}")
    if isinstance(fault, QueryError):
        say_without_prefix(f"  {escape_text(line)}\n" for line in fault.format_pointer().split("\n"))
    if isinstance(fault, TargetError):
        say_without_prefix(f"  {escape_text(line)}\n" for line in fault.candidates)
    if fault.hint:
        say_without_prefix([f"hint: {escape_text(escape_text(fault.hint))}\n"])


def read_stdin(hint: str) -> bytes:
    """Read all of stdin. Raises UsageError with this hint on a terminal, because codelens never waits for typing."""
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("stdin is a terminal", hint)
    return sys.stdin.buffer.read()


def read_input(name: str, hint: str, fault_prefix: str = "") -> bytes:
    """Read a file, or stdin for `-`. Raises UsageError, with `hint` if stdin is a terminal."""
    try:
        return read_stdin(hint) if name == "-" else Path(name).read_bytes()
    except OSError as fault:
        raise UsageError(f"{fault_prefix}{name}: {fault.strerror}") from None


def is_for_people(flags: Any) -> bool:
    """True if people read the output: on a terminal, or with --pretty."""
    return sys.stdout.isatty() or bool(flags.pretty)


def wants_color(when: str, terminal: bool) -> bool:
    """True if output is coloured. `when` is auto, always or never; auto checks NO_COLOR, TERM=dumb and whether it is a terminal."""
    if when != "auto":
        return when == "always"
    return terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

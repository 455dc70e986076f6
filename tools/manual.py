"""Builds the manual's two other forms: a hook of the MkDocs site, and the man page (`python -m tools.manual OUT`).

The man page is the help that the commands print, so that it cannot differ from it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
TOPICS = ("query", "formats", "exit-codes", "config")


def on_post_page(output: str, **_: Any) -> str:
    """MkDocs: hide the comments that tell the tests which commands to skip."""
    return re.sub(r"<!-- not run: [^>]*-->\n?", "", output)


def man_page() -> str:
    """The man page of section 1, in roff."""
    version = _printed("--version").split()[-1]
    whole = _printed("--help-all") if "--help-all" in _printed("--help") else _printed("--help")
    parts = [
        f'.TH CODELENS 1 "" "codelens {version}" "codelens"',
        ".SH NAME\ncodelens \\- offline code search that explains every rank",
        ".SH SYNOPSIS\n.B codelens\n.I COMMAND\n[\\fIOPTION\\fR]... [\\fIARGUMENT\\fR]...",
        f".SH COMMANDS\n{_block(whole)}",
    ]
    names = _commands(_printed("--help"))
    parts += [f".SH CODELENS {name.upper()}\n{_block(_printed(name, '--help'))}" for name in names]
    parts += [f".SH {topic.upper()}\n{_block(_printed('help', topic))}" for topic in _topics()]
    return "\n".join(parts) + "\n"


def _topics() -> list[str]:
    known = _printed("help")
    return [topic for topic in TOPICS if re.search(rf"\b{topic}\b", known)]


def _commands(text: str) -> Iterator[str]:
    """The commands listed below headings that speak of commands or groups: two spaces, a name, two spaces."""
    found = re.findall(r"^  ([a-z][a-z-]+)  +\S", text, re.MULTILINE)
    yield from dict.fromkeys(found)


def _block(text: str) -> str:
    escaped = text.rstrip().replace("\\", "\\e").replace("-", "\\-")
    return (
        ".nf\n" + "\n".join("\\&" + line if line[:1] in (".", "'") else line for line in escaped.splitlines()) + "\n.fi"
    )


def _printed(*arguments: str) -> str:
    environment = {**os.environ, "COLUMNS": "78", "TERM": "dumb", "NO_COLOR": "1"}
    command = [sys.executable, "-m", "codelens", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    out = Path(sys.argv[1])
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(man_page(), encoding="utf-8")

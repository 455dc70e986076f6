"""Builds what is made from the command line's own definition: a hook of the MkDocs site, the man page and the completion scripts.

`python -m tools.manual` writes the man page and the scripts to packaging/share, from where they go into the wheel.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from codelens import __version__
from codelens.cli.help import ENTRY_POINTS, TOPICS
from codelens.cli.typed import SCRIPTS, LazyGroup, build_root_group

SHARE = Path(__file__).parent.parent / "packaging" / "share"
COMPLETIONS = {
    "bash": "bash-completion/completions/codelens",
    "zsh": "zsh/site-functions/_codelens",
    "fish": "fish/vendor_completions.d/codelens.fish",
}  # Shell → where it looks for the scripts of programs, below share/
SEE_ALSO = ".SH SEE ALSO\nrg(1), ctags(1), git(1)"


def on_post_page(output: str, **_: Any) -> str:
    """MkDocs: hide the comments that tell the tests which commands to skip."""
    return re.sub(r"<!-- not run: [^>]*-->\n?", "", output)


def man_page() -> str:
    """The man page of section 1, in roff: every command with all its options, then the topics of help."""
    group = build_root_group(ENTRY_POINTS)
    parts = [
        f'.TH CODELENS 1 "" "codelens {__version__}" "User Commands"',
        f".SH NAME\ncodelens \\- {_roff(group.help or '').rstrip('.').lower()}",
        ".SH SYNOPSIS\n.B codelens\n\\fICOMMAND\\fR [\\fIOPTION\\fR]... [\\fIARGUMENT\\fR]...",
        f".SH OPTIONS\n{_options(group.make_context('codelens', [], resilient_parsing=True))}",
        ".SH COMMANDS",
        *_commands(group, "codelens"),
        *(f".SH {_roff(name.upper())}\n.nf\n{_lines(text)}\n.fi" for name, text in TOPICS.items()),
        SEE_ALSO,
    ]
    return "\n".join(parts) + "\n"


def _commands(group: Any, above: str) -> Iterator[str]:
    for name in group.list_commands(None):
        command, path = group.get_command(None, name), f"{above} {name}"
        context = command.make_context(name, [], resilient_parsing=True)
        shown = context.command  # of `eval`, the command that measures
        epilog = f"\n.PP\n{_paragraphs(shown.epilog)}" if shown.epilog else ""
        yield f".SS {_roff(path)}\n{_paragraphs(shown.help)}\n{_options(context)}{epilog}"
        if isinstance(command, LazyGroup):
            yield from _commands(command, path)


def _options(context: Any) -> str:
    """Arguments and options as tagged paragraphs, with those that --help leaves out and --help-all shows."""
    records = filter(None, (param.get_help_record(context) for param in context.command.get_params(context)))
    return "\n".join(f".TP\n.B {_roff(names)}\n{_roff(' '.join(text.split()))}" for names, text in records)


def _paragraphs(text: str | None) -> str:
    return "\n.PP\n".join(_roff(" ".join(part.split())) for part in (text or "").split("\n\n"))


def _lines(text: str) -> str:
    return "\n".join(map(_roff, text.rstrip().splitlines()))


def _roff(text: str) -> str:
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    escaped = "".join(c if c.isascii() else f"\\[u{ord(c):04X}]" for c in escaped)
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped


def shared_files() -> dict[Path, str]:
    """Path → content of everything below packaging/share."""
    scripts = {SHARE / place: SCRIPTS[shell] for shell, place in COMPLETIONS.items()}
    return {SHARE / "man/man1/codelens.1": man_page(), **scripts}


if __name__ == "__main__":
    for path, content in shared_files().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8", newline="\n")
        print(path)

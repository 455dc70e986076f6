"""Golden files of commands: their folder, their query, and the output formats that they show."""

from __future__ import annotations

import re
from pathlib import Path

GOLDEN = Path(__file__).parents[1] / "golden"
QUERY = "lock an account after wrong passwords"
FORMATS = {
    "plain": [],
    "json": ["--json"],
    "jsonl": ["--jsonl"],
    "vimgrep": ["--vimgrep"],
    "csv": ["--csv"],
    "tsv": ["--tsv"],
    "sarif": ["--sarif"],
    "markdown": ["--markdown"],
    "format": ["--format", "{rank} {path}:{line} {qualified_name}"],
    "terminal": ["--pretty"],
    "context": ["--sort", "score", "-C", "1"],
}


def shown(out: str, indexed: Path) -> str:
    """The temporary folder has another name each time; colours are the business of Rich and its version."""
    out = re.sub(r"\x1b\[[0-9;]*m", "", out)
    out = re.sub(r'"snapshot": ?"[0-9a-f]{16}"', '"snapshot": "…"', out)  # depends on the versions of the grammars
    out = re.sub(r'"indexed_at": ?"[^"]*"', '"indexed_at": "…"', out)
    return out.replace(indexed.as_uri(), "file:///samples").replace(str(indexed), "/samples")

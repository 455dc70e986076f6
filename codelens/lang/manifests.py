"""A manifest's path and text → its name and what it depends on, for the ecosystems whose manifests people write.

Pure: nothing is read but the text. A manifest that cannot be read declares nothing: that is the fault of its author.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from codelens.lang import manifest_lines, manifest_tables
from codelens.lang.packages import Manifest

MAX_MANIFEST = 1 << 18
"""Characters. A longer one was written by a program."""

_READERS: tuple[tuple[re.Pattern[str], Callable[[str, str], Manifest | None]], ...] = tuple(
    (re.compile(pattern), reader)
    for pattern, reader in (
        (r"package\.json", manifest_tables.npm),
        (r"composer\.json", manifest_tables.composer),
        (r"Cargo\.toml", manifest_tables.cargo),
        (r"pyproject\.toml", manifest_tables.pyproject),
        (r"setup\.cfg", manifest_lines.setup_cfg),
        (r"requirements[\w.-]*\.(?:txt|in)", manifest_lines.requirements),
        (r"go\.mod", manifest_lines.go_mod),
        (r"Gemfile|gems\.rb|.*\.gemspec", manifest_lines.gems),
        (r"build\.gradle(?:\.kts)?", manifest_lines.gradle),
        (r"pom\.xml", manifest_lines.pom),
        (r".*\.(?:cs|fs|vb)proj|Directory\.Packages\.props", manifest_lines.msbuild),
    )
)
_ANY = re.compile("|".join(f"(?:{pattern.pattern})" for pattern, _ in _READERS))


def is_manifest(path: str) -> bool:
    """Whether a file is one that `read_manifest` knows, by its name."""
    return _ANY.fullmatch(path.rpartition("/")[2]) is not None


def read_manifest(path: str, text: str) -> Manifest | None:
    """What a manifest declares; None for a file that is none, or that cannot be read."""
    reader = _reader(path)
    if reader is None or len(text) > MAX_MANIFEST:
        return None
    try:
        return reader(path, text.removeprefix("\ufeff"))
    except (ValueError, AttributeError, TypeError):  # whatever shape its author gave it
        return None


def _reader(path: str) -> Callable[[str, str], Manifest | None] | None:
    name = path.rpartition("/")[2]
    return next((reader for pattern, reader in _READERS if pattern.fullmatch(name)), None)

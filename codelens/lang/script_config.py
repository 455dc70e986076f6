"""tsconfig.json and jsconfig.json → where a script's imports lead. Comments and trailing commas are allowed, as TypeScript does."""

from __future__ import annotations

import posixpath
import re
from typing import Any

from codelens.lang.manifests import strings, table, text_at
from codelens.model.fast_dataclass import dataclass
from codelens.text.notation import parse_json

_STRING = r'"(?:\\.|[^"\\])*(?:"|\\?\Z)'
# Each alternative takes something wherever it begins, so that no text is read twice.
_COMMENT = re.compile(rf"({_STRING})|//[^\n]*|/\*(?:.*?\*/|.*\Z)", re.DOTALL)
_TRAILING = re.compile(rf"({_STRING})|,(?=\s*[}}\]])", re.DOTALL)
_NAME = re.compile(r"(?:tsconfig|jsconfig)[\w.-]*\.json")


@dataclass(frozen=True, slots=True)
class ScriptConfig:
    """One configuration of TypeScript's resolver. Paths are relative to the root of the tree."""

    path: str
    base: str | None  # Directory that bare imports are resolved in; None if not set
    paths: tuple[tuple[str, tuple[str, ...]], ...]  # (pattern with at most one star, its replacements)
    extends: tuple[str, ...]
    """Configurations that supply base and paths if this one has none, the last first; those of packages as written."""
    references: tuple[str, ...]  # Directories or configurations of other projects


def is_script_config(path: str) -> bool:
    """True if a file has the name of such a configuration."""
    return _NAME.fullmatch(path.rpartition("/")[2]) is not None


def read_script_config(path: str, text: str) -> ScriptConfig | None:
    """The configuration; None if it cannot be parsed."""
    try:
        content = loads_with_comments(text)
    except ValueError:
        return None
    if not isinstance(content, dict):
        return None
    folder = posixpath.dirname(path)
    base_url = text_at(content, "compilerOptions", "baseUrl")
    base = _below(folder, base_url) if base_url else None
    start = folder if base is None else base
    return ScriptConfig(
        path,
        base,
        tuple(
            (pattern, tuple(_below(start, target) for target in strings(targets)))
            for pattern, targets in table(content, "compilerOptions", "paths").items()
        ),
        tuple(_config(folder, one) for one in reversed([*strings(content.get("extends"))])),
        tuple(_below(folder, one) for one in strings(content.get("references"))),
    )


def loads_with_comments(text: str) -> Any:
    """JSON with comments and trailing commas. Raises ValueError."""
    bare = _COMMENT.sub(lambda found: found[1] or " ", text.removeprefix("\ufeff"))
    return parse_json(_TRAILING.sub(lambda found: found[1] or "", bare))


def _below(folder: str, path: str) -> str:
    joined = posixpath.normpath(posixpath.join(folder, path)).lstrip("/")
    return "" if joined == "." else joined


def _config(folder: str, name: str) -> str:
    if not name.startswith("."):
        return name
    path = _below(folder, name)
    return path if path.endswith(".json") else f"{path}.json"

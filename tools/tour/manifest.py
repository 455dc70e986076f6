"""trees.toml → the trees to measure and the bars to hold them to."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MANIFEST = Path(__file__).with_name("trees.toml")
SOURCES = ("sdist", "wheel", "npm", "debian", "clone")


class BadManifest(ValueError):
    """The manifest breaks one of its rules; the message says which table and how."""


@dataclass(frozen=True, slots=True)
class Bars:
    """No figure of a tree may exceed these. `changed_s` holds for trees from `changed_from_mb`, `peak_mb` up to `peak_to_mb`."""

    cpu_per_mb: float
    link_share: float
    peak_mb: float
    peak_to_mb: float
    changed_s: float
    changed_from_mb: float


@dataclass(frozen=True, slots=True)
class Tree:
    """One source tree. `package` is its name in the registry; `parts` limits it to these folders; `archives` maps
    file names to their SHA-256. `cpu_s` and `peak_mb` are bars of this tree alone, and a run of it may take `seconds`."""

    name: str
    source: str
    version: str
    languages: Sequence[str]
    why: str
    package: str = ""
    parts: Sequence[str] = ()
    archives: Mapping[str, str] = field(default_factory=dict)
    cpu_s: float | None = None
    peak_mb: float | None = None
    seconds: float = 0

    @property
    def folder(self) -> str:
        """The name of the tree's folder: changes with the version, so that an old tree is not taken for the new one."""
        return re.sub(r"[^\w.+~-]+", "_", f"{self.name}-{self.version}")


def read_manifest(path: Path = MANIFEST) -> tuple[Bars, list[Tree]]:
    """Raises BadManifest."""
    table: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    try:
        bars = Bars(**table.pop("bars"))
        trees = [_tree(name, values) for name, values in table.items()]
    except (KeyError, TypeError) as e:
        raise BadManifest(str(e)) from e
    return bars, trees


def _tree(name: str, values: dict[str, Any]) -> Tree:
    try:
        tree = Tree(name=name, **{"package": name} | values)
    except TypeError as e:
        raise BadManifest(f"{name}: {e}") from e
    if tree.source not in SOURCES:
        raise BadManifest(f"{name}: source is {tree.source!r}, not one of {', '.join(SOURCES)}")
    if not (tree.version and tree.languages and tree.why):
        raise BadManifest(f"{name}: version, languages and why must not be empty")
    return tree

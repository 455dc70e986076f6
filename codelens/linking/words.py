"""words.toml: words of programming languages that the linker reads in types and names."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple


class Words(NamedTuple):
    """words.toml."""

    transparent: frozenset[str]
    containers: frozenset[str]
    classes: frozenset[str]
    own: frozenset[str]
    common: frozenset[str]


@cache
def words() -> Words:
    """The word lists, read once."""
    table = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
    return Words(**{name: frozenset(table[name]) for name in Words._fields})

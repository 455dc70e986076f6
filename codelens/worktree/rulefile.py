"""One ignore file → the last of its rules that matches a path. Most paths match none, and that must be quick to see."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from codelens.worktree.paths import shown_path
from codelens.worktree.patterns import Rule, read_rule
from codelens.worktree.repository import read_regular

_Matches = Callable[[bytes], object]


@dataclass(frozen=True, slots=True)
class _Patterns:
    """Rules that are compared with one form of the path: with its last part, or with all of it."""

    plain: dict[bytes, list[Rule]]
    globs: tuple[tuple[Rule, _Matches], ...]
    """Last rule first."""
    any_glob: _Matches | None

    def candidates(self, text: bytes) -> list[Rule]:
        """The rules whose pattern matches this text."""
        found = self.plain.get(text, [])
        if self.any_glob and self.any_glob(text):
            return found + [rule for rule, matches in self.globs if matches(text)]
        return found


@dataclass(frozen=True, slots=True)
class RuleFile:
    """An ignore file and the folder that its patterns start from."""

    shown: str
    lead: bytes
    """The root's path below this file's folder, with a slash, where the file lies above the root."""
    cut: int
    """Length of the folder's path below the root, with its slash."""
    fold_case: bool
    names: _Patterns
    paths: _Patterns

    def last_match(self, path: bytes, name: bytes, is_folder: bool) -> Rule | None:
        """The rule that decides about a path (relative to the root); the last one wins, as in git."""
        below = self.lead + path[self.cut :]
        if self.fold_case:
            below, name = below.lower(), name.lower()
        found = self.names.candidates(name) + self.paths.candidates(below)
        if not found:
            return None
        return max((rule for rule in found if is_folder or not rule.folders_only), key=lambda r: r.line, default=None)

    def source(self, rule: Rule) -> str:
        """FILE:LINE: pattern, as `git check-ignore -v` says it."""
        return f"{self.shown}:{rule.line}: {rule.text.decode('utf-8', 'backslashreplace')}"


def read_rule_file(
    path: Path, root: Path, folder: str = "", fold_case: bool = False, follow: bool = False
) -> RuleFile | None:
    """Reads an ignore file; None if there is none or it has no rule.

    `folder` is where its patterns start: relative to the root, '' or ending in a slash, or made of '../' above it.
    As git does, links are followed only outside the work tree (`follow`).
    """
    raw = read_regular(path, follow)
    if not raw:
        return None
    lines = raw.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    rules = [rule for number, line in enumerate(lines, 1) if (rule := read_rule(line, number))]
    if not rules:
        return None
    lead, cut = b"", len(os.fsencode(folder))
    if folder.startswith("../"):
        lead, cut = os.fsencode("/".join(root.parts[-folder.count("../") :]) + "/"), 0
    by_name = _patterns([rule for rule in rules if rule.by_name], fold_case)
    by_path = _patterns([rule for rule in rules if not rule.by_name], fold_case)
    return RuleFile(_shown(path, root), lead, cut, fold_case, by_name, by_path)


def _patterns(rules: Sequence[Rule], fold_case: bool) -> _Patterns:
    flags = re.DOTALL | (re.IGNORECASE if fold_case else 0)
    plain: dict[bytes, list[Rule]] = {}
    for rule in rules:
        if rule.plain:
            plain.setdefault(rule.plain.lower() if fold_case else rule.plain, []).append(rule)
    globs = [rule for rule in reversed(rules) if not rule.plain]
    union = b"|".join(b"(?:" + rule.regex + b")" for rule in globs)
    compiled = tuple((rule, re.compile(rule.regex, flags).fullmatch) for rule in globs)
    return _Patterns(plain, compiled, re.compile(union, flags).fullmatch if globs else None)


def _shown(path: Path, root: Path) -> str:
    """Relative to the root where it lies in it or right above it, else in full."""
    if path.name in (".gitignore", ".codelensignore") or path.is_relative_to(root):
        return shown_path(Path(os.path.relpath(path, root)).as_posix())
    return shown_path(path.as_posix())

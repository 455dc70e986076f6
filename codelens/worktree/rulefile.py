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
    endings: tuple[bytes, ...]
    """Of the rules that only ask for an ending: half of all, and quick to try at once."""
    any_glob: _Matches | None
    """Whether one of the other rules matches."""

    def last(self, text: bytes, is_folder: bool) -> Rule | None:
        """The last rule whose pattern matches this text; what names folders only is for folders only."""
        found = None
        if (self.endings and text.endswith(self.endings)) or (self.any_glob and self.any_glob(text)):
            fitting = (rule for rule, matches in self.globs if (is_folder or not rule.folders_only) and matches(text))
            found = next(fitting, None)
        for rule in self.plain.get(text, ()):
            if (is_folder or not rule.folders_only) and (found is None or rule.line > found.line):
                found = rule
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
    has_paths: bool

    def last_match(self, path: bytes, name: bytes, is_folder: bool) -> Rule | None:
        """The rule that decides about a path (relative to the root); the last one wins, as in git."""
        if self.fold_case:
            path, name = path.lower(), name.lower()
        by_name = self.names.last(name, is_folder)
        if not self.has_paths:
            return by_name
        by_path = self.paths.last(self.lead + path[self.cut :], is_folder)
        return by_path if by_path and (by_name is None or by_path.line > by_name.line) else by_name

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
    has_paths = any(not rule.by_name for rule in rules)
    return RuleFile(
        _shown(path, root), lead.lower() if fold_case else lead, cut, fold_case, by_name, by_path, has_paths
    )


def _patterns(rules: Sequence[Rule], fold_case: bool) -> _Patterns:
    flags = re.DOTALL | (re.IGNORECASE if fold_case else 0)
    plain: dict[bytes, list[Rule]] = {}
    for rule in rules:
        if rule.plain:
            plain.setdefault(rule.plain.lower() if fold_case else rule.plain, []).append(rule)
    globs = [rule for rule in reversed(rules) if not rule.plain]
    compiled = tuple((rule, re.compile(rule.regex, flags).fullmatch) for rule in globs)
    endings = tuple(rule.ending.lower() if fold_case else rule.ending for rule in globs if rule.ending)
    union = b"|".join(b"(?:" + rule.regex + b")" for rule in globs if not rule.ending)
    return _Patterns(plain, compiled, endings, re.compile(union, flags).fullmatch if union else None)


def _shown(path: Path, root: Path) -> str:
    """Relative to the root where it lies in it or right above it, else in full."""
    if path.name in (".gitignore", ".codelensignore") or path.is_relative_to(root):
        return shown_path(Path(os.path.relpath(path, root)).as_posix())
    return shown_path(path.as_posix())

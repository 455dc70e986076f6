"""CODEOWNERS → who owns a path. The last line whose pattern fits decides, as at GitHub; GitLab's sections give owners to
the lines in them that name none."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from codelens.nouns import dataclass
from codelens.worktree.patterns import Rule, read_rule

PLACES = (".github/CODEOWNERS", ".gitlab/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")
"""Where the file may lie; the first that is there counts."""
_SECTION = re.compile(r"\^?\[[^\]]*\](?:\[\d+\])?\s*(.*)")
_PATTERN = re.compile(r"((?:\\.|[^\s\\])+)\s*(.*)")


class Ownership(NamedTuple):
    """Who owns a path, by which line of the file."""

    owners: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class _Line:
    rule: Rule
    matches: Callable[[bytes], object]
    owners: tuple[str, ...]
    direct: bool
    """Ends in a single star: what lies in a folder that fits is not meant."""

    def fits(self, path: bytes) -> bool:
        """Whether the pattern names the file or, as a rule, a folder above it."""
        parts = path.split(b"/")
        for length in range(len(parts), 0, -1):
            is_folder = length < len(parts)
            if is_folder and self.direct:
                return False
            if self.rule.folders_only and not is_folder:
                continue
            if self.matches(parts[length - 1] if self.rule.by_name else b"/".join(parts[:length])):
                return True
        return False


class Owners:
    """The lines of one CODEOWNERS file."""

    def __init__(self, text: str) -> None:
        self._lines: list[_Line] = []
        inherited: tuple[str, ...] = ()
        for number, raw in enumerate(text.removeprefix("\ufeff").splitlines(), start=1):
            code = re.sub(r"(?:^|\s)#.*", "", raw).strip()
            if section := _SECTION.fullmatch(code):
                inherited = tuple(section[1].split())
            elif (found := _PATTERN.fullmatch(code)) and not code.startswith("!"):
                self._add(found[1], tuple(found[2].split()) or inherited, number)

    def _add(self, pattern: str, owners: tuple[str, ...], number: int) -> None:
        rule = read_rule(pattern.replace("\\#", "#").encode("utf-8", "surrogateescape"), number)
        if rule:
            direct = pattern.endswith("/*")
            self._lines.append(_Line(rule, re.compile(rule.regex, re.DOTALL).fullmatch, owners, direct))

    def of(self, path: str) -> Ownership | None:
        """Who owns a file; None where no line speaks of it, or the last that does names nobody."""
        raw = path.encode("utf-8", "surrogateescape")
        for line in reversed(self._lines):
            if line.fits(raw):
                return Ownership(line.owners, line.rule.line) if line.owners else None
        return None

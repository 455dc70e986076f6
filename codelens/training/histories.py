"""A repository's commits → training pairs: a commit's subject and each definition that it changed, as the commit left it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from codelens.derived import DecodedText
from codelens.indexing.embedding import embedded_pieces
from codelens.indexing.extract import definitions, own_texts
from codelens.lang.registry import detect_language
from codelens.text.lines import TextMap
from codelens.training.mining import NAMED_KINDS, Pair
from codelens.worktree.history import commits, text_at
from codelens.worktree.plumbing import GitError
from codelens.worktree.repository import Repository
from codelens.worktree.roles import path_roles

MOST_COMMITS, MOST_FILES, MOST_DEFINITIONS = 3000, 4, 6
"""Commits that are looked at; and files and definitions of one: a commit of more says little of each. Chosen."""
FEWEST_WORDS = 3
MOST_FILE = 400_000
_PREFIX = re.compile(r"^(?:\w+(?:\([^)]*\))?!?|\[[^\]]*\]|[\w./-]+):\s+|\s*\(?#\d+\)?\s*$|^\[[^\]]*\]\s*")


def history_pairs(repository: Repository) -> Iterator[tuple[str, Pair]]:
    """(commit, pair), newest first. Raises GitError."""
    for commit in commits(repository, MOST_COMMITS):
        subject = _PREFIX.sub("", _PREFIX.sub("", commit.subject)).strip()
        files = [
            (p, lines)
            for p, lines in commit.files
            if detect_language(p) and not path_roles(p) & {"test", "vendored", "generated"}
        ]
        if len(subject.split()) < FEWEST_WORDS or not 0 < len(files) <= MOST_FILES:
            continue
        found = [
            pair for path, lines in files for pair in _changed(repository, commit.id, subject, path, frozenset(lines))
        ]
        if len(found) <= MOST_DEFINITIONS:
            yield from ((commit.id, pair) for pair in found)


def _changed(repository: Repository, commit: str, subject: str, path: str, lines: frozenset[int]) -> Iterator[Pair]:
    try:
        raw = text_at(repository, commit, path)
        text = TextMap(DecodedText(raw.decode("utf-8"), "utf-8", 1.0, 0))
    except (GitError, UnicodeDecodeError):
        return
    if len(raw) > MOST_FILE:
        return
    language = detect_language(path, raw[:200])
    units = definitions(text, language)
    for unit, own in zip(units, own_texts(text, units), strict=True):
        first, last = text.line_column(unit.span.start)[0], text.line_column(max(unit.span.start, unit.span.end - 1))[0]
        if unit.kind in NAMED_KINDS and not unit.local and not lines.isdisjoint(range(first, last + 1)):
            yield Pair("history", subject, next(embedded_pieces(path, unit, own)), language, path, unit.name_line)

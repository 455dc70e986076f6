"""A repository's commits → training pairs: a commit's subject and each definition that it changed, as the commit left it.

A commit that changes many files or definitions says little of each, and gives no pairs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from codelens.derived import DecodedText
from codelens.indexing.embedding import embedded_pieces
from codelens.indexing.extract import definitions, own_texts
from codelens.lang.registry import detect_language
from codelens.nouns import dataclass
from codelens.runs import Progress, ProgressSink
from codelens.text.lines import TextMap
from codelens.training.mining import LEFT_OUT, MAX_FILE, NAMED_KINDS, Pair, is_code
from codelens.worktree.history import Commit, commits, texts_at
from codelens.worktree.repository import Repository
from codelens.worktree.roles import path_roles

MOST_COMMITS, MOST_FILES, MOST_DEFINITIONS = 3000, 4, 6
"""Commits that are looked at; and files and definitions of one. Chosen for minutes, not measured."""
FEWEST_WORDS = 3
"""Of a subject: "Fix tests" asks for nothing. Chosen."""
READ_AT_ONCE = 50
"""Commits whose files are asked of git together: a process for each file took half of the time."""
_AROUND = re.compile(r"^(?:\w+(?:\([^)]*\))?!?|\[[^\]]*\]|[\w./-]+):\s+|\s*\(?#\d+\)?\s*$|^\[[^\]]*\]\s*")
"""What stands around a subject and is no question: `fix(parser):`, `[core]`, `lib/parse.c:`, `(#123)`."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A commit with a question in it: its source files, with the lines that it left in them."""

    commit: str
    query: str
    files: tuple[tuple[str, tuple[int, ...]], ...]


def history_pairs(repository: Repository, progress: ProgressSink | None = None) -> Iterator[tuple[str, Pair]]:
    """(commit, pair), newest first. Raises GitError."""
    asked = [found for commit in commits(repository, MOST_COMMITS) if (found := _question(commit))]
    rest = iter(asked)
    done = 0
    while together := list(islice(rest, READ_AT_ONCE)):
        texts = texts_at(repository, [(one.commit, path) for one in together for path, _ in one.files])
        for one in together:
            changed = [(path, frozenset(lines), next(texts)) for path, lines in one.files]
            pairs = [pair for path, lines, raw in changed if raw for pair in _pairs(one.query, path, lines, raw)]
            if len(pairs) <= MOST_DEFINITIONS:
                yield from ((one.commit, pair) for pair in pairs)
        done += len(together)
        if progress:
            progress(Progress("history", done, len(asked), together[-1].query))


def _question(commit: Commit) -> _Asked | None:
    query = bare_subject(commit.subject)
    files = tuple((path, lines) for path, lines in commit.files if _is_source(path))
    return _Asked(commit.id, query, files) if query and 0 < len(files) <= MOST_FILES else None


def bare_subject(subject: str) -> str:
    """A commit's subject without what stands around it; empty where that leaves too few words to be a question."""
    bare = _AROUND.sub("", _AROUND.sub("", subject)).strip()
    return bare if len(bare.split()) >= FEWEST_WORDS else ""


def _is_source(path: str) -> bool:
    return is_code(detect_language(path)) and not path_roles(path) & LEFT_OUT


def _pairs(query: str, path: str, lines: frozenset[int], raw: bytes) -> Sequence[Pair]:
    """One for each function that has one of the lines; none where the file is no UTF-8, or too long to be written by hand."""
    if len(raw) > MAX_FILE:
        return []
    try:
        text = TextMap(DecodedText(raw.decode("utf-8"), "utf-8", 1.0, 0))
    except UnicodeDecodeError:
        return []
    language = detect_language(path, raw[:200])
    units = definitions(text, language)
    found = []
    for unit, own in zip(units, own_texts(text, units), strict=True):
        first, last = text.line_column(unit.span.start)[0], text.line_column(max(unit.span.start, unit.span.end - 1))[0]
        if unit.kind in NAMED_KINDS and not unit.local and not lines.isdisjoint(range(first, last + 1)):
            found.append(Pair("history", query, next(embedded_pieces(path, unit, own)), language, path, unit.name_line))
    return found

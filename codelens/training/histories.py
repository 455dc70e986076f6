"""Turn a user's trees and histories into training pairs in three parts: learnt, validation, held out.

A commit gives a pair for each function that it changed, with its subject as the query; commits that change many files or
functions are left out. Pairs from documentation, names and comments are split by file, pairs from commits by time: the newest
are held out. A question appears in one part only.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from codelens.indexing.embedding import cut_pieces
from codelens.indexing.extract import extract_definitions, list_own_texts
from codelens.lang.registry import detect_language
from codelens.model.extraction import DecodedText
from codelens.model.fast_dataclass import frozen_dataclass
from codelens.model.runs import Progress, ProgressSink
from codelens.text.lines import TextMap
from codelens.training.mining import LEFT_OUT, MAX_FILE, NAMED_KINDS, Pair, draw_number, is_code, mine_tree
from codelens.worktree.classify import find_roles
from codelens.worktree.commits import read_commits, read_texts
from codelens.worktree.repository import GitError, Repository, find_enclosing_repository

MOST_COMMITS, MOST_FILES, MOST_DEFINITIONS = 3000, 4, 6
"""Limits on commits, and on the files and pairs of a commit. Chosen so that training takes minutes; not measured."""
FEWEST_WORDS = 3  # Minimum number of words of a subject: "Fix tests" describes no code
READ_AT_ONCE = 50  # Commits whose files are read by one git process; a process per file is slow
_AROUND = re.compile(r"^(?:\w+(?:\([^)]*\))?!?|\[[^\]]*\]|[\w./-]+):\s+|\s*\(?#\d+\)?\s*$|^\[[^\]]*\]\s*")
"""Prefixes and suffixes of a subject that are not part of the question: `fix(parser):`, `[core]`, `lib/parse.c:`, `(#123)`."""


@frozen_dataclass
class _CommitQuestion:
    """A commit whose subject is a question, with its source files and their changed lines."""

    commit: str
    query: str
    files: tuple[tuple[str, tuple[int, ...]], ...]


def read_history_pairs(repository: Repository, progress: ProgressSink | None = None) -> Iterator[tuple[str, Pair]]:
    """Yield (commit id, pair) of commits whose subjects make questions, newest first. Raises GitError."""
    questions = []
    for commit in read_commits(repository, MOST_COMMITS):
        query = strip_subject(commit.subject)
        files = tuple((path, lines) for path, lines in commit.files if _is_source(path))
        if query and 0 < len(files) <= MOST_FILES:
            questions.append(_CommitQuestion(commit.id, query, files))
    rest = iter(questions)
    done = 0
    while together := list(islice(rest, READ_AT_ONCE)):
        texts = read_texts(repository, [(one.commit, path) for one in together for path, _ in one.files])
        for one in together:
            changed = [(path, frozenset(lines), next(texts)) for path, lines in one.files]
            pairs = [pair for path, lines, raw in changed if raw for pair in _make_pairs(one.query, path, lines, raw)]
            if len(pairs) <= MOST_DEFINITIONS:
                yield from ((one.commit, pair) for pair in pairs)
        done += len(together)
        if progress:
            progress(Progress("history", done, len(questions), together[-1].query))


def strip_subject(subject: str) -> str:
    """Remove prefixes and issue numbers from a subject; returns an empty text if too few words remain."""
    bare = _AROUND.sub("", _AROUND.sub("", subject)).strip()
    return bare if len(bare.split()) >= FEWEST_WORDS else ""


def _is_source(path: str) -> bool:
    return is_code(detect_language(path)) and not find_roles(path) & LEFT_OUT


def _make_pairs(query: str, path: str, lines: frozenset[int], raw: bytes) -> Sequence[Pair]:
    """Make a pair for each function with a changed line. Files that are too large or not UTF-8 give no pairs."""
    if len(raw) > MAX_FILE:
        return []
    try:
        text = TextMap(DecodedText(raw.decode("utf-8"), "utf-8", 1.0, 0))
    except UnicodeDecodeError:
        return []
    language = detect_language(path, raw)
    units = extract_definitions(text, language)
    found = []
    for unit, own in zip(units, list_own_texts(text, units), strict=True):
        first, last = (
            text.find_line_column(unit.span.start)[0],
            text.find_line_column(max(unit.span.start, unit.span.end - 1))[0],
        )
        if unit.kind in NAMED_KINDS and not unit.local and not lines.isdisjoint(range(first, last + 1)):
            found.append(Pair("history", query, next(cut_pieces(path, unit, own)), language, path, unit.name_line))
    return found


LEARNT, VALIDATION, HELD_OUT = ("learnt", "validation", "held-out")
HELD_OUT_SHARE, VALIDATION_SHARE = 0.2, 0.1  # Shares of the files and of the commits


@frozen_dataclass
class OwnPair:
    """A pair with the index of its tree and its part: LEARNT, VALIDATION or HELD_OUT."""

    pair: Pair
    tree: int
    part: str


@frozen_dataclass
class OwnPairs:
    """All pairs, in the order of the trees, and notes for the user."""

    pairs: tuple[OwnPair, ...]
    notes: tuple[str, ...] = ()


def collect_pairs(trees: Sequence[Path], progress: ProgressSink | None = None) -> OwnPairs:
    """Collect the pairs of trees and of the git histories that they belong to; each history is read once."""
    pairs_found: list[OwnPair] = []
    notes: list[str] = []
    histories: set[Path] = set()
    for number, tree in enumerate(trees):
        if progress:
            progress(Progress("mine", number, len(trees), tree.name))
        pairs = mine_tree(tree, frozenset(), frozenset(), Counter(), no_ignore=False)
        for pair in pairs:
            share = draw_number(pair.path) / 2**64
            is_held_out, is_learnt = share < HELD_OUT_SHARE, share >= HELD_OUT_SHARE + VALIDATION_SHARE
            part = HELD_OUT if is_held_out else LEARNT if is_learnt else VALIDATION
            pairs_found.append(OwnPair(pair, number, part))
        repository = find_enclosing_repository(tree)
        if repository is None or repository.common in histories:
            continue
        histories.add(repository.common)
        try:
            committed = list(read_history_pairs(repository, progress))
        except GitError as fault:
            notes.append(f"nothing is learnt from the history of {tree}: {fault}")
            continue
        newest_first = list(dict.fromkeys(commit for commit, _ in committed))
        held_out = int(len(newest_first) * HELD_OUT_SHARE)
        learnt = int(len(newest_first) * (HELD_OUT_SHARE + VALIDATION_SHARE))
        parts = dict.fromkeys(newest_first[:learnt], VALIDATION) | dict.fromkeys(newest_first[:held_out], HELD_OUT)
        pairs_found += [OwnPair(pair, number, parts.get(commit, LEARNT)) for commit, pair in committed]
    asked = {part: {_fold_query(pair) for pair in pairs_found if pair.part == part} for part in (LEARNT, VALIDATION)}
    before = {LEARNT: set[str](), VALIDATION: asked[LEARNT], HELD_OUT: asked[LEARNT] | asked[VALIDATION]}
    return OwnPairs(tuple(pair for pair in pairs_found if _fold_query(pair) not in before[pair.part]), tuple(notes))


def _fold_query(pair: OwnPair) -> str:
    return " ".join(pair.pair.query.casefold().split())

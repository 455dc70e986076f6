"""Make short queries, as people type them, of a tree's names and strings, with the definitions that answer them.

message     words of an error or log message, whole or in part → the definitions that print it
literal     a flag, header, route, key or version → the definitions that contain it
fragment    letters inside a name that no other name contains → its definition
namesake    the name of a type that other definitions share → the type
qualified   Container.name, if several definitions have the name → that definition
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from codelens.evaluation.metrics import split_name
from codelens.evaluation.tasks import Place, PlacedUnit, Row, TaskDraft, sample_rows
from codelens.evaluation.trees import LEFT_OUT, TreeText, can_be_meant
from codelens.model.code import SYMBOL_KINDS, TYPE_KINDS
from codelens.text.identifiers import fold_identifier, split_identifier
from codelens.training.mining import draw_number, is_code
from codelens.worktree.classify import find_roles

MOST_ANSWERS = 3  # Maximum number of definitions that answer a query
FEWEST_WORDS, MOST_WORDS = 3, 9  # Limits on the words of a message
FRAGMENT = (6, 10)  # Minimum and maximum letters of a fragment
LONGEST_LITERAL = 60
_STRING = re.compile(r"\"((?:[^\"\\\n]|\\.)*)\"|'((?:[^'\\\n]|\\.)*)'|`([^`\n]*)`")
_PRINTS = re.compile(
    r"\b(?:raise|throws?|errors?|panic|log\w*|warn\w*|fatal\w*|fail\w*|bail|abort|die|debug|info|assert\w*|\w*(?:Error|Exception|err)\w*)\b",
    re.I,
)
_PLACEHOLDER = re.compile(r"%[-+ #0-9.*]*[a-zA-Z]|\{[^{}]*\}|\$\{[^}]*\}|\$\w+|#\{[^}]*\}|\\.|<[^<>]*>")
_LITERALS = re.compile(
    r"--[a-z][\w-]+|[A-Z][A-Za-z0-9]*(?:-[A-Z][A-Za-z0-9]*)+|/[\w:{}.*-]+(?:/[\w:{}.*-]+)*|[a-z][a-z0-9]*(?:[._-][a-z0-9]+)+"
    r"|v?\d+\.\d+(?:\.\d+)*|[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+|[a-z]+/[a-z0-9.+-]+"
)

# Ending of a task file's name → kind of its tasks
KINDS = {f"{kind}s": kind for kind in ("message", "literal", "fragment", "namesake")} | {"qualified": "qualified"}


def make_query_rows(name: str, texts: Sequence[TreeText], wanted: int) -> dict[str, list[Row]]:
    """Make all tasks of short queries for a tree; returns ending of the task file → tasks."""
    code = [text for text in texts if is_code(text.defined.language) and not LEFT_OUT & find_roles(text.path)]
    units = [PlacedUnit(text.path, unit) for text in texts for unit in text.defined.units if unit.name]
    answers: dict[tuple[str, str], dict[Place, PlacedUnit]] = defaultdict(dict)  # (kind, query) → its answers
    for kind, query, answer in (*_make_string_queries(code), *_make_name_queries(code, units)):
        answers[kind, query][answer.place] = answer
    drafts = defaultdict(list)
    for (kind, query), placed in answers.items():
        if len(placed) <= MOST_ANSWERS:
            drafts[kind].append(TaskDraft(query, tuple(placed.values()), f"{kind} {query}"))
    return {ending: sample_rows(name, kind, drafts[kind], wanted) for ending, kind in KINDS.items()}


def _make_string_queries(texts: Sequence[TreeText]) -> Iterator[tuple[str, str, PlacedUnit]]:
    """Yield (kind, query, innermost definition around it) of strings in code that are messages or literals."""
    for text in texts:
        units = [unit for unit in text.answers if unit.kind in SYMBOL_KINDS]
        spans = [(unit, *text.defined.find_lines(unit)) for unit in units]
        for number, (before, line) in enumerate(pairwise(["", *text.text.split("\n")]), start=1):
            strings = [double or single or tick for double, single, tick in _STRING.findall(line)]
            if not strings or len(line) > 400:
                continue
            around = [(last - first, at) for at, (_, first, last) in enumerate(spans) if first <= number <= last]
            for string in strings if around else ():
                unit = PlacedUnit(text.path, units[min(around)[1]])
                if 4 <= len(string) <= LONGEST_LITERAL and _LITERALS.fullmatch(string):
                    yield "literal", string, unit
                piece = max((piece.strip(" .,:;!()[]'\"-") for piece in _PLACEHOLDER.split(string)), key=len)
                words, is_plain = piece.split(), re.fullmatch(r"[\w ,.'/:()-]+", piece)
                if is_plain and len(words) >= FEWEST_WORDS and _PRINTS.search(f"{before} {line}"):
                    draw = draw_number(f"part {piece}")
                    length = max(FEWEST_WORDS, min(MOST_WORDS, len(words) - draw % 3))
                    first = (draw // 3) % (len(words) - length + 1)
                    yield "message", " ".join(words[first : first + length]), unit


def _make_name_queries(texts: Sequence[TreeText], known: Sequence[PlacedUnit]) -> Iterator[tuple[str, str, PlacedUnit]]:
    """Yield (kind, query, answer) of fragments, namesakes and qualified names."""
    counts = Counter(placed.unit.name for placed in known)
    namesakes: dict[str, set[tuple[str, str, str]]] = defaultdict(set)
    for placed in known:
        namesakes[fold_identifier(placed.unit.name)].add((*placed.place, placed.unit.kind))
    names = "\n".join(namesakes)
    for text in texts:
        has_colons = text.defined.language in ("rust", "cpp", "ruby", "php", "perl")
        for unit in text.answers:
            name, placed = unit.name, PlacedUnit(text.path, unit)
            if unit.kind in SYMBOL_KINDS and len(name) >= FRAGMENT[1] + 2 and name.isidentifier():
                draw = draw_number(f"fragment {name}")
                size = FRAGMENT[0] + draw % (FRAGMENT[1] - FRAGMENT[0] + 1)
                start = 1 + (draw // 8) % (len(name) - size - 1)
                cut = name[start : start + size].strip("_")
                folded = fold_identifier(cut)
                if len(folded) >= FRAGMENT[0] and folded not in split_identifier(name) and names.count(folded) == 1:
                    yield "fragment", cut, placed
            if unit.kind in TYPE_KINDS and can_be_meant(unit) and name[:1].isupper():
                same = namesakes[fold_identifier(name)]
                types = [path for path, _, kind in same if kind in TYPE_KINDS and not LEFT_OUT & find_roles(path)]
                if len(same) > 1 and len(types) == 1:
                    yield "namesake", name, placed
            around = split_name(unit.container)[-1:]
            if unit.kind in SYMBOL_KINDS and around and counts[name] > 1 and can_be_meant(unit):
                yield "qualified", f"{around[0]}{'::' if has_colons else '.'}{name}", placed

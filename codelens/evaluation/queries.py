"""Turn names and strings of a tree into the short queries that people type, each with the definitions that answer it.

message     words of an error or log message, whole or in part → the definitions that print it
literal     a flag, header, route, key or version → the definitions that hold it
fragment    letters from inside a name that no other name has → its definition
namesake    the name of a type after which other definitions are named → the type
qualified   Container.name, where the name alone would mean several definitions → the one
behaviour   the telling words of a comment, in a tree without comments → the definition it described
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from codelens.evaluation.comments import UndocumentedTree
from codelens.evaluation.drafts import LEFT_OUT, PlacedUnit, TaskDraft, can_be_meant, hash_text, sample_rows
from codelens.evaluation.metrics import name_parts
from codelens.evaluation.tasks import Place, Row
from codelens.evaluation.trees import TreeText
from codelens.model.code import SYMBOL_KINDS, TYPE_KINDS
from codelens.search.terms import load_words
from codelens.text.identifiers import fold_identifier, split_identifier
from codelens.training.mining import is_code
from codelens.worktree.classify import path_roles

MOST_ANSWERS = 3  # Definitions that may hold a text for it to ask for them
FEWEST_WORDS, MOST_WORDS = 3, 9  # Words of a message
FRAGMENT = (6, 10)  # Letters of a fragment
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


# Ending of the file of tasks → kind of the tasks
KINDS = {
    "messages": "message",
    "literals": "literal",
    "fragments": "fragment",
    "namesakes": "namesake",
    "qualified": "qualified",
}
AnsweredPlace = tuple[str, PlacedUnit]  # A query and a definition that answers it


def query_rows(name: str, texts: Sequence[TreeText], wanted: int) -> dict[str, list[Row]]:
    """Ending of the file → tasks, for a tree as it is."""
    code = [
        text
        for text in texts
        if text.defined and is_code(text.defined.language) and not LEFT_OUT & path_roles(text.path)
    ]
    units = [PlacedUnit(text.path, unit) for text in texts if text.defined for unit in text.defined.units if unit.name]
    strings = list(_strings(code))
    queries = {
        "messages": _messages(strings),
        "literals": _literals(strings),
        "fragments": _fragments(code, units),
        "namesakes": _namesakes(code, units),
        "qualified": _qualified_names(code, units),
    }
    return {ending: _sample_queries(name, KINDS[ending], answered, wanted) for ending, answered in queries.items()}


def behaviour_rows(name: str, bare: UndocumentedTree, wanted: int) -> list[Row]:
    """Behaviour tasks for the tree without documentation."""
    return _sample_queries(name, "behaviour", _behaviours(bare), wanted)


def _behaviours(bare: UndocumentedTree) -> Iterator[AnsweredPlace]:
    common = load_words().stop | load_words().action
    for draft in bare.drafts:
        (answer,) = draft.answers
        if LEFT_OUT & path_roles(answer.path):
            continue
        words = re.findall(r"[A-Za-z][\w-]+", draft.query)
        telling = [word for word in words if word.casefold() not in common and word.islower()]
        telling = telling[1 if draft.query.split()[0].endswith("s") else 0 :][:4]
        if len(telling) >= 2:
            yield " ".join(telling), answer


def _sample_queries(name: str, kind: str, answered: Iterable[AnsweredPlace], wanted: int) -> list[Row]:
    answers: dict[str, dict[Place, PlacedUnit]] = defaultdict(dict)
    for query, answer in answered:
        answers[query][answer.place] = answer
    drafts = [
        TaskDraft(query, tuple(units.values()), f"{kind} {query}")
        for query, units in answers.items()
        if len(units) <= MOST_ANSWERS
    ]
    return sample_rows(name, kind, drafts, wanted)


def _strings(texts: Sequence[TreeText]) -> Iterator[tuple[str, str, PlacedUnit]]:
    """(string, its line and the line above, innermost definition around it) for the strings of code."""
    for text in texts:
        units = [unit for unit in text.answers if unit.kind in SYMBOL_KINDS]
        spans = [(unit, *text.defined.lines_of(unit)) for unit in units if text.defined]
        lines = ["", *text.text.split("\n")]
        for number, (before, line) in enumerate(pairwise(lines), start=1):
            strings = [double or single or tick for double, single, tick in _STRING.findall(line)]
            if not strings or len(line) > 400:
                continue
            around = [(last - first, unit) for unit, first, last in spans if first <= number <= last]
            if around:
                unit = min(around, key=lambda entry: entry[0])[1]
                yield from ((string, f"{before} {line}", PlacedUnit(text.path, unit)) for string in strings)


def _messages(strings: Iterable[tuple[str, str, PlacedUnit]]) -> Iterator[AnsweredPlace]:
    for string, lines, unit in strings:
        piece = max((piece.strip(" .,:;!()[]'\"-") for piece in _PLACEHOLDER.split(string)), key=len)
        words = piece.split()
        if len(words) < FEWEST_WORDS or not re.fullmatch(r"[\w ,.'/:()-]+", piece) or not _PRINTS.search(lines):
            continue
        draw = hash_text(f"part {piece}")
        length = max(FEWEST_WORDS, min(MOST_WORDS, len(words) - draw % 3))
        first = (draw // 3) % (len(words) - length + 1)
        yield " ".join(words[first : first + length]), unit


def _literals(strings: Iterable[tuple[str, str, PlacedUnit]]) -> Iterator[AnsweredPlace]:
    for string, _, unit in strings:
        if 4 <= len(string) <= LONGEST_LITERAL and _LITERALS.fullmatch(string):
            yield string, unit


def _fragments(texts: Sequence[TreeText], everything: Sequence[PlacedUnit]) -> Iterator[AnsweredPlace]:
    names = "\n".join({fold_identifier(placed.unit.name) for placed in everything})
    for text in texts:
        for unit in text.answers:
            name = unit.name
            if unit.kind not in SYMBOL_KINDS or len(name) < FRAGMENT[1] + 2 or not name.isidentifier():
                continue
            draw = hash_text(f"fragment {name}")
            size = FRAGMENT[0] + draw % (FRAGMENT[1] - FRAGMENT[0] + 1)
            start = 1 + (draw // 8) % (len(name) - size - 1)
            cut = name[start : start + size].strip("_")
            folded = fold_identifier(cut)
            if len(folded) >= FRAGMENT[0] and folded not in split_identifier(name) and names.count(folded) == 1:
                yield cut, PlacedUnit(text.path, unit)


def _namesakes(texts: Sequence[TreeText], everything: Sequence[PlacedUnit]) -> Iterator[AnsweredPlace]:
    namesakes: dict[str, set[tuple[str, str, str]]] = defaultdict(set)
    for placed in everything:
        namesakes[fold_identifier(placed.unit.name)].add((*placed.place, placed.unit.kind))
    for text in texts:
        for unit in text.answers:
            if unit.kind in TYPE_KINDS and can_be_meant(unit) and unit.name[:1].isupper():
                same = namesakes[fold_identifier(unit.name)]
                types = [path for path, _, kind in same if kind in TYPE_KINDS and not LEFT_OUT & path_roles(path)]
                if len(same) > 1 and len(types) == 1:
                    yield unit.name, PlacedUnit(text.path, unit)


def _qualified_names(texts: Sequence[TreeText], everything: Sequence[PlacedUnit]) -> Iterator[AnsweredPlace]:
    counts = Counter(placed.unit.name for placed in everything)
    for text in texts:
        has_colons = text.defined and text.defined.language in ("rust", "cpp", "ruby", "php", "perl")
        for unit in text.answers:
            around = name_parts(unit.container)[-1:]
            if unit.kind in SYMBOL_KINDS and around and counts[unit.name] > 1 and can_be_meant(unit):
                yield f"{around[0]}{'::' if has_colons else '.'}{unit.name}", PlacedUnit(text.path, unit)

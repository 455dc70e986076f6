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
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import xxhash

from codelens.evaluation.comments import UndocumentedTree
from codelens.evaluation.guides import LEFT_OUT, PlacedUnit, entries, is_meant
from codelens.evaluation.metrics import parts
from codelens.evaluation.tasks import Row, row
from codelens.evaluation.trees import DefinedFile, TreeText
from codelens.lang.registry import languages
from codelens.model.code import SYMBOL_KINDS, TYPE_KINDS
from codelens.model.extraction import Unit
from codelens.search.terms import load_words
from codelens.text.identifiers import fold_identifier, split_identifier
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


KINDS = {
    "messages": "message",
    "literals": "literal",
    "fragments": "fragment",
    "namesakes": "namesake",
    "qualified": "qualified",
}
"""Ending of the file of tasks → kind of the tasks."""


def query_rows(name: str, texts: Sequence[TreeText], wanted: int) -> dict[str, list[Row]]:
    """Ending of the file → tasks, sampled by hash, for a tree as it is."""
    meant = [text for text in texts if text.defined and _is_code(text.defined) and not LEFT_OUT & path_roles(text.path)]
    holding = _Strings(meant)
    everything = [(text.path, unit) for text in texts if text.defined for unit in text.defined.units if unit.name]
    made = {
        "message": holding.messages(),
        "literal": holding.literals(),
        "fragment": _fragments(meant, everything),
        "namesake": _namesakes(meant, everything),
        "qualified": _qualified(meant, everything),
    }
    return {ending: _drawn(name, kind, made[kind], wanted) for ending, kind in KINDS.items()}


def behaviour_rows(name: str, bare: UndocumentedTree, wanted: int) -> list[Row]:
    """Behaviour tasks for the tree without documentation."""
    words = load_words()
    found = []
    for question in bare.questions:
        if LEFT_OUT & path_roles(question.path):
            continue
        said = [
            word
            for word in re.findall(r"[A-Za-z][\w-]+", question.sentence)
            if word.casefold() not in words.stop | words.action
        ]
        said = [word for word in said if word.islower()][1 if question.sentence.split()[0].endswith("s") else 0 :][:4]
        if len(said) >= 2:
            found.append((" ".join(said), (PlacedUnit(question.path, question.unit),)))
    return _drawn(name, "behaviour", found, wanted)


Asked = tuple[str, tuple[PlacedUnit, ...]]


def _drawn(name: str, kind: str, found: Iterable[Asked], wanted: int) -> list[Row]:
    asked: dict[str, dict[tuple[str, str], PlacedUnit]] = defaultdict(dict)
    for query, answers in found:
        asked[query] |= {one.place: one for one in answers}
    ordered = sorted(
        asked, key=lambda query: (xxhash.xxh3_64_intdigest(f"codelens made {kind} {query}".encode()), query)
    )
    fitting = [query for query in ordered if 1 <= len(asked[query]) <= MOST_ANSWERS][:wanted]
    return [
        row(f"{name}-{kind}-{at}", name, query, (), kind) | {"relevant": entries(asked[query].values())}
        for at, query in enumerate(fitting)
    ]


def _is_code(file: DefinedFile) -> bool:
    found = languages().get(file.language)
    return found is not None and found.chunks == "code"


class _Strings:
    """The strings of a tree's code, with the innermost definition around each."""

    def __init__(self, texts: Sequence[TreeText]) -> None:
        self._found: list[tuple[str, str, PlacedUnit]] = []
        """(string, its line, definition)"""
        for text in texts:
            units = [unit for unit in text.answers if unit.kind in SYMBOL_KINDS]
            lines = text.text.split("\n")
            spans = [(unit, *_lines_of(text.defined, unit)) for unit in units if text.defined]
            for number, line in enumerate(lines, start=1):
                if len(line) > 400 or not (strings := [a or b or c for a, b, c in _STRING.findall(line)]):
                    continue
                around = [(last - first, unit) for unit, first, last in spans if first <= number <= last]
                if around:
                    unit = min(around, key=lambda one: one[0])[1]
                    before = lines[number - 2] if number > 1 else ""
                    self._found += [(string, f"{before} {line}", PlacedUnit(text.path, unit)) for string in strings]

    def messages(self) -> Iterator[Asked]:
        for string, line, unit in self._found:
            if not _PRINTS.search(line):
                continue
            pieces = [piece.strip(" .,:;!()[]'\"-") for piece in _PLACEHOLDER.split(string)]
            piece = max(pieces, key=len)
            words = piece.split()
            if len(words) < FEWEST_WORDS or not re.fullmatch(r"[\w ,.'/:()-]+", piece):
                continue
            draw = xxhash.xxh3_64_intdigest(f"part {piece}".encode())
            kept = max(FEWEST_WORDS, min(MOST_WORDS, len(words) - draw % 3))
            first = (draw // 3) % (len(words) - kept + 1)
            yield " ".join(words[first : first + kept]), (unit,)

    def literals(self) -> Iterator[Asked]:
        for string, _, unit in self._found:
            if 4 <= len(string) <= LONGEST_LITERAL and _LITERALS.fullmatch(string):
                yield string, (unit,)


def _lines_of(file: DefinedFile | None, unit: Unit) -> tuple[int, int]:
    assert file is not None
    return file.text.line_column(unit.span.start)[0], file.text.line_column(max(unit.span.start, unit.span.end - 1))[0]


def _fragments(texts: Sequence[TreeText], everything: Sequence[tuple[str, Unit]]) -> Iterator[Asked]:
    names = sorted({fold_identifier(unit.name) for _, unit in everything})
    together = "\n".join(names)
    for text in texts:
        for unit in text.answers:
            name = unit.name
            if unit.kind not in SYMBOL_KINDS or len(name) < FRAGMENT[1] + 2 or not name.isidentifier():
                continue
            draw = xxhash.xxh3_64_intdigest(f"fragment {name}".encode())
            size = FRAGMENT[0] + draw % (FRAGMENT[1] - FRAGMENT[0] + 1)
            start = 1 + (draw // 8) % (len(name) - size - 1)
            cut = name[start : start + size].strip("_")
            words = split_identifier(name)
            folded = fold_identifier(cut)
            if len(folded) >= FRAGMENT[0] and folded not in words and together.count(folded) == 1:
                yield cut, (PlacedUnit(text.path, unit),)


def _namesakes(texts: Sequence[TreeText], everything: Sequence[tuple[str, Unit]]) -> Iterator[Asked]:
    bearers: dict[str, set[tuple[str, str, str]]] = defaultdict(set)
    for path, unit in everything:
        bearers[fold_identifier(unit.name)].add((path, unit.qualified_name, unit.kind))
    for text in texts:
        for unit in text.answers:
            if unit.kind in TYPE_KINDS and is_meant(unit) and unit.name[:1].isupper():
                borne = bearers[fold_identifier(unit.name)]
                types = [one for one in borne if one[2] in TYPE_KINDS and not LEFT_OUT & path_roles(one[0])]
                if len(borne) > 1 and len(types) == 1:
                    yield unit.name, (PlacedUnit(text.path, unit),)


def _qualified(texts: Sequence[TreeText], everything: Sequence[tuple[str, Unit]]) -> Iterator[Asked]:
    borne: dict[str, int] = defaultdict(int)
    for _, unit in everything:
        borne[unit.name] += 1
    for text in texts:
        for unit in text.answers:
            around = parts(unit.container)[-1:]
            if unit.kind in SYMBOL_KINDS and around and borne[unit.name] > 1 and is_meant(unit):
                joint = (
                    "::" if text.defined and text.defined.language in ("rust", "cpp", "ruby", "php", "perl") else "."
                )
                yield f"{around[0]}{joint}{unit.name}", (PlacedUnit(text.path, unit),)

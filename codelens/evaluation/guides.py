"""Turn sections of guides into tasks: heading and first sentence are the query, the definitions they name are the answers.

A section's names are its words in backticks or roles. A name shared by more than MOST_BEARERS definitions counts only if its
qualifier, or the place of the mention, tells them apart.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import xxhash

from codelens.evaluation.metrics import parts
from codelens.evaluation.tasks import Row, row
from codelens.evaluation.trees import TreeText
from codelens.indexing.prose import mentions
from codelens.model.code import SYMBOL_KINDS
from codelens.model.extraction import Unit
from codelens.model.fast_dataclass import dataclass
from codelens.text.identifiers import split_identifier
from codelens.training.phrases import is_asked, without_markup
from codelens.worktree.classify import path_roles

MOST_BEARERS = 2
SHORTEST = 3  # Minimum length of a name
FEWEST_ANSWERS, MOST_ANSWERS = 2, 8
"""Number of answers of a task. Fewer belong to documentation tasks, more are lists of everything. Chosen."""
LEFT_OUT = frozenset({"test", "docs", "example", "vendored", "generated"})
"""Roles of paths whose definitions prose does not mean."""
_ITSELF = frozenset({"self", "this", "cls", "Self"})
_TESTS = frozenset({"test", "tests"})  # Names of inner modules that hold tests
_TOKEN = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class PlacedUnit:
    """A definition and its path."""

    path: str
    unit: Unit

    @property
    def place(self) -> tuple[str, str]:
        """(path, qualified name)"""
        return self.path, self.unit.qualified_name


class UnitsByName:
    """The definitions of a tree that prose may mean, by name."""

    def __init__(self, texts: Sequence[TreeText]) -> None:
        self._borne: dict[str, dict[tuple[str, str], PlacedUnit]] = {}
        for text in texts:
            if LEFT_OUT & path_roles(text.path):
                continue
            for unit in text.answers:
                if len(unit.name) >= SHORTEST and is_meant(unit):
                    found = PlacedUnit(text.path, unit)
                    self._borne.setdefault(unit.name, {}).setdefault(found.place, found)

    def meant(self, name: str, receiver: str = "", around: PlacedUnit | None = None) -> tuple[PlacedUnit, ...]:
        """The definitions that a name may mean. `receiver` is the text before its last dot, `around` the definition that
        mentions it."""
        borne = tuple(self._borne.get(name, {}).values())
        before = parts(receiver)[-1:]
        if before and before[0] not in _ITSELF:
            folded = before[0].casefold()
            found = tuple(one for one in borne if _container(one) == folded)
            found = found or tuple(one for one in borne if folded in _modules(one.path))
        else:
            near = tuple(one for one in borne if around and _are_near(one, around))
            found = near or tuple(one for one in borne if not one.unit.container) or borne
        return found if len(found) <= MOST_BEARERS else ()


def is_meant(unit: Unit) -> bool:
    """True unless the unit is a test or a constructor, which goes by its type's name."""
    around = parts(unit.container)
    return unit.kind in SYMBOL_KINDS and around[-1:] != (unit.name,) and _TESTS.isdisjoint(around)


def _container(one: PlacedUnit) -> str:
    return "".join(parts(one.unit.container)[-1:]).casefold()


def _modules(path: str) -> set[str]:
    """The folder and file names that may qualify a definition."""
    return {part.partition(".")[0].casefold() for part in path.split("/")}


def _are_near(one: PlacedUnit, other: PlacedUnit) -> bool:
    """True if one is a member of the other, or both belong to the same type."""
    return one.path == other.path and one.unit.container in {other.unit.container, other.unit.qualified_name} - {""}


def entries(found: Iterable[PlacedUnit]) -> list[dict[str, object]]:
    """The relevant entries of a task; a name declared and defined in two files is one entry with two files."""
    files: dict[str, list[str]] = {}
    for one in found:
        files.setdefault(one.unit.qualified_name, []).append(one.path)
    return [{"symbol": symbol, "files": sorted(set(paths))} for symbol, paths in files.items()]


def says(query: str, found: Iterable[PlacedUnit]) -> bool:
    """True if a query contains one of the names, in one word or several: `json parsers` contains JsonParser."""
    spoken = f" {_spoken(query)} "
    names = {" ".join(split_identifier(one.unit.name)) for one in found}
    return any(f" {name} " in spoken or f" {name}s " in spoken for name in names)


def _spoken(text: str) -> str:
    return " ".join(word for token in _TOKEN.findall(text) for word in split_identifier(token))


FEWEST_WORDS, MOST_WORDS = 6, 32  # Words of the query
MOST_HEADING = 6  # Words of a heading that may precede the sentence
PARAGRAPHS = 3  # Paragraphs searched for the sentence
_UNASKED = re.compile(
    r"chang(?:e|log)|history|histories|news|release|upgrad|migrat|contribut|licen[cs]e|copying|roadmap|security|conduct"
    r"|deprecat|authors|credits|thanks|governance|support|sponsor|whatsnew|what-s-new|announce|install|readme.+\.md$",
    re.IGNORECASE,
)
"""Paths of documents about versions and people."""
_FENCE = re.compile(r"^[ \t]*(```+|~~~+)[^\n]*\n(?:.*?^[ \t]*\1|.*\Z)", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->|\{#.*?#\}|\{%.*?%\}", re.DOTALL)
_NO_PROSE = re.compile(r"[ \t]|[#|+*=~.:<>\[!{}^-]|\d+[.)]\s|[A-Za-z][.)]\s|\w+::")
"""Start of a paragraph that is a list, a table, a directive, a picture or code."""
_TEXT_ROLE = re.compile(
    r":(?:doc|ref|term|pep|rfc|abbr|topic|source|issue|guilabel|setting|reqmeta|signal):`([^`<]+?)(?:\s*<[^`>]*>)?`"
)
_CODE = re.compile(r"`|[{}<>|=@\\$]|::|\w\(|\w_\w|\[|\]|[a-z][A-Z]\w*[A-Z(.]|\b\w+\.\w+\(|(?<!\w)--?\w|\*\*")
_LINK_MARK = re.compile(r"(?<=\w)__?(?!\w)")  # End mark of a reStructuredText link
_SENTENCE = re.compile(r"(?<=[.!?:])(?<!e\.g\.)(?<!i\.e\.)(?<!etc\.)\s+(?=[A-Z`*:\[(])")
_POINTS = re.compile(
    r"\b(?:following|below|above|as follows|here is|here are|this (?:section|page|chapter|guide|document|proposal|topic|SEP)"
    r"|examples?|see also|refer to|read more|learn more|note that|click here|versions? \d|added in|deprecated|deprecation)\b"
    r"|(?:^|[(,;] ?)see\b|:$",
    re.IGNORECASE,
)
"""Sentences about the document itself, or that lead to what follows."""
_LEANS = re.compile(
    r"(?:it|they|these|those|there|here|such|this (?:is|are|was|can|will|may|must|should|has|does|allows|means|makes|lets|gives"
    r"|also|holds|ensures|enables|provides|includes|works|happens|\w+ed))\b",
    re.IGNORECASE,
)
"""Start of a sentence that needs its heading."""
_FOLLOWS = re.compile(
    r"(?:moreover|however|therefore|thus|hence|also|otherwise|so|then|but|and|or|besides|furthermore|additionally|instead"
    r"|in (?:this|that|these|both|such|other|addition)\b|okay|perfect|now|as (?:you|we|mentioned|seen|in)|by doing"
    r"|with (?:this|that)|finally|similarly|likewise|next|again|let'?s|first|second|of course|unfortunately|luckily|yes|no)\b",
    re.IGNORECASE,
)
"""Start of a sentence that needs the previous one."""
_EMPTY_HEADING = re.compile(
    r"(?:\W*\b(?:introduction|overview|usage|examples?|notes?|basics?|basic|about|summary|details?|api|reference|faq|options?"
    r"|methods?|properties|description|getting started|motivation|background|advanced|more|see also|the|and|of)\b)+\W*",
    re.IGNORECASE,
)
_NAME_ALONE = re.compile(r"[a-z]\S*|[A-Z]+|.*[`(){}<>=\[\]|@$\\].*|.*\w[._]\w.*|.*[a-z][A-Z].*|.*\d.*")
"""Headings that are names, commands, dates or versions."""


@dataclass(frozen=True, slots=True)
class _Topic:
    """A query and the definitions that its section names."""

    query: str
    path: str
    found: tuple[PlacedUnit, ...]


def topic_rows(name: str, texts: Sequence[TreeText], wanted: int) -> list[Row]:
    """Tasks sampled by hash; a query shared by two sections is dropped."""
    bearers = UnitsByName(texts)
    topics = [topic for text in texts if _is_guide(text) for topic in _topics(text, bearers)]
    counts = Counter(topic.query for topic in topics)
    kept = sorted((topic for topic in topics if counts[topic.query] == 1), key=_draw)
    return [
        row(f"{name}-topic-{at}", name, topic.query, (), "topic") | {"relevant": entries(topic.found)}
        for at, topic in enumerate(kept[:wanted])
    ]


def _draw(topic: _Topic) -> tuple[int, str, str]:
    seed = f"codelens made topics {topic.path} {topic.query}"
    return xxhash.xxh3_64_intdigest(seed.encode()), topic.path, topic.query


def _is_guide(text: TreeText) -> bool:
    return (
        text.defined is not None
        and any(unit.kind == "section" for unit in text.defined.units)
        and not _UNASKED.search(text.path)
        and not {"test", "vendored", "generated"} & path_roles(text.path)
    )


def _topics(text: TreeText, bearers: UnitsByName) -> Iterator[_Topic]:
    if text.defined is None:
        return
    units, utf8 = text.defined.units, text.defined.text.utf8
    named: dict[int, dict[tuple[str, str], PlacedUnit]] = {}
    for mention in mentions(text.defined.text, text.defined.language, units):
        if mention.kind == "mention" and mention.unit is not None:
            meant = bearers.meant(mention.name, mention.receiver)
            named.setdefault(mention.unit, {}).update((one.place, one) for one in meant)
    for at, found in named.items():
        unit, answers = units[at], tuple(found.values())
        if unit.kind == "section" and FEWEST_ANSWERS <= len(entries(answers)) <= MOST_ANSWERS:
            body = utf8[unit.body_start : unit.span.end].decode("utf-8", "replace")
            if query := question(unit, body, answers):
                yield _Topic(query, text.path, answers)


def question(unit: Unit, body: str, found: Sequence[PlacedUnit]) -> str:
    """The query of a section: its heading, if that adds to the sentence, and the first sentence without any of the names. Empty
    if there is no such sentence."""
    heading = _heading(unit.name, found)
    for first in _sentences(body):
        if not says(first, found) and (heading or not _LEANS.match(first)):
            repeats = {word.lower() for word in heading.split()} <= set(re.findall(r"[\w'-]+", first.lower()))
            return first if repeats else f"{heading}. {first}"
    return ""


def _heading(title: str, found: Sequence[PlacedUnit]) -> str:
    """The title, or '' if it says nothing or contains one of the names."""
    title = title.strip(" .:?!#*_")
    empty = _NAME_ALONE.fullmatch(title) or _EMPTY_HEADING.fullmatch(title)
    return "" if empty or len(title.split()) > MOST_HEADING or says(title, found) else title


def _sentences(body: str) -> Iterator[str]:
    """Plain sentences of the first paragraphs."""
    prose = _COMMENT.sub("", _FENCE.sub("\n\n", body))
    paragraphs = [one.strip("\n") for one in re.split(r"\n[ \t]*\n", prose)]
    for paragraph in [one for one in paragraphs if one and not _NO_PROSE.match(one)][:PARAGRAPHS]:
        text = " ".join(_TEXT_ROLE.sub(r"\1", paragraph).split())
        for one in _SENTENCE.split(text):
            words = " ".join(_LINK_MARK.sub("", without_markup(one)).split()).rstrip(" .!")
            if "`" not in one and FEWEST_WORDS <= len(words.split()) <= MOST_WORDS and _is_said(words):
                yield words


def _is_said(words: str) -> bool:
    if _CODE.search(words) or _POINTS.search(words) or _FOLLOWS.match(words) or words.count("(") != words.count(")"):
        return False
    return is_asked(words) and words[:1].isalpha() and words[:1].isupper()

"""Make tasks of sections of guides: heading and first sentence are the query, the definitions named are the answers.

A section's names are its words in backticks or roles. A name that several definitions share counts only if its qualifier
distinguishes them (`UnitsByName`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from codelens.evaluation.metrics import split_name
from codelens.evaluation.tasks import Place, PlacedUnit, Row, TaskDraft, sample_rows
from codelens.evaluation.trees import LEFT_OUT, TreeText, can_be_meant
from codelens.indexing.prose import find_mentions
from codelens.model.extraction import Unit
from codelens.text.identifiers import split_identifier
from codelens.training.phrases import is_askable, remove_markup
from codelens.worktree.classify import find_roles

MOST_NAMESAKES = 2  # Maximum number of definitions that a name may mean
SHORTEST = 3  # Minimum length of a name
FEWEST_ANSWERS, MOST_ANSWERS = 2, 8  # Documentation tasks cover single answers; sections with more answers are lists
FEWEST_WORDS, MOST_WORDS = 6, 32  # Limits on the words of the sentence
MOST_HEADING = 6  # Maximum number of words of a heading in the query
PARAGRAPHS = 3  # Number of paragraphs searched for the sentence
_UNASKED = re.compile(
    r"chang(?:e|log)|history|histories|news|release|upgrad|migrat|contribut|licen[cs]e|copying|roadmap|security|conduct"
    r"|deprecat|authors|credits|thanks|governance|support|sponsor|whatsnew|what-s-new|announce|install|readme.+\.md$",
    re.IGNORECASE,
)  # Paths of documents that give no tasks, such as change logs and installation guides
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
)  # Sentences about the document itself, or that introduce the text below
_LEANS = re.compile(
    r"(?:it|they|these|those|there|here|such|this (?:is|are|was|can|will|may|must|should|has|does|allows|means|makes|lets|gives"
    r"|also|holds|ensures|enables|provides|includes|works|happens|\w+ed))\b",
    re.IGNORECASE,
)  # Start of a sentence that cannot be understood without its heading
_FOLLOWS = re.compile(
    r"(?:moreover|however|therefore|thus|hence|also|otherwise|so|then|but|and|or|besides|furthermore|additionally|instead"
    r"|in (?:this|that|these|both|such|other|addition)\b|okay|perfect|now|as (?:you|we|mentioned|seen|in)|by doing"
    r"|with (?:this|that)|finally|similarly|likewise|next|again|let'?s|first|second|of course|unfortunately|luckily|yes|no)\b",
    re.IGNORECASE,
)  # Start of a sentence that cannot be understood without the previous sentence
_EMPTY_HEADING = re.compile(
    r"(?:\W*\b(?:introduction|overview|usage|examples?|notes?|basics?|basic|about|summary|details?|api|reference|faq|options?"
    r"|methods?|properties|description|getting started|motivation|background|advanced|more|see also|the|and|of)\b)+\W*",
    re.IGNORECASE,
)
_NAME_ALONE = re.compile(r"[a-z]\S*|[A-Z]+|.*[`(){}<>=\[\]|@$\\].*|.*\w[._]\w.*|.*[a-z][A-Z].*|.*\d.*")
"""Headings that are names, commands, dates or versions."""


class UnitsByName:
    """The definitions of a tree that prose may mention, by name."""

    def __init__(self, texts: Sequence[TreeText]) -> None:
        self._by_name: dict[str, dict[Place, PlacedUnit]] = {}
        for text in texts:
            for unit in () if LEFT_OUT & find_roles(text.path) else text.answers:
                if len(unit.name) >= SHORTEST and can_be_meant(unit):
                    placed = PlacedUnit(text.path, unit)
                    self._by_name.setdefault(unit.name, {}).setdefault(placed.place, placed)

    def find(self, name: str, receiver: str = "") -> tuple[PlacedUnit, ...]:
        """Find the definitions that a name means; empty if too many. `receiver` is the text before its last dot."""
        namesakes = tuple(self._by_name.get(name, {}).values())
        before = "".join(split_name(receiver)[-1:]).casefold()
        if before and before not in ("self", "this", "cls"):
            members = [unit for unit in namesakes if "".join(split_name(unit.unit.container)[-1:]).casefold() == before]
            units = members or [
                unit
                for unit in namesakes
                if before in [part.partition(".")[0].casefold() for part in unit.path.split("/")]
            ]
        else:
            units = [unit for unit in namesakes if not unit.unit.container] or list(namesakes)
        return tuple(units) if len(units) <= MOST_NAMESAKES else ()


def contains_name(query: str, answers: Iterable[PlacedUnit]) -> bool:
    """Test whether a query contains the name of an answer, as one word or several: `json parsers` contains JsonParser."""
    words = [word for token in re.findall(r"\w+", query) for word in split_identifier(token)]
    text = f" {' '.join(words)} "
    names = {" ".join(split_identifier(answer.unit.name)) for answer in answers}
    return any(f" {name} " in text or f" {name}s " in text for name in names)


def make_topic_rows(name: str, texts: Sequence[TreeText], wanted: int) -> list[Row]:
    """Make topic tasks of a tree's guides. A query that two sections share is dropped."""
    units = UnitsByName(texts)
    drafts = [
        draft
        for text in texts
        if not _UNASKED.search(text.path) and not {"test", "vendored", "generated"} & find_roles(text.path)
        for draft in _draft_topics(text, units)
    ]
    return sample_rows(name, "topic", drafts, wanted)


def _draft_topics(text: TreeText, units_by_name: UnitsByName) -> Iterator[TaskDraft]:
    if not any(unit.kind == "section" for unit in text.defined.units):
        return
    units, utf8 = text.defined.units, text.defined.text.utf8
    named: dict[int, dict[Place, PlacedUnit]] = {}  # Section → definitions that it names
    for mention in find_mentions(text.defined.text, text.defined.language, units):
        if mention.kind == "mention" and mention.unit is not None:
            meant = units_by_name.find(mention.name, mention.receiver)
            named.setdefault(mention.unit, {}).update((unit.place, unit) for unit in meant)
    for at, answers_by_place in named.items():
        section, answers = units[at], tuple(answers_by_place.values())
        names = {answer.unit.qualified_name for answer in answers}
        if section.kind == "section" and FEWEST_ANSWERS <= len(names) <= MOST_ANSWERS:
            body = utf8[section.body_start : section.span.end].decode("utf-8", "replace")
            if query := make_section_query(section, body, answers):
                yield TaskDraft(query, answers, f"topics {text.path} {query}")


def make_section_query(section: Unit, body: str, answers: Sequence[PlacedUnit]) -> str:
    """Make a section's query: the first sentence without any answer's name, after the heading if that adds words. Empty if no
    sentence qualifies."""
    heading = _select_heading(section.name, answers)
    for first in _split_sentences(body):
        if not contains_name(first, answers) and (heading or not _LEANS.match(first)):
            repeats = {word.lower() for word in heading.split()} <= set(re.findall(r"[\w'-]+", first.lower()))
            return first if repeats else f"{heading}. {first}"
    return ""


def _select_heading(title: str, answers: Sequence[PlacedUnit]) -> str:
    """Return the cleaned title; empty if it is too general or too long, or contains an answer's name."""
    title = title.strip(" .:?!#*_")
    empty = _NAME_ALONE.fullmatch(title) or _EMPTY_HEADING.fullmatch(title)
    return "" if empty or len(title.split()) > MOST_HEADING or contains_name(title, answers) else title


def _split_sentences(body: str) -> Iterator[str]:
    """Yield the plain sentences of the first PARAGRAPHS paragraphs."""
    prose = _COMMENT.sub("", _FENCE.sub("\n\n", body))
    paragraphs = [paragraph.strip("\n") for paragraph in re.split(r"\n[ \t]*\n", prose)]
    for paragraph in [p for p in paragraphs if p and not _NO_PROSE.match(p)][:PARAGRAPHS]:
        for sentence in _SENTENCE.split(" ".join(_TEXT_ROLE.sub(r"\1", paragraph).split())):
            words = " ".join(_LINK_MARK.sub("", remove_markup(sentence)).split()).rstrip(" .!")
            if "`" not in sentence and FEWEST_WORDS <= len(words.split()) <= MOST_WORDS and _is_plain_sentence(words):
                yield words


def _is_plain_sentence(words: str) -> bool:
    if _CODE.search(words) or _POINTS.search(words) or _FOLLOWS.match(words) or words.count("(") != words.count(")"):
        return False
    return is_askable(words) and words[:1].isalpha() and words[:1].isupper()

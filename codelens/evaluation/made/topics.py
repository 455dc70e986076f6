"""The guides of a tree → questions: what a section is about asks for the definitions that it names.

The section's heading and its first sentence without code ask. What a section is about is told by what it names between
backticks or by roles, so one that names nothing of the tree, or half of it, asks nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

import xxhash

from codelens.derived import Unit
from codelens.evaluation.made.bearers import FEWEST_ANSWERS, MOST_ANSWERS, Bearer, Bearers, entries, says
from codelens.evaluation.made.rows import Row, row
from codelens.evaluation.made.trees import TreeText
from codelens.indexing.mentions import mentions
from codelens.nouns import dataclass
from codelens.training.phrases import is_asked, without_markup
from codelens.worktree.roles import path_roles

FEWEST_WORDS, MOST_WORDS = 6, 32
"""Of the sentence that asks. Chosen."""
MOST_HEADING = 6
"""Words of a heading that is said before it. Chosen."""
PARAGRAPHS = 3
"""In which the sentence is looked for: what a section is about is said at its top. Chosen."""
_UNASKED = re.compile(
    r"chang(?:e|log)|history|histories|news|release|upgrad|migrat|contribut|licen[cs]e|copying|roadmap|security|conduct"
    r"|deprecat|authors|credits|thanks|governance|support|sponsor|whatsnew|what-s-new|announce|install|readme.+\.md$",
    re.IGNORECASE,
)
"""Paths of documents that speak of versions and people."""
_FENCE = re.compile(r"^[ \t]*(```+|~~~+)[^\n]*\n(?:.*?^[ \t]*\1|.*\Z)", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->|\{#.*?#\}|\{%.*?%\}", re.DOTALL)
_NO_PROSE = re.compile(r"[ \t]|[#|+*=~.:<>\[!{}^-]|\d+[.)]\s|[A-Za-z][.)]\s|\w+::")
"""How a paragraph begins that is a list, a table, a directive, a picture or code."""
_TEXT_ROLE = re.compile(
    r":(?:doc|ref|term|pep|rfc|abbr|topic|source|issue|guilabel|setting|reqmeta|signal):`([^`<]+?)(?:\s*<[^`>]*>)?`"
)
_CODE = re.compile(r"`|[{}<>|=@\\$]|::|\w\(|\w_\w|\[|\]|[a-z][A-Z]\w*[A-Z(.]|\b\w+\.\w+\(|(?<!\w)--?\w|\*\*")
_LINK_MARK = re.compile(r"(?<=\w)__?(?!\w)")
"""What reStructuredText ends a link with."""
_SENTENCE = re.compile(r"(?<=[.!?:])(?<!e\.g\.)(?<!i\.e\.)(?<!etc\.)\s+(?=[A-Z`*:\[(])")
_POINTS = re.compile(
    r"\b(?:following|below|above|as follows|here is|here are|this (?:section|page|chapter|guide|document|proposal|topic|SEP)"
    r"|examples?|see also|refer to|read more|learn more|note that|click here|versions? \d|added in|deprecated|deprecation)\b"
    r"|(?:^|[(,;] ?)see\b|:$",
    re.IGNORECASE,
)
"""Sentences that speak of the document, or lead to what stands below."""
_LEANS = re.compile(
    r"(?:it|they|these|those|there|here|such|this (?:is|are|was|can|will|may|must|should|has|does|allows|means|makes|lets|gives"
    r"|also|holds|ensures|enables|provides|includes|works|happens|\w+ed))\b",
    re.IGNORECASE,
)
"""How a sentence begins that needs its heading."""
_FOLLOWS = re.compile(
    r"(?:moreover|however|therefore|thus|hence|also|otherwise|so|then|but|and|or|besides|furthermore|additionally|instead"
    r"|in (?:this|that|these|both|such|other|addition)\b|okay|perfect|now|as (?:you|we|mentioned|seen|in)|by doing"
    r"|with (?:this|that)|finally|similarly|likewise|next|again|let'?s|first|second|of course|unfortunately|luckily|yes|no)\b",
    re.IGNORECASE,
)
"""How a sentence begins that needs the one before it."""
_EMPTY_HEADING = re.compile(
    r"(?:\W*\b(?:introduction|overview|usage|examples?|notes?|basics?|basic|about|summary|details?|api|reference|faq|options?"
    r"|methods?|properties|description|getting started|motivation|background|advanced|more|see also|the|and|of)\b)+\W*",
    re.IGNORECASE,
)
_NAME_ALONE = re.compile(r"[a-z]\S*|[A-Z]+|.*[`(){}<>=\[\]|@$\\].*|.*\w[._]\w.*|.*[a-z][A-Z].*|.*\d.*")
"""Headings that are names, commands, dates or versions."""


@dataclass(frozen=True, slots=True)
class _Topic:
    """A section that names definitions, and its question."""

    asked: str
    path: str
    found: tuple[Bearer, ...]


def topic_rows(name: str, texts: Sequence[TreeText], wanted: int) -> list[Row]:
    """At most so many rows, by a hash of what is asked; a question that two sections ask is asked by none."""
    bearers = Bearers(texts)
    topics = [topic for text in texts if _is_guide(text) for topic in _topics(text, bearers)]
    asked = Counter(topic.asked for topic in topics)
    kept = sorted((topic for topic in topics if asked[topic.asked] == 1), key=_draw)
    return [
        row(f"{name}-topic-{at}", name, topic.asked, (), "topic") | {"relevant": entries(topic.found)}
        for at, topic in enumerate(kept[:wanted])
    ]


def _draw(topic: _Topic) -> tuple[int, str, str]:
    seed = f"codelens made topics {topic.path} {topic.asked}"
    return xxhash.xxh3_64_intdigest(seed.encode()), topic.path, topic.asked


def _is_guide(text: TreeText) -> bool:
    return (
        text.defined is not None
        and any(unit.kind == "section" for unit in text.defined.units)
        and not _UNASKED.search(text.path)
        and not {"test", "vendored", "generated"} & path_roles(text.path)
    )


def _topics(text: TreeText, bearers: Bearers) -> Iterator[_Topic]:
    if text.defined is None:
        return
    units, utf8 = text.defined.units, text.defined.text.utf8
    named: dict[int, dict[tuple[str, str], Bearer]] = {}
    for mention in mentions(text.defined.text, text.defined.language, units):
        if mention.kind == "mention" and mention.unit is not None:
            meant = bearers.meant(mention.name, mention.receiver)
            named.setdefault(mention.unit, {}).update((one.place, one) for one in meant)
    for at, found in named.items():
        unit, answers = units[at], tuple(found.values())
        if unit.kind == "section" and FEWEST_ANSWERS <= len(entries(answers)) <= MOST_ANSWERS:
            body = utf8[unit.body_start : unit.span.end].decode("utf-8", "replace")
            if asked := question(unit, body, answers):
                yield _Topic(asked, text.path, answers)


def question(unit: Unit, body: str, found: Sequence[Bearer]) -> str:
    """What a section asks: its heading, where that says more than its first sentence that says none of the names, and that
    sentence. Empty where there is none."""
    heading = _heading(unit.name, found)
    for said in _sentences(body):
        if not says(said, found) and (heading or not _LEANS.match(said)):
            repeats = {word.lower() for word in heading.split()} <= set(re.findall(r"[\w'-]+", said.lower()))
            return said if repeats else f"{heading}. {said}"
    return ""


def _heading(title: str, found: Sequence[Bearer]) -> str:
    """The title where it says something, and none of the names; else empty."""
    title = title.strip(" .:?!#*_")
    empty = _NAME_ALONE.fullmatch(title) or _EMPTY_HEADING.fullmatch(title)
    return "" if empty or len(title.split()) > MOST_HEADING or says(title, found) else title


def _sentences(body: str) -> Iterator[str]:
    """The sentences of the first paragraphs that a person might say."""
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

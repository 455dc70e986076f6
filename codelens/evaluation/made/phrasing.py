"""A doc comment → the definitions that it names, and its sentences without those names.

Each name is first marked by a word of its own, so that the rules for sentences read the comment as they read any other;
afterwards a mark becomes a noun, or goes with its phrase.
"""

from __future__ import annotations

import re

from codelens.evaluation.made.bearers import Bearer, Bearers
from codelens.model import TYPE_KINDS
from codelens.text.identifiers import split_identifier

_NAMES = re.compile(
    r"\{@(?:link|linkplain|code|value|see)\s+(?P<tag>[^{}\s|(]+(?:\([^()]*\))?)(?:[\s|]+(?P<label>[^{}]*))?\}"
    r"|<(?:see|seealso)\s+cref=\"(?P<cref>[^\"]+)\"\s*(?:/>|>(?:[^<]*</see(?:also)?>)?)"
    r"|<(?P<element>code|tt|c)>(?P<html>[^<\n]{1,80})</(?P=element)>"
    r"|:(?:[a-z]+:)?(?:class|func|meth|attr|exc|obj|data|mod|const|type):`(?P<role>[^`\n]+)`"
    r"|\[(?P<text>[^\]\[`\n]+)\]\[`?(?P<target>[\w.:#]+)`?\]"
    r"|\[`(?P<linked>[^`\]\n]+)`\](?:\([^()\s]*\)|\[[^\]]*\])?"
    r"|(?P<ticks>``?)(?P<code>[^`\n]{1,80})(?P=ticks)(?!`)"
    r"|(?<![\w\])])\[(?P<bracket>[A-Za-z_][\w.:#]*)\](?![(\[:])"
    r"|(?<![\w.#/`])(?P<bare>(?:\w+(?:\.|::|\#))?(?:[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+|[a-z]+[a-z0-9]*[A-Z]\w*|\w*[a-z0-9]_[a-z]\w*)"
    r"|\w+(?=\(\)))(?P<call>\([\w, .]*\))?"
)
_SAID = ("tag", "cref", "role", "target", "linked", "bracket")
"""Where the markup says that it is a name."""
_NAME = re.compile(r"(?:[A-Za-z_$][\w$]*(?:\.|::|\#|->|/))*[A-Za-z_$][\w$]*[?!]?")
_PLAIN = re.compile(r"[a-z]+|[A-Z][a-z]*|[A-Z]+|-?\d+")
_JOINT = re.compile(r"\.|::|\#|->|/")
_MARK = re.compile(r"Zq(\d+)Zq")
_THROWN = re.compile(rf"\b([Rr]ais(?:es?|ed|ing)|[Tt]hrow(?:s|n|ing)?)\s+(?:an?\s+)?{_MARK.pattern}")
_TYPE = re.compile(r"[A-Z]\w*")
SHORTEST_NOUN = 4
"""Letters of a noun that a type's name ends with. Chosen: shorter ones are abbreviations more often than not."""
_ARTICLES = frozenset({"a", "an", "the", "this", "that", "these", "those", "its", "their", "any", "each", "all", "one"})
_GOVERNING = (
    "of to in on at by for from with without into onto via using as than per through over between within inside outside upon"
    " about against during among across along toward towards like and or"
)
_JOINING = "if when while until unless where which that whose whether because so since after before but nor"
_OPEN = (
    "is are was be being been has have had does do will can may must should due called named under who not only also then"
    " even same such some both either no it they them he we you"
)
_PREPOSITIONS = frozenset(_GOVERNING.split())
_BORDERS = _PREPOSITIONS | frozenset(_JOINING.split())
_DANGLING = _BORDERS | _ARTICLES | frozenset(_OPEN.split()) | {""}
"""What a sentence does not end with."""


class Naming:
    """A comment with its names marked, and what they mean."""

    def __init__(self, doc: str, bearers: Bearers, around: Bearer) -> None:
        self._bearers, self._around = bearers, around
        self.named: list[Bearer] = []
        """In the order of their mentions, the definition itself aside."""
        self._instead: list[str] = []
        """For each mark the noun to say; empty where there is none."""
        self.marked = _NAMES.sub(self._mark, doc)

    def instead(self, mark: str) -> str:
        """What to say for a mark."""
        return self._instead[int(mark)]

    def _mark(self, match: re.Match[str]) -> str:
        which = next(kind for kind in (*_SAID, "html", "code", "bare") if match[kind])
        raw = match[which]
        name, receiver = _taken_apart(raw)
        label = (match["label"] or match["text"] or "").strip()
        if which == "role" and (titled := re.fullmatch(r"([^<>]+?)\s*<([^<>]+)>", raw)):
            label, (name, receiver) = titled[1], _taken_apart(titled[2])
        is_name = which in _SAID or which == "bare" or not re.fullmatch("[a-z]+", name)
        found = self._bearers.meant(name, receiver, self._around) if name and is_name else ()
        if which == "bracket" and name.islower():  # a parameter, unless the type has such a member
            found = tuple(one for one in found if one.path == self._around.path)
        self.named += [one for one in found if one.place != self._around.place]
        if name == self._around.unit.name and which == "bare":
            return match[0]
        if label and not _NAMES.search(label):
            return label
        if not found and (_PLAIN.fullmatch(raw) or (which == "bare" and _TYPE.fullmatch(raw) and not match["call"])):
            return raw + (match["call"] or "")
        is_type = bool(_TYPE.fullmatch(name)) and all(one.unit.kind in TYPE_KINDS for one in found)
        self._instead.append(_noun(name) if is_type else "")
        return f"Zq{len(self._instead) - 1}Zq"


def _taken_apart(raw: str) -> tuple[str, str]:
    """(name, what stands before its last dot); both empty for what is no name."""
    bare = re.sub(r"\(.*|<.*", "", re.sub(r"^[A-Z]:(?=\w)", "", raw)).strip().lstrip("~!@#.&*").rstrip(".,;:")
    if not _NAME.fullmatch(bare):
        return "", ""
    *before, name = _JOINT.split(bare)
    return name, ".".join(before)


def _noun(name: str) -> str:
    """The last word of a name of several, where it is one that people say."""
    words = split_identifier(name)
    return words[-1] if len(words) > 1 and words[-1].isalpha() and len(words[-1]) >= SHORTEST_NOUN else ""


def without_names(text: str, naming: Naming) -> str:
    """A sentence without the marks of names; what is left may be short, and is empty where a list stood behind it."""
    text = _THROWN.sub(r"\1 an error", text)
    text = re.sub(r"\b([Aa])n?(\s+)" + _MARK.pattern, lambda found: _with_article(found, naming), text)
    text = _MARK.sub(lambda found: naming.instead(found[1]) or found[0], text)
    text = re.sub(rf"\s*\([^()]*{_MARK.pattern}[^()]*\)", "", text)
    first = _MARK.search(text)
    if first and (after := re.match(r".*[:;](?=\s)", text[: first.start()])):
        text = after[0]
    words = text.split()
    whole = len(words)
    while (at := next((i for i, word in enumerate(words) if _MARK.search(word)), -1)) >= 0:
        words = _without_phrase(words, at)
    while len(words) < whole and words and dangles(words[-1]):
        words.pop()
    if words and dangles(words[-1]):
        return ""
    said = " ".join(words).strip(" ,;:-–—")
    return said[:1].upper() + said[1:]


def dangles(word: str) -> bool:
    """Whether no sentence ends with it."""
    return word.strip(",;:-–—(").lower() in _DANGLING


def _with_article(found: re.Match[str], naming: Naming) -> str:
    noun = naming.instead(found[3])
    return f"{found[1]}{'n' if noun[:1] in set('aeio') else ''}{found[2]}{noun}" if noun else found[0]


def _without_phrase(words: list[str], at: int) -> list[str]:
    """Without the phrase around one word: a preposition and what it governs go alone, with any other phrase all that follows."""
    first = _border(words, at)
    bare = re.fullmatch(_MARK.pattern + r"s?,?", words[at])
    ends = bare and (at + 1 == len(words) or words[at].endswith(",") or words[at + 1].lower() in _BORDERS)
    governs = words[first].lower() in _PREPOSITIONS and (words[first].lower() != "to" or _is_object(words[first + 1]))
    if not governs or not ends:
        return words[:first]
    if first and dangles(words[first - 1]):
        return words[: _border(words, first - 1)]
    before = words[:first]
    if before and words[at].endswith(","):
        before[-1] += ","
    return before + words[at + 1 :]


def _border(words: list[str], at: int) -> int:
    """Where the phrase begins that a word stands in."""
    while at > 0 and words[at].lower() not in _BORDERS and not words[at - 1].endswith((",", ";", ":", "–", "—", "-")):
        at -= 1
    return at


def _is_object(word: str) -> bool:
    """Whether `to` is no infinitive's before it."""
    return word.lower() in _ARTICLES or bool(_MARK.match(word))

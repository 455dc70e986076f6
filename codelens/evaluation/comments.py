"""Turn doc comments into tasks, and write the tree without documentation that they search.

A documentation task asks for one definition by its first sentence. A concept task asks for a definition and those that its
comment names; no name is left in the query: a type becomes the noun at the end of its name (`JsonParser`: parser), and other
names go with their phrase. Sentences that two definitions share, or that can still be read in the tree, are dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from codelens.evaluation.docstrings import blank_documentation, find_questions
from codelens.evaluation.drafts import (
    FEWEST_ANSWERS,
    LEFT_OUT,
    MOST_ANSWERS,
    PlacedUnit,
    TaskDraft,
    UnitsByName,
    can_be_meant,
    contains_name,
    relevant_entries,
    sample_rows,
)
from codelens.evaluation.tasks import Row
from codelens.evaluation.trees import TreeText, write_new
from codelens.model.code import TYPE_KINDS
from codelens.model.fast_dataclass import dataclass
from codelens.text.identifiers import split_identifier
from codelens.training.mining import ASKED_KINDS, is_code
from codelens.training.phrases import first_sentence
from codelens.worktree.classify import path_roles


@dataclass(frozen=True, slots=True)
class UndocumentedTree:
    """A tree without documentation: drafts of documentation tasks, its files, and the words that are left."""

    drafts: tuple[TaskDraft, ...]
    files: dict[str, tuple[str, str]]  # Path → language and text of a file that had documentation
    words: str

    def contains(self, sentence: str) -> bool:
        """True if the sentence can still be read, whatever separates its words."""
        return _fold_words(sentence) in self.words

    def still_defines(self, draft: TaskDraft) -> bool:
        """True if the definition is still found in the file, and has no documentation left."""
        (answer,) = draft.answers
        language, text = self.files[answer.path]
        return (answer.unit.name_line, draft.query) in find_questions([answer.unit], text, language)


def write_undocumented_tree(texts: Sequence[TreeText], into: Path) -> UndocumentedTree:
    """Write the tree without documentation to a new folder. Raises OSError."""
    drafts: list[TaskDraft] = []
    files: dict[str, tuple[str, str]] = {}
    words: list[str] = []
    into.mkdir(parents=True)
    for text in texts:
        bare = _undocumented_text(text)
        write_new(into / text.path, text.raw if bare is None else bare.encode("utf-8"))
        words.append(_fold_words(text.text if bare is None else bare))
        if bare is not None and text.defined:
            files[text.path] = text.defined.language, bare
            for unit in text.answers:
                if unit.doc and unit.kind in ASKED_KINDS and (query := first_sentence(unit.doc, unit.name)):
                    seed = f"docs {text.path} {unit.qualified_name}"
                    drafts.append(TaskDraft(query, (PlacedUnit(text.path, unit),), seed))
    return UndocumentedTree(tuple(drafts), files, "".join(words))


def documentation_rows(name: str, bare: UndocumentedTree, wanted: int) -> list[Row]:
    """Documentation tasks for the tree without documentation."""

    def is_usable(draft: TaskDraft) -> bool:
        return not bare.contains(draft.query) and bare.still_defines(draft)

    return sample_rows(name, "documentation", bare.drafts, wanted, fold=_fold_words, is_usable=is_usable)


def _undocumented_text(text: TreeText) -> str | None:
    """The text without documentation; None if it documents nothing."""
    if text.defined is None or not is_code(text.defined.language):
        return None
    documented = [unit for unit in text.defined.units if unit.doc]
    return blank_documentation(text.defined.text, documented) if documented else None


def _fold_words(text: str) -> str:
    words = re.sub(r"[^a-z0-9]+", " ", text.lower()).strip()
    return f" {words} "


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
_MARKED = ("tag", "cref", "role", "target", "linked", "bracket")  # Groups of _NAMES whose markup marks a name
_NAME = re.compile(r"(?:[A-Za-z_$][\w$]*(?:\.|::|\#|->|/))*[A-Za-z_$][\w$]*[?!]?")
_PLAIN = re.compile(r"[a-z]+|[A-Z][a-z]*|[A-Z]+|-?\d+")
_JOINT = re.compile(r"\.|::|\#|->|/")
_MARK = re.compile(r"Zq(\d+)Zq")
_THROWN = re.compile(rf"\b([Rr]ais(?:es?|ed|ing)|[Tt]hrow(?:s|n|ing)?)\s+(?:an?\s+)?{_MARK.pattern}")
_TYPE = re.compile(r"[A-Z]\w*")
SHORTEST_NOUN = 4  # Minimum length of a noun at the end of a type's name. Shorter ones are mostly abbreviations.
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
_DANGLING = _BORDERS | _ARTICLES | frozenset(_OPEN.split()) | {""}  # Words that cannot end a sentence


class MarkedComment:
    """A comment with its names replaced by marks, and the definitions they mean."""

    def __init__(self, doc: str, units: UnitsByName, around: PlacedUnit) -> None:
        self._units, self._around = units, around
        self.named: list[PlacedUnit] = []  # Named definitions in order of mention, without the documented one
        self._nouns: list[str] = []  # Noun for each mark; empty if there is no noun
        self.marked = _NAMES.sub(self._mark, doc)

    def noun_of(self, mark: str) -> str:
        """The noun for a mark."""
        return self._nouns[int(mark)]

    def _mark(self, match: re.Match[str]) -> str:
        which = next(kind for kind in (*_MARKED, "html", "code", "bare") if match[kind])
        raw = match[which]
        name, receiver = _split_name(raw)
        label = (match["label"] or match["text"] or "").strip()
        if which == "role" and (titled := re.fullmatch(r"([^<>]+?)\s*<([^<>]+)>", raw)):
            label, (name, receiver) = titled[1], _split_name(titled[2])
        is_name = which in _MARKED or which == "bare" or not re.fullmatch("[a-z]+", name)
        meant = self._units.find(name, receiver, self._around) if name and is_name else ()
        if which == "bracket" and name.islower():  # a parameter, unless the type has such a member
            meant = tuple(unit for unit in meant if unit.path == self._around.path)
        self.named += [unit for unit in meant if unit.place != self._around.place]
        if name == self._around.unit.name and which == "bare":
            return match[0]
        if label and not _NAMES.search(label):
            return label
        if not meant and (_PLAIN.fullmatch(raw) or (which == "bare" and _TYPE.fullmatch(raw) and not match["call"])):
            return raw + (match["call"] or "")
        is_type = bool(_TYPE.fullmatch(name)) and all(unit.unit.kind in TYPE_KINDS for unit in meant)
        self._nouns.append(_noun(name) if is_type else "")
        return f"Zq{len(self._nouns) - 1}Zq"


def _split_name(raw: str) -> tuple[str, str]:
    """The name and the text before its last dot; both empty if `raw` is not a name."""
    bare = re.sub(r"\(.*|<.*", "", re.sub(r"^[A-Z]:(?=\w)", "", raw)).strip().lstrip("~!@#.&*").rstrip(".,;:")
    if not _NAME.fullmatch(bare):
        return "", ""
    *before, name = _JOINT.split(bare)
    return name, ".".join(before)


def _noun(name: str) -> str:
    """The last word of a compound name, if people use it."""
    words = split_identifier(name)
    return words[-1] if len(words) > 1 and words[-1].isalpha() and len(words[-1]) >= SHORTEST_NOUN else ""


def without_names(text: str, comment: MarkedComment) -> str:
    """The sentence without the marks; empty if a list of names followed."""
    text = _THROWN.sub(r"\1 an error", text)
    text = re.sub(r"\b([Aa])n?(\s+)" + _MARK.pattern, lambda match: _with_article(match, comment), text)
    text = _MARK.sub(lambda match: comment.noun_of(match[1]) or match[0], text)
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
    rest = " ".join(words).strip(" ,;:-–—")
    return rest[:1].upper() + rest[1:]


def dangles(word: str) -> bool:
    """True if no sentence ends with this word."""
    return word.strip(",;:-–—(").lower() in _DANGLING


def _with_article(match: re.Match[str], comment: MarkedComment) -> str:
    noun = comment.noun_of(match[3])
    return f"{match[1]}{'n' if noun[:1] in set('aeio') else ''}{match[2]}{noun}" if noun else match[0]


def _without_phrase(words: list[str], at: int) -> list[str]:
    """Remove the phrase around one word: a preposition with its object alone, any other phrase with all that follows."""
    first = _border(words, at)
    bare = re.fullmatch(_MARK.pattern + r"s?,?", words[at])
    ends = bare and (at + 1 == len(words) or words[at].endswith(",") or words[at + 1].lower() in _BORDERS)
    governs = words[first].lower() in _PREPOSITIONS
    if words[first].lower() == "to":  # it has an object, unless an infinitive follows
        governs = words[first + 1].lower() in _ARTICLES or bool(_MARK.match(words[first + 1]))
    if not governs or not ends:
        return words[:first]
    if first and dangles(words[first - 1]):
        return words[: _border(words, first - 1)]
    before = words[:first]
    if before and words[at].endswith(","):
        before[-1] += ","
    return before + words[at + 1 :]


def _border(words: list[str], at: int) -> int:
    """Index of the first word of the phrase."""
    while at > 0 and words[at].lower() not in _BORDERS and not words[at - 1].endswith((",", ";", ":", "–", "—", "-")):
        at -= 1
    return at


FEWEST_WORDS, MOST_WORDS = 6, 32  # Words of the query. Chosen, as for guides.
LONGEST_DOC = 4000  # Characters. A longer comment is a guide to more than its definition.
_CODE = re.compile(r"[`{}<>|=@\[\]\\$]|::|\w\(|\w_\w|\w\.\w+\(|[a-z][A-Z]\w*[.(]|\w#\w")
_EXAMPLE = re.compile(
    r"^[ \t]*(```+|~~~+).*?(?:^[ \t]*\1|\Z)|<pre>.*?(?:</pre>|\Z)|^[ \t]*>>>[^\n]*$", re.MULTILINE | re.DOTALL
)
_TAGS = re.compile(
    r"^[ \t]*(?:[@\\](?:params?|arg|returns?|throws?|exception|since|author|see|sa|version|deprecated|type)\b"
    r"|:(?:param|raises?|returns?|rtype|type)\b|(?:Args|Arguments|Parameters|Returns|Raises|See [Aa]lso)\s*:?[ \t]*$).*",
    re.MULTILINE | re.DOTALL,
)
"""Start of the part about parameters and errors."""
_LINE_ALONE = re.compile(r"\A\s*([^\n]*[\w)])[ \t]*\n(?=(?:[A-Z][a-z]*|A) [a-z])")
"""A summary without a full stop, followed by a sentence on the next line."""
_LIKENS = re.compile(
    r"(?:similar|same|like|alternative|equivalent|overload\w*|variant|identical|another|convenience overload|replacement"
    r"|counterpart|shorthand|shortcut|this is|it |as above|also)\b",
    re.IGNORECASE,
)
"""Start of a sentence that compares a definition instead of describing it."""
_POINTS = re.compile(
    r"\b(?:see|see also|following|as follows|below|above|refer to|for example|e\.g|deprecated)\b", re.IGNORECASE
)
"""Words that refer to text the sentence no longer contains."""


def concept_rows(name: str, texts: Sequence[TreeText], bare: UndocumentedTree, wanted: int) -> list[Row]:
    """Concept tasks for the tree without documentation."""
    units = UnitsByName(texts)
    drafts = [draft for text in texts if not LEFT_OUT & path_roles(text.path) for draft in _draft_concepts(text, units)]
    return sample_rows(name, "concept", drafts, wanted, is_usable=lambda draft: not bare.contains(draft.query))


def _draft_concepts(text: TreeText, units: UnitsByName) -> Iterator[TaskDraft]:
    for unit in text.answers:
        if can_be_meant(unit) and unit.doc and len(unit.doc) <= LONGEST_DOC:
            documented = PlacedUnit(text.path, unit)
            comment = MarkedComment(_description(unit.doc), units, documented)
            answers = tuple({answer.place: answer for answer in (documented, *comment.named)}.values())
            if FEWEST_ANSWERS <= len(relevant_entries(answers)) <= MOST_ANSWERS:
                query = without_names(first_sentence(comment.marked, unit.name), comment)
                if _is_plain(query) and not contains_name(query, answers):
                    yield TaskDraft(query, answers, f"concepts {text.path} {unit.qualified_name}")


def _description(doc: str) -> str:
    """A comment up to its parameters, without examples, with its summary as a paragraph."""
    text = _TAGS.sub("", _EXAMPLE.sub("\n", doc))
    summary = _LINE_ALONE.match(text)
    if summary and not dangles(summary[1].split()[-1]):
        return f"{summary[1]}\n\n{text[summary.end() :]}"
    return text


def _is_plain(words: str) -> bool:
    if _CODE.search(words) or _POINTS.search(words) or _LIKENS.match(words) or words.count("(") != words.count(")"):
        return False
    return FEWEST_WORDS <= len(words.split()) <= MOST_WORDS

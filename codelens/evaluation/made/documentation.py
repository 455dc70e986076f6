"""A tree → the same tree without documentation, and the sentences that documented its definitions as questions.

A sentence that two definitions share, or that can be read anywhere in the tree afterwards, is not asked.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import xxhash

from codelens.derived import DecodedText, Unit
from codelens.evaluation.made.definitions import Defined
from codelens.evaluation.made.laying import write_new
from codelens.evaluation.made.rows import Row, row
from codelens.evaluation.made.trees import TreeText
from codelens.evaluation.undocumented import blanked, questions
from codelens.lang.registry import languages
from codelens.nouns import dataclass
from codelens.text.lines import TextMap
from codelens.training.mining import ASKED_KINDS
from codelens.training.phrases import sentence

_NO_WORD = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class _Question:
    """A sentence, the definition that it documented, and the file's text without documentation."""

    asked: str
    unit: Unit
    path: str
    language: str
    bare: str
    documented: tuple[Unit, ...]


@dataclass(frozen=True, slots=True)
class Bare:
    """A tree without documentation: what may be asked of it, and the words that are left."""

    questions: tuple[_Question, ...]
    words: str

    def says(self, sentence: str) -> bool:
        """Whether a sentence can still be read in it, whatever stands between its words."""
        return _words(sentence) in self.words


def lay_bare(texts: Sequence[TreeText], into: Path) -> Bare:
    """Write the tree without documentation to a folder that is not there yet. Raises OSError."""
    found: list[_Question] = []
    said: list[str] = []
    into.mkdir(parents=True)
    for text in texts:
        bare, asked = _without(text)
        write_new(into / text.path, bare.encode("utf-8") if asked is not None else text.raw)
        said.append(_words(bare))
        found += asked or ()
    return Bare(tuple(found), "".join(said))


def documentation_rows(name: str, bare: Bare, wanted: int) -> list[Row]:
    """At most so many rows, by a hash of what is asked."""
    counts = Counter(_words(question.asked) for question in bare.questions)
    rows: list[Row] = []
    for question in sorted(bare.questions, key=_draw):
        if len(rows) == wanted:
            break
        if counts[_words(question.asked)] == 1 and not bare.says(question.asked) and _stands(question):
            place = question.path, question.unit.qualified_name
            rows.append(row(f"{name}-doc-{len(rows)}", name, question.asked, [place], "documentation"))
    return rows


def _without(text: TreeText) -> tuple[str, list[_Question] | None]:
    """(the text without documentation, what may be asked); the text as it is, and None, where it documents nothing."""
    row = languages().get(text.defined.language) if text.defined else None
    if text.defined is None or row is None or row.chunks != "code":
        return text.text, None
    documented = tuple(unit for unit in text.defined.units if unit.doc)
    if not documented:
        return text.text, None
    bare = blanked(_utf8(text.defined), documented)
    return bare, [
        _Question(asked, unit, text.path, text.defined.language, bare, documented)
        for unit in text.answers
        if unit.doc and unit.kind in ASKED_KINDS and (asked := sentence(unit.doc, unit.name))
    ]


def _utf8(file: Defined) -> TextMap:
    return TextMap(DecodedText(file.text.utf8.decode("utf-8"), "utf-8", 1.0, 0))


def _stands(question: _Question) -> bool:
    """Whether the definition is still found in the file without documentation, and has none left."""
    return (question.unit.name_line, question.asked) in questions([question.unit], question.bare, question.language)


def _draw(question: _Question) -> tuple[int, str, str]:
    seed = f"codelens made docs {question.path} {question.unit.qualified_name}"
    return xxhash.xxh3_64_intdigest(seed.encode()), question.path, question.asked


def _words(text: str) -> str:
    return f" {_NO_WORD.sub(' ', text.lower()).strip()} "

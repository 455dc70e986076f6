"""Doc comments that name other definitions → questions: the first sentence asks for the definition and those it names.

No name is left in the sentence: a type that is named in it becomes the noun that its name ends with (`JsonParser`: parser),
and of any other name the phrase goes that it stands in. Where too little is left, nothing is asked.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

import xxhash

from codelens.evaluation.made.bearers import (
    FEWEST_ANSWERS,
    LEFT_OUT,
    MOST_ANSWERS,
    Bearer,
    Bearers,
    entries,
    is_meant,
    says,
)
from codelens.evaluation.made.documentation import Bare
from codelens.evaluation.made.phrasing import Naming, dangles, without_names
from codelens.evaluation.made.rows import Row, row
from codelens.evaluation.made.trees import TreeText
from codelens.nouns import dataclass
from codelens.training.phrases import sentence
from codelens.worktree.roles import path_roles

FEWEST_WORDS, MOST_WORDS = 6, 32
"""Of the sentence that asks. Chosen, as for guides."""
LONGEST_DOC = 4000
"""Characters. A longer comment is a guide to much more than its definition. Chosen."""
_CODE = re.compile(r"[`{}<>|=@\[\]\\$]|::|\w\(|\w_\w|\w\.\w+\(|[a-z][A-Z]\w*[.(]|\w#\w")
_EXAMPLE = re.compile(
    r"^[ \t]*(```+|~~~+).*?(?:^[ \t]*\1|\Z)|<pre>.*?(?:</pre>|\Z)|^[ \t]*>>>[^\n]*$", re.MULTILINE | re.DOTALL
)
_TAGS = re.compile(
    r"^[ \t]*(?:[@\\](?:params?|arg|returns?|throws?|exception|since|author|see|sa|version|deprecated|type)\b"
    r"|:(?:param|raises?|returns?|rtype|type)\b|(?:Args|Arguments|Parameters|Returns|Raises|See [Aa]lso)\s*:?[ \t]*$).*",
    re.MULTILINE | re.DOTALL,
)
"""From there on a comment speaks of parameters and faults."""
_LINE_ALONE = re.compile(r"\A\s*([^\n]*[\w)])[ \t]*\n(?=(?:[A-Z][a-z]*|A) [a-z])")
"""A summary without a full stop, with a sentence on the next line."""
_LIKENS = re.compile(
    r"(?:similar|same|like|alternative|equivalent|overload\w*|variant|identical|another|convenience overload|replacement"
    r"|counterpart|shorthand|shortcut|this is|it |as above|also)\b",
    re.IGNORECASE,
)
"""How a sentence begins that says what a definition is like, and not what it is."""
_POINTS = re.compile(
    r"\b(?:see|see also|following|as follows|below|above|refer to|for example|e\.g|deprecated)\b", re.IGNORECASE
)
"""Words that lead to what the sentence no longer says."""


@dataclass(frozen=True, slots=True)
class _Concept:
    """A documented definition with those that its comment names."""

    asked: str
    found: tuple[Bearer, ...]

    @property
    def draw(self) -> tuple[int, str, str]:
        path, symbol = self.found[0].place
        return xxhash.xxh3_64_intdigest(f"codelens made concepts {path} {symbol}".encode()), path, self.asked


def concept_rows(name: str, texts: Sequence[TreeText], bare: Bare, wanted: int) -> list[Row]:
    """At most so many rows, by a hash of the definition; to be asked of the tree without documentation, where none is read."""
    bearers = Bearers(texts)
    concepts = [one for text in texts if not LEFT_OUT & path_roles(text.path) for one in _concepts(text, bearers)]
    counts = Counter(one.asked for one in concepts)
    rows: list[Row] = []
    for one in sorted(concepts, key=lambda one: one.draw):
        if len(rows) == wanted:
            break
        if counts[one.asked] == 1 and not bare.says(one.asked):
            asked = row(f"{name}-concept-{len(rows)}", name, one.asked, (), "concept")
            rows.append(asked | {"relevant": entries(one.found)})
    return rows


def _concepts(text: TreeText, bearers: Bearers) -> Iterator[_Concept]:
    for unit in text.answers:
        if is_meant(unit) and unit.doc and len(unit.doc) <= LONGEST_DOC:
            own = Bearer(text.path, unit)
            naming = Naming(_description(unit.doc), bearers, own)
            found = tuple({own.place: own, **{one.place: one for one in naming.named}}.values())
            if FEWEST_ANSWERS <= len(entries(found)) <= MOST_ANSWERS:
                asked = without_names(sentence(naming.marked, unit.name), naming)
                if _is_said(asked) and not says(asked, found):
                    yield _Concept(asked, found)


def _description(doc: str) -> str:
    """A comment up to its parameters, without examples, its summary a paragraph of its own."""
    text = _TAGS.sub("", _EXAMPLE.sub("\n", doc))
    summary = _LINE_ALONE.match(text)
    if summary and not dangles(summary[1].split()[-1]):
        return f"{summary[1]}\n\n{text[summary.end() :]}"
    return text


def _is_said(words: str) -> bool:
    if _CODE.search(words) or _POINTS.search(words) or _LIKENS.match(words) or words.count("(") != words.count(")"):
        return False
    return FEWEST_WORDS <= len(words.split()) <= MOST_WORDS

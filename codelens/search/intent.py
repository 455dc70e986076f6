"""What kind of query it is: a named rule that is printed, and how much of each set of weights it takes.

A name is another question than a sentence, and a change another than a description; but nobody tells us which it is. So each
set of learned weights has a share, and between the rules the shares slide: one word more moves no rank by a leap.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from codelens.errors import UsageError
from codelens.model import Intent
from codelens.search.expand import load_words
from codelens.search.nodes import Pattern, Query, positive_leaves

SHAPES = ("identifier", "change", "task", "question")
"""The sets of weights: what asks for a definition by name, what is to be changed by a commit's subject, what a task of some
sentences is about, and what a sentence of documentation describes."""
INTENTS: Mapping[str, Mapping[str, float]] = {
    "identifier": {"identifier": 1.0},
    "path": {"identifier": 1.0},
    "regex": {"identifier": 1.0},
    "change": {"change": 1.0},
    "task": {"task": 1.0},
    "question": {"question": 1.0},
}
"""What --intent may say → the shares of the sets. A path and a pattern name what they want, as an identifier does."""
SHORT, LONG = 10, 16
"""Words up to which a query asks for one thing, and from which it tells of a task; between them it slides (ranking.md)."""
_PATH = re.compile(r"[\w.@~+-]*(?:/[\w.@~+-]+)+/?|[\w-]+(?:\.[\w-]+)*\.[A-Za-z][A-Za-z0-9]{0,4}")
_NAME = re.compile(r"[\w$@~]+(?:(?:\.|::|->|#)[\w$@~!?]+)*[!?]?(?:\(\))?")
_ASKING = frozenset(["how", "what", "where", "which", "why", "when", "who", "does", "do", "is", "are", "can"])
_PREFIX = re.compile(r"^(?:\w+(?:\([^)]*\))?!?|\[[^\]]*\]|[\w./-]+):\s+")
"""`fix(parser):` and `lib/parse.c:` stand before what is to be changed."""


def intent_of(query: Query, asked: str = "") -> Intent:
    """`asked` is a name of INTENTS, or empty to find out. Raises UsageError for another."""
    if asked:
        if asked not in INTENTS:
            raise UsageError(f"no intent '{asked}'", f"--intent is one of {', '.join(INTENTS)}")
        return Intent(asked, "asked for", INTENTS[asked])
    text = " ".join(part.text for part in query.ranking_texts).strip()
    words = text.split()
    if any(isinstance(leaf, Pattern) for leaf in positive_leaves(query.node)):
        return Intent("regex", "it holds a pattern", INTENTS["regex"])
    if len(words) == 1 and "/" in text and _PATH.fullmatch(text):
        return Intent("path", "it is written like a path", INTENTS["path"])
    if len(words) <= 1:
        return Intent("identifier", "it is one name", INTENTS["identifier"])
    return _prose(text, words)


def _prose(text: str, words: list[str]) -> Intent:
    first = _PREFIX.sub("", text).split()[0].casefold().strip("`\"'")
    long = min(1.0, max(0.0, (len(words) - SHORT) / (LONG - SHORT)))
    if first in _ASKING or text.endswith("?"):
        return Intent("question", f"it asks '{first}'", _shares("question", long))
    if _PREFIX.match(text) or first in load_words().action:
        name = "change" if long < 0.5 else "task"
        return Intent(name, f"it says what to do in {len(words)} words", _shares("change", long))
    name = "question" if long < 0.5 else "task"
    return Intent(name, f"it describes something in {len(words)} words", _shares("question", long))


def _shares(short: str, long: float) -> Mapping[str, float]:
    return {name: share for name, share in ((short, 1.0 - long), ("task", long)) if share}

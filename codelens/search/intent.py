"""Detects the kind of a query by rules, and the share that each set of learned weights has in its ranking.

Names, sentences, changes and descriptions need different weights, and a query does not declare its kind. From one kind to the
next the shares change gradually, so that one more word does not change the ranks abruptly.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from codelens.errors import UsageError
from codelens.model.search import Intent
from codelens.query.nodes import Pattern, Query, find_positive_leaves
from codelens.search.terms import load_words

EVERYDAY = "everyday"
SHAPES = ("identifier", "change", "task", "question", EVERYDAY)
"""The sets of weights, by kind of query: the name of a definition, a commit's subject, a task of several sentences, a sentence of
documentation, and a question whose words no candidate contains."""
INTENTS: Mapping[str, Mapping[str, float]] = {
    **{name: {"identifier": 1.0} for name in ("identifier", "path", "regex")},
    **{shape: {shape: 1.0} for shape in ("change", "task", "question")},
}  # Value of --intent → share of each set. Paths and patterns name what they look for, as identifiers do.
UNMET, ALL_UNMET = 0.75, 0.9
"""Share of the words' BM25F that no candidate reaches: above the first, a query counts partly as one in everyday words, above the
second entirely. Medians: .44 for messages, .63 for documentation, .69 for commits' subjects, .87 for concepts and symptoms."""
SHORT, LONG = 10, 16
"""Most words of a query that asks for one thing, and fewest of one that describes a task; between, both count (ranking.md)."""
_PATH = re.compile(r"[\w.@~+-]*(?:/[\w.@~+-]+)+/?|[\w-]+(?:\.[\w-]+)*\.[A-Za-z][A-Za-z0-9]{0,4}")
_WORD = re.compile(r"[A-Za-z']+")
SHORTEST_VERB = 3  # Fewest letters of a verb in the third person, without its s
LEAST_SHARE = 0.005  # Smaller shares are dropped, so that the printed shares are complete
_ASKING = frozenset(("how", "what", "where", "which", "why", "when", "who", "does", "do", "is", "are", "can"))
_PREFIX = re.compile(r"^(?:\w+(?:\([^)]*\))?!?|\[[^\]]*\]|[\w./-]+):\s+")
"""The prefix of a commit's subject before the change, such as `fix(parser):` or `lib/parse.c:`."""
_ARTICLES = frozenset(("a", "an", "the"))
_LINKING = (
    "a an the of to is are be that this it its if for in on by with from as and or which when was has have not can will"
)
OF_DESCRIPTION = {
    "always": -1.2,
    "words": 0.057,
    "articles": 3.0,
    "linking words": 2.6,
    "third person": 3.0,
    "verb of change": -1.6,
    "prefix": -2.4,
}
"""Sign → log odds that a text is a description and not a change: a logistic regression on 3,293 commit subjects and 2,032 first
sentences of documentation, from 56 repositories that no benchmark uses; it classifies 87 % correctly."""
SHARPNESS = 2.5
"""Factor on the log odds; 1 mixes the sets too evenly. Commits .393 with 1, .396 with 2.5; documentation .515, .514 (held out)."""


def detect_intent(query: Query, chosen: str = "") -> Intent | None:
    """Make the intent that `chosen` names, or else detect it from the query; None if no words rank. Raises UsageError."""
    if chosen:
        if chosen not in INTENTS:
            raise UsageError(f"no intent '{chosen}'", f"--intent is one of {', '.join(INTENTS)}")
        return Intent(chosen, "asked for", INTENTS[chosen])
    text = " ".join(part.text for part in query.ranking_texts).strip()
    words = text.split()
    if any(isinstance(leaf, Pattern) for leaf in find_positive_leaves(query.node)):
        return Intent("regex", "it holds a pattern", INTENTS["regex"])
    if len(words) != 1:
        return _classify_prose(text, len(words)) if words else None
    if "/" in text and _PATH.fullmatch(text):
        return Intent("path", "it is written like a path", INTENTS["path"])
    return Intent("identifier", "it is one name", INTENTS["identifier"])


def _classify_prose(text: str, count: int) -> Intent:
    """Tell sentences from commit subjects by signs such as articles; a sentence that begins with an imperative is a task."""
    words = [word.casefold() for word in _WORD.findall(_PREFIX.sub("", text))] or [""]
    first, long = words[0], min(1.0, max(0.0, (count - SHORT) / (LONG - SHORT)))
    if first in _ASKING or text.endswith("?"):
        return Intent("task", f"it asks '{first}'", INTENTS["task"])
    signs: Mapping[str, float] = {
        "always": 1.0,
        "words": count,
        "articles": sum(word in _ARTICLES for word in words) / len(words),
        "linking words": sum(map(words.count, _LINKING.split())) / len(words),
        "third person": len(first) > SHORTEST_VERB and first.endswith("s") and not first.endswith("ss"),
        "verb of change": first in load_words().action,
        "prefix": _PREFIX.match(text) is not None,
    }
    odds = math.fsum(OF_DESCRIPTION[name] * value for name, value in signs.items())
    sentence = 1.0 / (1.0 + math.exp(-SHARPNESS * odds))
    as_what = "task" if signs["verb of change"] and not signs["third person"] else "question"
    shares = {"change": (1.0 - sentence) * (1.0 - long), "question": 0.0, "task": long}
    shares[as_what] += sentence * (1.0 - long)
    name = max(shares, key=lambda n: shares[n])
    reason = f"{count} words, {sentence:.0%} a sentence by its articles, verbs and linking words"
    large = {n: share for n, share in shares.items() if share >= LEAST_SHARE}
    total = math.fsum(large.values())
    return Intent(name, reason, {n: share / total for n, share in large.items()})


def add_everyday_share(intent: Intent, found: float) -> Intent:
    """Add the share of everyday words to an intent, unless it is a name's; `found`: the best share of BM25F of a candidate."""
    share = min(1.0, max(0.0, (1.0 - found - UNMET) / (ALL_UNMET - UNMET)))
    if share < LEAST_SHARE or "identifier" in intent.shares:
        return intent
    shares = {name: rest for name, value in intent.shares.items() if (rest := value * (1.0 - share)) >= LEAST_SHARE}
    shares[EVERYDAY] = 1.0 - math.fsum(shares.values())
    reason = f"{intent.reason}; no candidate has more than {found:.0%} of the words"
    return Intent(EVERYDAY if share > 0.5 else intent.name, reason, shares)

"""What of a query stands in the code as it was typed: runs of its words, and tokens such as versions, flags, routes and keys.

The words' index knows no order and no punctuation. The trigrams of texts name the documents that may hold a run; their texts
decide. A find belongs to all units around it, and counts less in a long one.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from codelens.model.code import DocumentId, UnitId
from codelens.model.fast_dataclass import dataclass
from codelens.search.terms import load_words
from codelens.store.postings import all_trigrams
from codelens.text.identifiers import fold_identifier
from codelens.text.terms import BEGINNING

if TYPE_CHECKING:
    from codelens.search.run import SearchRun

WINDOW = 3
"""Words of the shortest run that counts in a longer query. From a trial on messages."""
MOST_WINDOWS, MOST_TOKENS = 24, 8
"""Windows and tokens of a query that are looked for: the first ones. Chosen."""
MOST_DOCUMENTS = 40
"""Documents that are read, those with the most windows first. Chosen: one costs about .2 ms."""
MOST_NAMED = 50
"""Definitions of a name that are looked at. Chosen."""
MOST_FINDS = 20
"""Places of one text in one document that count. Chosen."""
SHORTEST = 3
"""Characters of a token, as the trigrams need them."""
USUAL_LINES = 50
"""A find in a unit of n lines counts 1 / √(1 + n / this). Chosen."""
OTHER_CASE, INSIDE = 0.85, 0.7
"""Value of a token, of 1, that occurs only in other case, and only within longer words. Chosen."""
AROUND = 0.5
"""Share of a find for each definition further out than the innermost: that one says it. Chosen."""
_EDGES = ".,;:!?()[]{}<>\"'`"
_GAP = r"[\s\"'`+\\.,:;]{1,8}"
"""What may stand between two words of a run after its first window: a string may go on in the next line."""
_MARKED = re.compile(r"\d|[^\W\d]*[^\w\s]")
_NAME = re.compile(r"[^\W\d]\w*(?:(?:\.|::|->|#)[^\W\d]\w*)*[?!]?(?:\(\))?")


@dataclass(frozen=True, slots=True)
class Find:
    """The best text of the query that a unit holds as it was typed."""

    value: float
    """0 to 1: the share of the query's words, less in a long unit."""
    text: str
    token: bool
    """True for a token, False for a run of words."""


def find_verbatim(run: SearchRun) -> Mapping[UnitId, Find]:
    """Unit → the best find in it. Raises OutOfTime."""
    words = [piece.strip(_EDGES) or piece for text in run.terms.texts for piece in text.split()]
    found: dict[UnitId, Find] = {}
    if not words or run.options.literal or run.options.regex or not run.store.features().fuzzy:
        return found
    for token in tokens_of(words, run):
        for document, numbers in _documents([token], run):
            _add(run, document, _token_places(token, document, numbers, run), len(words), found)
    windows = windows_of(words)
    if windows:
        for document, numbers in _documents([" ".join(words[at : at + size]) for at, size in windows], run):
            _add(run, document, _run_places(words, windows, document, numbers, run), len(words), found)
    return found


def tokens_of(words: Sequence[str], run: SearchRun) -> list[str]:
    """The words that mean themselves: with digits or marks inside, as 4.17.1, --smart-case, /users/:id and X-Request-Id have.

    A name that is defined outside of tests is none, for its uses would count as much as its definition. A plain word that no unit
    has is one: it may be a part of a longer word.
    """
    found = dict.fromkeys(
        word for word in words if len(word) >= SHORTEST and BEGINNING not in word and _is_token(word, run)
    )
    return list(found)[:MOST_TOKENS]


def _is_token(word: str, run: SearchRun) -> bool:
    if not _NAME.fullmatch(word):
        return bool(_MARKED.search(word))
    last = re.split(r"\.|::|->|#", word)[-1].removesuffix("()")
    named = run.store.units.named(fold_identifier(last), None, MOST_NAMED)
    if not re.search(r"[A-Z0-9_]", word[1:]):
        return not named and not run.store.postings.document_frequency(word.casefold())
    return not any(unit.name == last and "test" not in unit.roles for unit in run.store.units.rows(named).values())


def windows_of(words: Sequence[str]) -> list[tuple[int, int]]:
    """(first word, number of words) of the shortest runs that count, without those of stop words alone."""
    stop, size = load_words().stop, min(WINDOW, len(words))
    if size < 2:
        return []
    places = [
        (at, size)
        for at in range(len(words) - size + 1)
        if any(len(word) >= SHORTEST and word.casefold() not in stop for word in words[at : at + size])
    ]
    return places[:MOST_WINDOWS]


def _documents(texts: Sequence[str], run: SearchRun) -> list[tuple[DocumentId, tuple[int, ...]]]:
    """(document, parts of a large one) of those that may hold one of the texts, those that may hold most of them first."""
    counts: Counter[DocumentId] = Counter()
    parts: dict[DocumentId, set[int]] = {}
    allowed = None if run.within is None else run.store.files.holding(run.within)
    for text in dict.fromkeys(texts):
        run.budget.check()
        expression = all_trigrams(text)
        for document, numbers in run.store.postings.documents_matching(expression).items() if expression else ():
            if allowed is None or document in allowed:
                counts[document] += 1
                parts.setdefault(document, set()).update(numbers)
    chosen: list[DocumentId] = []
    for count in sorted(set(counts.values()), reverse=True):
        if (room := MOST_DOCUMENTS - len(chosen)) > 0:
            chosen += run.store.documents.first([d for d, own in counts.items() if own == count], room)
    return [(document, tuple(sorted(parts[document]))) for document in chosen]


Place = tuple[int, float, str, bool]
"""Byte of the document, number of words, text, and whether it is a token."""


def _token_places(token: str, document: DocumentId, numbers: Sequence[int], run: SearchRun) -> Iterator[Place]:
    """Where a token stands as a whole; where it never does, in other case; else within longer words."""
    for wanted, flags, value in (
        (_bounded(token), 0, 1.0),
        (_bounded(token), re.IGNORECASE, OTHER_CASE if token != token.lower() else 1.0),
        (re.escape(token), re.IGNORECASE, INSIDE),
    ):
        places = [place for place, _, _ in _matches(re.compile(wanted, flags), document, numbers, run)]
        for place in places:
            yield place, value, token, True
        if places:
            return


def _bounded(token: str) -> str:
    left = r"(?<!\w)" if re.match(r"\w", token) else ""
    right = r"(?!\w)(?!\.\d)" if re.search(r"\w\Z", token) else ""
    return f"{left}{re.escape(token)}{right}"


def _run_places(
    words: Sequence[str],
    windows: Sequence[tuple[int, int]],
    document: DocumentId,
    numbers: Sequence[int],
    run: SearchRun,
) -> Iterator[Place]:
    """Where a window stands, with as many of the following words as go on there."""
    following = [re.compile(_GAP + _bounded(word), re.IGNORECASE) for word in words]
    reached: dict[int, int] = {}
    for at, size in windows:
        if reached.get(at, 0):
            continue
        window = re.compile(r"(?<!\w)" + " ".join(map(re.escape, words[at : at + size])), re.IGNORECASE)
        for place, end, text in _matches(window, document, numbers, run):
            last = at + size
            while last < len(words) and (more := following[last].match(text, end)):
                end, last = more.end(), last + 1
            for inner in range(at + 1, last - size + 1):
                reached[inner] = 1
            yield place, float(last - at), " ".join(words[at:last]), False


def _matches(
    wanted: re.Pattern[str], document: DocumentId, numbers: Sequence[int], run: SearchRun
) -> Iterator[tuple[int, int, str]]:
    """(byte, end in the text, text) of the first finds in a document, or in these parts of a large one."""
    text = run.texts.of(run.store.documents.rows([document])[0])
    left = MOST_FINDS
    for number in numbers or range(len(text.places)):
        run.budget.check()
        span = text.span_of(number)
        part = text.stored(span)
        start = max(span.start, text.bom)
        for match in wanted.finditer(part):
            yield start + len(part[: match.start()].encode(text.encoding, "replace")), match.end(), part
            left -= 1
            if not left:
                return


def _add(run: SearchRun, document: DocumentId, places: Iterator[Place], words: int, found: dict[UnitId, Find]) -> None:
    """Credit each find to the units around it."""
    within = None if run.within is None else frozenset(run.within)
    for place, count, text, token in places:
        share = count if token else count / words
        outwards = reversed(run.store.units.around_byte(document, place))
        for unit, lines, local in outwards:
            if within is None or unit in within:
                value = share / math.sqrt(1.0 + lines / USUAL_LINES)
                known = found.get(unit)
                if known is None or value > known.value:
                    found[unit] = Find(value, text, token)
            if not local:
                share *= AROUND

"""Finds parts of a query that occur in the code as typed: runs of words, and tokens such as versions, flags and routes.

The index of words ignores order and punctuation. So the trigram index finds documents that may contain a text, and their texts
are searched. A find counts for all units around it, and less in a long unit.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, chain, islice
from typing import NamedTuple

from codelens.model.budget import TimeBudget
from codelens.model.code import DocumentId, UnitId
from codelens.model.fast_dataclass import dataclass
from codelens.query.nodes import Filter, list_leaves
from codelens.search.run import SearchRun
from codelens.search.terms import load_words
from codelens.store.documents import InOrder
from codelens.store.postings import build_trigram_query
from codelens.store.store import Part, Store
from codelens.store.texts import DocumentText, Texts
from codelens.store.units import UnitSet
from codelens.text.identifiers import fold_identifier
from codelens.text.terms import BEGINNING

WINDOW = 3  # Words of a window, the shortest run that counts in a longer query; from a trial on messages
MOST_WINDOWS, MOST_TOKENS = 24, 8  # Most windows and tokens of a query that are searched; the first ones are taken
MOST_DOCUMENTS = 20
"""Most documents that are read, those with the most windows first. 10, 20 and 40 measured the same; each takes about .2 ms."""
MOST_OF_PASTED = 60  # Most documents that are read for a text that is searched as a whole
MOST_NAMED = 50  # Most definitions of a name that are read
MOST_FINDS = 20  # Most places of one text in one document that count
PARTLY_READ, PARTLY_FOUND = 20, 5  # Most documents and places if words may be parts of others, which is frequent
LONGEST_FRAGMENT = 200  # Most characters of a query that may be a part of a line
PASTED_WORDS, PASTED_CODE = 4, 15  # Fewest words of a pasted message, and fewest characters of a pasted line of code
SHORTEST = 3  # Fewest characters of a token, as trigrams require
USUAL_LINES = 50  # A find in a unit of n lines counts 1 / √(1 + n / this)
OTHER_CASE, INSIDE = 0.85, 0.7  # Value of a token that occurs only in another case, or only within longer words
AROUND = 0.5  # Factor on a find for each step outward from the innermost definition around it
_EDGES = ".,;:!?()[]{}<>\"'`"
_GAP = r"[\s\"'`+\\.,:;]{1,40}"
"""Pattern of the characters between two words of a run after its first window: a string may continue in the next line."""
_CODE = re.compile(r"[(){}\[\]=;<>\"+*/&|]")
_FLAG = re.compile(r"--?([^\W_][\w-]+)")
_MARKED = re.compile(r"\d|[^\W\d]*[^\w\s]")
IDENTIFIER = re.compile(r"[^\W\d]\w*(?:(?:\.|::|->|#)[^\W\d]\w*)*[?!]?(?:\(\))?")


@dataclass(frozen=True, slots=True)
class VerbatimMatch:
    """The best part of the query that a unit contains as typed."""

    value: float  # 0 to 1: the share of the query's words, less in a long unit
    text: str
    token: bool  # True for a token, False for a run of words
    share: float = 1.0  # `value` before it is reduced for long units


class VerbatimMatches(NamedTuple):
    """The units that contain parts of a query as typed."""

    finds: Mapping[UnitId, VerbatimMatch] = {}  # Unit → the best find in it
    fragment: str = ""  # The result of `find_fragment`
    of_fragment: Mapping[UnitId, VerbatimMatch] = {}  # Unit → the best find of the fragment in it


def find_verbatim(run: SearchRun) -> VerbatimMatches:
    """Find the query's fragment, tokens and runs of words in the code. Raises OutOfTime."""
    if not run.store.read_features().fuzzy:
        return VerbatimMatches()
    words, fragment = split_as_typed(run), find_fragment(run)
    typed = [] if run.options.literal or run.options.regex else words
    searches = [Search([fragment], [(_find_tokens, (fragment,))], MOST_OF_PASTED)] if fragment else []
    for token in find_tokens(typed, run):
        if token != fragment:
            flag = _FLAG.fullmatch(token)  # many libraries define the flag --dry-run as "dry-run"
            in_code = (token, f'"{flag[1]}"', f"'{flag[1]}'") if flag else (token,)
            searches.append(Search(in_code, [(_find_tokens, in_code)]))
    if windows := {" ".join(typed[at : at + size]).lower(): at + size for at, size in find_windows(typed)}:
        places = partial(_find_runs, windows=windows, words=typed, following=list(map(_compile_next_word, typed)))
        searches.append(Search(list(windows), [(places, list(windows))]))
    finds = _find_in_documents(run, searches, len(words))
    of_fragment = finds.pop(0) if fragment else {}
    if is_pasted(fragment):  # in code it may go on in the next string
        whole = " ".join(words)
        of_fragment |= {unit: find for matches in finds for unit, find in matches.items() if find.text == whole}
    best: dict[UnitId, VerbatimMatch] = {}
    if typed and words == [fragment] and _is_token(fragment, run):
        best |= of_fragment
    for unit, find in chain.from_iterable(matches.items() for matches in finds):
        if unit not in best or find.value > best[unit].value:
            best[unit] = find
    return VerbatimMatches(best, fragment, of_fragment)


def split_as_typed(run: SearchRun) -> list[str]:
    """Split the query into words without the punctuation around them."""
    plain = (text.encode("utf-8", "replace").decode() for text in run.terms.texts)  # no half of a surrogate pair
    return [piece.strip(_EDGES) or piece for text in plain for piece in text.split()]


def find_fragment(run: SearchRun) -> str:
    """Return the query if it may be a part of a line: it is long, looks like code, or has a word that no unit contains.

    Empty otherwise, or if the index has no trigrams.
    """
    texts = run.terms.texts if not run.options.literal else ()
    filtered = any(isinstance(leaf, Filter) for leaf in list_leaves(run.query.node))
    whole = run.query.plain or (not filtered and is_pasted(run.query.text))
    text = run.query.text if texts and whole else texts[0] if len(texts) == 1 else ""
    text = text.strip().encode("utf-8", "replace").decode()
    words = [term.text for term in run.terms.words]
    fits = SHORTEST <= len(text) <= LONGEST_FRAGMENT and not any(word.endswith(BEGINNING) for word in words)
    if not fits or not (is_pasted(text) or not all(map(run.store.postings.count_units, words))):
        return ""
    return text if run.store.read_features().fuzzy else ""


def is_pasted(text: str) -> bool:
    """Decide if a text may be copied from code: it has many words, or characters that only code has."""
    return len(text.split()) >= PASTED_WORDS or is_code(text)


def is_code(text: str) -> bool:
    """Decide if a text has characters that only code has."""
    return len(text) >= PASTED_CODE and _CODE.search(text) is not None


def find_parts(
    run: SearchRun, parts: Sequence[str], first: Collection[DocumentId]
) -> Mapping[UnitId, Mapping[str, VerbatimMatch]]:
    """Find texts, given in lower case: unit → part → its find. Among documents with as many parts, those in `first` are read."""
    searched = list(dict.fromkeys(part for part in parts if len(part) >= SHORTEST))
    if not run.store.read_features().fuzzy:
        return {}
    search = Search(searched, [(_find_parts, (part,)) for part in searched], PARTLY_READ)
    by_unit: dict[UnitId, dict[str, VerbatimMatch]] = {}
    for part, finds in zip(searched, _find_in_documents(run, [search], 1, first), strict=True):
        for unit, find in finds.items():
            by_unit.setdefault(unit, {})[part] = find
    return by_unit


def find_tokens(words: Sequence[str], run: SearchRun) -> list[str]:
    """Find the words to search as typed: with digits or marks inside, such as 4.17.1, --smart-case, /users/:id, X-Request-Id.

    A name that is defined outside of tests is left out, because its uses would count as much as its definition. A plain word that
    occurs in no unit is included, because it may be a part of a longer word.
    """
    long = (word for word in words if len(word) >= SHORTEST and BEGINNING not in word)
    return list(dict.fromkeys(word for word in long if _is_token(word, run)))[:MOST_TOKENS]


def is_like_code(word: str) -> bool:
    return re.search(r"[A-Z0-9_]", word[1:]) is not None


def _is_token(word: str, run: SearchRun) -> bool:
    if not IDENTIFIER.fullmatch(word):
        return bool(_MARKED.search(word))
    last = split_last_name(word)
    named = run.store.units.find_by_name(fold_identifier(last), None, MOST_NAMED)
    if not is_like_code(word):
        return not named and not run.store.postings.count_units(word.casefold())
    return not any(unit.name == last and "test" not in unit.roles for unit in run.store.units.read_rows(named).values())


def split_last_name(word: str) -> str:
    return re.split(r"\.|::|->|#", word)[-1].removesuffix("()")


def find_windows(words: Sequence[str]) -> list[tuple[int, int]]:
    """List the windows, runs of WINDOW words that are not all stop words or short, as (first word, number of words)."""
    stop, size = load_words().stop, min(WINDOW, len(words))
    if size < 2:
        return []
    telling = [len(word) >= SHORTEST and word.casefold() not in stop for word in words]
    starts = (at for at in range(len(words) - size + 1) if any(telling[at : at + size]))
    return [(at, size) for at in islice(starts, MOST_WINDOWS)]


Place = tuple[int, float, str, bool]
"""(Byte in the document, number of words or value of a token, text, True for a token)."""
Places = Callable[[Sequence[str], "_Document"], Iterator[Place]]
"""A function that finds the places of texts in a document."""


class Search(NamedTuple):
    """Texts to search for, in the documents that contain most of them."""

    texts: Sequence[str]
    ways: Sequence[tuple[Places, Collection[str]]]  # (function that finds places, texts to find); results stay apart
    most: int = MOST_DOCUMENTS  # Most documents that are read


def _find_in_documents(
    run: SearchRun, searches: Sequence[Search], words: int, first: Collection[DocumentId] = ()
) -> list[dict[UnitId, VerbatimMatch]]:
    """Run searches; returns for each way of each search: unit → the best find in it, in the order of the documents. Among
    documents with as many texts, those in `first` are read. Raises OutOfTime."""
    if not searches:
        return []
    look = partial(_search_index, searches=searches, words=words, texts=run.texts)
    parts = run.store.run_on_each_index(look, run.within, first)
    keys = sorted((key, number, at) for number, part in enumerate(parts) for at, key in enumerate(part.documents.keys))
    room, places = [search.most for search in searches], dict[tuple[int, int], int]()
    for (search, *_), number, at in keys:
        if room[search]:
            room[search] -= 1
            places[number, at] = len(places)
    may_be_found = run.make_scope_test()
    ordered = sorted(
        (way, places[number, at], order, unit, find)
        for number, part in enumerate(parts)
        for unit, finds in part.of.items()
        if may_be_found(unit)
        for (at, way, order), find in finds.items()
        if (number, at) in places
    )
    best: list[dict[UnitId, VerbatimMatch]] = [{} for search in searches for _ in search.ways]
    for way, _, _, unit, find in ordered:
        best[way][unit] = find
    return best


def _search_index(
    store: Store,
    within: UnitSet | None,
    first: Collection[DocumentId],
    searches: Sequence[Search],
    words: int,
    texts: Texts,
) -> Part[dict[tuple[int, int, int], VerbatimMatch]]:
    """Run searches on one index: the documents read, and unit → its best finds by (place of document, way, place of unit)."""
    texts, chosen = texts.get_for_store(store), InOrder[DocumentId]([], [], at=-2)
    allowed, preferred = None if within is None else store.files.find_holding(within), frozenset(first)
    holding: list[dict[str, Mapping[DocumentId, Collection[int]]]] = [{} for _ in searches]
    for number, search in enumerate(searches):
        for text in dict.fromkeys(search.texts):
            store.budget.check()
            if expression := build_trigram_query(text):
                holding[number][text] = store.postings.find_documents(expression)
        groups: dict[tuple[int, bool], list[DocumentId]] = {}
        for document, count in Counter(chain.from_iterable(holding[number].values())).items():
            if allowed is None or document in allowed:
                groups.setdefault((-count, document not in preferred), []).append(document)
        room = search.most
        for group in sorted(groups):
            documents = store.documents.select_first(groups[group], room) if room else InOrder([], [])
            room -= len(documents)
            chosen += documents
            chosen.keys += [(number, *group, *key) for key in documents.keys]
    rows = {row.id: row for row in store.documents.read_rows(chosen)}
    ways = list(accumulate((len(search.ways) for search in searches), initial=0))
    of: dict[UnitId, dict[tuple[int, int, int], VerbatimMatch]] = {}
    for at, document in enumerate(chosen):
        number = chosen.keys[at][0]
        own_texts = [text for text, held in holding[number].items() if document in held]
        numbers = set(chain.from_iterable(holding[number][text][document] for text in own_texts))
        if store.filters and not numbers:
            own_texts = [text for text in own_texts if not store.filters.lacks(document, text.lower())]
        if not own_texts:
            continue
        read = _Document(texts.read(rows[document]), sorted(numbers), store.budget)
        if store.filters and not numbers:
            store.filters.keep(document, partial(read.lower_parts, of_ascii=True))
        for way, (find_places, looked_for) in enumerate(searches[number].ways, start=ways[number]):
            places = find_places([text for text in own_texts if text in looked_for], read)
            matches = _find_units_around(store, document, places, words)
            for order, (unit, find) in enumerate(matches.items()):
                of.setdefault(unit, {})[at, way, order] = find
    return Part(of=of, documents=chosen)


class _Document:
    """The text to search in a document, or some parts of the text of a large one."""

    def __init__(self, text: DocumentText, numbers: Sequence[int], budget: TimeBudget) -> None:
        self._text = text
        self._parts: list[tuple[int, str]] = []  # (first byte, text) of each part
        self._lowered: dict[bool, list[str]] = {}
        for number in numbers or range(len(self._text.places)):
            budget.check()
            span = self._text.find_part_span(number)
            self._parts.append((max(span.start, self._text.bom), self._text.decode_span(span)))

    def find_places(self, text: str, whole: bool, exact: bool = False) -> Iterator[tuple[int, int, str]]:
        """Find the first MOST_FINDS places of a text, lower-case unless `exact`: (byte, end within the part, the part)."""
        left = MOST_FINDS
        searched = [part for _, part in self._parts] if exact else self.lower_parts(text.isascii())
        for (start, part), among in zip(self._parts, searched, strict=True):
            at = -1
            while left and (at := among.find(text, at + 1)) >= 0:
                end = at + len(text)
                if not whole or _is_whole_word(text, among, at, end):
                    plain = part.isascii() and self._text.encoding == "utf-8"
                    yield start + (at if plain else len(part[:at].encode(self._text.encoding, "replace"))), end, part
                    left -= 1

    def lower_parts(self, of_ascii: bool) -> list[str]:
        """Return the parts in lower case: only ASCII letters if `of_ascii`, else all, which takes ten times as long."""
        if of_ascii not in self._lowered:
            self._lowered[of_ascii] = [_lower(part, of_ascii) for _, part in self._parts]
        return self._lowered[of_ascii]


def _lower(text: str, of_ascii: bool) -> str:
    if of_ascii and not text.isascii():
        return text.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")
    lowered = text.lower()
    return (
        lowered if len(lowered) == len(text) else text
    )  # the lower case of a few letters is two, which would shift all


def _is_whole_word(text: str, among: str, at: int, end: int) -> bool:
    """Decide if a find at `at` to `end` is a whole word, and no version number continues after it."""
    before, after = among[at - 1 : at] if at else "", among[end : end + 2]
    if _is_letter(text[0]) and _is_letter(before):
        return False
    return not (_is_letter(text[-1]) and (_is_letter(after[:1]) or (after[:1] == "." and after[1:].isdigit())))


def _is_letter(character: str) -> bool:
    return character.isalnum() or character == "_"


def _find_tokens(tokens: Sequence[str], document: _Document) -> Iterator[Place]:
    """Find the places of each token as a whole word; or else as one in another case; or else within longer words."""
    for token in tokens:
        lowered = token.lower()
        for text, whole, exact, value in (
            (token, True, True, 1.0),
            (lowered, True, False, OTHER_CASE if token != lowered else 1.0),
            (lowered, False, False, INSIDE),
        ):
            places = [place for place, _, _ in document.find_places(text, whole, exact)]
            yield from ((place, value, token, True) for place in places)
            if places:
                break


def _find_parts(parts: Sequence[str], document: _Document) -> Iterator[Place]:
    for part in parts:
        for place, _, _ in islice(document.find_places(part, False), PARTLY_FOUND):
            yield place, INSIDE, part, True


def _compile_next_word(word: str) -> re.Pattern[str]:
    left = r"(?<!\w)" if re.match(r"\w", word) else ""
    right = r"(?!\w)(?!\.\d)" if re.search(r"\w\Z", word) else ""
    return re.compile(f"{_GAP}{left}{re.escape(word)}{right}", re.IGNORECASE)


def _find_runs(
    present: Sequence[str],
    document: _Document,
    windows: Mapping[str, int],
    words: Sequence[str],
    following: Sequence[re.Pattern[str]],
) -> Iterator[Place]:
    """Find the places of windows, each with as many of the following words as match. `windows`: text → number of the next word."""
    for window in present:
        after = windows[window]
        size = window.count(" ") + 1
        for place, end, text in document.find_places(window, True):
            last = after
            while last < len(words) and (more := following[last].match(text, end)):
                end, last = more.end(), last + 1
            yield place, float(last - after + size), " ".join(words[after - size : last]), False


def _find_units_around(
    store: Store, document: DocumentId, places: Iterator[Place], words: int
) -> dict[UnitId, VerbatimMatch]:
    """Map each unit around a find to the best find in it."""
    matches: dict[UnitId, VerbatimMatch] = {}
    spans: Sequence[tuple[UnitId, int, int, int, int]] | None = None
    for place, count, text, token in places:
        share = count if token else count / words
        if spans is None:
            spans = store.units.list_spans(document)[::-1]
        for unit, start, end, lines, local in spans:
            if not start <= place < end:
                continue
            value = share / math.sqrt(1.0 + lines / USUAL_LINES)
            known = matches.get(unit)
            if known is None or value > known.value:
                matches[unit] = VerbatimMatch(value, text, token, share)
            if not local:
                share *= AROUND
    return matches

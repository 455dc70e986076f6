"""Turns text into the terms and trigrams of the full-text indexes, the same for documents and queries.

An identifier gives itself, folded, and its words: getHTTPResponse → gethttpresponse get http response. SQLite's porter
tokenizer then stems them, for documents and queries alike.

The trigrams of a text are its distinct runs of three characters within a line, folded. One with a control character other
than a tab is left out on both sides: the tokenizer of the table takes control characters as separators.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from codelens.text.identifiers import is_cjk, split_cjk, split_identifier

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

MAX_TOKEN = 80
"""Longest token in characters. Longer ones are encoded data, not names; the trigram index still finds them."""
CACHE_TOKENS = 25_000
"""Tokens whose terms are kept, about 250 bytes each. On Django 200,000 save 1 % of a worker's time and cost it 20 MB. Chosen."""
MAX_KEPT = 4096  # Longest text whose tokens are kept, in characters: terms and vectors both need them
MOST_REPEATS = 3  # BM25 with k1 = 1.2 gives three occurrences of a word .71 of the most that any number can give

BEGINNING = "*"  # Ends a term that is a prefix. No token contains it.
SHORTEST_BEGINNING = 2  # Fewest letters of a prefix. One letter matches too much.

_TOKEN = re.compile(r"\w+")
_BEGUN = re.compile(r"[^*]*\w\w\*")
_BLANKED = "".join(c if _TOKEN.match(c) else " " for c in map(chr, range(128)))
"""Translation table for ASCII text that blanks all characters outside of tokens. Three times as fast as the expression."""


class _TermCache(dict[str, str]):
    """Token → its terms, joined by spaces. Source code repeats its tokens, so nearly every lookup is a hit."""

    def __missing__(self, token: str) -> str:
        if len(self) >= CACHE_TOKENS:
            self.clear()
        terms = " ".join(split_token(token))
        self[token] = terms
        return terms


_cache = _TermCache()


def join_terms(token: str) -> str:
    """The terms of one token, separated by spaces; postings and vectors both need them."""
    return _cache[token]


def split_token(token: str) -> list[str]:
    """The terms of one token: the whole token first, then its words if they differ from it."""
    if len(token) > MAX_TOKEN:
        return []
    if token.islower() and token.isalpha() and token.isascii():
        return [token]
    words = split_identifier(token)
    whole = token.casefold().strip("_")
    terms = [whole] if whole and not is_cjk(whole) else []
    if len(words) > 1 or words != terms:
        for word in words:
            terms += split_cjk(word) if is_cjk(word) else [word]
    return list(dict.fromkeys(terms)) if len(words) < 2 else terms


def index_terms(text: str) -> str:
    """All terms of a text in order, separated by spaces, with repeats."""
    return " ".join(map(_cache.__getitem__, tokens(text)))


def join_body_terms(text: str) -> str:
    """The terms of a body, each at most MOST_REPEATS times: more gain BM25 little and make the index a third larger."""
    counts = count_tokens(text)
    found, repeated = list(counts), list(counts.items())
    for repeat in range(1, MOST_REPEATS):
        repeated = [entry for entry in repeated if entry[1] > repeat]
        found += [token for token, _ in repeated]
    return " ".join(map(_cache.__getitem__, found))


def place_words(path: str) -> tuple[str, str]:
    """(the file's name without its endings and that of its folder, the folders above)."""
    folder, _, name = path.rpartition("/")
    above, _, last = folder.rpartition("/")
    return f"{name.partition('.')[0] or name} {last}", above


def count_tokens(text: str) -> Mapping[str, int]:
    """Token → its count in a text, in order of first occurrence."""
    return Counter(split_tokens_cached(text))


def split_tokens_cached(text: str) -> Sequence[str]:
    """The tokens of a text, kept for the next call with it."""
    return _remember_tokens(text) if len(text) <= MAX_KEPT else tokens(text)


def tokens(text: str) -> list[str]:
    """The raw tokens of a text: runs of letters, digits and underscores."""
    return text.translate(_BLANKED).split() if text.isascii() else _TOKEN.findall(text)


_remember_tokens = lru_cache(maxsize=512)(tokens)


def find_prefix(word: str) -> str:
    """`deploy` for `deploy*`; empty unless the word ends in its only star, after at least two letters."""
    return word[:-1] if word.endswith(BEGINNING) and _BEGUN.fullmatch(word) else ""


def split_prefix(token: str) -> list[str]:
    """The terms of a token that is a prefix: the whole token and its last word are prefixes (getus*, get, us*)."""
    terms = split_token(token)
    open_ended = {terms[0], terms[-1]} if terms else set()
    return [
        term + BEGINNING if term in open_ended and len(term) >= SHORTEST_BEGINNING and not is_cjk(term[-1]) else term
        for term in terms
    ]


class _FoldedCharacters(dict[int, str]):
    """Simple case folding, one character for one, filled as characters are seen."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        forms = (character.casefold(), character.lower(), character)
        self[code] = next(form for form in forms if len(form) == 1)
        return self[code]


_FOLDING = _FoldedCharacters()


def fold(text: str) -> str:
    """The text without case, of the same length, so that offsets stay: ſ becomes s, the Kelvin sign k; İ and ı do not become
    i."""
    return text.lower() if text.isascii() else text.translate(_FOLDING)


# Trigrams

_SEPARATOR = "\n"  # Between the trigrams of a text that is indexed
_LAST_CONTROL, _TAB, _DELETE = 0x1F, 0x09, 0x7F
_CONTROLS = frozenset(chr(code) for code in (*range(_LAST_CONTROL + 1), _DELETE) if code != _TAB)
_CODE_BITS = 21  # Bits of a character
TRIGRAM_BLOCK = 1 << 18  # Characters that are read at once, which bounds memory


def trigrams(text: str) -> list[str]:
    """The trigrams of a short text, in order of first occurrence."""
    folded = fold(text)
    found = dict.fromkeys(folded[at : at + 3] for at in range(len(folded) - 2))
    return [trigram for trigram in found if _CONTROLS.isdisjoint(trigram)]


def join_trigrams(text: str) -> str:
    """The trigrams of a text of any length, sorted, as the index takes them."""
    import numpy as np  # 100 ms, which only indexing needs

    if text.isascii():
        keys = _compute_trigram_keys(np.frombuffer(text.lower().encode("ascii"), np.uint8).astype(np.uint32), 8)
        rows = (keys >> 16) | (keys & 0xFF00) | ((keys & 0xFF) << 16) | (ord(_SEPARATOR) << 24)
        return rows.astype("<u4").tobytes().decode("ascii")
    codes = _make_folds().fold_codes(np.frombuffer(text.encode("utf-32-le"), "<u4")).astype(np.uint64)
    blocks = [
        _compute_trigram_keys(codes[at : at + TRIGRAM_BLOCK + 2], _CODE_BITS)
        for at in range(0, len(codes), TRIGRAM_BLOCK)
    ]
    keys = blocks[0] if len(blocks) == 1 else _sort_distinct(np.concatenate(blocks))
    wide = np.full((len(keys), 4), ord(_SEPARATOR), "<u4")
    for place in range(3):
        wide[:, place] = (keys >> np.uint64(_CODE_BITS * (2 - place))) & np.uint64((1 << _CODE_BITS) - 1)
    return wide.tobytes().decode("utf-32-le")


class _Folds:
    """A table of what `fold` makes of each character, filled as characters are seen: it takes a tenth of the time."""

    def __init__(self) -> None:
        import numpy as np

        self._shift = np.zeros(sys.maxunicode + 1, np.int32)  # memory only for the pages that are used
        self._seen = np.zeros(sys.maxunicode + 1, np.bool_)

    def fold_codes(self, codes: npt.NDArray[np.uint32]) -> npt.NDArray[np.signedinteger]:
        """The code points of a text, folded."""
        import numpy as np

        if not (seen := self._seen[codes]).all():
            for code in np.unique(codes[~seen]).tolist():
                self._shift[code] = ord(fold(chr(code))) - code
                self._seen[code] = True
        return codes + self._shift[codes]


@cache
def _make_folds() -> _Folds:
    return _Folds()


def _compute_trigram_keys(codes: npt.NDArray[np.unsignedinteger], bits: int) -> npt.NDArray[np.unsignedinteger]:
    """The distinct trigrams of these characters, each as one number, sorted."""
    separates = ((codes <= _LAST_CONTROL) & (codes != _TAB)) | (codes == _DELETE)
    first, second, third = codes[:-2], codes[1:-1], codes[2:]
    shift = codes.dtype.type
    keys = (first << shift(2 * bits)) | (second << shift(bits)) | third
    return _sort_distinct(keys[~(separates[:-2] | separates[1:-1] | separates[2:])])


def _sort_distinct(keys: npt.NDArray[np.unsignedinteger]) -> npt.NDArray[np.unsignedinteger]:
    """The numbers sorted, each once. numpy's `unique` takes twice as long for short arrays."""
    import numpy as np

    keys.sort()
    first = np.ones(len(keys), np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    return keys[first]


RUN = 6  # Length of a run in bytes. Runs of five reject 87 % of the phrases that a text lacks, of six 92 %, of eight 91 %.
READ_BEFORE = 300  # Number of texts that are read without a filter. Only a server reads more.
MOST_OF_FILTERS = 32 << 20
"""Size of all filters in bytes, after which texts get none. A filter has a fifth of its text's size."""
_SPREAD = 0x9E3779B97F4A7C15  # 2^64 divided by the golden ratio: the upper bits of products differ.


class TextFilters:
    """Bloom filters of the runs of six bytes in texts, which tell that a text lacks a phrase without reading it again.

    Trigrams do not tell: a long text has all trigrams of many phrases that it lacks.
    """

    def __init__(self) -> None:
        self._read, self._bytes, self._kept = 0, 0, dict[int, bytes]()

    def lacks(self, number: int, phrase: str) -> bool:
        """True if text `number` certainly lacks a phrase, given in lower case."""
        flags = self._kept.get(number, b"")
        shift = 62 - len(flags).bit_length()
        return bool(flags) and not all(flags[run >> shift + 3] >> (run >> shift & 7) & 1 for run in _hash_runs(phrase))

    def keep(self, number: int, read: Callable[[], Iterable[str]]) -> None:
        """Make the filter of a text, whose pieces `read` returns with the letters of ASCII in lower case."""
        self._read += 1
        if self._read <= READ_BEFORE or number in self._kept or self._bytes > MOST_OF_FILTERS:
            return
        import numpy as np

        packed = "".join(read()).encode("utf-8", "surrogatepass")
        runs = np.ndarray(max(len(packed) - RUN + 1, 0), "<u8", packed + bytes(8), strides=(1,))
        bits = max(3, len(packed).bit_length())
        held = np.zeros(1 << bits, np.bool_)
        held[(runs << np.uint64(64 - 8 * RUN)) * np.uint64(_SPREAD) >> np.uint64(64 - bits)] = True
        self._kept[number] = np.packbits(held, bitorder="little").tobytes()
        self._bytes += len(self._kept[number])


@lru_cache(maxsize=1024)
def _hash_runs(text: str) -> Sequence[int]:
    """The runs of a phrase, each multiplied by `_SPREAD`; none for a phrase that is not ASCII."""
    runs = [text[at : at + RUN].encode() for at in range(len(text) - RUN + 1)] if text.isascii() else []
    return [(int.from_bytes(run, "little") << 64 - 8 * RUN) * _SPREAD & (1 << 64) - 1 for run in runs]

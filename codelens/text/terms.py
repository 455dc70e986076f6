"""Turns text into the terms and trigrams of the full-text indexes, the same for documents and queries.

The terms of an identifier are its folded form and its words: getHTTPResponse → gethttpresponse get http response. SQLite's
porter tokenizer then stems them, for documents and queries alike.

The trigrams of a text are its distinct runs of three characters within a line, folded. Trigrams with a control character other
than a tab are left out of documents and queries, because the table's tokenizer takes control characters as separators.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from codelens.text.identifiers import CharacterTable, is_cjk, split_cjk, split_identifier

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

MAX_TOKEN = 80
"""Longest token in characters. Longer ones are encoded data, not names; the trigram index still finds them."""
CACHE_TOKENS = 25_000
"""Maximum number of tokens with cached terms, about 250 bytes each. Chosen: 200,000 save 1 % of time on Django, for 20 MB."""
MAX_KEPT = 4096  # Longest text, in characters, whose tokens are cached for terms and vectors
MOST_REPEATS = 3  # With k1 = 1.2, three occurrences of a word reach .71 of the maximum BM25

BEGINNING = "*"  # The last character of a term that is a prefix. No token contains it.
SHORTEST_BEGINNING = 2  # Minimum length of a prefix. One letter matches too much.

_TOKEN = re.compile(r"\w+")
_BEGUN = re.compile(r"[^*]*\w\w\*")
_BLANKED = "".join(c if _TOKEN.match(c) else " " for c in map(chr, range(128)))
"""A translation table that blanks ASCII characters outside of tokens. It is three times as fast as _TOKEN."""


class _TermCache(dict[str, str]):
    """A cache: token → its terms, joined by spaces. Code repeats its tokens, so nearly every lookup is a hit."""

    def __missing__(self, token: str) -> str:
        if len(self) >= CACHE_TOKENS:
            self.clear()
        terms = " ".join(split_token(token))
        self[token] = terms
        return terms


_cache = _TermCache()


def split_token(token: str) -> list[str]:
    """Split a token into terms: the whole token, then its words if they differ from it."""
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


def split_into_words(token: str) -> list[str]:
    """Split a token into words in lower case: 'getHTTPResponse' → get, http, response. Returns none for encoded data."""
    terms = _cache[token].split()
    return terms[1:] if len(terms) > 1 and not is_cjk(terms[0]) else terms


def index_terms(text: str) -> str:
    """Return all terms of a text in order, with repeats, joined by spaces."""
    return " ".join(map(_cache.__getitem__, tokens(text)))


def join_body_terms(text: str) -> str:
    """Return the terms of a body, each at most MOST_REPEATS times: more make the index a third larger for little gain."""
    counts = count_tokens(text)
    found, repeated = list(counts), list(counts.items())
    for repeat in range(1, MOST_REPEATS):
        repeated = [entry for entry in repeated if entry[1] > repeat]
        found += [token for token, _ in repeated]
    return " ".join(map(_cache.__getitem__, found))


def split_path_words(path: str) -> tuple[str, str]:
    """Split a path into (file name without endings, then its folder's name; the folders above)."""
    folder, _, name = path.rpartition("/")
    above, _, last = folder.rpartition("/")
    return f"{name.partition('.')[0] or name} {last}", above


def count_tokens(text: str) -> Mapping[str, int]:
    """Count the tokens of a text, in order of first occurrence."""
    return Counter(split_tokens_cached(text))


def split_tokens_cached(text: str) -> Sequence[str]:
    """Split a text into tokens, with a cache for short texts."""
    return _remember_tokens(text) if len(text) <= MAX_KEPT else tokens(text)


def tokens(text: str) -> list[str]:
    """Split a text into raw tokens: runs of letters, digits and underscores."""
    return text.translate(_BLANKED).split() if text.isascii() else _TOKEN.findall(text)


_remember_tokens = lru_cache(maxsize=512)(tokens)


def find_prefix(word: str) -> str:
    """Return `deploy` for `deploy*`; empty unless the word's only star is its last character, after two letters or more."""
    return word[:-1] if word.endswith(BEGINNING) and _BEGUN.fullmatch(word) else ""


def split_prefix(token: str) -> list[str]:
    """Split a prefix into terms, of which the whole token and the last word are prefixes: getus*, get, us*."""
    terms = split_token(token)
    open_ended = {terms[0], terms[-1]} if terms else set()
    return [
        term + BEGINNING if term in open_ended and len(term) >= SHORTEST_BEGINNING and not is_cjk(term[-1]) else term
        for term in terms
    ]


def _fold_character(character: str) -> str:
    """Fold the case of a character to one character."""
    return next(form for form in (character.casefold(), character.lower(), character) if len(form) == 1)


_FOLDING = CharacterTable(_fold_character)


def fold(text: str) -> str:
    """Fold the case of a text without changing its length, so that offsets stay valid: ſ becomes s, but İ and ı do not
    become i."""
    return text.lower() if text.isascii() else text.translate(_FOLDING)


# Trigrams

_SEPARATOR = "\n"  # Separates the trigrams of an indexed text
_LAST_CONTROL, _TAB, _DELETE = 0x1F, 0x09, 0x7F
_CONTROLS = frozenset(chr(code) for code in (*range(_LAST_CONTROL + 1), _DELETE) if code != _TAB)
_CODE_BITS = 21  # Number of bits of a code point
TRIGRAM_BLOCK = 1 << 18  # Number of characters processed at once, to bound memory


def list_trigrams(text: str) -> list[str]:
    """List the trigrams of a short text, in order of first occurrence."""
    folded = fold(text)
    found = dict.fromkeys(folded[at : at + 3] for at in range(len(folded) - 2))
    return [trigram for trigram in found if _CONTROLS.isdisjoint(trigram)]


def join_trigrams(text: str) -> str:
    """Join the trigrams of a text of any length, sorted, in the form that the index stores."""
    import numpy as np  # takes 100 ms, and only indexing needs it

    if text.isascii():
        keys = _compute_trigram_keys(np.frombuffer(text.lower().encode("ascii"), np.uint8).astype(np.uint32), 8)
        rows = (keys >> 16) | (keys & 0xFF00) | ((keys & 0xFF) << 16) | (ord(_SEPARATOR) << 24)
        return rows.astype("<u4").tobytes().decode("ascii")
    codes = _make_folds().fold_codes(np.frombuffer(text.encode("utf-32-le"), "<u4")).astype(np.uint64)
    starts = range(0, len(codes), TRIGRAM_BLOCK)
    blocks = [_compute_trigram_keys(codes[at : at + TRIGRAM_BLOCK + 2], _CODE_BITS) for at in starts]
    keys = blocks[0] if len(blocks) == 1 else _sort_distinct(np.concatenate(blocks))
    wide = np.full((len(keys), 4), ord(_SEPARATOR), "<u4")
    for place in range(3):
        wide[:, place] = (keys >> np.uint64(_CODE_BITS * (2 - place))) & np.uint64((1 << _CODE_BITS) - 1)
    return wide.tobytes().decode("utf-32-le")


class _Folds:
    """A self-filling table of the results of `fold` for arrays of code points. It takes a tenth of the time of `fold`."""

    def __init__(self) -> None:
        import numpy as np

        self._shift = np.zeros(sys.maxunicode + 1, np.int32)  # memory only for the pages that are used
        self._seen = np.zeros(sys.maxunicode + 1, np.bool_)

    def fold_codes(self, codes: npt.NDArray[np.uint32]) -> npt.NDArray[np.signedinteger]:
        """Fold the code points of a text."""
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
    """Compute the distinct trigrams of these code points, each packed into one number; sorted."""
    separates = ((codes <= _LAST_CONTROL) & (codes != _TAB)) | (codes == _DELETE)
    first, second, third = codes[:-2], codes[1:-1], codes[2:]
    shift = codes.dtype.type
    keys = (first << shift(2 * bits)) | (second << shift(bits)) | third
    return _sort_distinct(keys[~(separates[:-2] | separates[1:-1] | separates[2:])])


def _sort_distinct(keys: npt.NDArray[np.unsignedinteger]) -> npt.NDArray[np.unsignedinteger]:
    """Sort numbers and drop duplicates. numpy's `unique` takes twice as long for short arrays."""
    import numpy as np

    keys.sort()
    first = np.ones(len(keys), np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    return keys[first]


RUN = 6  # Length of a run in bytes. Runs of 5 reject 87 % of the phrases that a text lacks, runs of 6 92 %, of 8 91 %.
READ_BEFORE = 300  # Number of texts read before filters are made. Only a server reads more.
MOST_OF_FILTERS = 32 << 20
"""Total size of filters in bytes, beyond which no more are made. A filter has a fifth of its text's size."""
_SPREAD = 0x9E3779B97F4A7C15  # 2^64 divided by the golden ratio, a multiplier that spreads hashes


class TextFilters:
    """Bloom filters of the six-byte runs in texts, which show that a text lacks a phrase without reading it again.

    Trigrams cannot show this: a long text has all trigrams of many phrases that it lacks.
    """

    def __init__(self) -> None:
        self._read, self._bytes, self._kept = 0, 0, dict[int, bytes]()

    def lacks(self, number: int, phrase: str) -> bool:
        """Test whether text `number` certainly lacks a phrase, which must be in lower case."""
        flags = self._kept.get(number, b"")
        shift = 62 - len(flags).bit_length()
        return bool(flags) and not all(flags[run >> shift + 3] >> (run >> shift & 7) & 1 for run in _hash_runs(phrase))

    def keep(self, number: int, read: Callable[[], Iterable[str]]) -> None:
        """Make and keep the filter of a text; `read` returns its pieces with ASCII letters in lower case."""
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
    """Hash the runs of a phrase by multiplication with `_SPREAD`; empty if the phrase is not ASCII."""
    runs = [text[at : at + RUN].encode() for at in range(len(text) - RUN + 1)] if text.isascii() else []
    return [(int.from_bytes(run, "little") << 64 - 8 * RUN) * _SPREAD & (1 << 64) - 1 for run in runs]

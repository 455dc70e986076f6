"""The trigrams of a text: its distinct runs of three characters within a line, folded.

The index holds them, and queries look up those of the text that they seek. A trigram with a control character other than
a tab is left out on both sides: the tokenizer of the table takes control characters as separators.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING

from codelens.text.terms import fold

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

SEPARATOR = "\n"
"""Between the trigrams of a text that is indexed."""
_LAST_CONTROL, _TAB, _DELETE = 0x1F, 0x09, 0x7F
_BITS = 21
"""Bits of a character."""
_BLOCK = 1 << 18
"""Characters that are read at once, which bounds memory. Chosen."""


def trigrams(text: str) -> list[str]:
    """The trigrams of a short text, in order of first occurrence."""
    folded = fold(text)
    found = dict.fromkeys(folded[at : at + 3] for at in range(len(folded) - 2))
    return [trigram for trigram in found if not any(map(_separates, trigram))]


def _separates(character: str) -> bool:
    return character != "\t" and (character <= "\x1f" or character == "\x7f")


def joined_trigrams(text: str) -> str:
    """The trigrams of a text of any length, sorted, as the index takes them."""
    import numpy as np  # 100 ms, which only indexing needs

    if text.isascii():
        keys = _keys(np.frombuffer(text.lower().encode("ascii"), np.uint8).astype(np.uint32), 8)
        rows = (keys >> 16) | (keys & 0xFF00) | ((keys & 0xFF) << 16) | (ord(SEPARATOR) << 24)
        return rows.astype("<u4").tobytes().decode("ascii")
    codes = _folds().of(np.frombuffer(text.encode("utf-32-le"), "<u4")).astype(np.uint64)
    blocks = [_keys(codes[at : at + _BLOCK + 2], _BITS) for at in range(0, len(codes), _BLOCK)]
    keys = blocks[0] if len(blocks) == 1 else _distinct(np.concatenate(blocks))
    wide = np.full((len(keys), 4), ord(SEPARATOR), "<u4")
    for place in range(3):
        wide[:, place] = (keys >> np.uint64(_BITS * (2 - place))) & np.uint64((1 << _BITS) - 1)
    return wide.tobytes().decode("utf-32-le")


class _Folds:
    """The result of `fold` for each character, as a table that is filled as characters are seen: a tenth of its time."""

    def __init__(self) -> None:
        import numpy as np

        self._shift = np.zeros(sys.maxunicode + 1, np.int32)  # memory only for the pages that are used
        self._seen = np.zeros(sys.maxunicode + 1, np.bool_)

    def of(self, codes: npt.NDArray[np.uint32]) -> npt.NDArray[np.signedinteger]:
        """The code points of a text, folded."""
        import numpy as np

        if not (seen := self._seen[codes]).all():
            for code in np.unique(codes[~seen]).tolist():
                self._shift[code] = ord(fold(chr(code))) - code
                self._seen[code] = True
        return codes + self._shift[codes]


@cache
def _folds() -> _Folds:
    return _Folds()


def _keys(codes: npt.NDArray[np.unsignedinteger], bits: int) -> npt.NDArray[np.unsignedinteger]:
    """The distinct trigrams of these characters, each as one number, sorted."""
    separates = ((codes <= _LAST_CONTROL) & (codes != _TAB)) | (codes == _DELETE)
    first, second, third = codes[:-2], codes[1:-1], codes[2:]
    shift = codes.dtype.type
    keys = (first << shift(2 * bits)) | (second << shift(bits)) | third
    return _distinct(keys[~(separates[:-2] | separates[1:-1] | separates[2:])])


def _distinct(keys: npt.NDArray[np.unsignedinteger]) -> npt.NDArray[np.unsignedinteger]:
    """The numbers sorted, each once. numpy's `unique` takes twice as long for short arrays."""
    import numpy as np

    keys.sort()
    first = np.ones(len(keys), np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    return keys[first]

"""Which words of a question a tokenizer of subwords holds whole: those that its model was taught often."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_WORD = re.compile(r"[^\W\d_]{3,}")
"""Three letters at least: shorter ones are whole in every vocabulary, and pieces of others."""
UNKNOWN = frozenset({"[UNK]", "<unk>"})


def knows_whole(tokenizer: Tokenizer, text: str) -> bool:
    """Whether any word of the text is a single token, and not the one for all that is unknown."""
    for word in _WORD.findall(text):
        pieces = tokenizer.encode(word, add_special_tokens=False).tokens
        if len(pieces) == 1 and pieces[0] not in UNKNOWN:
            return True
    return False

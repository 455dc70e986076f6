"""What the trigram index is given, and what is asked of it.

It holds the trigrams within lines: those over a line's end are neither indexed nor asked for, so a line that stands twice
needs to be read once. With long runs of blanks cut short too, a fifth to two fifths of a source tree need not be read.
"""

from __future__ import annotations

import re

_LONG_BLANK = re.compile(" {4,}")


def trigrams(text: str) -> list[str]:
    """The distinct trigrams within lines, folded as the index folds them, in order of their first place."""
    folded = text.lower()
    found = (folded[i : i + 3] for i in range(len(folded) - 2))
    return [trigram for trigram in dict.fromkeys(found) if "\n" not in trigram]


def distinct_lines(text: str) -> str:
    """A shorter text with the same trigrams within lines: three blanks have the trigrams of any more."""
    return "\n".join(dict.fromkeys(_LONG_BLANK.sub("   ", text).split("\n")))

"""Regular expressions that are compiled when they are first used.

A search imports seventy that it does not need, and compiling one takes 0.1 ms, or 3 ms with ranges of Unicode.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    lazy_pattern = re.compile
else:

    class LazyPattern:
        """A compiled expression, once one of its methods is called. It is not one for `isinstance` or the functions of `re`."""

        def __init__(self, pattern: str | bytes, flags: int = 0) -> None:
            self._given = (pattern, flags)

        def __getattr__(self, name: str) -> Any:
            found = getattr(re.compile(*self._given), name)  # re itself remembers it for the other methods
            setattr(self, name, found)
            return found

    lazy_pattern = LazyPattern

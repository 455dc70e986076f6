"""What a server answers about: a folder, the index that serves it, and the settings that hold there."""

from __future__ import annotations

from pathlib import Path

from codelens.config import Settings
from codelens.index import Index
from codelens.nouns import dataclass


@dataclass(frozen=True, slots=True)
class Served:
    """Everything that a server needs to know before it starts."""

    folder: Path
    """Absolute; a new index is one of this folder."""
    index: Path
    """Absolute; the file may not be there yet."""
    settings: Settings

    def open(self) -> Index:
        """The index as it is now, for one call. Raises NoIndex, IndexCorrupt or SchemaTooNew."""
        return Index.open(self.index, self.settings)

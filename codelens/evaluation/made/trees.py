"""A laid tree → what an index of it would hold: its texts and their definitions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from codelens.config import Settings
from codelens.derived import Unit
from codelens.evaluation.made.definitions import Defined, defined, defines
from codelens.indexing.reading import ReadText, read_text
from codelens.model import SeenFile
from codelens.nouns import dataclass
from codelens.runs import Progress, ProgressSink
from codelens.worktree.walk import walk


@dataclass(frozen=True, slots=True)
class TreeText:
    """One file that the walk finds; `defined` is None where nothing in it can be an answer."""

    path: str
    raw: bytes
    text: str
    defined: Defined | None

    @property
    def answers(self) -> tuple[Unit, ...]:
        """Its definitions that a task may ask for."""
        return self.defined.answers if self.defined else ()


def read_tree(root: Path, progress: ProgressSink | None = None, total: int = 0) -> Iterator[TreeText]:
    """The files that an index with the default settings would hold, in the walk's order."""
    settings = Settings()
    for number, seen in enumerate(walk(root, settings)):
        if progress:
            progress(Progress("read", number, total, seen.path))
        if isinstance(seen, SeenFile) and isinstance(read := read_text(root, seen, settings), ReadText):
            found = defined(seen.path, read.raw) if defines(seen.path) else None
            yield TreeText(seen.path, read.raw, read.decoded.text, found)

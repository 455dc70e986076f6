"""The table of repositories that the shipped weights are learned from (`repositories.tsv`) → rows: which, and at which commit.

None is one that anything is measured on, nor a part, fork or port of one: `training.excluded` judges that, and a test asks it.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from codelens.errors import UsageError
from codelens.nouns import dataclass

HEAD = ("name", "repository", "head", "language")


@dataclass(frozen=True, slots=True)
class Named:
    """A repository: what tasks call it, OWNER/NAME on GitHub, the commit that is its last, and its main language."""

    name: str
    repository: str
    head: str
    language: str

    def clone(self, folder: Path) -> Path:
        """Where it lies in a folder of clones: OWNER+NAME/repo, OWNER+NAME or NAME. Raises UsageError where it does not."""
        joined, own = self.repository.replace("/", "+"), self.repository.rpartition("/")[2]
        places = (folder / joined / "repo", folder / joined, folder / own)
        found = next((place for place in places if place.is_dir()), None)
        if found is None:
            raise UsageError(
                f"no clone of {self.repository} in {folder}",
                f"git clone https://github.com/{self.repository} {folder / own}",
            )
        return found


def read_manifest(path: Path | None = None) -> list[Named]:
    """The rows of a file, or of the shipped one. Raises UsageError, with the line, for what is no such table."""
    try:
        text = (path or files("codelens.evaluation.learning").joinpath("repositories.tsv")).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        raise UsageError(f"{path}: {fault}") from None
    head, *lines = text.splitlines() or [""]
    hint = f"a table with tabs between its columns: {', '.join(HEAD)}"
    if tuple(head.split("\t")) != HEAD:
        raise UsageError(f"{path}:1: no such table", hint)
    found: dict[str, Named] = {}
    for number, line in enumerate(lines, start=2):
        cells = line.split("\t")
        if len(cells) != len(HEAD) or not all(cells) or cells[0] in found:
            raise UsageError(f"{path}:{number}: no row, or a second one of its name: {line[:80]}", hint)
        found[cells[0]] = Named(*cells)
    return list(found.values())

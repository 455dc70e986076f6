"""Read and write the table of training packages, `packages.tsv`.

A row has a package's registry, version, licence, hash, and its side of the split. Rows are sorted by registry and name.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

from codelens.model.fast_dataclass import dataclass

REGISTRIES = ("debian", "debian-binary", "npm", "pypi")
"""Debian twice: its sources, and the packages that install sources as they are."""
SPLITS = ("train", "held-out")
ALL_SPLITS = (*SPLITS, "learn", "choose", "measure")
"""Those of the training packages, and the parts of the questions (tools/questions)."""
_HEAD = "registry\tname\tversion\tlicence\tsha256\tsplit\tlanguage"


@dataclass(frozen=True, slots=True)
class Package:
    """A package of a registry, as trained on: `sha256` is that of its archive, `language` the one with most bytes."""

    registry: str
    name: str
    version: str
    licence: str
    sha256: str
    split: str
    language: str

    @property
    def label(self) -> str:
        """How messages name the package."""
        return f"{self.registry}:{self.name}@{self.version}"

    @property
    def folder(self) -> str:
        """The name of the folder of its sources; the slash of a scoped npm name doubles as two underscores."""
        return f"{self.registry}-{self.name.replace('/', '__')}"


def shipped_manifest() -> str:
    """The text of the manifest that the shipped embedding was trained from."""
    return Path(__file__).with_name("packages.tsv").read_text("utf-8")


def read_manifest(text: str, splits: Sequence[str] = ALL_SPLITS) -> list[Package]:
    """The packages of a manifest, each in one of the splits. Raises ValueError naming the line that is not a row."""
    head, *lines = text.splitlines() or [""]
    if head != _HEAD:
        raise ValueError(f"line 1: the columns must be {_HEAD.replace(chr(9), ', ')}")
    packages = []
    for number, line in enumerate(lines, start=2):
        cells = line.split("\t")
        if len(cells) != 7 or cells[0] not in REGISTRIES or cells[5] not in splits:
            raise ValueError(f"line {number}: not a package: {line[:80]}")
        packages.append(Package(*cells))
    return packages


def write_manifest(packages: Iterable[Package]) -> str:
    """The text of a manifest of these packages, sorted. Raises ValueError when a name is there twice."""
    rows = sorted(packages, key=lambda package: (package.registry, package.name))
    for one, other in pairwise(rows):
        if one.folder == other.folder:
            raise ValueError(f"{one.label} and {other.label}: one version of a package, please")
    cells = ((row.registry, row.name, row.version, row.licence, row.sha256, row.split, row.language) for row in rows)
    return "\n".join([_HEAD, *("\t".join(row) for row in cells)]) + "\n"


def manifest_text(path: Path | None) -> str:
    """The text of the manifest at `path`, or of the shipped one."""
    return path.read_text("utf-8") if path else shipped_manifest()

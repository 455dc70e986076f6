"""Count in how many training packages each related word of the lexicon occurs: `python -m tools.model.words TREES`.

Writes words.tsv next to this module, from the folder of trees that `python -m tools.model.fetch` makes. A test refuses words of the
lexicon that fewer than two packages have.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from codelens.search.lexicon import read_entries
from tools.model.manifest import read_manifest, shipped_manifest

COUNTS = Path(__file__).with_name("words.tsv")
_IDENTIFIER = re.compile(rb"[A-Za-z][A-Za-z0-9]*")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def words_of_tree(tree: Path) -> set[str]:
    """The words of identifiers, comments and texts in a tree, in lower case, and the identifiers as a whole."""
    files = (file for file in tree.rglob("*") if file.is_file())
    identifiers = {found for file in files for found in _IDENTIFIER.findall(file.read_bytes())}
    words = set()
    for identifier in map(bytes.decode, identifiers):
        words.add(identifier.lower())
        words.update(map(str.lower, _WORD.findall(identifier)))
    return words


def main(arguments: Sequence[str]) -> int:
    """Write the table."""
    wanted = {word for _, words in read_entries() for word in words}
    counts: Counter[str] = Counter()
    for package in read_manifest(shipped_manifest()):
        counts.update(wanted & words_of_tree(Path(arguments[0]) / package.folder))
    COUNTS.write_text("".join(f"{word}\t{counts[word]}\n" for word in sorted(counts)), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

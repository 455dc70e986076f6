"""Pairs of all packages → those that are none's copy: `python -m codelens.training.duplicates PAIRS OUT --against TREE…`.

Of equal or nearly equal answers the first by package and place stays, of each kind of question apart. What equals or
nearly equals a definition of a tree that is held out goes, whoever has it: copies inside packages are not known by name.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy
import xxhash

from codelens.text.terms import tokens
from codelens.training.files import ENDING, Record, read_pairs, write_pairs
from codelens.training.mining import CAPS, tree_definitions
from codelens.training.near import MinHash, Signatures, earlier_near

MOST_ASKED = {"doc": 5, "value": 5, "name": 20, "comment": 5}
"""Answers to questions in the same words, over all packages: those beyond teach a phrase, not a meaning. Chosen."""


class _Kind:
    """The answers of one kind of question in order of their place, those of held-out trees before all."""

    def __init__(self) -> None:
        self.keys: list[bytes] = []
        self.questions: list[bytes] = []
        self.places: list[int] = []
        """Of the answers that are long enough for a row."""
        self.rows: list[Signatures] = []

    def add(self, question: bytes, key: bytes, row: Signatures | None) -> None:
        if row is not None:
            self.places.append(len(self.keys))
            self.rows.append(row)
        self.keys.append(key)
        self.questions.append(question)

    def verdicts(self, held_out: int, most: int) -> list[str]:
        """For each answer why it goes, empty where it stays; the first `held_out` are those of held-out trees."""
        near = self._near()
        verdicts: list[str] = []
        first: dict[bytes, int] = {}
        asked: Counter[bytes] = Counter()
        for place, (key, question) in enumerate(zip(self.keys, self.questions, strict=True)):
            equal = first.setdefault(key, place)
            other = equal if equal < place else near.get(place, -1)
            verdict = ""
            if other >= 0:
                verdict = ("equal" if equal < place else "near") + (" to what is held out" if other < held_out else "")
            elif place >= held_out and asked[question] >= most:
                verdict = "asked too often"
            if not verdict and place >= held_out:
                asked[question] += 1
            verdicts.append(verdict)
        return verdicts

    def _near(self) -> dict[int, int]:
        if not self.rows:
            return {}
        found = earlier_near(numpy.stack(self.rows)).tolist()
        return {self.places[later]: self.places[earlier] for later, earlier in enumerate(found) if earlier >= 0}


def main(arguments: list[str] | None = None) -> int:
    """Write what stays, a file for each package, and report.json. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m codelens.training.duplicates", description=__doc__)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument(
        "--against", type=Path, nargs="*", default=[], help="trees whose definitions must not be learnt"
    )
    asked = parser.parse_args(arguments)
    report = without_duplicates(asked.pairs, asked.out, asked.against)
    json.dump(report, sys.stdout, indent=1)
    return 0


def without_duplicates(pairs: Path, out: Path, against: Sequence[Path] = ()) -> dict[str, dict[str, int]]:
    """Filter every package's pairs. Returns what is kept by language and kind, and what goes by kind and reason."""
    out.mkdir(parents=True, exist_ok=True)
    files = sorted(pairs.glob("*" + ENDING))
    kinds, held_out = _gathered(files, against)
    verdicts = {name: iter(kind.verdicts(held_out, MOST_ASKED[name])[held_out:]) for name, kind in kinds.items()}
    kept: Counter[str] = Counter()
    left: Counter[str] = Counter()
    packages: Counter[str] = Counter()
    for file in files:
        stay: list[Record] = []
        for record in read_pairs(file):
            if verdict := next(verdicts[record["kind"]]):
                left[f"{record['kind']}: {verdict}"] += 1
                continue
            stay.append(record)
            kept[f"{record['language']} {record['kind']}"] += 1
            packages[record["kind"]] += 1
        write_pairs(out / file.name, stay)
    report = {"packages": {"read": len(files)}, "kinds": packages, "kept": kept, "left out": left}
    ordered = {part: dict(sorted(counts.items())) for part, counts in report.items()}
    (out / "report.json").write_text(json.dumps(ordered, indent=1))
    return ordered


def _gathered(files: Iterable[Path], against: Sequence[Path]) -> tuple[dict[str, _Kind], int]:
    hashing = MinHash()
    kinds = {name: _Kind() for name in CAPS}
    held_out = 0
    for tree in against:
        for fields in tree_definitions(tree):
            words = tokens(fields.body)
            key, row = _key(tokens(fields.signature), words), hashing.row(words)
            for kind in kinds.values():
                kind.add(b"", key, row)
            held_out += 1
    for file in files:
        for record in read_pairs(file):
            words = tokens(record["body"])
            question = xxhash.xxh3_128_digest(record["query"].lower().encode())
            kinds[record["kind"]].add(question, _key(tokens(record["signature"]), words), hashing.row(words))
    return kinds, held_out


def _key(signature: Sequence[str], body: Sequence[str]) -> bytes:
    return xxhash.xxh3_128_digest(" ".join([*signature, "|", *body]).encode("utf-8", "surrogatepass"))


if __name__ == "__main__":
    sys.exit(main())

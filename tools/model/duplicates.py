"""Drop copied pairs: `python -m tools.model.duplicates PAIRS OUT --against TREE…`.

Of equal or nearly equal answers the first by package and position stays, for each kind of question. Answers that equal or
nearly equal a definition of a held-out tree are dropped: copies inside packages are not known by name.

Near copies are found by MinHash over runs of tokens (A. Broder, "On the resemblance and containment of documents", 1997): the
share of equal places in two rows estimates the Jaccard similarity of their shingles. Rows that share a band are compared, one
band at a time by sorting, so that memory stays at the rows themselves.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy
import xxhash
from numpy.typing import NDArray

from codelens.config import Settings
from codelens.embed.base import EmbeddedFields
from codelens.indexing.embedding import cut_pieces
from codelens.indexing.extract import extract_definitions, list_own_texts
from codelens.indexing.files import ReadText, read_text
from codelens.lang.registry import detect_language
from codelens.model.code import SeenFile
from codelens.model.fast_dataclass import replace
from codelens.text.lines import TextMap
from codelens.text.terms import tokens
from codelens.training.mining import ASKED_KINDS, CAPS, MAX_FILE, is_code, remove_doc_string
from codelens.worktree.walk import walk_tree
from tools.model.pairs import ENDING, Record, read_pairs, write_pairs

ROWS, BANDS = 64, 16
"""64 hashes estimate a similarity to ±.05; bands of 4 make pairs with .8 meet with a chance of .9998, with .3 of .12."""
SHINGLE = 4
NEAR = 0.8  # Estimated Jaccard similarity of shingles from which two texts count as one. Chosen, not measured.
FEWEST = 16
"""Tokens of a text below which a shared phrase would decide: such texts are only compared for equality. Chosen."""

Signatures = NDArray[numpy.uint32]


class MinHash:
    """Makes rows; keeps the hash of each token that it has seen."""

    def __init__(self) -> None:
        random = numpy.random.Generator(numpy.random.PCG64(1))
        self._factors = random.integers(1, 1 << 63, ROWS, dtype=numpy.uint64) * numpy.uint64(2) + numpy.uint64(1)
        self._offsets = random.integers(0, 1 << 63, ROWS, dtype=numpy.uint64)
        self._hashes = _Hashes()

    def row(self, tokens: Sequence[str]) -> Signatures | None:
        """[ROWS] of a text's tokens; None where there are fewer than FEWEST."""
        if len(tokens) < FEWEST:
            return None
        each = numpy.array([self._hashes[token] for token in tokens], dtype=numpy.uint64)
        shingles: NDArray[numpy.uint64] = each[: len(each) - SHINGLE + 1]
        for place in range(1, SHINGLE):
            shingles = shingles * _PRIME + each[place : len(each) - SHINGLE + 1 + place]
        mixed = shingles.reshape(-1, 1) * self._factors.reshape(1, -1) + self._offsets
        least: Signatures = (mixed >> numpy.uint64(32)).min(axis=0).astype(numpy.uint32)
        return least


_PRIME = numpy.uint64(0x9E3779B97F4A7C15)
"""2**64 over the golden ratio: an odd number that mixes well (Knuth, The Art of Computer Programming, 6.4)."""


class _Hashes(dict[str, int]):
    def __missing__(self, token: str) -> int:
        found = self[token] = xxhash.xxh3_64_intdigest(token.encode("utf-8", "surrogatepass"))
        return found


def earlier_near(rows: Signatures) -> NDArray[numpy.int64]:
    """For each of [n, ROWS] the place of an earlier row that is NEAR it, -1 where none was found."""
    found = numpy.full(len(rows), -1, dtype=numpy.int64)
    width = ROWS // BANDS
    for band in range(BANDS):
        keys = numpy.ascontiguousarray(rows[:, band * width : (band + 1) * width]).view(numpy.uint64)
        mixed = keys[:, 0] * _PRIME + (keys[:, 1] ^ (keys[:, 1] >> numpy.uint64(29)))
        order = numpy.argsort(mixed, kind="stable")
        ranked = mixed[order]
        begins = numpy.concatenate([[True], ranked[1:] != ranked[:-1]])
        first = order[numpy.maximum.accumulate(numpy.where(begins, numpy.arange(len(order)), 0))]
        compared = (first != order) & (found[order] < 0)
        later, earlier = order[compared], first[compared]
        for start in range(0, len(later), 1 << 16):
            some, before = later[start : start + (1 << 16)], earlier[start : start + (1 << 16)]
            near = (rows[some] == rows[before]).mean(axis=1) >= NEAR
            found[some[near]] = before[near]
    return found


MOST_ASKED = {"doc": 5, "value": 5, "name": 20, "comment": 5}
"""Answers to questions in the same words, over all packages: those beyond teach a phrase, not a meaning. Chosen."""


class _Kind:
    """The answers of one kind of question in order of their place, those of held-out trees before all."""

    def __init__(self) -> None:
        self.keys: list[bytes] = []
        self.questions: list[bytes] = []
        self.places: list[int] = []  # Answers that are long enough for a row
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
        counts: Counter[bytes] = Counter()
        for place, (key, question) in enumerate(zip(self.keys, self.questions, strict=True)):
            equal = first.setdefault(key, place)
            other = equal if equal < place else near.get(place, -1)
            verdict = ""
            if other >= 0:
                verdict = ("equal" if equal < place else "near") + (" to what is held out" if other < held_out else "")
            elif place >= held_out and counts[question] >= most:
                verdict = "asked too often"
            if not verdict and place >= held_out:
                counts[question] += 1
            verdicts.append(verdict)
        return verdicts

    def _near(self) -> dict[int, int]:
        if not self.rows:
            return {}
        found = earlier_near(numpy.stack(self.rows)).tolist()
        return {self.places[later]: self.places[earlier] for later, earlier in enumerate(found) if earlier >= 0}


def main(arguments: list[str] | None = None) -> int:
    """Write what stays, a file for each package, and report.json. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.model.duplicates", description=__doc__)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument(
        "--against", type=Path, nargs="*", default=[], help="trees whose definitions must not be learnt"
    )
    given = parser.parse_args(arguments)
    report = without_duplicates(given.pairs, given.out, given.against)
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
        for fields in read_definitions(tree):
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


def read_definitions(root: Path) -> Iterator[EmbeddedFields]:
    """The fields of every definition of a tree without its doc, tests included: what must not be learned from."""
    settings = Settings(no_ignore=True, max_file_size=MAX_FILE)
    for seen in walk_tree(root, settings):
        language = detect_language(seen.path)
        read = read_text(root, seen, settings) if isinstance(seen, SeenFile) and is_code(language) else None
        if isinstance(read, ReadText):
            text = TextMap(read.decoded)
            units = extract_definitions(text, language)
            for unit, own in zip(units, list_own_texts(text, units), strict=True):
                if unit.kind in ASKED_KINDS:
                    yield next(cut_pieces(seen.path, replace(unit, doc=""), remove_doc_string(own, unit.doc)))


def _key(signature: Sequence[str], body: Sequence[str]) -> bytes:
    return xxhash.xxh3_128_digest(" ".join([*signature, "|", *body]).encode("utf-8", "surrogatepass"))


if __name__ == "__main__":
    sys.exit(main())

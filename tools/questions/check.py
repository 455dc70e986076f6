"""Check the collection: `python -m tools.questions.check` prints each fault, and returns 1 if there is any."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from codelens.evaluation.tasks import NOTHING
from codelens.search.terms import load_words
from codelens.store.postings import build_plain_phrases
from codelens.text.identifiers import split_identifier
from tools.model.choose import excluded_names, exclusion
from tools.questions.collection import HERE, PARTS, read_packages

KINDS = {"concept": (1, 3), "task": (1, 8), "behaviour": (1, 3), "symptom": (1, 3), NOTHING: (0, 0)}
"""Kind → the least and most answers. A task whose symbols have one name in one file has one."""
MOST_SHARED = {"concept": 1, "symptom": 2}  # Kind → most words that a question shares with the name of its first answer
_FIELDS = {"id", "repo", "kind", "query", "relevant"}


def read_rows(part: str) -> list[Mapping[str, Any]]:
    """The lines of a part as they are."""
    return [json.loads(line) for line in (HERE / f"{part}.jsonl").read_text("utf-8").splitlines()]


def find_faults() -> Iterator[str]:
    """Say what is wrong with packages, lines, answers, overlap and duplicates."""
    packages = {package.folder: package for package in read_packages()}
    excluded = excluded_names((HERE.parent / "model" / "excluded.txt").read_text("utf-8"))
    for package in packages.values():
        if word := exclusion(package.name, excluded):
            yield f"{package.label}: excluded, for {word}"
    stem, seen, stop = build_plain_phrases().stem, Counter[str](), load_words().stop
    for part in PARTS:
        for row in read_rows(part):
            place = f"{part}: {row.get('repo')} {row.get('id')}"
            if set(row) != _FIELDS or row["kind"] not in KINDS:
                yield f"{place}: not a question"
                continue
            if row["repo"] not in packages or packages[row["repo"]].split != part:
                yield f"{place}: its package is not of this part"
            least, most = KINDS[row["kind"]]
            if not least <= len(row["relevant"]) <= most:
                yield f"{place}: {len(row['relevant'])} answers"
            if any(not 1 <= entry["lines"][0] <= entry["lines"][1] for entry in row["relevant"]):
                yield f"{place}: its lines are in no order"
            if row["relevant"] and (limit := MOST_SHARED.get(row["kind"])) is not None:
                asked = {stem(word) for word in re.findall(r"[a-z]+", row["query"].lower()) if word not in stop}
                named = {stem(word) for word in split_identifier(row["relevant"][0]["symbol"]) if word not in stop}
                if len(asked & named) > limit:
                    yield f"{place}: shares {', '.join(sorted(asked & named))}"
            seen[" ".join(row["query"].lower().split())] += 1
    yield from (f"asked {count} times: {query}" for query, count in seen.items() if count > 1)


def main() -> int:
    """Print the faults."""
    faults = list(find_faults())
    print("\n".join(faults) or "no faults")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())

"""Measure the linker against judged call sites: precision and recall.

    python -m tools.bench.call_sites INDEX SAMPLE.tsv [--wrong]

A sample's columns: path, line, column, name, verdict (in, external), target path, target name, further acceptable targets.
Ambiguous answers do not count as resolved.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from codelens.linking.catalog import Catalog
from codelens.linking.evaluator import Evaluator
from codelens.linking.facts import LinkFacts
from codelens.linking.references import Resolver
from codelens.model.code import DocumentId
from codelens.model.extraction import Reference
from codelens.model.graph import RESOLVED, TIERS
from codelens.store.codec import decompress
from codelens.store.store import Store


class CallSite(NamedTuple):
    """One judged call."""

    path: str
    line: int
    column: int  # In UTF-8 bytes, from 1, as lines are
    name: str
    verdict: str
    right: frozenset[str]  # 'path:qualified name' of each acceptable answer; empty where the call leaves the repository


class Judged(NamedTuple):
    """One call with what the linker says."""

    site: CallSite
    answer: str  # 'path:qualified name', or empty
    tier: str

    @property
    def is_right(self) -> bool:
        """True if the answer is one of the judged ones."""
        return self.answer in self.site.right


def read_sample(path: Path) -> list[CallSite]:
    """The judged calls of a sample file."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return [_site(row) for row in csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)]


def _site(row: Sequence[str]) -> CallSite:
    path, line, column, name, verdict, target, qualified, also = [*row, *[""] * (8 - len(row))][:8]
    right = {f"{target}:{qualified}"} if target else set()
    return CallSite(path, int(line), int(column), name, verdict, frozenset(right | set(filter(None, also.split("|")))))


def judge(store: Store, sites: Sequence[CallSite]) -> Iterator[Judged]:
    """The linker's answer at each site. Raises LookupError where the index has no such file or call."""
    (repository,) = store.documents.repositories()
    catalog = Catalog(store, repository.id)
    resolver = Resolver(Evaluator(catalog))
    for site in sites:
        facts = catalog.facts(catalog.by_path[site.path].id)
        reference = _reference_at(store, facts, site)
        found = [f for f in resolver.reference(facts, reference) if f.target.definition is not None]
        sure = [f for f in found if TIERS[f.tier].confidence >= RESOLVED]
        definition = sure[0].target.definition if sure else None
        answer = f"{definition.facts.file.path}:{definition.qualified}" if definition else ""
        yield Judged(site, answer, found[0].tier if found else "")


def _reference_at(store: Store, facts: LinkFacts, site: CallSite) -> Reference:
    document = DocumentId(facts.file.id)
    text = b"".join(map(decompress, store.frames(document)))
    start = 0
    for _ in range(site.line - 1):
        start = text.index(b"\n", start) + 1
    place = start + site.column - 1
    for reference in store.references.of_document(document):
        if reference.start == place and reference.kind in ("call", "construct"):
            return reference
    raise LookupError(f"no call at {site.path}:{site.line}:{site.column}")


def figures(judged: Sequence[Judged]) -> tuple[float, float]:
    """(precision of the answers, recall of the calls into the repository). A constructor counts as its type."""
    answered = [j for j in judged if j.answer]
    inside = [j for j in judged if j.site.verdict == "in"]
    right = sum(j.is_right for j in answered)
    return right / max(len(answered), 1), sum(j.is_right for j in inside) / max(len(inside), 1)


def main(arguments: Sequence[str]) -> int:
    """Print the figures of one sample."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.call_sites")
    parser.add_argument("index", type=Path)
    parser.add_argument("sample", type=Path)
    parser.add_argument("--wrong", action="store_true", help="list what is wrong or missing")
    chosen = parser.parse_args(arguments)
    with Store.read(chosen.index) as store, store.reading():
        judged = list(judge(store, read_sample(chosen.sample)))
    for one in judged if chosen.wrong else ():
        if not one.is_right and (one.answer or one.site.verdict == "in"):
            wanted = " or ".join(sorted(one.site.right)) or "outside"
            print(
                f"{one.site.path}:{one.site.line}:{one.site.column} {one.site.name}: {one.answer or '–'} ({one.tier}), not {wanted}"
            )
    precision, recall = figures(judged)
    print(f"{chosen.sample.stem}: {len(judged)} calls, precision {precision:.3f}, recall {recall:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

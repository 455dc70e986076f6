"""Measures what sketches of shards cost and save: `python -m tools.cluster_sketches FOLDER [--shards 96] [--queries N] --out FILE`.

The queries are those of `python -m tools.cluster_speed`. A pair is a question about words or a whole name, put to a shard. It is
idle if the shard's answer is empty; a sketch avoids some of the idle pairs. A message is one round's questions to a shard, and is
avoided only if all of its questions are.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from codelens.cluster.shards import Request, Shard, Transport
from codelens.cluster.sketch import Sketch
from codelens.store.postings import phrases_alone
from codelens.store.store import Store
from codelens.text.identifiers import fold_identifier
from tests.cluster.local import LocalShards, sharded
from tests.cluster.queries import answer_bytes
from tools.cluster_layouts import UNLIMITED, files
from tools.cluster_speed import asked

BITS = (8, 10, 12)
WORD, NAME = "w", "n"  # Marks before words and before whole names in a sketch
RARE = 0.25  # Terms in at most this part of the shards are rare
PROBES = 20_000
_PHRASE = re.compile(r'"((?:[^"]|"")*)"( \*)?')
_NAMED: Mapping[str, Callable[[str], str]] = {"units.find_by_name": str, "units.find_likeliest": fold_identifier}
"""Methods that ask for a whole name → how it is folded."""
_LONGEST = 1 << 30


class Kept:
    """Keeps the messages of a transport, with their answers."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.rounds: list[tuple[Mapping[int, Sequence[Request]], dict[int, list[Any]]]] = []

    def ask(self, messages: Mapping[int, Sequence[Request]]) -> dict[int, list[Any]]:
        """The answers of the other transport."""
        answers = self._transport.ask(messages)
        self.rounds.append((messages, answers))
        return answers


def terms_of(store: Store) -> set[str]:
    """The stemmed words and folded names of a shard, each with its mark."""
    words = {WORD + term for term, _ in store.postings.vocabulary("", 1, _LONGEST)}
    units = (unit for document in store.documents.rows() for unit in store.units.of_document(document.id))
    return words | {NAME + fold_identifier(unit.name) for unit in units if unit.name}


def needed(expression: str) -> list[str] | None:
    """The terms that a unit must hold to match one phrase of FTS5; None if there is no telling."""
    phrases = _PHRASE.findall(expression)
    if len(phrases) != 1:
        return None
    ((text, begins),) = phrases
    alone = phrases_alone()
    words = alone.words(text.replace('""', '"'))
    found = [WORD + alone.stem(word) for word in (words[:-1] if begins else words)]
    return found or None


def pairs_of(request: Request) -> Iterator[tuple[str, list[str] | None, Any]]:
    """(kind of question, terms that it needs or None, key of its answer) of a request."""
    if request.method in _NAMED:
        yield "name", [NAME + _NAMED[request.method](request.arguments[0])], None
    elif request.method == "postings.counts":
        for expression in request.arguments[0]:
            yield "word", needed(expression), expression


def told(rounds: Sequence[Any], sketches: Sequence[Sketch]) -> dict[str, Any]:
    """Pairs and messages that these sketches would avoid."""
    seen: Counter[str] = Counter()
    for messages, answers in rounds:
        for shard, message in messages.items():
            avoidable = []
            for request, answer in zip(message, answers[shard], strict=True):
                pairs = list(pairs_of(request))
                avoidable.append(bool(pairs) or request.method == "postings.bm25_given")
                for kind, terms, key in pairs:
                    idle = not (answer[key] if key is not None else answer)
                    held = terms is None or all(map(sketches[shard].may_hold, terms))
                    assert held or idle, (request, shard)
                    seen[f"{kind} pairs"] += 1
                    seen[f"{kind} idle"] += idle
                    seen[f"{kind} no telling"] += terms is None
                    seen[f"{kind} avoided"] += not held
                    avoidable[-1] &= not held
                if request.method == "postings.bm25_given":
                    avoidable[-1] = _no_word(request, sketches[shard])
            seen["messages"] += 1
            seen["messages idle"] += not any(
                bool(any(a.values()) if isinstance(a, dict) else a) for a in answers[shard]
            )
            seen["messages avoided"] += all(avoidable)
    return dict(seen)


def _no_word(request: Request, sketch: Sketch) -> bool:
    """True if a ranking by words has no unit in a shard: not one of its phrases can be there."""
    for expression in request.arguments[0]:
        for found in _PHRASE.finditer(expression):
            terms = needed(found[0])
            if terms is None or all(map(sketch.may_hold, terms)):
                return False
    return True


def measure(folder: Path, shards: int, number: int) -> dict[str, Any]:
    """Sizes, false positives, and what the queries' pairs and messages would be without those that are avoided."""
    paths = files(folder, shards)
    with ExitStack() as stack:
        stores = [stack.enter_context(Store.read(path, accepted=True)) for path in paths]
        roots = sorted(row.root for store in stores for row in store.documents.repositories())
        kept = Kept(LocalShards([Shard(store) for store in stores]))
        many = sharded(paths[0], stores, kept, roots)
        kinds = asked(many, number)
        held = [terms_of(store) for store in stores]
        source = sum(store.documents.totals(row.id)[1] for store in stores for row in store.documents.repositories())
        spread: Counter[str] = Counter(term for terms in held for term in terms)
        rare = [{term for term in terms if spread[term] <= RARE * len(held)} for terms in held]
        rounds = {}
        for kind, wanted in kinds.items():
            kept.rounds = []
            for question in wanted:
                answer_bytes(question, many, UNLIMITED)
            rounds[kind] = kept.rounds
        probes = random.Random(1).sample(sorted(spread), min(PROBES, len(spread)))
        result: dict[str, Any] = {
            "shards": len(held),
            "queries": number,
            "source_mb": round(source / 1e6, 2),
            "distinct_terms": len(spread),
            "terms_of_shards": sum(map(len, held)),
            "words": sum(term[0] == WORD for term in spread),
            "in_one_shard": sum(count == 1 for count in spread.values()),
            "rare_terms_of_shards": sum(map(len, rare)),
            "vocabulary": [
                [round(size / 1e6, 3), len(terms)] for size, terms in zip(map(_size, stores), held, strict=True)
            ],
            "bits": {},
        }
        for bits in BITS:
            start = time.process_time()
            sketches = [Sketch.make(terms, bits) for terms in held]
            spent = time.process_time() - start
            absent = [
                (sketch, probe)
                for sketch, terms in zip(sketches, held, strict=True)
                for probe in probes
                if probe not in terms
            ]
            wrong = sum(sketch.may_hold(probe) for sketch, probe in absent)
            size = sum(len(sketch.to_bytes()) for sketch in sketches)
            start = time.process_time()
            for probe in probes[:100]:
                for sketch in sketches:
                    sketch.may_hold(probe)
            looked = (time.process_time() - start) / 100 / len(sketches)
            result["bits"][str(bits)] = {
                "false_positives": round(wrong / len(absent), 6),
                "probes": len(absent),
                "mb_a_gb_of_source": round(size / source * 1e3, 3),
                "mb_a_gb_rare_only": round(sum(map(len, rare)) * bits / 8 / source * 1e3, 3),
                "lookup_us": round(looked * 1e6, 3),
                "build_cpu_s_a_gb": round(spent / source * 1e9, 1),
                **{kind: told(found, sketches) for kind, found in rounds.items()},
            }
        return result


def _size(store: Store) -> int:
    return sum(store.documents.totals(row.id)[1] for row in store.documents.repositories())


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures, and write them."""
    parser = argparse.ArgumentParser(prog="tools.cluster_sketches", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="the layouts")
    parser.add_argument("--shards", type=int, default=96, metavar="N", help="layout [default: 96]")
    parser.add_argument("--queries", type=int, default=30, metavar="N", help="of each kind [default: 30]")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the figures as JSON")
    options = parser.parse_args(arguments)
    found = measure(options.folder, options.shards, options.queries)
    text = json.dumps(found, indent=1)
    print(text)
    if options.out:
        options.out.write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

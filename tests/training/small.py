"""A small corpus whose queries use one vocabulary and whose code uses another."""

from __future__ import annotations

import random

from codelens.training.corpus import Corpus, Encoder

SAID = ("remove", "read", "send", "open", "count", "sort", "parse", "merge")
WRITTEN = ("delete", "load", "transmit", "unlock", "tally", "arrange", "decode", "combine")
THINGS = ("user", "file", "row", "packet", "basket", "token", "branch", "report", "image", "cache")


def pairs(seed: int, number: int) -> list[dict[str, str]]:
    """Pairs of which the verb of the question never stands in the code."""
    draw = random.Random(seed)
    found = []
    for _ in range(number):
        verb, thing = draw.randrange(len(SAID)), draw.choice(THINGS)
        body = f"def {WRITTEN[verb]}_{thing}(x):\n    return {WRITTEN[verb]}(x, {draw.choice(THINGS)})"
        found.append(
            {
                "kind": draw.choice(("doc", "name")),
                "query": f"{SAID[verb]} the {thing} of {draw.choice(THINGS)}",
                "name": f"{WRITTEN[verb]}_{thing}",
                "context": f"src/{thing}.py",
                "signature": "(x)",
                "body": body,
            }
        )
    return found


def corpus(packages: int = 4, number: int = 150) -> Corpus:
    """Several packages of such pairs."""
    encoder = Encoder()
    for package in range(packages):
        encoder.add(f"package{package}", pairs(package, number))
    return encoder.build_corpus()

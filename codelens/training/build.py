"""`python -m codelens.training.build PAIRS MODEL`: turns a folder of pairs into a model file, and measures what it finds.

The manifest says which packages are held out. The card in the file says from what and how it was made, and what it reached.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from codelens.embed.model_file import ModelFile
from codelens.training.bags import Whole
from codelens.training.corpus import KINDS, Corpus, Encoder
from codelens.training.files import ENDING, read_pairs
from codelens.training.manifest import Package, manifest_text, read_manifest
from codelens.training.quantise import model_of, write_quantised
from codelens.training.ranks import least_cosine, mean_reciprocal_rank
from codelens.training.recipe import Model, Recipe
from codelens.training.trainer import begin, train
from codelens.training.vocabulary import as_rows, build, frequencies

WORDS, PIECES = 22_500, 6_500
"""Rows of the table: 29 000 of 256 bytes and 15 more each are 7.9 MB. The shares are chosen, not measured."""
MOST_ASKED = 800
"""Documentation pairs of one held-out package that are asked, and stand among each other. Chosen."""
TOLD_EVERY = 100
_LICENCE = re.compile(r"\b(?!(?:AND|OR|WITH)\b)[\w.+-]+")


def read_corpus(folder: Path) -> Corpus:
    """All pairs of a folder, one package a file, in order of their names."""
    encoder = Encoder()
    for file in sorted(folder.glob(f"*{ENDING}")):
        encoder.add(file.name.removesuffix(ENDING), read_pairs(file))
    return encoder.corpus()


def parted(corpus: Corpus, manifest: Sequence[Package]) -> tuple[Whole, Whole]:
    """(pairs to learn from, documentation pairs of the packages that the manifest holds out)."""
    held_out = {package.folder for package in manifest if package.split == "held-out"}
    apart = np.array([name in held_out for name in corpus.packages], bool)[corpus.package]
    asked = np.flatnonzero(apart & (corpus.kinds == KINDS.index("doc")))
    packages = [asked[corpus.package[asked] == number][:MOST_ASKED] for number in np.unique(corpus.package[asked])]
    return np.flatnonzero(~apart), np.concatenate([np.empty(0, np.int64), *packages])


def main(arguments: list[str] | None = None) -> int:
    """Train, tell on stderr how it goes, and write the model. Returns 2 where there is nothing to learn from."""
    parser = argparse.ArgumentParser(prog="python -m codelens.training.build", description=__doc__)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("--name", default="codelens")
    parser.add_argument("--manifest", type=Path, help="a manifest other than the shipped one")
    parser.add_argument("--words", type=int, default=WORDS)
    parser.add_argument("--pieces", type=int, default=PIECES)
    for key in ("dimensions", "steps", "batch", "run", "seed"):
        parser.add_argument(f"--{key}", type=int, default=getattr(Recipe(), key))
    asked = parser.parse_args(arguments)
    recipe = Recipe(**{key: getattr(asked, key) for key in ("dimensions", "steps", "batch", "run", "seed")})
    words = read_corpus(asked.pairs)
    manifest = read_manifest(manifest_text(asked.manifest))
    learnt, held_out = parted(words, manifest)
    if not len(learnt):
        print(f"{asked.pairs}: no pairs to learn from", file=sys.stderr)
        return 2
    names = build(frequencies(words), asked.words, asked.pieces)
    corpus = as_rows(words, names)
    model = begin(np.bincount(corpus.ids, minlength=len(names)).astype(np.int64), recipe)
    started = time.perf_counter()

    def tell(step: int, loss: float, now: Model) -> None:
        if step % TOLD_EVERY == 0 or step == recipe.steps:
            found = mean_reciprocal_rank(corpus, held_out, now)
            print(
                f"step {step}: loss {loss:.3f}, held out {found:.4f}, {time.perf_counter() - started:.0f} s",
                file=sys.stderr,
            )

    train(corpus, learnt, recipe, model, tell)
    found = mean_reciprocal_rank(corpus, held_out, model)
    about = card(asked.name, recipe, corpus, learnt, held_out, model, found)
    write_quantised(asked.model, model, names, {**about, **sources(manifest)})
    kept, order = model_of(ModelFile(asked.model))
    written = mean_reciprocal_rank(as_rows(words, order), held_out, kept)
    print(
        f"{asked.model}: {asked.model.stat().st_size} bytes; MRR@10 on {len(held_out)} held-out pairs: "
        f"{found:.4f} as trained, {written:.4f} as written"
    )
    return 0


def card(
    name: str, recipe: Recipe, corpus: Corpus, learnt: Whole, held_out: Whole, model: Model, found: float
) -> dict[str, Any]:
    """What the file says of itself, beside its numbers."""
    kinds = np.bincount(corpus.kinds[learnt], minlength=len(KINDS)).tolist()
    return {
        "name": name,
        "recipe": asdict(recipe),
        "temperature": round(model.temperature, 4),
        "least_cosine": round(least_cosine(corpus, held_out, model), 4),
        "pairs": dict(zip(KINDS, kinds, strict=True)),
        "packages": len(np.unique(corpus.package[learnt])),
        "held_out": {
            "packages": len(np.unique(corpus.package[held_out])),
            "pairs": len(held_out),
            "mrr": round(found, 4),
        },
    }


def sources(manifest: Sequence[Package]) -> dict[str, Any]:
    """What the file says of the packages that it was taught: how many of each registry, language and licence.

    A package of several licences, together or by choice, counts for each.
    """
    taught = [package for package in manifest if package.split == "train"]
    return {
        "registries": dict(Counter(package.registry for package in taught)),
        "languages": dict(Counter(package.language for package in taught)),
        "licences": dict(
            Counter(name for package in taught for name in sorted(set(_LICENCE.findall(package.licence))))
        ),
        "repeat": "python -m codelens.training.repeat FOLDER",
    }


if __name__ == "__main__":
    sys.exit(main())

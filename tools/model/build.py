"""Train a model file on a folder of pairs, and measure it: `python -m tools.model.build PAIRS MODEL`.

The manifest says which packages are held out. The card in the file records its origin, its parameters and its figures.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from codelens.embed.model_file import LONGEST_PIECE, PIECE, ModelFile
from codelens.training.corpus import KINDS, Corpus, Encoder, Whole, map_to_rows
from codelens.training.model import FIELDS, Model, Recipe, load_model, write_quantised
from codelens.training.trainer import MOST, compute_reciprocal_rank, embed_pairs, train_model
from tools.model.manifest import Package, manifest_text, read_manifest
from tools.model.pairs import ENDING, read_pairs


def build(frequency: Mapping[str, int], words: int, pieces: int) -> list[str]:
    """The rows' names: the most frequent words, then the pieces that rarer words are most often made of; ties by name."""
    ordered = sorted((w for w in frequency if len(w) <= 40), key=lambda w: (-frequency[w], w))
    own, rare = ordered[:words], ordered[words:]
    counted: Counter[str] = Counter()
    for word in rare:
        times = min(frequency[word], 50)
        for start in range(len(word)):
            for length in range(1, min(LONGEST_PIECE, len(word) - start) + 1):
                if start == 0 or length <= 6:
                    counted[word[start : start + length]] += times * length
    single = sorted({c for w in rare for c in w if c.isascii()})
    common = [p for p, _ in sorted(counted.items(), key=lambda p: (-p[1], p[0])) if len(p) > 1]
    chosen = common[: max(0, pieces - len(single))]
    return [*own, *(PIECE + p for p in [*single, *chosen])]


def frequencies(corpus: Corpus) -> dict[str, int]:
    """Word → number of bags that have it."""
    counts = np.bincount(corpus.ids, minlength=len(corpus.words))
    return dict(zip(corpus.words, counts.tolist(), strict=True))


def begin(frequency: Whole, recipe: Recipe) -> Model:
    """Random rows of length 1, and weights by how seldom a word is; `frequency` counts each row's word."""
    random = np.random.default_rng(recipe.seed)
    size = len(frequency), recipe.dimensions
    rows = random.standard_normal(size, np.float32) / np.float32(math.sqrt(recipe.dimensions))
    share = frequency / max(1, frequency.sum())
    weights = np.log(recipe.sif / (recipe.sif + share)).astype(np.float32)
    return Model(rows, weights, weights.copy(), np.zeros((len(KINDS), FIELDS), np.float32), recipe.temperature)


STRANGERS = 0.01


def least_cosine(corpus: Corpus, chosen: Whole, model: Model) -> float:
    """The cosine that STRANGERS of questions and code of two packages reach, among MOST pairs; 0 where there is one package."""
    pairs = chosen[:: max(1, len(chosen) // MOST)]
    query, code = embed_pairs(corpus, pairs, model)
    package = corpus.package[pairs]
    strangers = (query @ code.T)[package[:, None] != package[None, :]]
    return float(np.quantile(strangers, 1 - STRANGERS)) if len(strangers) else 0.0


WORDS, PIECES = 22_500, 6_500
"""Rows of the table: 29 000 of 256 bytes and 15 more each are 7.9 MB. The shares are chosen, not measured."""
MOST_ASKED = 800  # Documentation pairs of one held-out package that are asked, and stand among each other. Chosen.
TOLD_EVERY = 100
_LICENCE = re.compile(r"\b(?!(?:AND|OR|WITH)\b)[\w.+-]+")


def read_corpus(folder: Path) -> Corpus:
    """All pairs of a folder, one package a file, in order of their names."""
    encoder = Encoder()
    for file in sorted(folder.glob(f"*{ENDING}")):
        encoder.add(file.name.removesuffix(ENDING), read_pairs(file))
    return encoder.build_corpus()


def parted(corpus: Corpus, manifest: Sequence[Package]) -> tuple[Whole, Whole]:
    """(pairs to learn from, documentation pairs of the packages that the manifest holds out)."""
    held_out = {package.folder for package in manifest if package.split == "held-out"}
    apart = np.array([name in held_out for name in corpus.packages], bool)[corpus.package]
    chosen = np.flatnonzero(apart & (corpus.kinds == KINDS.index("doc")))
    packages = [chosen[corpus.package[chosen] == number][:MOST_ASKED] for number in np.unique(corpus.package[chosen])]
    return np.flatnonzero(~apart), np.concatenate([np.empty(0, np.int64), *packages])


def main(arguments: list[str] | None = None) -> int:
    """Train, report progress on stderr, and write the model. Returns 2 if there is nothing to learn from."""
    parser = argparse.ArgumentParser(prog="python -m tools.model.build", description=__doc__)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("--name", default="codelens")
    parser.add_argument("--manifest", type=Path, help="a manifest other than the shipped one")
    parser.add_argument("--words", type=int, default=WORDS)
    parser.add_argument("--pieces", type=int, default=PIECES)
    for key in ("dimensions", "steps", "batch", "run", "seed"):
        parser.add_argument(f"--{key}", type=int, default=getattr(Recipe(), key))
    given = parser.parse_args(arguments)
    recipe = Recipe(**{key: getattr(given, key) for key in ("dimensions", "steps", "batch", "run", "seed")})
    words = read_corpus(given.pairs)
    manifest = read_manifest(manifest_text(given.manifest))
    learnt, held_out = parted(words, manifest)
    if not len(learnt):
        print(f"{given.pairs}: no pairs to learn from", file=sys.stderr)
        return 2
    names = build(frequencies(words), given.words, given.pieces)
    corpus = map_to_rows(words, names)
    model = begin(np.bincount(corpus.ids, minlength=len(names)).astype(np.int64), recipe)
    started = time.perf_counter()

    def tell(step: int, loss: float, now: Model) -> None:
        if step % TOLD_EVERY == 0 or step == recipe.steps:
            found = compute_reciprocal_rank(corpus, held_out, now)
            print(
                f"step {step}: loss {loss:.3f}, held out {found:.4f}, {time.perf_counter() - started:.0f} s",
                file=sys.stderr,
            )

    train_model(corpus, learnt, recipe, model, tell)
    found = compute_reciprocal_rank(corpus, held_out, model)
    about = {"name": given.name, "recipe": asdict(recipe), **card(corpus, learnt, held_out, model, found)}
    write_quantised(given.model, model, names, {**about, **sources(manifest)})
    kept, order = load_model(ModelFile(given.model))
    written = compute_reciprocal_rank(map_to_rows(words, order), held_out, kept)
    print(
        f"{given.model}: {given.model.stat().st_size} bytes; MRR@10 on {len(held_out)} held-out pairs: "
        f"{found:.4f} as trained, {written:.4f} as written"
    )
    return 0


def card(corpus: Corpus, learnt: Whole, held_out: Whole, model: Model, found: float) -> dict[str, Any]:
    """Counts and figures for the model's card."""
    kinds = np.bincount(corpus.kinds[learnt], minlength=len(KINDS)).tolist()
    return {
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
    """Number of training packages by registry, language and licence, for the model's card.

    A package of several licences, together or by choice, counts for each.
    """
    taught = [package for package in manifest if package.split == "train"]
    licences = (name for package in taught for name in sorted(set(_LICENCE.findall(package.licence))))
    return {
        "registries": dict(Counter(package.registry for package in taught)),
        "languages": dict(Counter(package.language for package in taught)),
        "licences": dict(Counter(licences)),
        "repeat": "make model DATA=FOLDER",
    }


if __name__ == "__main__":
    sys.exit(main())

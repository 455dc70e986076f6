"""Train the rows for words of queries: `python -m tools.model.queries FOLDER OUT`.

FOLDER is that of `python -m tools.questions.lay`, with an index of each package. Vectors of code stay as they are, so no index
needs to be made again. Two kinds of batches take turns:

    questions   of the collection's part `learn`, each among all definitions of its package
    phrases     of the lexicon, each among the related words of a thousand phrases

The loss is the cross entropy of a softmax over cosines; a step of Adam moves the rows and weights of the words that occur.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from codelens.embed.model_file import PIECE, ModelFile, ModelTable, find_word_rows, write_model
from codelens.embed.registry import find_shipped_model
from codelens.embed.static import QUERIES_ENDING
from codelens.evaluation.tasks import Task
from codelens.model.code import CHUNK_KINDS
from codelens.model.fast_dataclass import dataclass
from codelens.search.lexicon import read_entries
from codelens.store.store import Store
from codelens.text.terms import count_tokens, split_into_words
from codelens.training.corpus import Floats, Whole, load_scipy_sparse
from codelens.training.model import load_model
from codelens.training.trainer import Adam, normalise_vectors
from tools.questions.collection import LEARN, index_place, read_part

ASIDE = frozenset(("test", "example", "vendored", "docs", "generated"))
"""Roles of files in which nothing answers a question."""
MOST_PIECES = 4  # Vectors of a long unit that are read
NEXT_WORD = 0.9  # Factor of a related word's weight from one to the next
TINY = 1e-9
MOST_WEIGHT = 65535
FLOOR = 0.99  # Share of questions and code of two packages whose cosine is below the least that counts as near


@dataclass(frozen=True, slots=True)
class QueryRecipe:
    """Everything that decides a training except its data."""

    steps: int = 700
    rate: float = 2e-3
    weight_rate: float = 2.0  # Times the rate: weights of words move faster than rows
    warm_up: int = 30
    temperature: float = 20.0  # The shipped model's
    packages: int = 4
    questions: int = 24  # Packages of a step, and questions of each
    phrases: int = 1024
    share: float = 2.0  # Weight of the phrases' loss
    dropped: float = 0.1  # Share of the words of a question that are left out at random
    blend: float = 0.85
    """Share of the trained rows in those that are written; the rest is the model's. MRR@10 of 242 concepts and of documentation in
    other packages: with 1 .235 and .763, with .7 .219 and .776, with .5 .209 and .782, with 0 .156 and .789."""
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Package:
    """The questions of a package, and its definitions: vectors of length 1, and for each question which of them answer it."""

    questions: Sequence[str]
    code: Floats
    answers: np.ndarray[Any, np.dtype[np.bool_]]


def read_package(index: Path, tasks: Sequence[Task]) -> Package:
    """The definitions of an index outside of tests, documents and examples, and the tasks that they answer."""
    names, vectors = list[tuple[str, str]](), list[bytes]()
    with Store.read(index) as store, store.reading():
        for document, path in sorted(store.documents.list_paths(), key=lambda row: row[1]):
            for unit in store.units.list_in_document(document):
                if unit.local or unit.kind in CHUNK_KINDS or ASIDE.intersection(unit.roles):
                    continue
                pieces = store.vectors.read_vectors([(unit.id, MOST_PIECES)])
                vectors += pieces
                names += [(unit.qualified_name, path)] * len(pieces)
    code = normalise_vectors(np.array([np.frombuffer(vector, np.int8) for vector in vectors], np.float32))[0]
    wanted = [{(entry.symbol, file) for entry in task.relevant for file in entry.files} for task in tasks]
    answers = np.array([[name in places for name in names] for places in wanted], bool)
    answered = [bool(row.any()) for row in answers]
    questions = [task.query for task, has_answer in zip(tasks, answered, strict=True) if has_answer]
    return Package(questions, code, answers[answered])


class QueryEncoder:
    """The shipped model's rows and weights for words of queries, and their training."""

    def __init__(self, file: ModelFile, recipe: QueryRecipe) -> None:
        self.file, self._recipe = file, recipe
        model, self.names = load_model(file)
        self.rows, self.weights, self._code_weights = model.rows, model.query, np.exp(model.code)
        self._find = {name: row for row, name in enumerate(self.names)}.get
        self._model = np.exp(self.weights)[:, None] * self.rows
        self._move_rows, self._move_weights = Adam(self.rows), Adam(self.weights)
        self._rows_of: dict[str, list[int]] = {}
        self.moved = np.zeros(len(self.names), bool)
        self._steps = 0

    def encode(self, texts: Sequence[str]) -> Floats:
        """Vectors of length 1."""
        shares, used = self._shares(texts, None)
        return normalise_vectors(shares @ (np.exp(self.weights[used])[:, None] * self.rows[used]))[0]

    def encode_code(self, words: Sequence[str]) -> Floats:
        """The vector of code that consists of these words, the first ones with the most weight."""
        found = np.zeros(self.rows.shape[1], np.float32)
        for place, word in enumerate(words):
            for row in self._rows(word):
                found += self.rows[row] * np.float32(self._code_weights[row] * NEXT_WORD**place)
        unit: Floats = normalise_vectors(found[None])[0][0]
        return unit

    def learn(
        self,
        texts: Sequence[str],
        code: Floats,
        answers: Floats,
        rate: float,
        random: np.random.Generator | None = None,
    ) -> None:
        """One step: `answers` are texts × code, 1 for what answers a text, and -1 for what is neither right nor wrong.

        These are questions with `random`, which leaves out some of their words, and phrases without it.
        """
        shares, used = self._shares(texts, random)
        weights = np.exp(self.weights[used])[:, None]
        vectors, norms = normalise_vectors(shares @ (weights * self.rows[used]))
        scores = vectors @ code.T * np.float32(self._recipe.temperature)
        powers = np.exp(scores - scores.max(axis=1, keepdims=True)) * (answers >= 0)
        right = powers * (answers > 0)
        slope = powers / powers.sum(axis=1, keepdims=True) - right / np.maximum(right.sum(axis=1, keepdims=True), TINY)
        factor = self._recipe.temperature / len(texts) * (self._recipe.share if random is None else 1.0)
        by_vector = slope @ code * np.float32(factor)
        by_vector -= vectors * np.einsum("ij,ij->i", by_vector, vectors)[:, None]
        by_row = shares.T @ (by_vector / norms)
        self._steps += 1
        self._move_weights.move(
            used,
            np.einsum("ij,ij->i", by_row, self.rows[used]) * weights[:, 0],
            rate * self._recipe.weight_rate,
            self._steps,
        )
        self._move_rows.move(used, by_row * weights, rate, self._steps)
        self.moved[used] = True

    def blend(self) -> None:
        """Replace rows and weights by the sum of the trained and the model's weighted rows, by the recipe's shares."""
        share = np.float32(self._recipe.blend)
        self.rows = share * np.exp(self.weights)[:, None] * self.rows + (1 - share) * self._model
        self.weights = np.zeros_like(self.weights)

    def _shares(self, texts: Sequence[str], random: np.random.Generator | None) -> tuple[Any, Whole]:
        """A scipy matrix [texts × used rows] of √count, and the used rows."""
        ends, places, values = [0], list[int](), list[float]()
        for text in texts:
            counts: dict[int, int] = {}
            for token, count in count_tokens(text).items():
                for row in (row for word in split_into_words(token) for row in self._rows(word)):
                    counts[row] = counts.get(row, 0) + count
            kept = [row for row in counts if random is None or random.random() >= self._recipe.dropped] or list(counts)
            places += kept
            values += [math.sqrt(counts[row]) for row in kept]
            ends.append(len(places))
        used, local = np.unique(np.array(places, np.int64), return_inverse=True)
        table = (np.array(values, np.float32), local, np.array(ends))
        return load_scipy_sparse().csr_matrix(table, shape=(len(texts), len(used))), used

    def _rows(self, word: str) -> list[int]:
        if word not in self._rows_of:
            self._rows_of[word] = find_word_rows(word, self._find)
        return self._rows_of[word]


def phrase_pairs(encoder: QueryEncoder) -> tuple[list[str], Floats, Whole]:
    """Phrases of the lexicon and their inflected forms, the vectors of their related words, and the number of each one's entry."""
    texts, vectors, entries = list[str](), list[Floats](), list[int]()
    for number, (phrase, words) in enumerate(read_entries()):
        first, *rest = phrase.split()
        *before, last = phrase.split()
        forms = [phrase, *(" ".join([form, *rest]) for form in inflected(first))]
        forms += [" ".join([*before, form]) for form in inflected(last)[:1] if before]
        vector = encoder.encode_code(words)
        texts += forms
        vectors += [vector] * len(forms)
        entries += [number] * len(forms)
    return texts, np.array(vectors), np.array(entries, np.int64)


def inflected(word: str) -> list[str]:
    """The regular forms of an English word, as a noun and as a verb."""
    if len(word) < 3 or not word.isalpha():
        return []
    stem = word.removesuffix("e")
    return [word + ("es" if word.endswith(("s", "x", "z", "ch", "sh")) else "s"), f"{stem}ing", f"{stem}ed"]


def train(packages: Sequence[Package], encoder: QueryEncoder, recipe: QueryRecipe) -> None:
    """Move the encoder's rows and weights."""
    random = np.random.default_rng(recipe.seed)
    phrases, related, entries = phrase_pairs(encoder)
    for step in range(recipe.steps):
        rate = recipe.rate * min(1.0, (step + 1) / recipe.warm_up) * 0.5 * (1 + math.cos(math.pi * step / recipe.steps))
        for place in random.choice(len(packages), min(recipe.packages, len(packages)), replace=False):
            package = packages[place]
            chosen = random.permutation(len(package.questions))[: recipe.questions]
            texts = [package.questions[one] for one in chosen]
            encoder.learn(texts, package.code, package.answers[chosen].astype(np.float32), rate, random)
        chosen = random.permutation(len(phrases))[: recipe.phrases]
        same = (entries[chosen][:, None] == entries[chosen]).astype(np.float32)
        answers = 2 * np.eye(len(chosen), dtype=np.float32) - same
        encoder.learn([phrases[one] for one in chosen], related[chosen], answers, rate)


def least_cosine(packages: Sequence[Package], encoder: QueryEncoder) -> float:
    """The cosine that 1 % of questions and code of two packages reach."""
    found = []
    for package, other in zip(packages, [*packages[1:], packages[0]], strict=True):
        found.append((encoder.encode(package.questions) @ other.code.T).ravel()[::97])
    return float(np.quantile(np.concatenate(found), FLOOR))


def write_queries(out: Path, encoder: QueryEncoder, card: Mapping[str, Any]) -> int:
    """Write the rows of the words that moved, with weights in the unit of the model's file; return their number."""
    chosen = [row for row, name in enumerate(encoder.names) if encoder.moved[row] and not name.startswith(PIECE)]
    rows = encoder.rows[chosen]
    largest = np.maximum(np.abs(rows).max(axis=1), TINY)
    weights = np.rint(np.exp(encoder.weights[chosen]) * largest * MOST_WEIGHT).clip(1, MOST_WEIGHT).astype(int).tolist()
    table = np.rint(rows * (127 / largest)[:, None]).astype(np.int8).tobytes()
    names = [encoder.names[row] for row in chosen]
    write_model(out, card, ModelTable(names, weights, [0] * len(names), table, encoder.file.factors))
    return len(chosen)


def main(arguments: Sequence[str] | None = None) -> int:
    """Train on the part `learn`, and write the table next to the shipped model, or to OUT."""
    parser = argparse.ArgumentParser(prog="python -m tools.model.queries", description=__doc__)
    parser.add_argument("folder", type=Path, help="the folder of `python -m tools.questions.lay`")
    parser.add_argument("--out", type=Path, help="the file to write [default: next to the shipped model]")
    options = parser.parse_args(arguments)
    shipped, recipe = find_shipped_model(), QueryRecipe()
    if shipped is None:
        parser.error("this installation has no shipped model")
    packages = [read_package(index_place(options.folder, name), tasks) for name, tasks in read_part(LEARN).items()]
    packages = [package for package in packages if package.questions]
    encoder = QueryEncoder(ModelFile(shipped), recipe)
    train(packages, encoder, recipe)
    encoder.blend()
    questions = sum(len(package.questions) for package in packages)
    card = {
        "name": "queries",
        "model": encoder.file.digest(),
        "questions": questions,
        "packages": len(packages),
        "least_cosine": round(least_cosine(packages, encoder), 4),
    }
    rows = write_queries(options.out or shipped.with_suffix(QUERIES_ENDING), encoder, card)
    print(f"{rows} rows, from {questions} questions about {len(packages)} packages")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Fine-tune a model on a user's own trees, and measure the gain on held-out pairs.

Rows learn fast, weights of words slowly: those hold what the model knows of code in general. The validation part chooses the
best of the steps, and then of the models between the original and that one.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from codelens.embed.model_file import ModelFile
from codelens.errors import UsageError
from codelens.model.fast_dataclass import dataclass, replace
from codelens.model.runs import ProgressSink
from codelens.training.corpus import KINDS, Corpus, Encoder, Whole, load_scipy_sparse, map_to_rows
from codelens.training.histories import HELD_OUT, LEARNT, VALIDATION, collect_pairs
from codelens.training.model import Model, Recipe, add_rows, load_model
from codelens.training.trainer import mean_reciprocal_rank, train

OWN = Recipe(
    steps=120,
    batch=1024,
    rate=5e-3,
    weight_rate=0.2,
    warm_up=20,
    shares=(0.4, 0.4, 0.2, 0.6, 0.05),
    dropped=(0.3, 0.4, 0.3, 0.2),
    part_lengths=(),  # rows are there already: nothing is left to share
    body=1.0,  # so is what a body counts
)
"""Fitted on the validation parts of luarocks and okhttp (2 600 and 3 600 pairs). A tenth of the rate gained a tenth as much; 300
steps no more than 120; weight_rate 1 no more than .2, and cost .03 on foreign packages, where .2 costs .01."""
FEWEST_PAIRS = 200  # Minimum number of pairs to learn from
FEWEST_ASKED = 20  # Minimum number of questions for a mean
LOOKS = 12  # Number of validations during a training
SHARES_TRIED = (0.25, 0.5, 0.75)
"""Interpolations between the original and the trained model that are tried (Wortsman et al. 2022)."""


@dataclass(frozen=True, slots=True)
class TrainingStep:
    """Progress of a training: step, loss of the last batch, and the validation figure."""

    step: int
    steps: int
    loss: float
    validation: float


@dataclass(frozen=True, slots=True)
class KindScore:
    """One kind of question: number of pairs, of held-out pairs, and their MRR@10 before and after."""

    kind: str
    pairs: int
    held_out: int
    before: float | None  # None if there are too few
    after: float | None


@dataclass(frozen=True, slots=True)
class FineTuned:
    """The result of a fine-tuning. `validation` holds the deciding figures before and after."""

    model: Model
    names: list[str]
    new_rows: int
    measured: tuple[KindScore, ...]
    validation: tuple[float, float]
    recipe: Recipe
    steps: int  # Steps of the kept model
    share: float  # Share of the way from the original to the trained model
    seconds: float
    notes: tuple[str, ...]

    @property
    def gained(self) -> bool:
        """True if the model is better on pairs that it did not learn from."""
        return self.validation[1] > self.validation[0]


def fine_tune(
    file: ModelFile,
    trees: Sequence[Path],
    recipe: Recipe = OWN,
    report: Callable[[TrainingStep], object] = lambda step: None,
    progress: ProgressSink | None = None,
) -> FineTuned:
    """Fine-tune a model on trees. Raises UsageError if they hold too little, or scipy is not installed."""
    started = time.perf_counter()
    load_scipy_sparse()  # before any work, if it is not installed
    pairs = collect_pairs(trees, progress)
    counts = Counter(pair.part for pair in pairs.pairs)
    total = sum(counts.values())
    if total < FEWEST_PAIRS or min(counts[part] for part in (LEARNT, VALIDATION, HELD_OUT)) < FEWEST_ASKED:
        raise UsageError(
            f"only {total} pairs of words and code in these trees; {FEWEST_PAIRS} are needed, from several files",
            "; ".join((*pairs.notes, "name more repositories: documented functions and commits make pairs")),
        )
    parts: npt.NDArray[np.str_] = np.array([pair.part for pair in pairs.pairs])
    places = {part: np.flatnonzero(parts == part) for part in (LEARNT, VALIDATION, HELD_OUT)}
    encoder = Encoder()
    # Each tree is a package: the answers to its questions are sought among its own code.
    for number in dict.fromkeys(pair.tree for pair in pairs.pairs):
        encoder.add(str(number), (entry.pair.record() for entry in pairs.pairs if entry.tree == number))
    words = encoder.corpus()
    known, known_names = load_model(file)
    base, names = add_rows(known, known_names, words, places[LEARNT])
    exam = Exam(map_to_rows(words, names), places)
    first = exam.score(VALIDATION, base)
    size = max(64, min(recipe.batch, len(places[LEARNT]) // 4))
    recipe = replace(recipe, batch=size, run=size)
    best = _BestModel(base, first)

    def on_step(step: int, loss: float, now: Model) -> None:
        if step % max(1, recipe.steps // LOOKS) == 0 or step == recipe.steps:
            score = exam.score(VALIDATION, now)
            best.offer(now, score, step)
            report(TrainingStep(step, recipe.steps, loss, score))

    train(exam.corpus, places[LEARNT], recipe, base.copy(), on_step)
    last = best.model
    for share in SHARES_TRIED:
        model = interpolate(base, last, share)
        best.offer(model, exam.score(VALIDATION, model), best.step, share)
    return FineTuned(
        best.model,
        names,
        len(names) - len(known_names),
        tuple(exam.compare_models(base, best.model)),
        (first, best.score),
        recipe,
        best.step,
        best.share,
        time.perf_counter() - started,
        pairs.notes,
    )


def interpolate(one: Model, other: Model, share: float) -> Model:
    """The model at this share of the way from one to another with the same rows."""
    share32 = np.float32(share)
    return Model(
        one.rows + (other.rows - one.rows) * share32,
        one.query + (other.query - one.query) * share32,
        one.code + (other.code - one.code) * share32,
        one.factors + (other.factors - one.factors) * share32,
        one.temperature + (other.temperature - one.temperature) * share,
    )


class _BestModel:
    """The best model so far; the first of equals, which has moved least."""

    def __init__(self, model: Model, score: float) -> None:
        self.model, self.score, self.step, self.share = model, score, 0, 1.0

    def offer(self, model: Model, score: float, step: int, share: float = 1.0) -> None:
        if score > self.score:
            self.model, self.score, self.step, self.share = model.copy(), score, step, share


@dataclass(frozen=True, slots=True)
class Exam:
    """A corpus and the positions of the pairs of each part, to measure models on."""

    corpus: Corpus
    places: Mapping[str, Whole]

    def compute_figures(self, part: str, model: Model) -> dict[str, float]:
        """Kind of question → MRR@10, for kinds with enough questions."""
        by_kind = {kind: self._select_kind(part, number) for number, kind in enumerate(KINDS)}
        return {
            kind: mean_reciprocal_rank(self.corpus, pairs, model)
            for kind, pairs in by_kind.items()
            if len(pairs) >= FEWEST_ASKED
        }

    def score(self, part: str, model: Model) -> float:
        """The mean over kinds, or over all questions if no kind has enough."""
        if figures := self.compute_figures(part, model):
            return sum(figures.values()) / len(figures)
        return mean_reciprocal_rank(self.corpus, self.places[part], model)

    def compare_models(self, before: Model, after: Model) -> list[KindScore]:
        """Held-out figures of each kind, before and after."""
        was, came = self.compute_figures(HELD_OUT, before), self.compute_figures(HELD_OUT, after)
        counts = np.bincount(self.corpus.kinds, minlength=len(KINDS)).tolist()
        return [
            KindScore(kind, count, len(self._select_kind(HELD_OUT, number)), was.get(kind), came.get(kind))
            for number, (kind, count) in enumerate(zip(KINDS, counts, strict=True))
            if count
        ]

    def _select_kind(self, part: str, number: int) -> Whole:
        places = self.places[part]
        chosen: Whole = places[self.corpus.kinds[places] == number]
        return chosen

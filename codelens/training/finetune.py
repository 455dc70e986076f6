"""Fine-tune a model on a user's own trees, and measure the gain on held-out pairs.

Rows learn fast; word weights learn slowly, because they hold general knowledge of code. The validation part selects the best
step, and then the best interpolation between the original model and the model of that step.
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
from codelens.model.fast_dataclass import frozen_dataclass, replace
from codelens.model.runs import ProgressSink
from codelens.training.corpus import KINDS, Corpus, Encoder, Whole, load_scipy_sparse, map_to_rows
from codelens.training.histories import HELD_OUT, LEARNT, VALIDATION, collect_pairs
from codelens.training.model import Model, Recipe, add_rows, load_model
from codelens.training.trainer import compute_reciprocal_rank, train_model

OWN = Recipe(
    steps=120,
    batch=1024,
    rate=5e-3,
    weight_rate=0.2,
    warm_up=20,
    shares=(0.4, 0.4, 0.2, 0.6, 0.05),
    dropped=(0.3, 0.4, 0.3, 0.2),
    part_lengths=(),  # the rows exist already, so letter runs are not needed
    body=1.0,  # the factor of bodies is already applied
)
"""Parameters fitted on the validation parts of luarocks and okhttp (2 600 and 3 600 pairs). A tenth of the rate gained a tenth as
much; 300 steps gained no more than 120; weight_rate 1 gained no more than .2, but lost .03 on other packages, where .2 lost .01."""
FEWEST_PAIRS = 200  # Minimum number of pairs in all parts
FEWEST_ASKED = 20  # Minimum number of questions in a part, and for a mean
LOOKS = 12  # Approximate number of validations during training
SHARES_TRIED = (0.25, 0.5, 0.75)
"""Interpolations tried between the original model and the trained one (Wortsman et al. 2022)."""


@frozen_dataclass
class TrainingStep:
    """The progress of training: the step, the loss of its batch, and the validation score."""

    step: int
    steps: int
    loss: float
    validation: float


@frozen_dataclass
class KindScore:
    """The result for one kind of question: the number of pairs and of held-out pairs, and MRR@10 before and after training."""

    kind: str
    pairs: int
    held_out: int
    before: float | None  # None if there are too few questions
    after: float | None


@frozen_dataclass
class FineTuned:
    """The result of fine-tuning. `validation` has the validation scores before and after."""

    model: Model
    names: list[str]
    new_rows: int
    measured: tuple[KindScore, ...]
    validation: tuple[float, float]
    recipe: Recipe
    steps: int  # Steps of the kept model
    share: float  # Weight of the trained model in the interpolation with the original
    seconds: float
    notes: tuple[str, ...]

    @property
    def gained(self) -> bool:
        """True if the model improved on the validation pairs."""
        return self.validation[1] > self.validation[0]


def fine_tune(
    file: ModelFile,
    trees: Sequence[Path],
    recipe: Recipe = OWN,
    report: Callable[[TrainingStep], object] = lambda step: None,
    progress: ProgressSink | None = None,
) -> FineTuned:
    """Fine-tune a model on trees. Raises UsageError if they give too few pairs or scipy is not installed."""
    started = time.perf_counter()
    load_scipy_sparse()  # raises early if it is not installed
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
    # Each tree is a package, so that answers are searched in the same tree.
    for number in dict.fromkeys(pair.tree for pair in pairs.pairs):
        encoder.add(str(number), (entry.pair.make_record() for entry in pairs.pairs if entry.tree == number))
    words = encoder.build_corpus()
    known, known_names = load_model(file)
    base, names = add_rows(known, known_names, words, places[LEARNT])
    exam = Exam(map_to_rows(words, names), places)
    first = exam.compute_score(VALIDATION, base)
    size = max(64, min(recipe.batch, len(places[LEARNT]) // 4))
    recipe = replace(recipe, batch=size, run=size)
    best = _BestModel(base, first)

    def on_step(step: int, loss: float, now: Model) -> None:
        if step % max(1, recipe.steps // LOOKS) == 0 or step == recipe.steps:
            score = exam.compute_score(VALIDATION, now)
            best.keep_better(now, score, step)
            report(TrainingStep(step, recipe.steps, loss, score))

    train_model(exam.corpus, places[LEARNT], recipe, base.copy(), on_step)
    last = best.model
    for share in SHARES_TRIED:
        model = interpolate_models(base, last, share)
        best.keep_better(model, exam.compute_score(VALIDATION, model), best.step, share)
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


def interpolate_models(one: Model, other: Model, share: float) -> Model:
    """Interpolate between two models with the same row names; share 0 gives the first, 1 the second."""
    share32 = np.float32(share)
    return Model(
        one.rows + (other.rows - one.rows) * share32,
        one.query + (other.query - one.query) * share32,
        one.code + (other.code - one.code) * share32,
        one.factors + (other.factors - one.factors) * share32,
        one.temperature + (other.temperature - one.temperature) * share,
    )


class _BestModel:
    """The best model so far. Of models with equal scores the first is kept, which changed least."""

    def __init__(self, model: Model, score: float) -> None:
        self.model, self.score, self.step, self.share = model, score, 0, 1.0

    def keep_better(self, model: Model, score: float, step: int, share: float = 1.0) -> None:
        if score > self.score:
            self.model, self.score, self.step, self.share = model.copy(), score, step, share


@frozen_dataclass
class Exam:
    """A corpus divided into parts on which models are measured. `places` has the positions of each part's pairs."""

    corpus: Corpus
    places: Mapping[str, Whole]

    def compute_figures(self, part: str, model: Model) -> dict[str, float]:
        """Compute MRR@10 for each kind of question with enough questions in the part."""
        by_kind = {kind: self._select_kind(part, number) for number, kind in enumerate(KINDS)}
        enough = {kind: pairs for kind, pairs in by_kind.items() if len(pairs) >= FEWEST_ASKED}
        return {kind: compute_reciprocal_rank(self.corpus, pairs, model) for kind, pairs in enough.items()}

    def compute_score(self, part: str, model: Model) -> float:
        """Compute the mean MRR@10 over kinds of questions, or over all questions if no kind has enough of them."""
        if figures := self.compute_figures(part, model):
            return sum(figures.values()) / len(figures)
        return compute_reciprocal_rank(self.corpus, self.places[part], model)

    def compare_models(self, before: Model, after: Model) -> list[KindScore]:
        """Compare two models on the held-out pairs of each kind."""
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

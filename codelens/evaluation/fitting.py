"""Fit the weights of ranking features to tasks whose answers are known.

Each task is sampled: every candidate of its search becomes a row of feature values. The loss is listwise: the cross entropy
between the candidates' relevance and the softmax of their scores (ListNet's top-one loss, Cao et al. 2007), plus an L2 pull
towards the starting weights. A query has shares in several sets of weights, which are fitted together. The score is linear, so
the loss is convex and the result does not depend on the starting point. Known signs of weights are bounds.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from codelens.config import Settings, load_weights
from codelens.errors import CodelensError, MissingExtra, UsageError
from codelens.evaluation.make_tasks import TaskCounts
from codelens.evaluation.metrics import NamedHit, loose, make_match_filter, same_file
from codelens.evaluation.tasks import Task
from codelens.model.fast_dataclass import frozen_dataclass, replace
from codelens.model.request import SearchOptions
from codelens.search.company import COMPANY
from codelens.search.features import FEATURES
from codelens.search.intent import SHAPES
from codelens.search.pipeline import rank
from codelens.search.profiles import load_profile
from codelens.search.rankers import Ranking
from codelens.search.walk import WALK
from codelens.store.store import Store

Floats = np.ndarray[Any, np.dtype[np.float32]]
Numbers = np.ndarray[Any, np.dtype[np.int16]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]

# The column of the fused channel ranks, divided by their best possible value. Its weight is fixed at 1.
RANKS = "rrf"
COLUMNS = (*FEATURES, WALK, *COMPANY, RANKS)  # The feature columns of a sample
# A weight for features without a weight, so that they are computed. It is too small to change the order.
TINY = 1e-9
ASIDE = frozenset(("test", "docs", "example"))  # Roles of files that commits often change along with the code


@frozen_dataclass
class Sample:
    """A task with the feature values of its candidates, in ranked order. It is empty if no candidate is an answer."""

    task: str  # The task's key
    repository: str
    kind: str
    shares: tuple[float, ...]  # Share of each set of weights, in the order of SHAPES
    entries: int  # Number of relevant entries of the task
    values: Floats  # Candidates × COLUMNS
    credits: Numbers  # For each candidate the index of the relevant entry that it matches, or -1
    aside: Flags  # True for candidates in tests, documentation or examples
    loosely_right: Flags  # True for candidates that the loose rule accepts

    @property
    def has_answer(self) -> bool:
        """True if a candidate is an answer."""
        return bool(len(self.credits))


def sample_tasks(
    tasks: Sequence[Task], index: Path, settings: Settings, on_done: Callable[[int], None] | None = None
) -> list[Sample]:
    """Sample the tasks of one index. A failed query has no candidates; `on_done` is called with the number of finished
    tasks.

    The weights in the settings influence the features, because they decide where the graph walk starts. Raises NoIndex,
    IndexCorrupt, SchemaTooNew and SettingsError.
    """
    options = SearchOptions()
    settings = replace(settings, query_seconds=0.0)  # no time limit, so that the machine's load does not matter
    profile = load_profile(options, settings.weights)
    weights = {name: profile.features.get(name, {}) for name in (*FEATURES, WALK, *COMPANY)}
    features = {  # each feature has a weight in every set, so that all are computed
        name: (weight or TINY) if isinstance(weight, float | int) else {s: weight.get(s) or TINY for s in SHAPES}
        for name, weight in weights.items()
    }
    profile = replace(profile, features=features)
    samples = []
    with Store.read(index) as store, store.reading():
        for task in tasks:
            try:
                samples.append(_sample_task(task, rank(task.query, store, options, settings, profile)))
            except UsageError:
                raise
            except CodelensError:
                samples.append(_sample_task(task, None))
            if on_done:
                on_done(len(samples))
    return samples


def _sample_task(task: Task, ranking: Ranking | None) -> Sample:
    """Make the sample of a task; `ranking` is None if the query failed."""
    intent = ranking.run.trace.intent if ranking else None
    shares = tuple(intent.shares.get(shape, 0.0) if intent else 0.0 for shape in SHAPES)
    candidates = ranking.candidates if ranking else []
    hits = [NamedHit(candidate.unit.qualified_name, candidate.unit.path) for candidate in candidates]
    may_match = make_match_filter(task.relevant)
    credits = []  # For each candidate the first relevant entry it matches by name and file
    for hit in hits:
        entries = enumerate(task.relevant) if may_match(hit) else ()
        credits.append(next((at for at, entry in entries if same_file(hit, entry)), -1))
    if max(credits, default=-1) < 0:
        candidates, hits, credits = [], [], []
    column = {name: at for at, name in enumerate(COLUMNS)}
    values = np.zeros((len(credits), len(COLUMNS)), np.float32)
    for row, candidate in zip(values, candidates, strict=True):
        for name, _, value in candidate.measured:
            row[column[name]] = value
        for contribution in candidate.recorded:
            if ranking and contribution.source in candidate.channels:
                row[column[RANKS]] += contribution.amount * (ranking.run.profile.rrf_k + 1)
    aside = [bool(ASIDE & set(candidate.unit.roles)) for candidate in candidates]
    right = [any(loose(hit, entry) for entry in task.relevant) for hit in hits]
    arrays = values, np.array(credits, np.int16), np.array(aside, np.bool_), np.array(right, np.bool_)
    return Sample(task.key, task.repository, task.kind, shares, len(task.relevant), *arrays)


# Kind of task → total weight of its tasks, whatever their number. Chosen among eight such tables by nDCG@10 of the development
# tasks, which differed by less than .01. `task` weighs little, because `commit` has the same answers.
KINDS: Mapping[str, float] = {
    **dict.fromkeys(("commit", "topic"), 4.0),
    **dict.fromkeys(("identifier", "task", "literal", "fragment", "namesake", "qualified"), 0.3),
    "documentation": 1.0,
    "message": 0.5,
}
# Number of tasks made from the user's repository, which takes a few minutes.
OWN_TASKS = TaskCounts(commits=150, docs=60, identifiers=30, topics=40, queries=10)
FEWEST_OF_A_KIND = 30  # A kind with fewer tasks than this weighs proportionally less
# Factor of the squared distance from the shipped weights, divided by the number of tasks: few tasks move the weights little.
OWN_PULL = 10.0
# Relevance of code that is right only by the loose rule, such as another method of an answer's class, because it is related.
# P@10 and nDCG@10 of the development tasks after learning the set `task`: .499 and .457 with .1 for all kinds; .497 and .454 with
# .3 for topics and tasks only; .474 and .450 with 0, and weight 1 for topics.
LOOSE = 0.1
# Relevance of an answer in tests, documentation or examples if the query also has answers in code. nDCG@10 of the development
# commits after learning from 540: .404; with .2 .401, with 1 .396.
SIDE = 0.0

# Features whose weights are not learned → the reason.
UNTAUGHT: Mapping[str, str] = {
    "own_class": "no generated task uses the user's own classes",
    "fragment": "it goes before all that is learned",
    "resemblance": "few generated tasks have typing mistakes",
}
# Features whose weights have a known sign, which peculiarities of generated tasks must not reverse: being a test or a chunk never
# makes a candidate better, unless the query asks for it; a stronger match never makes it worse.
NEVER_POSITIVE = frozenset(("test", "example", "docs", "local", "chunk"))
NEVER_NEGATIVE = frozenset(COMPANY) | {
    *("bm25", "coverage", "file", "exact_name", "whole_name", "name_match", "file_name", "scope", "messages"),
    *("nearest", "walk"),
}


Bounds = tuple[float | None, float | None]  # Minimum and maximum of a weight in each set; None for no limit


def select_bounds(feature: str) -> Bounds:
    """Select the bounds of a feature's weight, which are the same in each set."""
    if feature == RANKS:
        return 1.0, 1.0  # fixed, as the unit of the other weights
    if feature in UNTAUGHT:
        return 0.0, 0.0
    return 0.0 if feature in NEVER_NEGATIVE else None, 0.0 if feature in NEVER_POSITIVE else None


STEPS = 300  # Maximum number of L-BFGS-B iterations; about 100 suffice
ROWS = 200_000  # Candidates per block: a matrix of 50 MB


@frozen_dataclass
class TrainingQuery:
    """A query to learn from: `values` is [candidates × features], `relevance` has a number per candidate, 0 if it is wrong."""

    values: Floats
    relevance: Floats
    shares: tuple[float, ...] = (1.0,)  # Share of each set of weights
    weight: float = 1.0  # Weight of the query in the loss


def fit_queries(
    questions: Sequence[TrainingQuery], start: Sequence[Sequence[float]], pull: float, bounds: Sequence[Bounds]
) -> tuple[list[list[float]], float]:
    """Fit weights; return them as [features × sets], and the loss. Queries without a relevant candidate are ignored.

    `start` has a row for each feature and a column for each set. `pull` times the squared distance from it is added to the mean
    loss. Raises ValueError if no query has an answer.
    """
    from scipy.optimize import minimize

    answered = [q for q in questions if q.relevance.any()]
    if not answered:
        raise ValueError("no question has an answer among its candidates")
    blocks, part, rows = list[_QueryBlock](), list[TrainingQuery](), 0
    for question in answered:  # in groups of about ROWS candidates
        part.append(question)
        rows += len(question.relevance)
        if rows >= ROWS or question is answered[-1]:
            blocks.append(_QueryBlock(part))
            part, rows = [], 0
    total = sum(q.weight for q in answered)
    origin = np.asarray(start, np.float64)

    def loss(flat: Any) -> tuple[float, Any]:
        weights = flat.reshape(origin.shape)
        losses, slopes = zip(*(block.compute_loss(weights) for block in blocks), strict=True)
        away = weights - origin
        slope = sum(slopes, np.zeros(origin.shape)) / total + 2 * pull * away
        return sum(losses) / total + pull * float((away * away).sum()), slope.ravel()

    limits = [limit for limit in bounds for _ in range(origin.shape[1])]
    lowest = [-np.inf if low is None else low for low, _ in limits]
    highest = [np.inf if high is None else high for _, high in limits]
    begin = np.clip(origin.ravel(), lowest, highest)
    fitted = minimize(loss, begin, jac=True, method="L-BFGS-B", bounds=limits, options={"maxiter": STEPS})
    return fitted.x.reshape(origin.shape).tolist(), float(fitted.fun)


class _QueryBlock:
    """Several queries in one matrix, for fast computation of their loss."""

    def __init__(self, questions: Sequence[TrainingQuery]) -> None:
        sizes = np.array([len(q.relevance) for q in questions])
        self.values = np.concatenate([q.values for q in questions])
        self.sizes = sizes
        self.begins = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        self.wanted = np.concatenate([q.relevance / q.relevance.sum() for q in questions])
        self.counts = np.array([q.weight for q in questions])
        self.shares = np.repeat(np.array([q.shares for q in questions], np.float32), sizes, axis=0)

    def compute_loss(self, weights: Any) -> tuple[float, Any]:
        """Compute the weighted sum of the queries' losses, and its gradient [features × sets]."""
        scores = ((self.values @ weights.astype(np.float32)) * self.shares).sum(axis=1)
        highest = np.maximum.reduceat(scores, self.begins)
        powers = np.exp(scores - np.repeat(highest, self.sizes))
        sums = np.add.reduceat(powers, self.begins)
        chances = powers / np.repeat(sums, self.sizes)
        losses = highest + np.log(sums) - np.add.reduceat(self.wanted * scores, self.begins)
        pushes = ((chances - self.wanted) * np.repeat(self.counts, self.sizes)).astype(np.float32)
        slope = self.values.T @ (self.shares * pushes[:, None])
        return float(losses.astype(np.float64) @ self.counts), slope.astype(np.float64)


Weights = Mapping[str, float | Mapping[str, float]]  # Feature → weight, or set → weight, as in `[codelens.features]`
TOPIC, SECTION = "topic", COLUMNS.index("section")


@frozen_dataclass
class FittedWeights:
    """Learned weights, with the number of tasks that they were learned from."""

    weights: Weights
    loss: float  # Mean over queries, including the pull
    tasks: Mapping[str, int]  # Kind → number of tasks with an answer among their candidates


def require_scipy() -> None:
    """Raise UsageError if scipy is not installed."""
    try:
        import scipy.optimize  # noqa: F401
    except ImportError:
        raise MissingExtra("learning weights", ["scipy"], "train") from None


def fit_weights(samples: Sequence[Sample], start: Weights, pull: float) -> FittedWeights:
    """Fit weights to samples, with an L2 pull towards `start`. Raises UsageError if no sample can be learned from."""
    require_scipy()
    taught = [sample for sample in samples if sample.has_answer and KINDS.get(sample.kind)]
    counts = Counter(sample.kind for sample in taught)
    if not counts:
        raise UsageError("no task has an answer among its candidates", "make more tasks, or use another repository")
    origin = [[_select_weight({**start, RANKS: 1.0}, name, shape) for shape in SHAPES] for name in COLUMNS]
    queries = []
    for sample in taught:
        weight = KINDS[sample.kind] / max(counts[sample.kind], FEWEST_OF_A_KIND)
        values, relevance = sample.values, compute_relevance(sample)
        if sample.kind == TOPIC:  # without the section that the task was made from
            is_other = (values[:, SECTION] == 0) | (sample.credits >= 0)
            values, relevance = values[is_other], relevance[is_other]
        queries.append(TrainingQuery(values, relevance, sample.shares, weight))
    fitted, loss = fit_queries(queries, origin, pull, [select_bounds(name) for name in COLUMNS])
    learned = {name: dict(zip(SHAPES, row, strict=True)) for name, row in zip(COLUMNS, fitted, strict=True)}
    shipped: Weights = load_weights()["codelens"]["features"]
    untaught = {name: shipped.get(name, 0.0) for name in UNTAUGHT}
    return FittedWeights({**shipped, **learned, **untaught}, loss, dict(sorted(counts.items())))


def score_candidates(sample: Sample, weights: Weights) -> Floats:
    """Compute the score of each candidate; 1 is the best score that channel ranks alone can give."""
    weights, shares = {**weights, RANKS: 1.0}, dict(zip(SHAPES, sample.shares, strict=True))
    mixed = [math.fsum(share * _select_weight(weights, name, s) for s, share in shares.items()) for name in COLUMNS]
    values: Floats = sample.values @ np.array(mixed, np.float32)
    return values


def _select_weight(weights: Weights, name: str, shape: str) -> float:
    weight = weights.get(name, 0.0)
    return float(weight if isinstance(weight, float | int) else weight.get(shape, 0.0))


def compute_relevance(sample: Sample) -> Floats:
    """Compute each candidate's relevance: 1 for an answer, but SIDE for answers in tests, documentation and examples if others are
    in code; LOOSE for code that only the loose rule accepts."""
    answers = sample.credits >= 0
    in_code = answers & ~sample.aside
    beside = SIDE if in_code.any() else 1.0
    beyond = np.where(sample.loosely_right & ~sample.aside, LOOSE, 0.0)
    return np.where(in_code, 1.0, np.where(answers, beside, beyond)).astype(np.float32)

"""A profile: the numbers by which a search finds and ranks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from codelens.model.fast_dataclass import dataclass, field
from codelens.model.search import Intent


@dataclass(frozen=True, slots=True)
class Profile:
    """A named set of weights from weights.toml, with what the options changed."""

    ranker: str  # A module of `search.rankers`
    rrf_k: int
    channels: Mapping[str, float]
    cuts: Mapping[str, int]
    fields: Mapping[str, float]
    factors: Mapping[str, float]
    features: Mapping[str, float | Mapping[str, float]]
    """Feature → its weight, or its weight by set (`search.intent.SHAPES`), in units of the best possible fused score."""
    bm25f: Mapping[str, float] = field(default_factory=dict)
    """Column → its weight in the BM25F of the candidates (`search.evidence`); where a profile has none, those of `fields`."""
    graph: Mapping[str, Any] = field(default_factory=dict)  # Settings of the walk over the symbol graph
    composite: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Sections of a profile with a composite score (rankers/knowing.py); empty for one whose score is ranks and features."""
    expansion: Mapping[str, Any] = field(default_factory=dict)  # Settings of the breadth-first expansion
    minimum: Mapping[str, float] = field(default_factory=dict)  # Least shares of the best score, of text and of code
    confidence: Mapping[str, float] = field(default_factory=dict)
    """Sign of `search.confidence` → its log odds, with the floor; empty if hits have no confidence."""
    weakness: Mapping[str, float] = field(default_factory=dict)
    """Log odds that an answer is weak, and the probability from which on it is called so; empty if none is."""
    memory: Mapping[str, float] = field(default_factory=dict)
    """Signal of memory → weight; empty if memory does not count. As it stands for a composite, else in the unit of features."""
    quality: Mapping[str, float] = field(default_factory=dict)
    """Weights of the marketplace's signals, and the size of its pool; empty for a profile that has another formula."""
    aliases: bool = False  # True if short forms, and nothing else, expand words
    related: Mapping[str, float] = field(default_factory=dict)
    """Relation → how much a related word counts, with the limits of `search.lexicon`; empty if the lexicon takes no part."""
    keywords: Mapping[str, Any] = field(default_factory=dict)
    """Settings of keywords, which are looked for tier by tier; empty to look for all words of a query."""
    prefix: bool = False  # True if each word of a query is the beginning of words
    as_written: bool = False
    """True if `exact` finds words and not their stems, and `fuzzy` whatever holds a word of the query as a part."""
    own: str = ""  # The user's file that its numbers come from; empty for the shipped ones

    @property
    def by_intent(self) -> bool:
        """True if the weights depend on the kind of query."""
        return any(not isinstance(weight, float | int) for weight in self.features.values())

    def weighs(self, shape: str) -> bool:
        """True if there are weights for this kind of query."""
        return any(shape in weight for weight in self.features.values() if not isinstance(weight, float | int))

    def weights(self, intent: Intent | None) -> Mapping[str, float]:
        """Feature → what it weighs for such a query, without those of no weight."""
        unit, shares = 1.0 / (self.rrf_k + 1), intent.shares if intent else {}
        weights = {}
        for name, weight in self.features.items():
            if not isinstance(weight, float | int):
                weight = math.fsum(weight.get(shape, 0.0) * share for shape, share in shares.items())
            if weight:
                weights[name] = weight * unit
        return weights

    def takes(self, channel: str) -> bool:
        """True if what this channel finds can become a candidate: it has a weight, or finds for another part of the profile.

        Seeds and gaps of a composite are filled by channels without weight, and a person's own classes have a feature.
        """
        if not self.cuts.get(channel):
            return False
        by_feature = channel == "equivalence" and bool(self.features.get("own_class"))
        return by_feature or bool(self.composite) or self.channels[channel] > 0

    @property
    def of_memory(self) -> Mapping[str, float]:
        """Signal of memory → its weight in this profile's scores."""
        unit = 1.0 if self.composite else 1.0 / (self.rrf_k + 1)
        return {name: weight * unit for name, weight in self.memory.items()}

    @property
    def asks_graph(self) -> bool:
        """True if an index without edges changes more than a bonus."""
        return bool(self.composite or self.expansion)

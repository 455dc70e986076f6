"""weights.toml and the options of a search → the numbers that rank it: a named profile, with what the options changed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

from codelens.errors import UsageError
from codelens.model import Intent, SearchOptions
from codelens.nouns import dataclass
from codelens.search.fuse import FUSIONS
from codelens.search.spread import WALK
from codelens.search.weightfile import profiles as all_profiles
from codelens.search.weightfile import replaces

EXPANSIONS = ("none", "walk", "bfs")
WALKS_LIKE = "codelens"
EXPANDS_LIKE = "graph-memory"
"""The profiles whose settings `--expand walk` and `--expand bfs` take where a profile has none of its own."""


@dataclass(frozen=True, slots=True)
class Profile:
    """A named set of weights from weights.toml, with what the options changed."""

    rrf_k: int
    channels: Mapping[str, float]
    cuts: Mapping[str, int]
    fields: Mapping[str, float]
    bm25f: Mapping[str, float]
    """Column → its weight in the BM25F of the candidates (`search.evidence`); where a profile has none, those of `fields`."""
    factors: Mapping[str, float]
    features: Mapping[str, float | Mapping[str, float]]
    """Feature → its weight, or its weight by set (`search.intent.SHAPES`), in units of the best possible fused score."""
    graph: Mapping[str, Any]
    """Settings of the walk over the symbol graph; empty where there is none."""
    composite: Mapping[str, Mapping[str, Any]]
    """Sections of a profile whose score is knowing's composite; empty for one whose score is ranks and features."""
    expansion: Mapping[str, Any]
    """Settings of the breadth-first expansion; empty where there is none."""
    minimum: Mapping[str, float]
    """Least shares of the best score, of text and of code; empty where nothing is left out."""
    memory: Mapping[str, float] = field(default_factory=dict)
    """What is remembered → its weight; empty where memory counts nothing. Of a composite as it stands, else as of features."""
    quality: Mapping[str, float] = field(default_factory=dict)
    """Weights of the marketplace's signals, and the size of its pool; empty for a profile that has another formula."""
    aliases: bool = False
    """Whether the shipped aliases take part, and nothing else that expands words."""
    prefix: bool = False
    """Whether each word of a query is the beginning of words."""
    own: str = ""
    """The file of one's own that its features are from; empty where they are the shipped ones."""

    @property
    def by_intent(self) -> bool:
        """Whether it weighs some kinds of queries otherwise than others."""
        return any(not isinstance(weight, float | int) for weight in self.features.values())

    def weights(self, intent: Intent | None) -> Mapping[str, float]:
        """Feature → what it weighs for such a query, without those of no weight."""
        unit, shares = 1.0 / (self.rrf_k + 1), intent.shares if intent else {}
        found = {}
        for name, weight in self.features.items():
            if not isinstance(weight, float | int):
                weight = math.fsum(weight.get(shape, 0.0) * share for shape, share in shares.items())
            if weight:
                found[name] = weight * unit
        return found

    @property
    def of_memory(self) -> Mapping[str, float]:
        """What is remembered → what it weighs in this profile's scores."""
        unit = 1.0 if self.composite else 1.0 / (self.rrf_k + 1)
        return {name: weight * unit for name, weight in self.memory.items()}

    @property
    def asks_graph(self) -> bool:
        """Whether its answer is another where the index has no edges, more than by a bonus."""
        return bool(self.composite or self.expansion)


def load_profile(options: SearchOptions, own: str = "") -> Profile:
    """The profile that the options name, changed as they say; `own` is the setting `weights`.

    Raises UsageError for names that there are not, and SettingsError for a file of weights that cannot be taken.
    """
    profiles = all_profiles(own)
    if options.profile not in profiles:
        raise UsageError(f"no profile '{options.profile}'", f"profiles: {', '.join(profiles)}")
    row: Mapping[str, Any] = profiles[options.profile]
    if unknown := sorted(set(options.weights) - set(row["channels"])):
        raise UsageError(f"no channel '{unknown[0]}'", f"channels: {', '.join(sorted(row['channels']))}")
    if unasked := sorted(name for name in options.weights if not row["cuts"][name]):
        asked = sorted(name for name, cut in row["cuts"].items() if cut)
        raise UsageError(f"profile {options.profile} asks no channel '{unasked[0]}'", f"channels: {', '.join(asked)}")
    if options.fusion not in FUSIONS:
        raise UsageError(f"no fusion '{options.fusion}'", f"fusions: {', '.join(FUSIONS)}")
    if "quality" in row and options.fusion != "rrf":
        raise UsageError(f"profile {options.profile} joins channels by ranks alone", "leave --fusion out")
    profile = Profile(
        rrf_k=options.rrf_k or row["rrf_k"],
        channels={**row["channels"], **options.weights},
        cuts=row["cuts"],
        fields=row["fields"],
        bm25f=row.get("bm25f", row["fields"]),
        factors=row["factors"],
        features=row["features"],
        graph=row.get("graph", {}),
        composite={name: row[name] for name in ("seeds", "walk", "composite") if "composite" in row},
        expansion=row.get("expansion", {}),
        minimum=row.get("minimum", {}),
        memory=row.get("memory", {}),
        quality=row.get("quality", {}),
        aliases=row.get("aliases", False),
        prefix=row.get("prefix", False),
        own=own if replaces(own, options.profile) else "",
    )
    return _of_depth(_expanding(profile, options.expand, profiles), options)


def _expanding(profile: Profile, way: str, profiles: Mapping[str, Any]) -> Profile:
    """The same with another way over the graph; as it is where none is named."""
    if not way:
        return profile
    if way not in EXPANSIONS:
        raise UsageError(f"no expansion '{way}'", f"--expand is one of {', '.join(EXPANSIONS)}")
    if way == "walk":
        walking = profiles[WALKS_LIKE]
        if not profile.graph and not profile.composite:
            of_walk = {WALK: walking["features"][WALK]}
            profile = replace(profile, graph=walking["graph"], features={**profile.features, **of_walk})
        return replace(profile, expansion={})
    still = replace(profile, graph={})
    if profile.composite:
        walk = {**profile.composite["walk"], "hops": 0, "steps": 0}
        still = replace(still, composite={**profile.composite, "walk": walk})
    if way == "none":
        return replace(still, expansion={})
    return replace(still, expansion=profile.expansion or profiles[EXPANDS_LIKE]["expansion"])


def _of_depth(profile: Profile, options: SearchOptions) -> Profile:
    """--depth and --decay, for the ways that have them."""
    if options.decay is not None:
        if not profile.expansion:
            raise UsageError("--decay is of the expansion", "add --expand bfs")
        profile = replace(profile, expansion={**profile.expansion, "decay": options.decay})
    if options.depth is None:
        return profile
    if profile.expansion:
        return replace(profile, expansion={**profile.expansion, "depth": options.depth})
    if profile.composite and profile.composite["walk"]["steps"]:
        walk = {**profile.composite["walk"], "hops": options.depth}
        return replace(profile, composite={**profile.composite, "walk": walk})
    raise UsageError("--depth: what this profile does has no depth", "add --expand bfs")

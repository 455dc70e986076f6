"""List the ablations of a profile: the unchanged profile, then the profile without each of its parts.

The parts are read from the profile, so that a new signal has an ablation as soon as it has a weight.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from codelens.model.fast_dataclass import frozen_dataclass, replace
from codelens.model.request import SearchOptions
from codelens.search.retrieve import MODES
from codelens.search.run import Profile

GONE = None  # The value of an edit that removes a key

Edit = tuple[tuple[str, ...], Any]  # Path of a key in the profile, and its new value; GONE removes it

KINDS: Mapping[str, tuple[str, ...]] = {
    "calls": ("calls",),
    "contains and member_of": ("contains", "member_of"),
    "tests": ("tests",),
    "references and type_hint_of": ("references", "type_hint_of"),
    "bases and overrides": ("extends", "implements", "overrides", "inherits"),
}  # Name of an ablation → the edge kinds that it leaves out together

COMPOSITE: Mapping[str, Edit] = {
    "words of a cluster": (("keywords", "clusters"), False),
    "names of folders": (("keywords", "folders"), 0),
    "focus": (("composite", "seeds", "focus"), False),
    "neighbours' names": (("composite", "seeds", "neighbours"), 0.0),
    "implementors": (("composite", "seeds", "implementors"), False),
    "paths": (("composite", "seeds", "paths"), 0),
    "steps of the walk": (("composite", "walk", "steps"), 0),
    "edges against their direction": (("composite", "walk", "backward"), 0.0),
    "HITS": (("composite", "composite", "hits"), False),
}  # Name of an ablation → the edit that turns off a stage of a composite profile

SINGULAR: Mapping[str, str] = {"factors": "factor", "features": "feature"}
FIELDS = ("fields", "bm25f")  # Sections with weights of full-text columns
NOT_LISTED = frozenset({"channels", "cuts", *FIELDS, "graph", "composite", "expansion", "minimum", "keywords"})
"""Sections without an ablation for each name: they are ablated as a whole or by code below, or not at all."""
WALK = "walk"  # The walk's feature; profiles with a graph have a row for the walk instead


@frozen_dataclass
class Ablation:
    """An ablation: a line of the table, with its edits of the profile."""

    name: str
    edits: tuple[Edit, ...] = ()

    def __call__(self, profile: Profile) -> Profile:
        """Apply the edits to a profile."""
        for (section, *keys), value in self.edits:
            profile = replace(profile, **{section: _replace_value(getattr(profile, section), keys, value)})
        return profile


def _replace_value(section: Any, keys: Sequence[str], value: Any) -> Any:
    if not keys:
        return {} if value is GONE else value
    if len(keys) == 1 and value is GONE:
        return {name: content for name, content in section.items() if name != keys[0]}
    return {**section, keys[0]: _replace_value(section[keys[0]], keys[1:], value)}


def list_ablations(profile: Profile, options: SearchOptions) -> list[Ablation]:
    """List the ablations that apply to a profile; the first changes nothing."""
    ablations = [Ablation(options.profile), *_list_weight_ablations(profile, options), *_list_graph_ablations(profile)]
    if profile.composite:
        edits = ((name, edit) for name, edit in COMPOSITE.items() if _changes_profile(profile, edit))
        ablations += [Ablation(f"- {name}", (edit,)) for name, edit in edits]
    return ablations


def _list_weight_ablations(profile: Profile, options: SearchOptions) -> Iterator[Ablation]:
    """Yield an ablation for each channel, each field, and each weighted name of the remaining sections.

    Without a channel, its ranks, candidates and features are missing. A field is left out of the BM25 of the channel and of
    the candidates.
    """
    channels = [name for name in MODES.get(options.mode, ()) if profile.uses_channel(name)]
    for name in sorted(channels) if len(channels) > 1 else ():
        yield Ablation(f"- channel {name}", ((("channels", name), 0.0), (("cuts", name), 0)))
    for name in profile.fields:
        if weighing := [section for section in FIELDS if getattr(profile, section).get(name)]:
            yield Ablation(f"- field {name}", tuple(((section, name), 0.0) for section in weighing))
    for field in fields(profile):
        section = getattr(profile, field.name)
        if field.name in NOT_LISTED or not isinstance(section, Mapping):
            continue
        for name, weight in section.items():
            weighs = weight != 1.0 if field.name == "factors" else _has_weight(weight)
            if weighs and not (name == WALK and profile.graph):
                yield Ablation(f"- {SINGULAR.get(field.name, field.name)} {name}", (((field.name, name), GONE),))


def _has_weight(weight: Any) -> bool:
    return any(map(_has_weight, weight.values())) if isinstance(weight, Mapping) else bool(weight)


def _list_graph_ablations(profile: Profile) -> Iterator[Ablation]:
    if profile.graph:
        yield Ablation("- the walk", ((("graph",), GONE),))
        yield Ablation("- what only the walk finds", ((("graph", "joining"), 0),))
        yield Ablation("- edges against their direction", ((("graph", "backward"), 0.0),))
        for name, kinds in KINDS.items():
            present = [kind for kind in kinds if kind in profile.graph["kinds"]]
            if present:
                yield Ablation(f"- edges {name}", tuple((("graph", "kinds", kind), GONE) for kind in present))
    if profile.expansion:
        yield Ablation("- the expansion", ((("expansion",), GONE),))
    if profile.minimum:
        yield Ablation("- the least shares of the best", ((("minimum",), GONE),))


def _changes_profile(profile: Profile, edit: Edit) -> bool:
    (section, *keys), value = edit
    current = getattr(profile, section)
    for key in keys:
        if key not in current:
            return False
        current = current[key]
    return bool(current != value)

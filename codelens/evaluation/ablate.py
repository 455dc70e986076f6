"""A profile → the rows of a table: the profile as it is, and each part of it left out in turn.

The parts are read off the profile itself, so that a new signal has its row as soon as it has a weight. Only what a key
alone does not say is written by hand: kinds of edges by groups, and stages of the composite profiles.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from codelens.model import SearchOptions
from codelens.nouns import dataclass
from codelens.search.fuse import FUSIONS
from codelens.search.profiles import Profile
from codelens.search.retrieve import MODES

GONE = None
"""The value of an edit that takes a key away."""

Edit = tuple[tuple[str, ...], Any]
"""(section, key, …) of a profile, and the value that it gets: GONE takes it away."""

KINDS: Mapping[str, tuple[str, ...]] = {
    "calls": ("calls",),
    "contains and member_of": ("contains", "member_of"),
    "tests": ("tests",),
    "references and type_hint_of": ("references", "type_hint_of"),
    "bases and overrides": ("extends", "implements", "overrides", "inherits"),
}
"""Kinds of edges that say much the same."""

COMPOSITE: Mapping[str, Edit] = {
    "focus": (("composite", "seeds", "focus"), False),
    "neighbours' names": (("composite", "seeds", "neighbours"), 0.0),
    "implementors": (("composite", "seeds", "implementors"), 0),
    "paths": (("composite", "seeds", "paths"), 0),
    "steps of the walk": (("composite", "walk", "steps"), 0),
    "edges against their direction": (("composite", "walk", "backward"), 0.0),
    "HITS": (("composite", "composite", "hits"), False),
}
"""Stages of a composite profile."""

SINGULAR: Mapping[str, str] = {"factors": "factor", "features": "feature"}
FIELDS = ("fields", "bm25f")
"""Sections that weigh the columns of the full text."""
NOT_LISTED = frozenset({"channels", "cuts", *FIELDS, "graph", "composite", "expansion", "minimum"})
"""Sections that are no lists of parts: their rows are made one by one below."""
WALK = "walk"
"""What the walk adds has a row of the graph, where there is one."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: what is changed in the profile, and in the options."""

    name: str
    edits: tuple[Edit, ...] = ()
    fusion: str = ""

    def __call__(self, profile: Profile) -> Profile:
        """The profile with the edits made; the sections of the one given stay as they are."""
        for (section, *keys), value in self.edits:
            profile = replace(profile, **{section: _edited(getattr(profile, section), keys, value)})
        return profile

    def options(self, options: SearchOptions) -> SearchOptions:
        """The options of this row."""
        return replace(options, fusion=self.fusion) if self.fusion else options


def _edited(section: Any, keys: Sequence[str], value: Any) -> Any:
    if not keys:
        return {} if value is GONE else value
    if len(keys) == 1 and value is GONE:
        return {name: held for name, held in section.items() if name != keys[0]}
    return {**section, keys[0]: _edited(section[keys[0]], keys[1:], value)}


def rows(profile: Profile, options: SearchOptions) -> list[Row]:
    """All that make sense for this profile; the first leaves it as it is."""
    found = [Row(options.profile), *_channels(profile, options), *_fields(profile), *_listed(profile), *_graph(profile)]
    if profile.composite:
        found += [Row(f"- {name}", (edit,)) for name, edit in COMPOSITE.items() if _changes(profile, edit)]
    else:
        found += [Row(f"by {fusion}", fusion=fusion) for fusion in FUSIONS if fusion != options.fusion]
    return found


def _channels(profile: Profile, options: SearchOptions) -> Iterator[Row]:
    """A channel left out is not asked: it gives neither ranks nor candidates, nor what signals read from it."""
    asked = [name for name in MODES.get(options.mode, ()) if profile.cuts[name]]
    for name in sorted(asked) if len(asked) > 1 else ():
        yield Row(f"- channel {name}", ((("channels", name), 0.0), (("cuts", name), 0)))


def _fields(profile: Profile) -> Iterator[Row]:
    """A field left out counts neither in the channel's BM25 nor in that of the candidates."""
    for name in profile.fields:
        weighing = [section for section in FIELDS if getattr(profile, section).get(name)]
        if weighing:
            yield Row(f"- field {name}", tuple(((section, name), 0.0) for section in weighing))


def _listed(profile: Profile) -> Iterator[Row]:
    """Every key of the sections that map a name to what it weighs, be it by kinds of queries."""
    for field in fields(profile):
        section = getattr(profile, field.name)
        if field.name in NOT_LISTED or not isinstance(section, Mapping):
            continue
        for name, weight in section.items():
            weighs = weight != 1.0 if field.name == "factors" else _weighs(weight)
            if weighs and not (name == WALK and profile.graph):
                yield Row(f"- {SINGULAR.get(field.name, field.name)} {name}", (((field.name, name), GONE),))


def _weighs(weight: Any) -> bool:
    return any(map(_weighs, weight.values())) if isinstance(weight, Mapping) else bool(weight)


def _graph(profile: Profile) -> Iterator[Row]:
    if profile.graph:
        yield Row("- the walk", ((("graph",), GONE),))
        yield Row("- what only the walk finds", ((("graph", "joining"), 0),))
        yield Row("- edges against their direction", ((("graph", "backward"), 0.0),))
        for name, kinds in KINDS.items():
            held = [kind for kind in kinds if kind in profile.graph["kinds"]]
            if held:
                yield Row(f"- edges {name}", tuple((("graph", "kinds", kind), GONE) for kind in held))
    if profile.expansion:
        yield Row("- the expansion", ((("expansion",), GONE),))
    if profile.minimum:
        yield Row("- the least shares of the best", ((("minimum",), GONE),))


def _changes(profile: Profile, edit: Edit) -> bool:
    (section, *keys), value = edit
    held = getattr(profile, section)
    for key in keys:
        if key not in held:
            return False
        held = held[key]
    return bool(held != value)

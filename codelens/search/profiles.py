"""Loads the profile that ranks a search from weights.toml and the user's weights, and applies the options to it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from codelens.config import load_weights
from codelens.errors import SettingsError, UsageError
from codelens.graph.surroundings import UNKNOWN
from codelens.model.fast_dataclass import replace
from codelens.model.graph import IMPLIED_KINDS, KINDS
from codelens.model.request import SearchOptions
from codelens.search.company import COMPANY
from codelens.search.features import FEATURES
from codelens.search.fuse import FUSIONS
from codelens.search.intent import SHAPES
from codelens.search.run import Profile
from codelens.search.walk import WALK
from codelens.text.notation import parse_toml, read_own_file

SECTION = "features"
FURTHER = "further"
"""Weight of further hits of one file; no feature, since it depends on other candidates (search/order.py)."""
NAMES = (*FEATURES, WALK, *COMPANY, FURTHER)
STAGES = ("seeds", "walk", "composite")  # Tables of a profile with a composite score
WHAT_IF = ("keywords", *STAGES)  # Tables of such a profile whose values a user's file may change one by one
PROFILE_FIELDS = frozenset(Profile.__annotations__)  # Tables and values of weights.toml that become fields of a profile
SIZES, KINDS_TABLE = "seeds.seeds", "kinds"
EDGE_KINDS = frozenset((*KINDS, *IMPLIED_KINDS, UNKNOWN))
MOST_SETTING = 1e9
MOST = 1000.0
"""Largest weight that is accepted. Features and the best fused rank are at most about 1, so a larger weight is a mistake."""
LARGEST = 1_000_000  # Most bytes of a user's file of weights; one with every feature in every set has 6000
HINT = "the setting `weights` names a file as `codelens eval tune --keep FILE` writes: [codelens.features], bm25 = { change = 1.5 }"


def load_all_profiles(own: str = "") -> Mapping[str, Any]:
    """Load profile → section → number. The user's features replace the shipped ones, other tables merge. Raises SettingsError."""
    profiles = dict(load_weights())
    for profile, tables in read_own_weights(own).items():
        row = profiles[profile]
        merged = {n: table if n == SECTION else _merge_table(row.get(n, {}), table) for n, table in tables.items()}
        profiles[profile] = {**row, **merged}
    return profiles


def read_own_weights(own: str) -> Mapping[str, Mapping[str, Any]]:
    """Read profile → section → number from a user's file; empty if `own` names no file. Raises SettingsError."""
    return _parse_weights(read_own_file(own, "weights", HINT, LARGEST), own) if own else {}


def _merge_table(shipped: Mapping[str, Any], table: Mapping[str, Any]) -> Mapping[str, Any]:
    """Replace values of a shipped table by the user's; in the table of weights by kind of edge, only those that the user names."""
    return {**shipped, **{key: _merge_table(shipped[key], v) if key == KINDS_TABLE else v for key, v in table.items()}}


@lru_cache(maxsize=4)
def _parse_weights(text: str, own: str) -> Mapping[str, Mapping[str, Any]]:
    try:
        rows = parse_toml(text)
        if not rows:
            raise ValueError("it has no weights")
        return {name: _check_profile(name, row) for name, row in rows.items()}
    except ValueError as fault:
        raise SettingsError(f"{own}: {fault}", HINT) from None


def _check_profile(name: str, row: Any) -> Mapping[str, Any]:
    """Check the tables of a user's profile and return their values. Raises ValueError."""
    if name not in load_weights():
        raise ValueError(f"there is no profile '{name}'")
    shipped = load_weights()[name]
    tables = (SECTION, *(WHAT_IF if "composite" in shipped else ()))
    if not isinstance(row, dict) or not row or not all(t in tables and isinstance(row[t], dict) for t in row):
        allowed = ", ".join(f"[{name}.{table}]" for table in tables)
        raise ValueError(f"for profile '{name}' only the tables {allowed} are allowed")
    checked: dict[str, Any] = {}
    for table, values in row.items():
        if table != SECTION:
            known = shipped[table]
            checked[table] = {key: _check_setting(f"{table}.{key}", known.get(key), v) for key, v in values.items()}
            continue
        checked[table] = weights = dict[str, Any]()
        for feature, weight in values.items():
            if feature not in NAMES:
                raise ValueError(f"there is no feature '{feature}'")
            if not isinstance(weight, dict):
                weights[feature] = _check_weight(feature, weight)
                continue
            if unknown := [shape for shape in weight if shape not in SHAPES]:
                sets = ", ".join(SHAPES)
                raise ValueError(f"'{feature}': there is no set of weights '{unknown[0]}'; there are {sets}")
            weights[feature] = {shape: _check_weight(feature, value) for shape, value in weight.items()}
    return checked


def _check_setting(key: str, shipped: Any, value: Any) -> Any:
    """Check that a value is of the same type as the shipped one, and return it. Raises ValueError."""
    if shipped is None:
        raise ValueError(f"there is no '{key}'")
    if key == SIZES and not isinstance(value, dict | bool):
        value = {"0": value}
    for kind, what in ((bool, "true or false"), (dict, "a table")):
        if isinstance(shipped, kind) != isinstance(value, kind):
            raise ValueError(f"'{key}' must be {what if isinstance(shipped, kind) else 'a number'}, not {value!r}")
    if isinstance(value, bool):
        return value
    if isinstance(value, dict):
        known = str.isdecimal if key == SIZES else EDGE_KINDS.__contains__
        if unknown := [name for name in value if not known(name)]:
            raise ValueError(f"there is no '{key}.{unknown[0]}'")
        return {name: _check_number(f"{key}.{name}", n, int if key == SIZES else float) for name, n in value.items()}
    return _check_number(key, value, type(shipped))


def _check_number(key: str, value: Any, kind: type) -> float:
    if kind is int and not isinstance(value, int):
        raise ValueError(f"'{key}' must be a whole number, not {value!r}")
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= MOST_SETTING:
        raise ValueError(f"'{key}' must be a number from 0 to {MOST_SETTING:g}, not {value!r}")
    return value


def _check_weight(feature: str, value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ValueError(f"'{feature}' must be a number, or a number for each set, not {value!r}")
    if not abs(value) <= MOST:  # so that no NaN passes
        raise ValueError(f"'{feature}' must be from -{MOST:g} to {MOST:g}, not {value!r}")
    return float(value)


EXPANSIONS = ("none", "walk", "bfs")
WALKS_LIKE = "codelens"
EXPANDS_LIKE = "graph-memory"
"""The profiles whose settings `--expand walk` and `--expand bfs` use if the profile has none of its own."""


def load_profile(options: SearchOptions, own: str = "") -> Profile:
    """Load the profile that the options name, and change it by the other options; `own` is the setting `weights`.

    Raises UsageError for unknown names, and SettingsError for a faulty file of weights.
    """
    profiles = load_all_profiles(own)
    if options.profile not in profiles:
        raise UsageError(f"no profile '{options.profile}'", f"profiles: {', '.join(profiles)}")
    row: Mapping[str, Any] = profiles[options.profile]
    if unknown := sorted(set(options.weights) - set(row["channels"])):
        raise UsageError(f"no channel '{unknown[0]}'", f"channels: {', '.join(sorted(row['channels']))}")
    if unused := sorted(name for name in options.weights if not row["cuts"].get(name)):
        channels = f"channels: {', '.join(sorted(name for name, cut in row['cuts'].items() if cut))}"
        raise UsageError(f"profile {options.profile} does not use the channel '{unused[0]}'", channels)
    if options.fusion not in FUSIONS:
        raise UsageError(f"no fusion '{options.fusion}'", f"fusions: {', '.join(FUSIONS)}")
    if "quality" in row and options.fusion != "rrf":
        raise UsageError(f"profile {options.profile} joins channels only by rank", "leave out --fusion")
    given = {name: value for name, value in row.items() if name in PROFILE_FIELDS}
    profile = replace(
        Profile(**given),
        rrf_k=options.rrf_k or row["rrf_k"],
        channels={**row["channels"], **options.weights},
        bm25f=row.get("bm25f", row["fields"]),
        composite={name: row[name] for name in STAGES if "composite" in row},
        own=own if options.profile in read_own_weights(own) else "",
    )
    return _set_depth(_set_expansion(profile, options.expand, profiles), options)


def _set_expansion(profile: Profile, way: str, profiles: Mapping[str, Any]) -> Profile:
    """Set the profile's way of following the graph to a value of --expand; an empty string leaves it unchanged."""
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
    still = replace(_change_walk(profile, hops=0, steps=0) if profile.composite else profile, graph={})
    if way == "none":
        return replace(still, expansion={})
    return replace(still, expansion=profile.expansion or {**profiles[EXPANDS_LIKE]["expansion"], "closed": False})


def _change_walk(profile: Profile, **settings: int) -> Profile:
    """Change settings of the walk of a composite score."""
    return replace(profile, composite={**profile.composite, "walk": {**profile.composite["walk"], **settings}})


def _set_depth(profile: Profile, options: SearchOptions) -> Profile:
    """Apply --depth, --decay and --min-score to the profile's expansion or walk. Raises UsageError if it has none."""
    given: dict[str, Any] = {"decay": options.decay, "depth": options.depth}
    if profile.expansion.get("closed"):
        given["minimum"] = options.min_score
    if profile.expansion:
        changes = {name: value for name, value in given.items() if value is not None}
        return replace(profile, expansion={**profile.expansion, **changes})
    if options.decay is not None:
        raise UsageError("--decay needs an expansion", "add --expand bfs")
    if options.depth is None:
        return profile
    if profile.composite and profile.composite["walk"]["steps"]:
        return _change_walk(profile, hops=options.depth)
    raise UsageError("--depth does not apply to this profile", "add --expand bfs")

"""A TOML file of weights of one's own → the profiles with its tables in the place of their own: the one door to all weights.

It may hold the features of any profile, as `codelens tune` writes them; a table replaces the whole of the shipped one, so that
a file says all that it means.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from codelens.config import load_weights
from codelens.errors import SettingsError
from codelens.notation import parse_toml
from codelens.search.features import FEATURES
from codelens.search.intent import SHAPES
from codelens.search.ownfiles import read_own_file
from codelens.search.spread import WALK

SECTION = "features"
FURTHER = "further"
"""What further hits of one file weigh, which is no value of a candidate alone (search/signals.py)."""
NAMES = (*FEATURES, WALK, FURTHER)
MOST = 1000.0
"""Size of a weight. A value is at most about 1, and the best that all ranks can give is 1: more is a slip of the pen. Chosen."""
LARGEST = 1_000_000
"""Bytes of such a file; one with every feature in every set has 6000."""
HINT = "the setting `weights` names a file as `codelens tune --keep FILE` writes it: [codelens.features], bm25 = { change = 1.5 }"


def profiles(own: str = "") -> Mapping[str, Any]:
    """Profile → section → number, with what a file of one's own replaces. Raises SettingsError for one that cannot be taken."""
    shipped = load_weights()
    if not own:
        return shipped
    replaced = _parsed(read_own_file(own, "weights", HINT, LARGEST), own)
    return {name: {**row, **replaced.get(name, {})} for name, row in shipped.items()}


def replaces(own: str, profile: str) -> bool:
    """Whether a file of one's own has anything of this profile."""
    return bool(own) and profile in _parsed(read_own_file(own, "weights", HINT, LARGEST), own)


@lru_cache(maxsize=4)
def _parsed(text: str, own: str) -> Mapping[str, Mapping[str, Any]]:
    try:
        rows = parse_toml(text)
        if not rows:
            raise ValueError("it has no weights")
        return {name: _profile(name, row) for name, row in rows.items()}
    except ValueError as fault:
        raise SettingsError(f"{own}: {fault}", HINT) from None


def _profile(name: str, row: Any) -> Mapping[str, Any]:
    if name not in load_weights():
        raise ValueError(f"there is no profile '{name}'")
    if not isinstance(row, dict) or list(row) != [SECTION] or not isinstance(row[SECTION], dict):
        raise ValueError(f"of profile '{name}' it may have the table [{name}.{SECTION}] alone")
    return {SECTION: {feature: _weight(feature, weight) for feature, weight in row[SECTION].items()}}


def _weight(feature: str, weight: Any) -> float | Mapping[str, float]:
    if feature not in NAMES:
        raise ValueError(f"there is no feature '{feature}'")
    if not isinstance(weight, dict):
        return _number(feature, weight)
    if unknown := [shape for shape in weight if shape not in SHAPES]:
        raise ValueError(f"'{feature}': there is no set of weights '{unknown[0]}'; there are {', '.join(SHAPES)}")
    return {shape: _number(feature, value) for shape, value in weight.items()}


def _number(feature: str, value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ValueError(f"'{feature}' wants a number, or one for each set, not {value!r}")
    if not abs(value) <= MOST:  # so that no NaN passes
        raise ValueError(f"'{feature}' is from -{MOST:g} to {MOST:g}, not {value!r}")
    return float(value)

"""The rows of an ablation: each changes something, and none is forgotten."""

from __future__ import annotations

from dataclasses import replace

import pytest

from codelens.config import load_weights
from codelens.evaluation.ablate import GONE, Ablation, list_ablations
from codelens.model.request import SearchOptions
from codelens.search.profiles import load_profile
from codelens.search.run import Profile

PROFILES = tuple(load_weights())


def of(profile: str, **options: str) -> tuple[Profile, list[Ablation]]:
    asked = SearchOptions(profile=profile, **options)  # type: ignore[arg-type]
    loaded = load_profile(asked)
    return loaded, list_ablations(loaded, asked)


@pytest.mark.parametrize("name", PROFILES)
def test_every_row_but_the_first_changes_something(name: str) -> None:
    """A row that leaves out what the profile does not have would measure the profile twice."""
    profile, found = of(name)
    assert found[0](profile) == profile
    for row in found[1:]:
        assert row(profile) != profile, row.name


@pytest.mark.parametrize("name", PROFILES)
def test_rows_can_be_named_on_the_command_line(name: str) -> None:
    """They are parted by commas there."""
    names = [row.name for row in of(name)[1]]
    assert len(set(names)) == len(names)
    assert not any("," in row for row in names)


def test_every_signal_has_its_row() -> None:
    """Read off the profile, so that a new one is measured as soon as it has a weight."""
    profile, found = of("codelens")
    names = {row.name for row in found}
    assert {f"- feature {name}" for name, weight in profile.features.items() if weight and name != "walk"} <= names
    assert {f"- factor {name}" for name, factor in profile.factors.items() if factor != 1} <= names
    assert {f"- channel {name}" for name, cut in profile.cuts.items() if cut} <= names
    assert "- the walk" in names
    more = replace(profile, features={**profile.features, "fashion": {"task": 1.0}, "idle": {"task": 0.0}})
    assert {row.name for row in list_ablations(more, SearchOptions())} - names == {"- feature fashion"}


def test_what_is_left_out_is_gone_and_nothing_else() -> None:
    profile, found = of("codelens")
    by_name = {row.name: row(profile) for row in found}
    kept = {name: weight for name, weight in profile.features.items() if name != "coverage"}
    assert by_name["- feature coverage"] == replace(profile, features=kept)
    without = by_name["- channel vector"]
    assert (without.channels["vector"], without.cuts["vector"]) == (0, 0)
    assert (by_name["- field body"].fields["body"], by_name["- field body"].bm25f["body"]) == (0, 0)
    assert set(by_name["- edges calls"].graph["kinds"]) == set(profile.graph["kinds"]) - {"calls"}
    assert by_name["- the walk"].graph == {}
    assert load_profile(SearchOptions()) == profile


def test_a_mode_has_rows_for_its_own_channels() -> None:
    names = {row.name for row in of("codelens", mode="keyword")[1]}
    assert "- channel exact" in names
    assert "- channel vector" not in names
    assert not any(row.name.startswith("- channel") for row in of("codelens", mode="vector")[1])


def test_edits_go_as_deep_as_the_limit() -> None:
    profile = load_profile(SearchOptions(profile="knowing"))
    changed = Ablation("x", ((("composite", "seeds", "paths"), 0), (("composite", "walk", "kinds", "calls"), GONE)))(
        profile
    )
    assert changed.composite["seeds"] == {**profile.composite["seeds"], "paths": 0}
    assert "calls" not in changed.composite["walk"]["kinds"]
    assert "calls" in profile.composite["walk"]["kinds"]

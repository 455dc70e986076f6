"""The setting `weights`: a user's file that replaces the shipped feature weights."""

from __future__ import annotations

from pathlib import Path

import pytest

from codelens.config import load_weights
from codelens.errors import SettingsError
from codelens.evaluation.tune import format_features
from codelens.model.request import SearchOptions
from codelens.search.profiles import load_profile

ONE = "[codelens.features]\nparts = 7.5\nbm25 = { question = 2, change = 1.0 }\n"


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "own.toml"
    path.write_text(ONE)
    return path


def test_a_table_replaces_the_whole_of_the_shipped_one(own: Path) -> None:
    shipped, loaded = load_profile(SearchOptions()), load_profile(SearchOptions(), str(own))
    assert loaded.features == {"parts": 7.5, "bm25": {"question": 2.0, "change": 1.0}}
    assert (loaded.own, shipped.own) == (str(own), "")
    assert (loaded.channels, loaded.graph) == (shipped.channels, shipped.graph)
    other = load_profile(SearchOptions(profile="rrf"), str(own))
    assert (other.features, other.own) == ({}, "")


def test_a_file_that_changes_is_read_again(own: Path) -> None:
    load_profile(SearchOptions(), str(own))
    own.write_text("[codelens.features]\nlines = 1\n[rrf.features]\nlines = 2\n")
    assert load_profile(SearchOptions(), str(own)).features == {"lines": 1.0}
    assert load_profile(SearchOptions(profile="rrf"), str(own)).features == {"lines": 2.0}


def test_the_expansion_by_a_walk_has_the_own_weights_too(own: Path) -> None:
    own.write_text("[codelens.features]\nwalk = 0.125\n")
    options = SearchOptions(profile="rrf", expand="walk")
    assert load_profile(options, str(own)).features == {"walk": 0.125}
    assert load_profile(options).features != {"walk": 0.125}


def test_settings_of_knowings_stages_change_what_is_named_and_nothing_else(own: Path) -> None:
    own.write_text(
        "[knowing.seeds]\nseeds = 7\nfocus = false\ndense = 0\n[knowing.walk]\nprecise = 1\nkinds = { imports = 0 }\n"
    )
    options = SearchOptions(profile="knowing")
    shipped, loaded = load_profile(options), load_profile(options, str(own))
    assert loaded.composite["seeds"] == {**shipped.composite["seeds"], "seeds": {"0": 7}, "focus": False, "dense": 0}
    kinds = {**shipped.composite["walk"]["kinds"], "imports": 0}
    assert loaded.composite["walk"] == {**shipped.composite["walk"], "precise": 1, "kinds": kinds}
    assert (loaded.composite["composite"], loaded.features) == (shipped.composite["composite"], shipped.features)
    assert load_profile(SearchOptions(profile="knowing-base"), str(own)).composite["seeds"]["focus"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "it has no weights"),
        ("[codelens", "at end of document"),
        ("a = 1", "there is no profile 'a'"),
        ("[mine.features]\nbm25 = 1", "there is no profile 'mine'"),
        ("[codelens.cuts]\nexact = 1", "only the tables [codelens.features] are allowed"),
        ("[codelens]\nfeatures = 1", "only the tables [codelens.features] are allowed"),
        ("[codelens.seeds]\nfocus = true", "only the tables [codelens.features] are allowed"),
        ("[knowing.cuts]\nexact = 1", "[knowing.keywords], [knowing.seeds], [knowing.walk], [knowing.composite]"),
        ("[knowing.seeds]\nfokus = true", "there is no 'seeds.fokus'"),
        ("[knowing.seeds]\nfocus = 1", "'seeds.focus' must be true or false, not 1"),
        ("[knowing.seeds]\ndense = true", "'seeds.dense' must be a number, not True"),
        ("[knowing.seeds]\ndense = 0.5", "'seeds.dense' must be a whole number, not 0.5"),
        ("[knowing.seeds]\nseeds = { many = 2 }", "there is no 'seeds.seeds.many'"),
        ("[knowing.walk]\nprecise = -1", "'walk.precise' must be a number from 0 to"),
        ("[knowing.walk]\nprecise = nan", "'walk.precise' must be a number from 0 to"),
        ("[knowing.walk]\nkinds = { cells = 1 }", "there is no 'walk.kinds.cells'"),
        ("[knowing.walk]\nkinds = 1", "'walk.kinds' must be a table, not 1"),
        ("[codelens.features]\nbm26 = 1", "there is no feature 'bm26'"),
        ("[codelens.features]\nbm25 = { story = 1 }", "there is no set of weights 'story'"),
        ("[codelens.features]\nbm25 = { task = '1' }", "'bm25' must be a number"),
        ("[codelens.features]\nbm25 = true", "'bm25' must be a number"),
        ("[codelens.features]\nbm25 = nan", "'bm25' must be from -1000 to 1000, not nan"),
        ("[codelens.features]\nbm25 = -inf", "'bm25' must be from -1000 to 1000, not -inf"),
        ("[codelens.features]\nbm25 = 1e9", "'bm25' must be from -1000 to 1000"),
        ('[codelens.features]\nbm25 = "\\udc80"', "line 2"),
    ],
)
def test_a_faulty_file_of_weights_is_an_error_with_a_hint(text: str, told: str, own: Path) -> None:
    own.write_text(text)
    with pytest.raises(SettingsError) as caught:
        load_profile(SearchOptions(), str(own))
    assert told in str(caught.value)
    assert str(caught.value).startswith(f"{own}: ")
    assert "\n" not in str(caught.value)
    assert "codelens eval tune" in caught.value.hint


def test_an_unreadable_file_of_weights_is_an_error(own: Path) -> None:
    own.write_bytes(b"\xff")
    for place in (str(own), str(own.parent), str(own.parent / "none"), "a\0b"):
        with pytest.raises(SettingsError):
            load_profile(SearchOptions(), place)
    own.write_text("# " + "x" * 1_000_000 + "\n" + ONE)
    with pytest.raises(SettingsError, match="too large"):
        load_profile(SearchOptions(), str(own))


def test_a_users_file_may_set_everything_that_is_shipped(own: Path) -> None:
    own.write_text(format_features(load_weights()["codelens"]["features"]))
    assert load_profile(SearchOptions(), str(own)).features == load_weights()["codelens"]["features"]

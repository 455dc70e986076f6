"""Equivalence classes: what a query must say, what is looked up then, how much of it, and what a person's own classes do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from codelens.config import Settings
from codelens.errors import SettingsError
from codelens.lang.registry import languages
from codelens.model.search import SearchResult
from codelens.search.channels.equivalence import (
    SHIPPED,
    SHIPPED_WEIGHT,
    EquivalenceClass,
    load_shipped_classes,
    load_user_classes,
    match_classes,
    select_targets,
    split_into_stems,
)
from tests.search.trees import Tree, ask, ask_one, checked, find, functions, names

IMPACT = EquivalenceClass("impact", ("blast radius", "ripple", "rippling", "impact"), ("callers_of",), 0.8)


def strengths(text: str, concept: EquivalenceClass = IMPACT) -> list[tuple[tuple[str, ...], bool]]:
    return [(m.phrases, m.is_strong) for m in match_classes(split_into_stems([text]), [concept])]


@pytest.mark.parametrize(
    "text", ["blast radius", "find blast radius", "Computing the BLAST RADIUS of it", "blastRadius", "blast_radius?"]
)
def test_a_phrase_is_found_word_by_word_whatever_stands_around_it(text: str) -> None:
    assert strengths(text) == [(("blast radius",), True)]


@pytest.mark.parametrize("text", ["ablast radius", "blast radiused1", "radius blast", "blast wave radius", "", "blast"])
def test_a_phrase_is_no_substring_and_has_an_order(text: str) -> None:
    assert strengths(text) == []


def test_a_phrase_spans_no_two_parts_of_a_query() -> None:
    assert match_classes(split_into_stems(["the blast", "radius of it"]), [IMPACT]) == []


def test_strong_are_two_phrases_or_one_of_several_words() -> None:
    assert strengths("ripple") == [(("ripple",), False)]
    assert strengths("ripples that are rippling") == [(("ripple",), False)], "phrases with one stem are one"
    assert strengths("the ripple and its impact") == [(("ripple", "impact"), True)]


def test_targets_that_are_short_or_say_nothing_are_skipped() -> None:
    targets = ("get", "Get", "call", "post", "url", "callers_of", "callersOf", "Call_")
    assert select_targets(EquivalenceClass("x", ("y",), targets, 1.0)) == ["callersof"]


# The channel


PHRASED = """
[impact]
phrases = 'blast radius, ripple'
targets = 'callers_of'
"""


def with_classes(folder: Path, text: str, files: dict[str, str | bytes]) -> Tree:
    own = folder / "classes.toml"
    own.write_text(text)
    return Tree(folder, files, Settings(jobs=1, classes=str(own)))


FILES: dict[str, str | bytes] = {
    "a.py": "def radius_of_blast():\n    '''The blast radius.'''\n\n\ndef callers_of():\n    pass\n",
    "b.go": "package b\n\nfunc CallersOf() {}\n",
    "test_a.py": "def callersOf():\n    pass\n",
}


def given(result: SearchResult) -> list[str]:
    """The names that the channel gave, in its order."""
    of = {c.unit.id: c.unit.name for c in result.trace.candidates}
    return [of[match.unit] for match in result.trace.rankings["equivalence"]]


def test_a_strong_match_of_an_own_class_goes_to_the_top_and_says_why(tmp_path: Path) -> None:
    with with_classes(tmp_path, PHRASED, FILES).index() as index:
        result = find(index, "find the blast radius")
        assert names(result)[:2] == ["callers_of", "CallersOf"], "and the one in a test is still a test"
        assert given(result) == ["callers_of", "CallersOf", "callersOf"]
        reason = '"blast radius" of class impact names callersof'
        assert [(c.amount > 0.1, c.reason) for c in result.hits[0].contributions if c.source == "own_class"] == [
            (True, reason)
        ]
        match = result.trace.rankings["equivalence"][0]
        assert (match.raw_score, match.reason) == (1.0, reason)
        why = checked(index, "find the blast radius")
        assert "own_class" in {part["source"] for part in why["explanations"][0]["candidate"]["contributions"]}


def test_a_single_word_of_an_own_class_finds_and_does_not_go_to_the_top(tmp_path: Path) -> None:
    with with_classes(tmp_path, PHRASED, FILES).index() as index:
        result = find(index, "ripple of a blast")
        assert result.hits[0].unit.name == "radius_of_blast"
        assert sorted(given(result)) == ["CallersOf", "callersOf", "callers_of"]
        assert {c.source for hit in result.hits for c in hit.contributions} & {"own_class"} == set()


@pytest.mark.slow
@pytest.mark.parametrize("where", ["languages = 'golang'\n{}", "{}languages = 'go rust'"])
def test_a_class_stays_within_its_languages(where: str, tmp_path: Path) -> None:
    with with_classes(tmp_path, where.format(PHRASED), FILES).index() as index:
        assert given(find(index, "blast radius")) == ["CallersOf"]


def test_filters_hold_for_what_classes_name(tmp_path: Path) -> None:
    with with_classes(tmp_path, PHRASED, FILES).index() as index:
        assert given(find(index, "lang:py blast radius -is:test")) == ["callers_of"]


def test_a_class_of_less_weight_does_not_go_to_the_top(tmp_path: Path) -> None:
    with with_classes(tmp_path, PHRASED + "weight = 0.89\n", FILES).index() as index:
        result = find(index, "blast radius")
        assert result.hits[0].unit.name == "radius_of_blast"
        assert len(given(result)) == 3


def test_classes_give_at_most_twice_what_words_and_names_found(tmp_path: Path) -> None:
    text = "[many]\nphrases = 'blast radius'\ntargets = '" + " ".join(f"widget_{i:04}" for i in range(9)) + "'\n"
    files: dict[str, str | bytes] = {"w.py": functions(9), "b.py": "def blast():\n    pass\n"}
    with with_classes(tmp_path, text, files).index() as index:
        result = find(index, "blast radius")
        found = len(result.trace.rankings["exact"]) + len(result.trace.rankings["symbol"])
        assert found == 2
        assert given(result) == [f"widget_{i:04}" for i in range(2 * found)]
        assert result.trace.cuts["equivalence"] == 2 * found
        loss = ask_one(index, "blast radius", "widget_0006").loss
        assert loss is not None
        assert (loss.stage, loss.text) == ("cut", "equivalence ranks it 7, and gives 4 matches")


def test_where_words_and_names_find_nothing_classes_are_not_cut(tmp_path: Path) -> None:
    with with_classes(tmp_path, PHRASED, {"b.go": FILES["b.go"]}).index() as index:
        result = find(index, "blast radius")
        assert result.trace.rankings["exact"] == result.trace.rankings["symbol"] == ()
        assert names(result) == ["CallersOf"]


def test_one_name_that_many_bear_does_not_fill_the_list(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {f"m{i}.py": "def callers_of():\n    return 'ripple'\n" for i in range(30)}
    files["z.py"] = "def transitive():\n    pass\n"
    text = PHRASED.replace("callers_of", "callers_of transitive")
    with with_classes(tmp_path, text, files).index() as index:
        assert given(find(index, "blast radius of a ripple")) == ["callers_of"] * 20 + ["transitive"]


def test_shipped_classes_take_part_where_the_channel_has_weight(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"a.py": "class Throttle:\n    pass\n\n\ndef limit_text():\n    pass\n"}
    with Tree(tmp_path, files).index() as index:

        def rated(query: str, **options: Any) -> list[str]:
            return given(find(index, query, **options))

        assert rated("add a rate limit", weights={"equivalence": 1.0}) == ["Throttle"]
        assert rated("add a rate limit", profile="rrf") == ["Throttle"]
        known = find(index, "add a rate limit", profile="knowing").trace.rankings["equivalence"]
        assert [match.raw_score for match in known] == [0.8]
        assert rated("throttling", profile="rrf") == [], "a single word is too little"
        unweighted = find(index, "add a rate limit", profile="rrf", weights={"equivalence": 0.0})
        assert "equivalence" not in unweighted.trace.rankings
        assert "equivalence" not in find(index, "rate limit", mode="exact", profile="rrf").trace.rankings


# Files of classes


def test_an_own_file_as_a_person_writes_it(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text("[a]\nphrases = ' big  Radius ,, ripple'\ntargets = 'callersOf Impact'\nweight = 1\n")
    assert load_user_classes(file) == [
        EquivalenceClass("a", ("big  Radius", "ripple"), ("callersOf", "Impact"), 1.0, (), True)
    ]


WRONG = [
    ("[a]\nphrases = ", "Invalid value (at "),
    ("a = 1", "'a' is not a class"),
    ("[a]\nphrases = 'b c'", "class 'a' has no targets"),
    ("[a]\ntargets = 'impact'", "class 'a' has no phrases"),
    ("[a]\nphrases = ', '\ntargets = 'impact'", "class 'a' has no phrases"),
    ("[a]\nphrases = ['b']\ntargets = 'impact'", "class 'a': phrases must be a string, not ['b']"),
    ("[a]\nphrases = 'b'\ntargets = 'get url'", "class 'a': all its targets are shorter than 4 letters, or too"),
    ("[a]\nphrases = 'b'\ntargets = 'impact'\nweight = 2", "class 'a': weight must be above 0 and at most 1, not 2"),
    (
        "[a]\nphrases = 'b'\ntargets = 'impact'\nweight = nan",
        "class 'a': weight must be above 0 and at most 1, not nan",
    ),
    ("[a]\nphrases = 'b'\ntargets = 'impact'\nphrase = 'c'", "class 'a' has no 'phrase'"),
    ("languages = 'klingon'\n[a]\nphrases = 'b'\ntargets = 'impact'", "there is no language 'klingon'"),
    ("languages = ['go']\n", "languages must be a string with spaces between the names, not ['go']"),
]


@pytest.mark.parametrize(("text", "said"), WRONG)
def test_a_file_that_cannot_be_taken_is_named(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text(text)
    with pytest.raises(SettingsError) as fault:
        load_user_classes(file)
    assert str(fault.value).startswith(f"{file}: {said}")
    assert fault.value.hint.startswith("a class is a table: ")


def test_a_file_that_is_not_there_or_no_text_is_named_by_every_search(tmp_path: Path) -> None:
    tree = with_classes(tmp_path, "", FILES)
    for content in (None, b"\xff"):
        (tmp_path / "classes.toml").unlink() if content is None else (tmp_path / "classes.toml").write_bytes(content)
        with tree.index() as index:
            for way in (find, ask):
                with pytest.raises(SettingsError, match=r"classes\.toml"):
                    way(index, "blast")
            assert find(index, "blast", mode="exact").hits, "where they take no part, they are not read"


# What is shipped


CLASSES = {c.name: c for c in load_shipped_classes([list("abcdefghijklmnopqrstuvwxyz")])}


def test_shipped_classes_are_read_without_a_fault() -> None:
    """Only some tables of a file are parsed for a query; together they are the whole files."""
    whole = {c.name: c for file in SHIPPED.glob("*.toml") for c in load_user_classes(file)}
    assert CLASSES.keys() == whole.keys()
    assert len(CLASSES) > 100
    for name, concept in CLASSES.items():
        assert (concept.phrases, concept.targets) == (whole[name].phrases, whole[name].targets)
        assert (concept.weight, concept.own) == (SHIPPED_WEIGHT, False)
        assert set(concept.languages) <= set(languages())
        assert concept.languages == whole[name].languages


def test_no_class_stands_twice() -> None:
    tables = [line for file in SHIPPED.glob("*.toml") for line in file.read_text().splitlines() if line[:1] == "["]
    assert len(tables) == len(set(tables)) == len(CLASSES)


@pytest.mark.parametrize("name", CLASSES)
def test_every_phrase_leads_to_its_class_and_every_target_is_looked_up(name: str) -> None:
    concept = CLASSES[name]
    assert len(select_targets(concept)) == len(concept.targets)
    for phrase in concept.phrases:
        said = split_into_stems([f"how is the {phrase} done"])
        assert name in {m.concept.name for m in match_classes(said, load_shipped_classes(said))}, phrase


def test_every_class_can_be_matched_strongly() -> None:
    assert [name for name, c in CLASSES.items() if not any(" " in phrase for phrase in c.phrases)] == []

"""Classes from the names around a definition."""

from __future__ import annotations

from codelens.model.code import UnitId
from codelens.search.channels.equivalence import match_classes, split_into_stems
from codelens.search.seeds import DERIVED_WEIGHT, derive_classes

ONE, TWO = UnitId(1), UnitId(2)


def test_pairs_of_meaningful_words_lead_to_the_seed() -> None:
    seeds = {ONE: "TransitiveCallers", TWO: "load"}
    around = {ONE: ["handleBlastRadius", "get_the_graph_edges", "run"], TWO: ["getNewItem", "x"]}
    (found,) = derive_classes(seeds, around)
    assert found.phrases == ("blast radius", "graph edges")
    assert (found.targets, found.weight) == (("TransitiveCallers",), DERIVED_WEIGHT)
    (match,) = match_classes(split_into_stems(["compute the blast radius"]), [found])
    assert match.is_strong


def test_generic_words_between_two_others_are_left_out() -> None:
    (found,) = derive_classes({ONE: "seed"}, {ONE: ["parse_new_query2text"]})
    assert found.phrases == ("parse query", "query text")


def test_what_the_own_name_says_is_found_without() -> None:
    assert derive_classes({ONE: "blast_radius"}, {ONE: ["BlastRadius"]}) == []
    (found,) = derive_classes({ONE: "blast_radius"}, {ONE: ["blast_radius_report", "BlastRadiusReport"]})
    assert found.phrases == ("radius report",)


def test_a_seed_without_neighbours_gives_no_class() -> None:
    assert derive_classes({ONE: "seed"}, {}) == []

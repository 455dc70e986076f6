"""Prefetches what a search will read, so that a store of several indexes asks each only once; a single index ignores it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache, partial

from codelens.errors import EmbedderFault
from codelens.model.code import UnitId
from codelens.search.channels import Findings
from codelens.search.channels.path import COLUMNS as PATH_COLUMNS
from codelens.search.channels.vector import compute_query_vector
from codelens.search.evidence import Evidence, Reading, read_rows
from codelens.search.retrieve import MODES, OPTIONAL
from codelens.search.run import SearchRun
from codelens.search.terms import make_name_lookup
from codelens.search.verbatim import IDENTIFIER, MOST_NAMED, is_like_code, split_as_typed, split_last_name
from codelens.store.store import Expected, Store
from codelens.text.identifiers import fold_identifier


def prefetch_frequencies(run: SearchRun) -> None:
    """Prefetch how many units and commit messages contain each word of the query, without its synonyms."""
    terms, weighs_messages = run.terms, run.profile.features.get("messages")
    run.store.prefetch_answers(
        *(("postings.count_units", (t.text,)) for t in (*terms.words, *terms.extra)),
        *(("postings.count_units", (t.text, tuple(PATH_COLUMNS))) for t in terms.words),
        *(("units.find_by_name", (t.text, None, 1)) for t in terms.names),
        *(("messages.count_messages", (t.text,)) for t in terms.words if weighs_messages),
        *([("messages.read_totals", ())] if weighs_messages else []),
    )


def prefetch_matches(run: SearchRun) -> None:
    """Prefetch the first reads of the channels: units with the query's names, nearest vectors, and which words are tokens."""
    if run.store.is_one:
        return
    profile, terms = run.profile, run.terms
    taken = {name for name in MODES.get(run.options.mode, ()) if profile.uses_channel(name)} - (
        OPTIONAL - run.abilities
    )
    named = [*terms.names, *(t for t in terms.words if t.tier == "component" or len(terms.words) == 1)]
    calls: list[Expected] = [
        ("units.find_likeliest", make_name_lookup(term, run.within)) for term in named if taken & {"symbol", "exact"}
    ]
    with suppress(EmbedderFault):
        vector = compute_query_vector(run)[0] if "vector" in taken else b""
        calls += [("vectors.find_nearest", (vector, run.within, 0))] if vector else []
    typed = split_as_typed(run) if "fuzzy" in taken and profile.channels.get("fuzzy") else []
    folded = {word: fold_identifier(split_last_name(word)) for word in typed if IDENTIFIER.fullmatch(word)}
    like_code = [folded[word] for word in folded if is_like_code(word)]
    run.store.prefetch_answers(
        *calls,
        *([(partial(_read_named, names=like_code), None)] if like_code else []),
        *(("units.find_by_name", (name, None, MOST_NAMED)) for name in folded.values()),
        *(("postings.count_units", (word.casefold(),)) for word in folded if not is_like_code(word)),
    )


def _read_named(store: Store, _: None, names: Iterable[str]) -> None:
    for name in names:
        store.units.read_rows(store.units.find_by_name(name, None, MOST_NAMED))


def make_candidate_prefetch(run: SearchRun) -> Callable[[Iterable[UnitId]], None]:
    """Make a function that prefetches what the ranker will read about the given units; each unit is prefetched once."""
    known = set[UnitId]()

    @cache
    def choose_reading() -> Reading:
        if run.profile.ranker != "learned" or not run.weights:
            return read_rows
        vector = b""
        with suppress(EmbedderFault):
            if "vector" in run.abilities and run.options.mode in ("hybrid", "vector"):
                vector = run.embed_query()
        return Evidence(run, Findings(), vector).reading

    def prefetch(units: Iterable[UnitId]) -> None:
        new = list(dict.fromkeys(unit for unit in units if unit not in known))
        known.update(new)
        run.store.prefetch_answers((choose_reading(), new))

    return prefetch

"""Chooses the seeds of knowing's walk: the best units of the channels' fused rankings, without noise.

A walk from few units that belong together finds more than a walk from many scattered ones, so the largest folder goes first.
Figures and lists are those of the system `knowing`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from itertools import chain, pairwise
from pathlib import PurePosixPath

from codelens.model.code import CHUNK_KINDS, TYPE_KINDS, UnitId, UnitRow
from codelens.model.fast_dataclass import dataclass, replace
from codelens.model.graph import is_unit
from codelens.model.search import Candidate, Event, Match, rank_candidates
from codelens.search.channels.equivalence import EquivalenceClass, match_classes, select_targets, split_into_stems
from codelens.search.channels.keywords import select_path_terms
from codelens.search.features import ROLE_WORDS
from codelens.search.fuse import find_rows, fuse_rankings, normalise_weights
from codelens.search.run import SearchRun
from codelens.search.terms import collect_words, load_words
from codelens.store.store import Store
from codelens.text.identifiers import fold_identifier, split_identifier

AROUND = 10  # Most matches by name whose neighbours are read
NAMED_CAP = 20  # Most units that are taken for one name, as in the equivalence channel
MOST_EDGES = 2000  # Most calls that are read around these matches; functions that all code calls say little


def rank_by_neighbours(run: SearchRun, named: Sequence[Match]) -> list[Match]:
    """Rank units with the names of those of `named` whose callers or callees have words of the query in their names. The raw
    score is the weight of the derived class; every match is strong, since every phrase has two words."""
    query, store = run.terms, run.store
    best = list(dict.fromkeys(match.unit for match in named))[:AROUND]
    rows = store.units.read_rows(best)
    seeds = {unit: rows[unit].name for unit in best if rows[unit].kind not in CHUNK_KINDS}
    around: dict[UnitId, set[UnitId]] = {unit: set() for unit in seeds}
    finders = store.edges.find_outgoing, store.edges.find_incoming
    outgoing, incoming = store.run_tasks(*(partial(find, [*seeds], {"calls"}, MOST_EDGES) for find in finders))
    for unit, other in chain(((e.source, e.target) for e in outgoing), ((e.target, e.source) for e in incoming)):
        if is_unit(other):
            around[UnitId(unit)].add(UnitId(other))
    others = store.units.read_rows(set().union(*around.values())).values()
    names = {row.id: row.name for row in others if row.kind not in CHUNK_KINDS}
    neighbours = {unit: sorted({names[one] for one in others if one in names}) for unit, others in around.items()}
    matched = match_classes(split_into_stems(query.texts), derive_classes(seeds, neighbours))
    targets = [(match, target) for match in matched for target in select_targets(match.concept)]
    found = store.run_tasks(
        *(partial(store.units.find_by_name, target, run.within, NAMED_CAP) for _, target in targets)
    )
    matches: dict[UnitId, Match] = {}
    for (match, _), units in zip(targets, found, strict=True):
        for unit in units:
            reason = f'"{match.phrases[0]}" means {match.concept.name}'
            matches.setdefault(unit, Match(unit, match.concept.weight, reason))
    return list(matches.values())


DOUBLES = frozenset(("mock", "mocks", "mocked", "fake", "fakes", "stub", "stubs"))
"""Words in the names of test doubles; knowing looks for `mock`, `fake` and `stub` in the name of the type."""
SHORT_NAMES = frozenset(("id", "ok", "db", "ip", "io", "go", "do"))  # Names of two letters that do not count as noise
SHORTEST_NAME = 3  # Fewest letters of other names that do not count as noise
PATHS: Mapping[str, re.Pattern[str]] = {
    "build": re.compile(r"(?:^|/)(?:dist|build|node_modules)/"),
    "vendor": re.compile(r"(?:^|/)(?:vendor|third_party)/"),
    "minified": re.compile(r"\.(?:min|bundle)\.[a-z]+$"),
    "fixture": re.compile(r"(?:^|/)(?:conftest|fixtures?)\.[a-z]+$|(?:^|/)(?:testutil|testhelper)|test_?helper", re.I),
}  # Kind of path → its pattern
ROLES = ("vendored", "generated")


def find_noise(unit: UnitRow, words: Collection[str]) -> str:
    """Return the reason why a unit is noise; empty if it is not. `words` are the query's words and folded names."""

    def is_asked(word: str) -> bool:
        """Decide if the query asks for a word: it contains the word, its plural, or its form without -ed ('vendor')."""
        return bool({word, f"{word}s", word.removesuffix("ed")} & set(words))

    for role in ROLES:
        if role in unit.roles and not is_asked(role):
            return f"{role} code"
    if unit.is_quoted and not ROLE_WORDS["docs"] & set(words):
        return "code that a document quotes"
    for what, pattern in PATHS.items():
        if pattern.search(unit.path) and not is_asked(what):
            return f"a {what} path"
    name_words = {*split_identifier(unit.container), *(split_identifier(unit.name))}
    if (double := sorted(name_words & DOUBLES)) and not any(word in words for word in DOUBLES):
        return f"its name says {double[0]}"
    name = fold_identifier(unit.name)
    if len(name) < SHORTEST_NAME and name not in SHORT_NAMES and name not in words:
        return f"a name of {len(name)} letters"
    return ""


NOISE = "noise filter"
NO_SEED = "seeds"
FOCUS = "focus"  # The last of three stages of the trace's events
AROUND_NAMES = "neighbours"  # Name of the ranking by classes derived from neighbours in the graph


@dataclass(frozen=True, slots=True)
class SeedSettings:
    """A profile's settings for the seeds, from weights.toml."""

    candidates: int  # Most candidates of the fusion that may become seeds
    fewest: int  # Number of candidates below which others are added
    filled: int  # Most candidates after others are added
    neighbours: float  # Weight of the ranking by classes derived from neighbours' names; 0 for no such ranking
    implementors: bool  # True to add all implementations of the types among the candidates
    focus: bool  # True if the largest folder goes first
    seeds: Mapping[str, int]  # Fewest units of an index (as text, as keys of TOML are) → number of seeds
    dense: int  # Indexes with more units have types first among the seeds
    first_weight: float
    last_weight: float  # Restart weights of the first and last seed; weights between are linear
    paths: int  # Most symbols that are added because the query names their path
    path_weight: float


@dataclass(frozen=True, slots=True)
class Seed:
    """A unit at which the walk starts and restarts."""

    unit: UnitRow
    weight: float
    reason: str
    direct: bool  # True if a match of the query; False for symbols added by their path, which only help the walk


@dataclass(frozen=True, slots=True)
class Seeds:
    """The seeds of the walk, and all other matches of the channels."""

    seeds: Mapping[UnitId, Seed]
    fused: Mapping[UnitId, Candidate]  # All units of the fusion, in the fusion's order
    losses: Mapping[UnitId, tuple[str, str]]
    """Unit of the fusion that did not become a seed → (stage that lost it, explanation); other units are too far down."""


def choose_seeds(run: SearchRun, rankings: Mapping[str, Sequence[Match]], seeding: SeedSettings) -> Seeds:
    """Choose the seeds: fuse the rankings, add units if there are few, drop noise, order, cut, add implementations and paths."""
    query, store, trace = run.terms, run.store, run.trace
    fused = _fuse_rankings(run, rankings, seeding)
    symbols = [c.unit for c in fused if c.unit.kind not in CHUNK_KINDS]
    unquoted = [unit for unit in symbols if not unit.is_quoted] or symbols
    chosen = unquoted[: seeding.candidates]
    if len(chosen) < seeding.fewest:  # names and words gave few: near units, then chunks of text, then resembling names
        near, slips = ([m.unit for m in rankings.get(name, ())][: seeding.filled] for name in ("vector", "fuzzy"))
        rows = store.units.read_rows({*near, *slips})
        further = [*(rows[unit] for unit in near), *(c.unit for c in fused), *(rows[unit] for unit in slips)]
        chosen = list({unit.id: unit for unit in (*chosen, *further)}.values())[: seeding.filled]
    words = frozenset({*collect_words(query), *(term.text for term in query.names)})
    noise = {unit.id: find_noise(unit, words) for unit in chosen}
    if not all(noise.values()):  # else the query means them
        trace.events += [Event(NOISE, unit, noise[unit.id]) for unit in chosen if noise[unit.id]]
        chosen = [unit for unit in chosen if not noise[unit.id]]
    size = store.units.count()
    ordered = put_largest_folder_first(chosen) if seeding.focus else chosen
    if size > seeding.dense:
        ordered = sorted(ordered, key=lambda unit: unit.kind not in TYPE_KINDS)
    most = max((n for least, n in seeding.seeds.items() if int(least) <= size), default=0)
    losses = {c.unit.id: (NO_SEED, "text outside of definitions never becomes a seed") for c in fused}
    losses |= {unit.id: (NO_SEED, "code that a document quotes gives way to other code") for unit in symbols}
    for place, unit in enumerate(unquoted, start=1):
        losses[unit.id] = (NO_SEED, f"definition {place} of the matches; the first {seeding.candidates} may be seeds")
    first = "types" if size > seeding.dense else "those in the folder with the most matches"
    before = {unit.id: place for place, unit in enumerate(chosen, start=1)}
    for place, unit in enumerate(ordered[most:], start=most + 1):
        stage = FOCUS if before[unit.id] <= most else NO_SEED
        but = f", and number {place} once {first} go first" if stage == FOCUS else ""
        losses[unit.id] = (stage, f"number {before[unit.id]} of the matches{but}; {most} are seeds")
    fall = (seeding.first_weight - seeding.last_weight) / max(1, min(most, len(ordered)) - 1)
    seeds = {
        unit.id: Seed(unit, seeding.first_weight - fall * place, f"seed {place + 1}", True)
        for place, unit in enumerate(ordered[:most])
    }
    for unit in _find_implementors(chosen, store) if seeding.implementors else ():
        if unit.id not in seeds and not find_noise(unit, words):
            seeds[unit.id] = Seed(unit, seeding.last_weight, "implements a type among the matches", True)
    for unit, reason in find_on_paths(run, seeding.paths):
        if unit.id not in seeds and not find_noise(unit, words):
            seeds[unit.id] = Seed(unit, seeding.path_weight, reason, False)
    return Seeds(seeds, {c.unit.id: c for c in fused}, losses)


def _fuse_rankings(run: SearchRun, rankings: Mapping[str, Sequence[Match]], seeding: SeedSettings) -> list[Candidate]:
    """Fuse by rank all channels with a weight, and the ranking by the neighbours of the best matches by name."""
    weighing = {**run.profile.channels, AROUND_NAMES: seeding.neighbours}
    taking_part = {name: matches for name, matches in rankings.items() if weighing.get(name)}
    if seeding.neighbours and "symbol" in taking_part:
        taking_part[AROUND_NAMES] = rank_by_neighbours(run, taking_part["symbol"])
        run.trace.rankings[AROUND_NAMES] = tuple(taking_part[AROUND_NAMES])
    weights = normalise_weights(weighing, sorted(taking_part))
    candidates = fuse_rankings(taking_part, weights, run.profile.rrf_k, find_rows(run, taking_part))
    learned = {match.unit: match for match in reversed(run.terms.learned)}
    for candidate in candidates:  # the rank of a unit that learned words led to counts by the number of its uses
        if (match := learned.get(candidate.unit.id)) is None:
            continue
        for place, part in enumerate(candidate.recorded):
            if part.source == "equivalence" and part.reason.endswith(match.reason):
                operands = {**part.operands, "weight": part.operands["weight"] * match.raw_score}
                candidate.recorded[place] = replace(part, amount=part.amount * match.raw_score, operands=operands)
    return rank_candidates(candidates)


def put_largest_folder_first(units: Sequence[UnitRow]) -> list[UnitRow]:
    """Put the units of the folder with most of them first; of several such folders, the one with the best unit."""
    folders: dict[tuple[str, str], list[UnitRow]] = {}
    for unit in units:
        folders.setdefault((unit.repository, str(PurePosixPath(unit.path).parent)), []).append(unit)
    largest = max(folders.values(), key=len, default=[])
    return list({unit.id: unit for unit in (*largest, *units)}.values())


def _find_implementors(units: Sequence[UnitRow], store: Store) -> list[UnitRow]:
    """Find the implementations of the types among these units, type by type, each by path and place."""
    interfaces = {unit.id: place for place, unit in enumerate(units) if unit.kind in TYPE_KINDS}
    edges = [e for e in store.edges.find_incoming(interfaces, {"implements"}) if is_unit(e.source)]
    rows = store.units.read_rows({UnitId(e.source) for e in edges})
    pairs = [(interfaces[UnitId(edge.target)], UnitId(edge.source)) for edge in edges]
    first = {source: place for place, source in sorted(pairs, reverse=True)}  # the first of its types decides
    return sorted(rows.values(), key=lambda row: (first[row.id], row.content_order()))


RICH, LEAN, OTHER = 5, 10, 15  # Most types with members, types without, and other symbols that one word adds
CAPS = {1: RICH, 2: LEAN, 3: OTHER}  # Group of `Units.grouped` → most of it for one word
MOST_FILES = 300  # Most files that are searched for one word; a word on more paths names the project, not a place in it


def find_on_paths(run: SearchRun, most: int) -> list[tuple[UnitRow, str]]:
    """Find at most `most` symbols in folders and files whose names begin with a word of the query, each with the reason. Types with
    a method that the query names come first, then types with members, types without members, and other symbols."""
    words, groups = select_path_terms(run) if most else [], dict[UnitId, tuple[int, int, str]]()
    store, may_be_found = run.store, run.make_scope_test()

    def group_units(word: str) -> Sequence[tuple[UnitId, int]]:
        files = store.documents.find_first_on_paths(word, MOST_FILES)
        return store.units.group_by_members(files, [other for other in words if other != word])

    grouped = store.run_tasks(*(partial(group_units, word) for word in words))
    for place, (word, units) in enumerate(zip(words, grouped, strict=True)):
        taken: dict[int, int] = {}
        for unit, group in units:
            if taken.get(group, 0) < CAPS.get(group, most) and may_be_found(unit):
                taken[group] = taken.get(group, 0) + 1
                groups.setdefault(unit, (group, place, word))
    best = sorted(groups, key=lambda unit: groups[unit][:2])[:most]  # stable: equal ones stay in order of content
    rows = store.units.read_rows(best)
    return [(rows[unit], f"where the path says {groups[unit][2]}") for unit in best]


DERIVED_WEIGHT = 0.7  # Weight of derived classes, below that of shipped classes, which were written by hand
SHORTEST_PAIRED = 3  # Fewest letters of a word in a pair


def derive_classes(
    seed_names: Mapping[UnitId, str], neighbours: Mapping[UnitId, Sequence[str]]
) -> list[EquivalenceClass]:
    """Derive a class from each seed: its target is the seed's name, its phrases are pairs of words in the neighbours' names.

    `neighbours` are the names of a unit's callers and callees. Pairs in the seed's own name are left out, because they are found
    without a class; seeds without pairs have no class."""
    classes = []
    for unit, name in seed_names.items():
        pairs = (pair for other in neighbours.get(unit, ()) for pair in _pair_words(other))
        if phrases := tuple(dict.fromkeys(pair for pair in pairs if pair not in _pair_words(name))):
            classes.append(EquivalenceClass(f"around {name}", phrases, (name,), DERIVED_WEIGHT))
    return classes


def _pair_words(name: str) -> list[str]:
    """List pairs of neighbouring words of a name, without stop words and generic words: handle_the_blast_radius → blast radius."""
    nothing = load_words().generic | load_words().stop
    words = [word for word in split_identifier(name) if word not in nothing]
    pairs = pairwise(word for word in words if len(word) >= SHORTEST_PAIRED and not word.isdigit())
    return [f"{left} {right}" for left, right in pairs]

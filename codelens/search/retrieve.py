"""A search's terms → what each channel finds, cut at fixed lengths. Units and files are found by the same loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from codelens.errors import EmbedderFault, UsageError
from codelens.model.budget import CHANNELS as CHANNELS_SHARE
from codelens.model.budget import TERMS
from codelens.model.search import Match, QueryTarget
from codelens.query.nodes import mark_of
from codelens.search.channels import Channel
from codelens.search.channels.equivalence import EquivalenceChannel
from codelens.search.channels.exact import ExactChannel
from codelens.search.channels.fuzzy import FuzzyChannel
from codelens.search.channels.lexicon import LexiconChannel
from codelens.search.channels.path import PathChannel
from codelens.search.channels.symbol import SymbolChannel
from codelens.search.channels.vector import VectorChannel, nearest_question
from codelens.search.profiles import Profile
from codelens.search.run import SearchRun
from codelens.search.terms import as_named
from codelens.search.verbatim import questions_of_tokens, words_as_typed

_ALL: tuple[Channel, ...] = (
    EquivalenceChannel(),
    ExactChannel(),
    FuzzyChannel(),
    PathChannel(),
    LexiconChannel(),
    SymbolChannel(),
    VectorChannel(),
)
CHANNELS: Mapping[str, Channel] = {channel.name: channel for channel in _ALL}
MODES: Mapping[str, tuple[str, ...]] = {
    "hybrid": ("exact", "fuzzy", "lexicon", "path", "symbol", "vector", "equivalence"),
    "keyword": ("exact", "lexicon", "path", "symbol", "equivalence"),
    "vector": ("vector",),
    "exact": ("exact",),
    "fuzzy": ("fuzzy",),
}
"""Mode → its channels in the order they run: how many matches `equivalence` may give depends on what the others gave."""
ALONE = frozenset({"exact", "fuzzy"})
"""Modes whose hits are what the channel finds: what only the walk reaches holds no word of the query."""
MOST_BY_CLASS = 2
"""Times the matches of `symbol` and `exact`: more matches by equivalence class would drown them (knowing's figure)."""
OPTIONAL = frozenset({"fuzzy", "vector"})  # Channels that an index or a machine may lack
MOST_WITHOUT = 1000
"""Excluded units for which room is made: the `vector` channel may fetch three times its matches, 4096 at most."""
LITERAL_POOL = 5000
"""Units that enter the ranking for their text alone; the first of each file always does, so that no file is lost. Chosen,
not measured: every one of them becomes a candidate, which the search pays for in time."""


OTHER_MARK = 0.9  # Value of a FIXME, of 1, for the query `TODO`. Only the order counts.


def channels_of(profile: Profile) -> Mapping[str, Channel]:
    """Name → channel, as the profile has them."""
    if not profile.keywords:
        return CHANNELS
    from codelens.search.channels.keywords import KeywordTexts, TieredNames

    return {**CHANNELS, TieredNames.name: TieredNames(), KeywordTexts.name: KeywordTexts()}


def foresee_matches(run: SearchRun) -> None:
    """Say what channels will ask about the query's own words, whatever stands in for these."""
    if run.store.is_one:
        return
    profile, terms = run.profile, run.terms
    taken = {name for name in MODES.get(run.options.mode, ()) if profile.takes(name)} - (OPTIONAL - run.abilities)
    named = [*terms.names, *(t for t in terms.words if t.tier == "component" or len(terms.words) == 1)]
    run.store.foresee(
        *(("units.named_as", as_named(term, run.within)) for term in named if taken & {"symbol", "exact"}),
        *(nearest_question(run) if "vector" in taken else ()),
        *(questions_of_tokens(words_as_typed(run)) if "fuzzy" in taken and profile.channels.get("fuzzy") else ()),
    )


def retrieve(run: SearchRun) -> dict[str, Sequence[Match]]:
    """Channel → its matches, best first. Raises UsageError for a mode whose channels the profile does not use."""
    profile, mode = run.profile, run.options.mode
    if mode not in MODES:
        raise UsageError(f"no mode '{mode}'", f"modes: {', '.join(MODES)}")
    idle = set() if profile.channels.get("equivalence") or run.settings.classes else {"equivalence"}
    chosen = [channels_of(profile)[name] for name in MODES[mode] if profile.takes(name) and name not in idle]
    if not chosen:
        fitting = [mode for mode, names in MODES.items() if any(map(profile.takes, names))]
        raise UsageError(
            f"profile {run.options.profile} has no channel for mode {mode}", f"modes: {', '.join(fitting)}"
        )

    def most(channel: str, matches: Mapping[str, Sequence[Match]]) -> int:
        """How many matches a channel may give: classes at most a multiple of names and words, unless those found nothing."""
        found = sum(len(matches.get(other, ())) for other in ("exact", "symbol"))
        cut = profile.cuts[channel]
        return min(cut, MOST_BY_CLASS * found) if channel == "equivalence" and found else cut

    return run_channels(run, chosen, most)


def run_channels(
    run: SearchRun, channels: Sequence[Channel], most: Callable[[str, Mapping[str, Sequence[Match]]], int]
) -> dict[str, Sequence[Match]]:
    """Run the channels, which do not need each other; each is cut at what `most` allows after those before it.

    Channels that this index or machine lacks do not run. A channel for which there is no time is left out, with a notice.
    """
    shares = [TERMS + (CHANNELS_SHARE - TERMS) * place / len(channels) for place in range(1, len(channels) + 1)]
    chosen = {
        channel.name: partial(_matches_of, channel, run, most(channel.name, {}), share)
        for channel, share in zip(channels, shares, strict=True)
        if channel.name in run.abilities or channel.name not in OPTIONAL
    }
    matches: dict[str, Sequence[Match]] = {}
    for name, found in zip(chosen, run.store.at_once(*chosen.values()), strict=True):
        if isinstance(found, EmbedderFault):
            run.notice("no-embedding", f"no vector results: {found}")
        elif found is not None:
            limit = most(name, matches)
            matches[name] = found[:limit] if limit < most(name, {}) else found
            run.trace.rankings[name] = tuple(matches[name])
            run.trace.cuts[name] = limit
    return matches


def _matches_of(channel: Channel, run: SearchRun, limit: int, share: float) -> Sequence[Match] | EmbedderFault | None:
    """At most so many matches of a channel; None if there is no time for it."""
    without = run.itself
    with run.budget.part(share, f"{channel.name} was left out"), run.store.interrupting():
        try:
            found = channel.retrieve(run, limit + min(len(without), MOST_WITHOUT))
        except EmbedderFault as fault:
            return fault
        run.foresee(match.unit for match in found)
        run.trace.lap(channel.name)
        return [match for match in found if match.unit not in without][:limit] if without else found
    return None


def add_todos(run: SearchRun, matches: dict[str, Sequence[Match]]) -> None:
    """Add the TODO comments to the matches of `exact`, if the query is their mark; they go before all else."""
    mark = mark_of(run.query.node)
    if not mark or "exact" not in matches:
        return
    rows = run.store.units.rows(run.store.units.of_todos(run.within, LITERAL_POOL)).values()
    ordered = sorted(rows, key=lambda row: (not row.name.startswith(mark), "test" in row.roles, row.content_order()))
    run.targets = {
        row.id: QueryTarget(1.0 if row.name.startswith(mark) else OTHER_MARK, "a comment about something to be done")
        for row in ordered
    }
    kept = [match for match in matches["exact"] if match.unit not in run.targets]
    found = [Match(unit, 0.0, target.reason) for unit, target in run.targets.items()]
    matches["exact"] = run.trace.rankings["exact"] = (*kept, *found)
    run.trace.cuts["exact"] += LITERAL_POOL


def add_literal_matches(run: SearchRun, matches: dict[str, Sequence[Match]]) -> None:
    """Add the units that satisfy all conditions to the matches of `fuzzy`, whether or not their words rank.

    That applies if the query demands a text or has nothing but conditions. They come after what the words found, and no
    minimum score removes any match of such a query.
    """
    if run.within is None or run.likeness:
        return
    if (run.terms.words or run.terms.names) and (run.options.mode == "vector" or not run.scope.demands_text):
        return
    known = {match.unit for ranking in matches.values() for match in ranking}
    found, total = run.scope.literal_matches(LITERAL_POOL, known)
    if len(found) < total:
        text = f"{total} places satisfy the query; {len(found)} of them are ranked, some of each file"
        run.notice("many-literal", text)
    matches["fuzzy"] = run.trace.rankings["fuzzy"] = (*matches.get("fuzzy", ()), *found)
    run.trace.cuts["fuzzy"] = max(run.trace.cuts.get("fuzzy", 0) + LITERAL_POOL, len(matches["fuzzy"]))
    run.literal = frozenset(match.unit for ranking in matches.values() for match in ranking)

"""A query → what each channel ranks, cut at fixed lengths: the first stage of the pipeline that reads the index."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence

from codelens.budget import CHANNELS, TERMS
from codelens.config import Settings
from codelens.errors import EmbedderFault, UsageError
from codelens.model import Match, Notice, SearchOptions, Trace, UnitId
from codelens.search.channels import Channel
from codelens.search.channels.equivalence import EquivalenceChannel
from codelens.search.channels.exact import ExactChannel
from codelens.search.channels.fuzzy import FuzzyChannel
from codelens.search.channels.path import PathChannel
from codelens.search.channels.symbol import SymbolChannel
from codelens.search.channels.vector import VectorChannel
from codelens.search.expand import ExpandedQuery
from codelens.search.profiles import Profile
from codelens.search.scope import Scope
from codelens.store.store import Store

MODES: Mapping[str, tuple[str, ...]] = {
    "hybrid": ("exact", "fuzzy", "path", "symbol", "vector", "equivalence"),
    "keyword": ("exact", "path", "symbol", "equivalence"),
    "vector": ("vector",),
    "exact": ("exact",),
    "fuzzy": ("fuzzy",),
}
"""Name → its channels in the order they are asked: what `equivalence` may give depends on what the others gave."""
MOST_BY_CLASS = 2
"""Times the matches of `symbol` and `exact`: more matches by equivalence class would drown them (knowing's figure)."""
OPTIONAL = frozenset({"fuzzy", "vector"})
"""Channels that an index or a machine may lack."""
MOST_WITHOUT = 1000
"""Units that are no answer for which room is made: the `vector` channel may fetch three times its matches, 4096 at most."""
LITERAL_POOL = 5000
"""Units that enter the ranking for their text alone; the first of each file always does, so that no file is lost. Chosen,
not measured: every one of them becomes a candidate, which the search pays for in time."""


def make_channels(profile: Profile, mode: str, settings: Settings) -> dict[str, Channel]:
    """Name → channel, all that there are; a mode chooses among them, and `fuzzy` alone looks for plain words in names too."""
    channels: Sequence[Channel] = (
        EquivalenceChannel(settings.classes, shipped=profile.channels["equivalence"] > 0),
        ExactChannel(profile.fields),
        FuzzyChannel(every_word=mode == "fuzzy"),
        PathChannel(),
        SymbolChannel(),
        VectorChannel(settings),
    )
    return {c.name: c for c in channels}


def retrieve(
    query: ExpandedQuery,
    store: Store,
    profile: Profile,
    options: SearchOptions,
    settings: Settings,
    trace: Trace,
    notices: list[Notice],
    without: Collection[UnitId] = (),
) -> dict[str, Sequence[Match]]:
    """Each channel's ranking, cut at its fixed length. A channel for which there is no time is left out, and said.

    `without` are units that are no answer; their places go to others. A channel that may give nothing is not asked.
    """
    if options.mode not in MODES:
        raise UsageError(f"no mode '{options.mode}'", f"modes: {', '.join(MODES)}")
    rankings: dict[str, Sequence[Match]] = {}
    channels = make_channels(profile, options.mode, settings)
    asked = [name for name in MODES[options.mode] if profile.cuts[name]]
    if not asked:
        fitting = [mode for mode, names in MODES.items() if any(profile.cuts[name] for name in names)]
        raise UsageError(
            f"profile {options.profile} asks no channel of mode {options.mode}", f"modes: {', '.join(fitting)}"
        )
    for place, name in enumerate(asked, start=1):
        if name in OPTIONAL and name not in query.features:
            continue
        started, most = time.perf_counter(), _most(name, profile, rankings)
        share = TERMS + (CHANNELS - TERMS) * place / len(asked)
        try:
            with store.budget.part(share, f"{name} was left out"), store.interrupting():
                found = channels[name].retrieve(query, store, most + min(len(without), MOST_WITHOUT))
                rankings[name] = [match for match in found if match.unit not in without][:most] if without else found
        except EmbedderFault as fault:
            notices.append(Notice("no-embedding", f"no vector results: {fault}"))
        if name not in rankings:
            continue
        trace.seconds[name] = time.perf_counter() - started
        trace.rankings[name] = tuple(rankings[name])
        trace.cuts[name] = most
    return rankings


def _most(channel: str, profile: Profile, rankings: Mapping[str, Sequence[Match]]) -> int:
    """How many matches a channel may give. Where names and words found nothing, nothing can be drowned."""
    found = sum(len(rankings.get(other, ())) for other in ("exact", "symbol"))
    if channel == "equivalence" and found:
        return min(profile.cuts[channel], MOST_BY_CLASS * found)
    return profile.cuts[channel]


def add_literal(
    rankings: dict[str, Sequence[Match]],
    expanded: ExpandedQuery,
    scope: Scope,
    options: SearchOptions,
    trace: Trace,
    notices: list[Notice],
) -> Sequence[Match]:
    """What satisfies the conditions is found, whether or not its words rank it: substring search, hence `fuzzy`.

    So it is where the query demands a text, and where it has nothing but conditions. It comes after what the words found.
    Returns all matches of those queries, for nothing may lose them later.
    """
    if scope.units is None:
        return ()
    if (expanded.words or expanded.names) and (options.mode == "vector" or not scope.demands_text):
        return ()
    known = {match.unit for matches in rankings.values() for match in matches}
    found, total = scope.literal_matches(LITERAL_POOL, known)
    if len(found) < total:
        notices.append(
            Notice(
                "many-literal", f"{total} places satisfy the query; {len(found)} of them are ranked, some of each file"
            )
        )
    rankings["fuzzy"] = trace.rankings["fuzzy"] = (*rankings.get("fuzzy", ()), *found)
    trace.cuts["fuzzy"] = max(trace.cuts.get("fuzzy", 0) + LITERAL_POOL, len(rankings["fuzzy"]))
    return [match for matches in rankings.values() for match in matches]

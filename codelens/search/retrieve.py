"""Runs the channels for a search's terms and cuts their matches at fixed lengths, for units and for files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from codelens.errors import EmbedderFault, UsageError
from codelens.model.budget import CHANNELS as CHANNELS_SHARE
from codelens.model.budget import TERMS
from codelens.model.search import Match, QueryTarget
from codelens.query.conditions import demands_text
from codelens.query.nodes import find_todo_mark
from codelens.search.channels import Channel, ChannelResult, Findings, TextEvidence
from codelens.search.channels.equivalence import find_by_concept
from codelens.search.channels.exact import find_by_related_words, find_by_words
from codelens.search.channels.fuzzy import find_by_fragment
from codelens.search.channels.path import find_by_path
from codelens.search.channels.symbol import find_by_name
from codelens.search.channels.vector import find_by_meaning
from codelens.search.run import Profile, SearchRun

_ALL = (
    Channel("exact", ("hybrid", "keyword", "exact"), find_by_words),
    Channel("fuzzy", ("hybrid", "fuzzy"), find_by_fragment),
    Channel("lexicon", ("hybrid", "keyword"), find_by_related_words),
    Channel("path", ("hybrid", "keyword"), find_by_path),
    Channel("symbol", ("hybrid", "keyword"), find_by_name),
    Channel("vector", ("hybrid", "vector"), find_by_meaning),
    Channel("equivalence", ("hybrid", "keyword"), find_by_concept),  # last: its limit depends on the others' matches
)
CHANNELS: Mapping[str, Channel] = {channel.name: channel for channel in _ALL}
MODES: Mapping[str, tuple[str, ...]] = {
    mode: tuple(channel.name for channel in _ALL if mode in channel.modes)
    for mode in ("hybrid", "keyword", "vector", "exact", "fuzzy")
}  # Mode → its channels in the order they run
ALONE = frozenset({"exact", "fuzzy"})
"""Modes whose hits are only what their channel finds; a unit that only the walk reaches contains no word of the query."""
MOST_BY_CLASS = 2  # Most matches by equivalence class, as a multiple of those of `symbol` and `exact` together
OPTIONAL = frozenset({"fuzzy", "vector"})  # Channels that an index or a machine may lack
MOST_WITHOUT = 1000
"""Most extra matches fetched to replace excluded units; sqlite-vec gives at most 4096, and `vector` fetches up to three a match."""
LITERAL_POOL = 5000
"""Most units that become candidates only because they satisfy the conditions; the first of each file always does."""
OTHER_MARK = 0.9  # Value of a comment with another mark, such as FIXME for the query `TODO`; only the order counts

MostMatches = Callable[[str, Mapping[str, Sequence[Match]]], int]
"""A function of a channel and the matches of the channels before it that returns how many matches it may have."""


def select_channels(profile: Profile) -> Mapping[str, Channel]:
    """Map names to the channels of a profile: one with keywords has its own `symbol` and `exact`."""
    if not profile.keywords:
        return CHANNELS
    from codelens.search.channels import keywords

    symbol = CHANNELS["symbol"]._replace(retrieve=keywords.find_by_name)
    return {**CHANNELS, "symbol": symbol, "exact": CHANNELS["exact"]._replace(retrieve=keywords.find_by_words)}


def choose_channels(run: SearchRun) -> list[Channel]:
    """Choose the channels of the mode that the profile uses. Raises UsageError if it uses no channel of the mode."""
    profile, mode = run.profile, run.options.mode
    if mode not in MODES:
        raise UsageError(f"no mode '{mode}'", f"modes: {', '.join(MODES)}")
    idle = set() if profile.channels.get("equivalence") or run.settings.classes else {"equivalence"}
    chosen = [select_channels(profile)[name] for name in MODES[mode] if profile.uses_channel(name) and name not in idle]
    if not chosen:
        modes = f"modes: {', '.join(mode for mode, names in MODES.items() if any(map(profile.uses_channel, names)))}"
        raise UsageError(f"profile {run.options.profile} has no channel for mode {mode}", modes)
    return chosen


def limit_matches(cuts: Mapping[str, int], channel: str, matches: Mapping[str, Sequence[Match]]) -> int:
    """Return the most matches of a channel; `equivalence` is also limited by the matches of `exact` and `symbol`, if any."""
    count = sum(len(matches.get(other, ())) for other in ("exact", "symbol"))
    return min(cuts[channel], MOST_BY_CLASS * count) if channel == "equivalence" and count else cuts[channel]


def retrieve(run: SearchRun, channels: Sequence[Channel], most: MostMatches) -> Findings:
    """Run the channels, which are independent, and cut the matches of each as `most` allows.

    Channels that this index or machine lacks do not run. A channel for which there is no time is left out, with a notice.
    """

    def find(channel: Channel, share: float) -> ChannelResult | EmbedderFault | None:
        """Run a channel; returns None if there is no time for it."""
        limit = most(channel.name, {})
        with run.budget.part(share, f"{channel.name} was left out"), run.store.enforce_budget():
            try:
                result = channel.retrieve(run, limit + min(len(run.originals), MOST_WITHOUT))
            except EmbedderFault as fault:
                return fault
            run.prefetch(match.unit for match in result.matches)
            run.trace.count_lap(channel.name)
            if not run.originals:
                return result
            return result._replace(matches=[m for m in result.matches if m.unit not in run.originals][:limit])
        return None

    shares = [TERMS + (CHANNELS_SHARE - TERMS) * place / len(channels) for place in range(1, len(channels) + 1)]
    tasks = {
        channel.name: partial(find, channel, share)
        for channel, share in zip(channels, shares, strict=True)
        if channel.name in run.abilities or channel.name not in OPTIONAL
    }
    results = [task() for task in tasks.values()] if run.store.is_one else run.store.run_tasks(*tasks.values())
    matches, evidence = dict[str, Sequence[Match]](), TextEvidence()
    for name, result in zip(tasks, results, strict=True):
        if isinstance(result, EmbedderFault):
            run.add_notice("no-embedding", f"no vector results: {result}")
        elif result is not None:
            limit = most(name, matches)
            matches[name] = result.matches[:limit] if limit < most(name, {}) else result.matches
            evidence = result.evidence if name == "fuzzy" else evidence
            run.trace.rankings[name] = tuple(matches[name])
            run.trace.cuts[name] = limit
    return Findings(matches, evidence, targets=run.places)


def add_todos(run: SearchRun, findings: Findings) -> Findings:
    """Add to-do comments to the matches of `exact`, and as targets, if the query is a mark such as TODO."""
    mark = find_todo_mark(run.query.node)
    if not mark or "exact" not in findings.matches:
        return findings
    rows = run.store.units.read_rows(run.store.units.select_todos(run.within, LITERAL_POOL)).values()
    ordered = sorted(rows, key=lambda row: (not row.name.startswith(mark), "test" in row.roles, row.content_order()))
    values = {row.id: 1.0 if row.name.startswith(mark) else OTHER_MARK for row in ordered}
    targets = {u: QueryTarget(value, "a comment about something to be done") for u, value in values.items()}
    others = [match for match in findings.matches["exact"] if match.unit not in targets]
    todos = [Match(unit, 0.0, target.reason) for unit, target in targets.items()]
    run.trace.rankings["exact"] = (*others, *todos)
    run.trace.cuts["exact"] += LITERAL_POOL
    return findings._replace(matches={**findings.matches, "exact": (*others, *todos)}, targets=targets)


def add_literal_matches(run: SearchRun, findings: Findings) -> Findings:
    """Add the units that satisfy all conditions to the matches of `fuzzy`, whether or not their words rank.

    This applies if the query demands a text or consists only of conditions. The units come after matches of words, inner ones
    before outer ones, and no minimum score removes a match of such a query. If there are too many, the first of each file
    stays, so that no file is lost.
    """
    if run.within is None or run.likeness:
        return findings
    if (run.terms.words or run.terms.names) and (run.options.mode == "vector" or not demands_text(run.query.node)):
        return findings
    known = findings.units
    rows = run.store.units.read_rows([unit for unit in run.within if unit not in known])
    outer = {row.parent for row in rows.values() if row.parent is not None}
    ordered = sorted(rows.values(), key=lambda r: (r.id in outer, "test" in r.roles, r.content_order()))
    left_out = {}
    if len(ordered) > LITERAL_POOL:
        chosen = set({row.document: row.id for row in reversed(ordered)}.values())
        room = max(LITERAL_POOL - len(chosen), 0)
        chosen.update([row.id for row in ordered if row.id not in chosen][:room])
        left_out = {row.id: place for place, row in enumerate(ordered, start=len(known) + 1) if row.id not in chosen}
        ordered = [row for row in ordered if row.id in chosen]
        text = f"{len(rows)} places satisfy the query; {len(ordered)} of them are ranked, some of each file"
        run.add_notice("many-literal", text)
    fuzzy = (*findings.matches.get("fuzzy", ()), *(Match(row.id, 1.0, "satisfies every condition") for row in ordered))
    run.trace.rankings["fuzzy"] = fuzzy
    run.trace.cuts["fuzzy"] = max(run.trace.cuts.get("fuzzy", 0) + LITERAL_POOL, len(fuzzy))
    literal, matches = frozenset(known.union(row.id for row in ordered)), {**findings.matches, "fuzzy": fuzzy}
    return findings._replace(matches=matches, literal=literal, left_out=left_out)

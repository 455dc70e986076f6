"""Writes the answer of `why` as plain text: a line for each family of reasons, or for each part of the score.

`why_terminal` draws the same rows with coloured bars.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from codelens.model.request import GREP, OPTIONS, SearchOptions
from codelens.model.search import (
    FAMILIES,
    FUSION,
    Candidate,
    Contribution,
    Explanation,
    Trace,
    WhyResult,
    describe_gap,
    find_family,
)
from codelens.render.paths import PathStyle
from codelens.render.visible import escape_text
from codelens.text.counts import quantity

BAR = 20  # Characters of the longest bar
MOST_REASONS = 3
LEAST_PART = 0.2  # Least amount of a reason that is shown, as a share of the family's largest
_PLACE = {name: place for place, name in enumerate((*FAMILIES, "other"))}


class Family(NamedTuple):
    """The contributions of one kind to a score: fusion, words, names, meaning, file, graph, history or shape."""

    name: str
    amount: float  # Exact sum (fsum) of its contributions
    share: float  # Its amount, as a fraction of all amounts that raise the score; negative if it lowers the score
    parts: tuple[Contribution, ...]  # In the order of the ranking

    @property
    def reasons(self) -> list[str]:
        """The strongest reasons, at most three; 'but' marks a reason that works against the rest of the family."""
        strongest = sorted(self.parts, key=lambda part: -abs(part.amount))
        least = abs(strongest[0].amount) * LEAST_PART
        reasons: list[str] = []
        for part in strongest:
            repeated = any(part.reason.startswith(reason) for reason in reasons)
            if part.amount and abs(part.amount) >= least and not repeated and len(reasons) < MOST_REASONS:
                against = part.amount * self.amount < 0
                reasons.append(f"{'but ' if against else ''}{part.reason}")
        return reasons


def group_families(contributions: Sequence[Contribution]) -> list[Family]:
    """Group contributions into families, the largest amount first."""
    parts: dict[str, list[Contribution]] = {}
    for part in contributions:
        parts.setdefault(find_family(part), []).append(part)
    amounts = {name: math.fsum(part.amount for part in members) for name, members in parts.items()}
    raised = math.fsum(amount for amount in amounts.values() if amount > 0)
    whole = raised or math.fsum(abs(amount) for amount in amounts.values()) or 1.0
    order = sorted(parts, key=lambda name: (-amounts[name], _PLACE[name]))
    return [Family(name, amounts[name], amounts[name] / whole, tuple(parts[name])) for name in order]


def find_first_reason(contributions: Sequence[Contribution], channels: Mapping[str, int]) -> str:
    """Find the reason that a hit shows: the strongest of the family that raises its score most; without one, the ranks."""
    raising = [family for family in group_families(contributions) if family.name != FUSION and family.amount > 0]
    return raising[0].reasons[0] if raising else describe_ranks(contributions, channels)


def describe_ranks(contributions: Sequence[Contribution], channels: Mapping[str, int]) -> str:
    """Describe the ranks in the channels that contribute, as `RRF of exact #7 · vector #3`; empty without such channels."""
    rules = {part.source: part.rule for part in contributions if part.amount}
    ranks = " · ".join(f"{name} #{rank}" for name, rank in sorted(channels.items()) if name in rules)
    return f"{'shares of the scores' if 'share' in rules.values() else 'RRF'} of {ranks}" if ranks else ""


class WhyView(NamedTuple):
    """How the answer of `why` is shown."""

    paths: PathStyle
    every_part: bool = False  # A line for each part of a score; otherwise for each family
    side_by_side: bool = False  # Compare two targets
    color: bool = False
    flags: tuple[
        str, ...
    ] = ()  # Flags and PATH arguments with which a suggested command reads the same index and files
    below: tuple[str, ...] = ()


class AccountRow(NamedTuple):
    """One line of the explanation of a score."""

    label: str
    amount: float
    figures: str  # The amount as text; for a family also its share
    reason: str


class ScoreDifference(NamedTuple):
    """The amounts of one source or family in two candidates."""

    label: str
    first: float
    second: float
    gap: float  # Positive if the first candidate has more of it


class ScoreComparison(NamedTuple):
    """A comparison of two targets, source by source."""

    titles: list[str]  # `A …` and `B …`
    rows: list[ScoreDifference]  # The last is the score
    losses: list[str]


def render_why(why: WhyResult, view: WhyView) -> Iterator[str]:
    """Write how the query was read, then the explanation of each target, or the comparison of two."""
    yield from (f"{line}\n" for line in format_head(why.search.trace, view))
    if comparison := compare_targets(why, view):
        yield from ("\n", *(f"{line}\n" for line in comparison.titles))
        head = "source" if view.every_part else "family"
        width = max(len(head), *(len(row.label) for row in comparison.rows))
        yield f"  {head:{width}}  {'A':>9}  {'B':>9}  {'A - B':>9}\n"
        for row in comparison.rows:
            yield f"  {row.label:{width}}  {row.first:+9.6f}  {row.second:+9.6f}  {row.gap:+9.6f}\n"
        yield from (f"  {line}\n" for line in comparison.losses)
        return
    largest = find_largest_amount(why, view)
    for explanation in why.explanations:
        yield "\n"
        yield from _format_explanation(explanation, why, view, largest)


def compare_targets(why: WhyResult, view: WhyView) -> ScoreComparison | None:
    """Compare two targets; None unless there are two, both have a candidate, and the view asks for it."""
    accounts = [(label, e, e.candidate) for label, e in zip("AB", why.explanations, strict=False) if e.candidate]
    if not view.side_by_side or len(accounts) != 2 or len(why.explanations) != 2:
        return None
    (_, _, first), (_, _, second) = accounts
    score = ScoreDifference("score", first.score, second.score, first.score - second.score)
    options = why.search.options
    return ScoreComparison(
        titles=[f"{label} {format_title(candidate, e.rank, view.paths)}" for label, e, candidate in accounts],
        rows=[*compare_scores(first, second, view.every_part), score],
        losses=[f"{label} {line}" for label, e, _ in accounts for line in format_loss(e, options, view)],
    )


def format_head(trace: Trace, view: WhyView) -> Iterator[str]:
    """Write the original of `--like`, the kind of query, and words that are too common; with every part also terms and channels."""
    if (original := trace.original) is not None:
        lines = f"{original.path}:{original.start_line}-{original.end_line}"
        if not original.path:  # a text from outside the index
            lines = f"{original.kind}, {original.language}"
        elif original.kind != "file":
            lines = f"{original.name}  {original.kind}  {lines}"
        yield escape_text(f"like: {lines}")
    if view.every_part:
        tiers: dict[str, list[str]] = {}
        for tier, term, origin in trace.terms:
            tiers.setdefault(tier, []).append(term if term == origin else f"{term} ({origin})")
        for tier, terms in tiers.items():
            yield escape_text(f"{tier}: {', '.join(terms)}")
    if (intent := trace.intent) is not None:
        mixed = ", ".join(f"{share:.0%} {name}" for name, share in intent.shares.items())
        because = f", {intent.reason}" + (f"; weights: {mixed}" if len(intent.shares) > 1 else "")
        yield escape_text(f"intent: {intent.name}{because if view.every_part else ''}")
    if trace.weights:
        yield escape_text(f"weights from {trace.weights}")
    if trace.common:
        yield escape_text(f"too common to tell units apart: {', '.join(trace.common)}")
    if view.every_part:
        counts = [
            f"{name} {len(matches)}" + (f" (at most {trace.cuts[name]})" if name in trace.cuts else "")
            for name, matches in sorted(trace.rankings.items())
        ]
        yield f"channels: {', '.join(counts) or 'none'}"


def format_title(candidate: Candidate, rank: int | None, paths: PathStyle) -> str:
    """Write rank (a dash if it has none), qualified name, kind and place of a candidate on one line."""
    unit = candidate.unit
    return escape_text(f"#{rank or '–'} {unit.qualified_name}  {unit.kind}  {paths.format_unit_place(unit)}")


def list_account_rows(candidate: Candidate, view: WhyView) -> list[AccountRow]:
    """List the rows that explain a score: families by amount, or every part in the order of the ranking."""
    if view.every_part:
        return [AccountRow(c.source, c.amount, f"{c.amount:+.6f}", c.reason) for c in candidate.contributions]
    families = sorted(group_families(candidate.contributions), key=lambda family: family.name != FUSION)
    reasons = {family.name: "; ".join(family.reasons) for family in families if family.reasons}
    if FUSION in reasons:
        reasons[FUSION] = describe_ranks(candidate.contributions, candidate.channels)
    figures = ((f, f"{f.amount:+.4f} {f.share:5.0%}") for f in families if f.name in reasons)
    return [AccountRow(f.name, f.amount, text, reasons[f.name]) for f, text in figures]


def format_score(candidate: Candidate, view: WhyView) -> str:
    """Write the score; if families are shown, also the number of parts that it sums up."""
    if view.every_part:
        return f"{candidate.score:.6f}  the sum"
    return f"{candidate.score:.4f}  the sum of {quantity(len(candidate.contributions), 'part')}; --all lists them"


def find_largest_amount(why: WhyResult, view: WhyView) -> float:
    """Find the amount of the longest bar, because all bars of an answer have one scale."""
    candidates = [e.candidate for e in why.explanations if e.candidate]
    return max((abs(row.amount) for c in candidates for row in list_account_rows(c, view)), default=0.0)


def _format_explanation(explanation: Explanation, why: WhyResult, view: WhyView, largest: float) -> Iterator[str]:
    candidate = explanation.candidate
    if candidate is None:
        yield escape_text(f"{explanation.target}: not among the results") + "\n"
    else:
        yield f"{format_title(candidate, explanation.rank, view.paths)}\n"
        rows = list_account_rows(candidate, view)
        width = max((len(row.label) for row in rows), default=len("score"))
        for row in rows:
            cells = round(abs(row.amount) / largest * BAR) if largest else 0
            bar = ("#" if row.amount > 0 else "-") * cells
            drawn = "" if view.every_part else f"{bar:{BAR}}  "
            yield f"  {row.label:{width}}  {row.figures}  {drawn}{escape_text(row.reason)}".rstrip() + "\n"
        yield f"  {'score':{width}}   {format_score(candidate, view)}\n"
        yield from (f"  {line}\n" for line in format_position(explanation, why.search.trace, view))
    yield from (f"  {line}\n" for line in format_loss(explanation, why.search.options, view))


def format_position(explanation: Explanation, trace: Trace, view: WhyView) -> Iterator[str]:
    """Write the gaps to the hits above and below, and their causes; with every part also the ranks by channel."""
    mine = explanation.candidate
    if mine is None:
        return
    matches = [(f"{name} #{rank}", trace.find_match(name, rank)) for name, rank in sorted(mine.channels.items())]
    if view.every_part and matches:  # show the channel's own score
        parts = [f"{place} ({match.raw_score:.4g})" if match else place for place, match in matches]
        yield f"ranks: {', '.join(parts)}"
    if (fused := trace.fused.get(mine.unit.id)) is not None:
        places = ", ".join(f"{place} ({match.reason})" if match else place for place, match in matches)
        yield escape_text(f"found with a fused score of {fused:.6f}: {places}")
    for word, other in (("behind", explanation.above), ("ahead of", explanation.below)):
        if other is not None:
            rows = compare_scores(mine, other, view.every_part)
            if sum(1 for row in rows if row.gap) == 1:
                rows = compare_scores(mine, other)
            gap, because = describe_gap({row.label: row.gap for row in rows}, 6 if view.every_part else 4)
            yield escape_text(f"{gap} {word} {other.unit.qualified_name}: {because}")


def format_loss(explanation: Explanation, options: SearchOptions, view: WhyView) -> Iterator[str]:
    """Write the stage that lost the target, a remedy and its command; nothing if the target is among the hits."""
    loss = explanation.loss
    if loss is not None:
        yield escape_text(f"lost at: {loss.stage}: {loss.text}")
        if loss.remedy:
            yield escape_text(f"remedy: {loss.remedy}")
        if loss.remedy_query:
            query = quote_for_shell(loss.remedy_query)
            positional = [f"-e {query}"] if options.like else ["--", query]
            parts = [*view.flags, *list_option_flags(loss.remedy_options or options), *positional, *view.below]
            yield escape_text(f"try: codelens search {' '.join(parts)}")


def list_option_flags(options: SearchOptions) -> Iterator[str]:
    """List the flags that repeat a search, except flags for where it looks and how results are shown."""
    for name, row in OPTIONS.items():
        value = getattr(options, name)
        usual = "likeness" if name == "profile" and options.like else row.default
        if value == usual or not row.flags or row.section == GREP or name == "memory":  # the settings decide on memory
            continue
        flag = row.flags[0] if len(row.flags) == 2 else row.spelling
        if row.type is bool:
            yield flag
        elif row.is_list:
            yield from (f"{flag} {quote_for_shell(text)}" for text in value)
        elif name == "weights":
            yield f"{flag} {','.join(f'{channel}={weight!r}' for channel, weight in value.items())}"
        else:
            yield f"{flag} {quote_for_shell(value) if name == 'like' else value}"


def quote_for_shell(text: str) -> str:
    """Quote a text as one word of a POSIX shell."""
    return "'" + text.replace("'", "'\\''") + "'"


def compare_scores(first: Candidate, second: Candidate, every_part: bool = True) -> list[ScoreDifference]:
    """Compare two scores by source, or by family, in the order of the first candidate's parts, then the second's."""
    amounts: list[dict[str, float]] = [{}, {}]
    for candidate, sums in zip((first, second), amounts, strict=True):
        parts = [(c.source, c.amount) for c in candidate.contributions]
        families = group_families(candidate.contributions) if not every_part else ()
        for label, amount in parts if every_part else [(f.name, f.amount) for f in families]:
            sums[label] = sums.get(label, 0.0) + amount
    one, two = amounts
    pairs = ((label, one.get(label, 0.0), two.get(label, 0.0)) for label in dict.fromkeys((*one, *two)))
    return [ScoreDifference(label, mine, other, mine - other) for label, mine, other in pairs]

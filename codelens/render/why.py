"""The answer of `why` → plain text for a pipe: a line for each family of reasons, or for each part of the score.

`why_terminal` draws the same rows with bars in colour.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from codelens.model.fast_dataclass import dataclass
from codelens.model.request import GREP, OPTIONS, SearchOptions
from codelens.model.search import FUSION, Candidate, Explanation, Intent, Original, Trace, WhyResult, describe_gap
from codelens.render.families import describe_ranks, families, family_amounts
from codelens.render.paths import PathStyle
from codelens.render.visible import for_line
from codelens.text.counts import quantity

BAR = 20  # Characters of the longest bar


@dataclass(frozen=True, slots=True)
class SearchPlace:
    """Flags and PATH arguments with which another search reads the same index and the same files."""

    flags: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()


SAME_PLACE = SearchPlace()


@dataclass(frozen=True, slots=True)
class WhyView:
    """How the accounts are shown."""

    paths: PathStyle
    every_part: bool = False  # A line for each part of a score; otherwise for each family
    side_by_side: bool = False  # Compare two targets
    same: SearchPlace = SAME_PLACE  # For the commands that are suggested
    color: bool = False


@dataclass(frozen=True, slots=True)
class AccountRow:
    """One line of the account of a score."""

    label: str
    amount: float
    figures: str  # The amount as text, and the share where the row is a family
    reason: str


@dataclass(frozen=True, slots=True)
class ScoreDifference:
    """The amounts of one source or family in two candidates."""

    label: str
    first: float
    second: float

    @property
    def gap(self) -> float:
        """Positive where the first candidate has more of it."""
        return self.first - self.second


def render_why(why: WhyResult, view: WhyView) -> Iterator[str]:
    """How the query was read, then the account of each target, or the comparison of two."""
    yield from (f"{line}\n" for line in head_lines(why.search.trace, view))
    pair = two_candidates(why) if view.side_by_side else None
    if pair:
        yield from ("\n", *_comparison_lines(*pair, why.search.options, view))
        return
    largest = largest_amount(why, view)
    for explanation in why.explanations:
        yield "\n"
        yield from _explanation_lines(explanation, why, view, largest)


def two_candidates(why: WhyResult) -> tuple[Explanation, Explanation] | None:
    """The two explanations, if there are two and both have a candidate."""
    if len(why.explanations) != 2 or any(e.candidate is None for e in why.explanations):
        return None
    return why.explanations[0], why.explanations[1]


def head_lines(trace: Trace, view: WhyView) -> Iterator[str]:
    """The original of `--like`, the kind of query, and words that are too common; with every part, terms and channels."""
    if trace.original is not None:
        yield for_line(f"like: {original_line(trace.original)}")
    if view.every_part:
        tiers: dict[str, list[str]] = {}
        for tier, term, origin in trace.terms:
            tiers.setdefault(tier, []).append(term if term == origin else f"{term} ({origin})")
        for tier, terms in tiers.items():
            yield for_line(f"{tier}: {', '.join(terms)}")
    if trace.intent is not None:
        yield for_line(f"intent: {intent_line(trace.intent) if view.every_part else trace.intent.name}")
    if trace.weights:
        yield for_line(f"weights from {trace.weights}")
    if trace.common:
        yield for_line(f"too common to tell units apart: {', '.join(trace.common)}")
    if view.every_part:
        counts = [
            f"{name} {len(matches)}" + (f" (at most {trace.cuts[name]})" if name in trace.cuts else "")
            for name, matches in sorted(trace.rankings.items())
        ]
        yield f"channels: {', '.join(counts) or 'none'}"


def intent_line(intent: Intent) -> str:
    """The kind of query, the reason for it, and the sets of weights if they are mixed."""
    mixed = ", ".join(f"{share:.0%} {name}" for name, share in intent.shares.items())
    return f"{intent.name}, {intent.reason}" + (f"; weights: {mixed}" if len(intent.shares) > 1 else "")


def original_line(original: Original) -> str:
    """Name, kind and place of the original of `--like`; kind and language of a text from outside the index."""
    if not original.path:
        return f"{original.kind}, {original.language}"
    lines = f"{original.path}:{original.start_line}-{original.end_line}"
    return lines if original.kind == "file" else f"{original.name}  {original.kind}  {lines}"


def format_title(candidate: Candidate, rank: int | None, paths: PathStyle) -> str:
    """Rank, qualified name, kind and place on one line; a dash if it has no rank."""
    unit = candidate.unit
    return for_line(f"#{rank or '–'} {unit.qualified_name}  {unit.kind}  {paths.of_unit(unit)}")


def account_rows(candidate: Candidate, view: WhyView) -> list[AccountRow]:
    """The lines of one account: families by amount, or every part in the order of the ranking."""
    if view.every_part:
        return [AccountRow(c.source, c.amount, f"{c.amount:+.6f}", c.reason) for c in candidate.contributions]
    return [
        AccountRow(
            f.name,
            f.amount,
            f"{f.amount:+.4f} {f.share:5.0%}",
            describe_ranks(candidate.contributions, candidate.channels) if f.name == FUSION else "; ".join(f.reasons),
        )
        for f in sorted(families(candidate.contributions), key=lambda f: f.name != FUSION)
        if f.reasons
    ]


def score_line(candidate: Candidate, view: WhyView) -> str:
    """The score, and in the view of families the number of parts behind it."""
    if view.every_part:
        return f"{candidate.score:.6f}  the sum"
    return f"{candidate.score:.4f}  the sum of {quantity(len(candidate.contributions), 'part')}; --all lists them"


def largest_amount(why: WhyResult, view: WhyView) -> float:
    """The amount of the longest bar: all bars of one answer have one scale."""
    candidates = [e.candidate for e in why.explanations if e.candidate]
    return max((abs(row.amount) for c in candidates for row in account_rows(c, view)), default=0.0)


def _explanation_lines(explanation: Explanation, why: WhyResult, view: WhyView, largest: float) -> Iterator[str]:
    candidate = explanation.candidate
    if candidate is None:
        yield for_line(f"{explanation.target}: not among the results") + "\n"
    else:
        yield f"{format_title(candidate, explanation.rank, view.paths)}\n"
        rows = account_rows(candidate, view)
        width = max((len(row.label) for row in rows), default=len("score"))
        for row in rows:
            drawn = "" if view.every_part else f"{_bar(row.amount, largest):{BAR}}  "
            yield f"  {row.label:{width}}  {row.figures}  {drawn}{for_line(row.reason)}".rstrip() + "\n"
        yield f"  {'score':{width}}   {score_line(candidate, view)}\n"
        yield from (f"  {line}\n" for line in position_lines(explanation, why.search.trace, view))
    yield from (f"  {line}\n" for line in loss_lines(explanation, why.search.options, view.same))


def _bar(amount: float, largest: float) -> str:
    cells = round(abs(amount) / largest * BAR) if largest else 0
    return ("#" if amount > 0 else "-") * cells


def position_lines(explanation: Explanation, trace: Trace, view: WhyView) -> Iterator[str]:
    """The distances to the hits above and below with what makes them; with every part, the ranks by channel too."""
    mine = explanation.candidate
    if mine is None:
        return
    if view.every_part:
        yield from rank_lines(mine, trace)
    if (fused := trace.fused.get(mine.unit.id)) is not None:
        matches = [(f"{name} #{rank}", trace.match(name, rank)) for name, rank in sorted(mine.channels.items())]
        found = ", ".join(f"{place} ({match.reason})" if match else place for place, match in matches)
        yield for_line(f"found with a fused score of {fused:.6f}: {found}")
    for word, other in (("behind", explanation.above), ("ahead of", explanation.below)):
        if other is not None:
            gap, because = explain_gap(mine, other, view.every_part)
            yield for_line(f"{gap} {word} {other.unit.qualified_name}: {because}")


def explain_gap(first: Candidate, second: Candidate, every_part: bool) -> tuple[str, str]:
    """The distance of two scores, and the parts that decide it, with their signs as the first has them."""
    rows = score_differences(first, second, every_part)
    if sum(1 for row in rows if row.gap) == 1:
        rows = score_differences(first, second)
    return describe_gap({row.label: row.gap for row in rows}, 6 if every_part else 4)


def rank_lines(candidate: Candidate, trace: Trace) -> Iterator[str]:
    """Its rank in each channel that found it, with the channel's own score."""
    parts = []
    for channel, rank in sorted(candidate.channels.items()):
        match = trace.match(channel, rank)
        parts.append(f"{channel} #{rank} ({match.raw_score:.4g})" if match else f"{channel} #{rank}")
    if parts:
        yield f"ranks: {', '.join(parts)}"


def loss_lines(explanation: Explanation, options: SearchOptions, same: SearchPlace) -> Iterator[str]:
    """The stage that lost the target, the remedy and the command for it; nothing if the target is among the hits."""
    loss = explanation.loss
    if loss is not None:
        yield for_line(f"lost at: {loss.stage}: {loss.text}")
        if loss.remedy:
            yield for_line(f"remedy: {loss.remedy}")
        if loss.remedy_query:
            query = quote_for_shell(loss.remedy_query)
            positional = [f"-e {query}"] if options.like else ["--", query]
            parts = [*same.flags, *option_flags(loss.remedy_options or options), *positional, *same.paths]
            yield for_line(f"try: codelens search {' '.join(parts)}")


def option_flags(options: SearchOptions) -> Iterator[str]:
    """The flags that repeat a search, except for those that say where it looks or how it is shown."""
    for name, row in OPTIONS.items():
        value = getattr(options, name)
        usual = "likeness" if name == "profile" and options.like else row.default
        if value == usual or not row.flags or row.section == GREP or name == "memory":  # which the settings decide
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
    """Text as one word of a POSIX shell."""
    return "'" + text.replace("'", "'\\''") + "'"


def score_differences(first: Candidate, second: Candidate, every_part: bool = True) -> list[ScoreDifference]:
    """By source or by family, in the order of the first candidate's account, then the second's."""
    one, two = (_sum_by_source(c) if every_part else family_amounts(c.contributions) for c in (first, second))
    return [ScoreDifference(label, one.get(label, 0.0), two.get(label, 0.0)) for label in dict.fromkeys((*one, *two))]


def _sum_by_source(candidate: Candidate) -> Mapping[str, float]:
    found: dict[str, float] = {}
    for c in candidate.contributions:
        found[c.source] = found.get(c.source, 0.0) + c.amount
    return found


def comparison_rows(first: Explanation, second: Explanation, view: WhyView) -> Sequence[ScoreDifference]:
    """The rows of a comparison; the last is the score."""
    assert first.candidate is not None
    assert second.candidate is not None
    rows = score_differences(first.candidate, second.candidate, view.every_part)
    return [*rows, ScoreDifference("score", first.candidate.score, second.candidate.score)]


def comparison_titles(first: Explanation, second: Explanation, view: WhyView) -> Iterator[str]:
    """`A …` and `B …`."""
    for label, explanation in (("A", first), ("B", second)):
        assert explanation.candidate is not None
        yield f"{label} {format_title(explanation.candidate, explanation.rank, view.paths)}"


def comparison_losses(first: Explanation, second: Explanation, options: SearchOptions, view: WhyView) -> Iterator[str]:
    """The losses of A and B with their remedies."""
    for label, explanation in (("A", first), ("B", second)):
        yield from (f"{label} {line}" for line in loss_lines(explanation, options, view.same))


def _comparison_lines(first: Explanation, second: Explanation, options: SearchOptions, view: WhyView) -> Iterator[str]:
    yield from (f"{line}\n" for line in comparison_titles(first, second, view))
    rows = comparison_rows(first, second, view)
    head = "source" if view.every_part else "family"
    width = max(len(head), *(len(row.label) for row in rows))
    yield f"  {head:{width}}  {'A':>9}  {'B':>9}  {'A - B':>9}\n"
    for row in rows:
        yield f"  {row.label:{width}}  {row.first:+9.6f}  {row.second:+9.6f}  {row.gap:+9.6f}\n"
    yield from (f"  {line}\n" for line in comparison_losses(first, second, options, view))

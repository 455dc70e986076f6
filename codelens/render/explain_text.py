"""The answer of `why` → plain text for a pipe; the terminal's version draws the same parts with bars."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from codelens.explained import Explanation, WhyResult
from codelens.model import Candidate, Intent, Original, SearchOptions, SearchResult, Trace
from codelens.render.visible import for_line

Show = Callable[[Candidate], str]
"""A candidate's place as text: path:line."""


class SameSearch(NamedTuple):
    """Flags, and PATH arguments, that make another search ask the same index about the same files."""

    flags: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()


HERE = SameSearch()


@dataclass(frozen=True, slots=True)
class Difference:
    """What one source gives to the first candidate and to the second."""

    source: str
    first: float
    second: float

    @property
    def gap(self) -> float:
        """Positive where the first candidate has more of it."""
        return self.first - self.second


def render_explanation(
    why: WhyResult, place: Show, side_by_side: bool = False, same: SameSearch = HERE
) -> Iterator[str]:
    """What was searched, then each target. `side_by_side` compares two targets that both are candidates."""
    yield from head_lines(why.search.trace)
    pair = two_candidates(why) if side_by_side else None
    if pair:
        yield from ("\n", *_compared(*pair, why.search.options, place, same))
        return
    for explanation in why.explanations:
        yield "\n"
        yield from _explained(explanation, why.search, place, same)


def two_candidates(why: WhyResult) -> tuple[Explanation, Explanation] | None:
    """The two explanations, if there are two and both have a candidate."""
    if len(why.explanations) != 2 or any(e.candidate is None for e in why.explanations):
        return None
    return why.explanations[0], why.explanations[1]


def head_lines(trace: Trace) -> Iterator[str]:
    """What is to be resembled, the query's terms, and what each channel gave."""
    if trace.original is not None:
        yield for_line(f"like: {original_line(trace.original)}") + "\n"
    tiers: dict[str, list[str]] = {}
    for tier, term, origin in trace.terms:
        tiers.setdefault(tier, []).append(term if term == origin else f"{term} ({origin})")
    for tier, terms in tiers.items():
        yield for_line(f"{tier}: {', '.join(terms)}") + "\n"
    if trace.intent is not None:
        yield for_line(f"intent: {intent_line(trace.intent)}") + "\n"
    if trace.weights:
        yield for_line(f"weights of your own: {trace.weights}") + "\n"
    if trace.common:
        yield for_line(f"in too many units to tell them apart: {', '.join(trace.common)}") + "\n"
    counts = [
        f"{n} {len(m)} (at most {trace.cuts[n]})" if n in trace.cuts else f"{n} {len(m)}" for n, m in _sorted(trace)
    ]
    yield f"channels: {', '.join(counts) or 'none'}\n"


def intent_line(intent: Intent) -> str:
    """What the query was taken for, why, and which sets of weights it takes where that is more than one."""
    mixed = ", ".join(f"{share:.0%} {name}" for name, share in intent.shares.items())
    return f"{intent.name}, {intent.reason}" + (f"; weights: {mixed}" if len(intent.shares) > 1 else "")


def original_line(original: Original) -> str:
    """Name, kind and place of what is to be resembled; of a text from outside its language."""
    if not original.path:
        return f"{original.kind}, {original.language}"
    lines = f"{original.path}:{original.start_line}-{original.end_line}"
    return lines if original.kind == "file" else f"{original.name}  {original.kind}  {lines}"


def _sorted(trace: Trace) -> list[tuple[str, Sequence[object]]]:
    return sorted(trace.rankings.items())


def title(candidate: Candidate, rank: int | None, place: Show) -> str:
    """Rank, qualified name, kind and place on one line; a dash for what has no rank."""
    unit = candidate.unit
    return for_line(f"#{rank or '–'} {unit.qualified_name}  {unit.kind}  {place(candidate)}")


def _explained(explanation: Explanation, search: SearchResult, place: Show, same: SameSearch) -> Iterator[str]:
    candidate = explanation.candidate
    if candidate is None:
        yield for_line(f"{explanation.target}: not among the results") + "\n"
    else:
        yield f"{title(candidate, explanation.rank, place)}\n"
        yield from _contributions(candidate)
        yield from (f"  {line}\n" for line in raw_scores(candidate, search.trace))
        yield from (f"  {line}\n" for line in neighbour_lines(explanation))
    yield from (f"  {line}\n" for line in loss_lines(explanation, search.options, same))


def _contributions(candidate: Candidate) -> Iterator[str]:
    width = max((len(c.source) for c in candidate.contributions), default=0)
    for c in candidate.contributions:
        yield f"  {c.source:{width}}  {c.amount:+.6f}  {for_line(c.reason)}\n"
    yield f"  {'score':{width}}   {candidate.score:.6f}  the sum\n"


def raw_scores(candidate: Candidate, trace: Trace) -> Iterator[str]:
    """What each channel itself said of it."""
    parts = []
    for channel, rank in sorted(candidate.channels.items()):
        ranking = trace.rankings.get(channel, ())
        raw = f" ({ranking[rank - 1].raw_score:.4g})" if rank <= len(ranking) else ""
        parts.append(f"{channel} #{rank}{raw}")
    if parts:
        yield f"ranks: {', '.join(parts)}"


def neighbour_lines(explanation: Explanation) -> Iterator[str]:
    """How far the hits above and below are, and what makes the difference, largest first."""
    mine = explanation.candidate
    if mine is None:
        return
    for word, other in (("behind", explanation.above), ("ahead of", explanation.below)):
        if other is not None:
            gap = abs(mine.score - other.score)
            parts = sorted(differences(mine, other), key=lambda d: (-abs(d.gap), d.source))[:3]
            because = ", ".join(f"{d.source} {d.gap:+.6f}" for d in parts if d.gap)
            yield for_line(f"{gap:.6f} {word} {other.unit.qualified_name}: {because or 'a tie, by path and place'}")


def loss_lines(explanation: Explanation, options: SearchOptions, same: SameSearch) -> Iterator[str]:
    """What lost the target, what brings it in, and the command for that; nothing where it was not lost."""
    loss = explanation.loss
    if loss is not None:
        yield for_line(f"lost at: {loss.stage}: {loss.text}")
        if loss.remedy:
            yield for_line(f"remedy: {loss.remedy}")
        if loss.remedy_query:
            query = shell_quoted(loss.remedy_query)
            said = [f"-e {query}"] if options.like else ["--", query]
            parts = [*same.flags, *option_flags(options), *said, *same.paths]
            command = " ".join(["codelens search", *parts])
            yield for_line(f"try: {command}")


def option_flags(options: SearchOptions) -> Iterator[str]:
    """The flags that ask for a search again, but for those that say where it looks or how it is shown."""
    plain = SearchOptions()
    for flag, given in (
        ("-F", options.literal),
        ("--regex", options.regex),
        ("-w", options.word),
        ("--prefix", options.prefix),
        ("--rerank", options.rerank),
    ):
        if given:
            yield flag
    if options.like:
        yield f"--like {shell_quoted(options.like)}"
    for flag, value, usual in (
        ("--case", options.case, plain.case),
        ("--mode", options.mode, plain.mode),
        ("--profile", options.profile, "likeness" if options.like else plain.profile),
        ("--weights", ",".join(f"{c}={w!r}" for c, w in options.weights.items()), ""),
        ("--rrf-k", options.rrf_k, plain.rrf_k),
        ("--fusion", options.fusion, plain.fusion),
        ("--expand", options.expand, plain.expand),
        ("--depth", options.depth, plain.depth),
        ("--decay", options.decay, plain.decay),
        ("--min-score", options.min_score, plain.min_score),
        ("-m", options.limit, plain.limit),
        ("--offset", options.offset, plain.offset),
        ("--sort", options.sort, plain.sort),
        ("--now", options.now, plain.now),
    ):
        if value != usual:
            yield f"{flag} {value}"
    if options.reverse:
        yield "--reverse"
    yield from (f"-t {shell_quoted(name)}" for name in options.languages)
    yield from (f"-T {shell_quoted(name)}" for name in options.languages_not)
    yield from (f"-g {shell_quoted(glob)}" for glob in options.globs)
    yield from (f"--meta {shell_quoted(condition)}" for condition in options.meta)


def shell_quoted(text: str) -> str:
    """One word for a POSIX shell, whatever is in it."""
    return "'" + text.replace("'", "'\\''") + "'"


def differences(first: Candidate, second: Candidate) -> list[Difference]:
    """Source by source, in the order of the first candidate's contributions, then the second's."""
    amounts: dict[str, list[float]] = {}
    for position, candidate in enumerate((first, second)):
        for c in candidate.contributions:
            amounts.setdefault(c.source, [0.0, 0.0])[position] += c.amount
    return [Difference(source, a, b) for source, (a, b) in amounts.items()]


def _compared(
    first: Explanation, second: Explanation, options: SearchOptions, place: Show, same: SameSearch
) -> Iterator[str]:
    assert first.candidate is not None
    assert second.candidate is not None
    yield f"A {title(first.candidate, first.rank, place)}\n"
    yield f"B {title(second.candidate, second.rank, place)}\n"
    rows = differences(first.candidate, second.candidate)
    width = max(len("source"), *(len(r.source) for r in rows))
    yield f"  {'source':{width}}  {'A':>9}  {'B':>9}  {'A - B':>9}\n"
    rows.append(Difference("score", first.candidate.score, second.candidate.score))
    for row in rows:
        yield f"  {row.source:{width}}  {row.first:+9.6f}  {row.second:+9.6f}  {row.gap:+9.6f}\n"
    for label, explanation in (("A", first), ("B", second)):
        yield from (f"  {label} {line}\n" for line in loss_lines(explanation, options, same))

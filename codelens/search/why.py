"""Why a target has its rank, or which stage lost it: read off the trace of the very search that was asked about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from codelens.config import Settings
from codelens.errors import CodelensError
from codelens.model import (
    CHUNK_KINDS,
    Candidate,
    Explanation,
    IndexInfo,
    Loss,
    SearchOptions,
    SearchResult,
    Skip,
    UnitRow,
    WhyResult,
)
from codelens.search.pipeline import Ranking, make_channels, rank, rank_of, search
from codelens.search.targets import Target, resolve_target
from codelens.store.store import Store
from codelens.text.identifiers import split_identifier
from codelens.worktree.walk import explain_path

DEEP = 100_000
"""How far down a channel is looked at for a match that its cut lost."""


def explain(
    text: str, targets: Sequence[str], store: Store, info: IndexInfo, options: SearchOptions, settings: Settings
) -> WhyResult:
    """The search, and for each target (or each hit shown) its place in it. Raises TargetError for names that fit nothing."""
    resolved = [resolve_target(t, store) for t in targets]
    result = search(text, store, info, options, settings)
    ranking = rank(text, store, options, settings) if targets else None
    if ranking is None:
        order = result.trace.candidates
        shown = range(options.offset, min(len(order), options.offset + options.limit))
        return WhyResult(result, tuple(_ranked(order[i].unit.qualified_name, order, i) for i in shown))
    asker = _Asker(text, store, options, settings, ranking, result)
    return WhyResult(result, tuple(asker.explain(t) for t in resolved))


def _ranked(target: str, order: Sequence[Candidate], place: int) -> Explanation:
    above = order[place - 1] if place > 0 else None
    below = order[place + 1] if place + 1 < len(order) else None
    return Explanation(target, order[place], place + 1, above, below, None)


class _Asker:
    """The questions about one ranking, in the order of the pipeline's stages."""

    def __init__(
        self,
        text: str,
        store: Store,
        options: SearchOptions,
        settings: Settings,
        ranking: Ranking,
        result: SearchResult,
    ) -> None:
        self._text, self._store, self._options, self._settings = text, store, options, settings
        self._ranking, self._result = ranking, result

    def explain(self, target: Target) -> Explanation:
        if target.unit is None:
            return Explanation(target.text, None, None, None, None, self._not_in_index(target))
        place = rank_of(self._ranking, target.unit.id)
        if place is None:
            return Explanation(target.text, None, None, None, None, self._not_candidate(target.unit))
        explained = _ranked(target.text, self._ranking.candidates, place - 1)
        first, last = self._options.offset + 1, self._options.offset + self._options.limit
        if first <= place <= last:
            return explained
        return replace(explained, loss=self._not_shown(explained, place))

    # Before the index

    def _not_in_index(self, target: Target) -> Loss:
        if target.document is not None:
            if target.document.fault:
                remedy = "mend the file, or report the grammar; its text is searched all the same"
                return Loss("parse failed", f"{target.path}: {target.document.fault}", remedy)
            return Loss("not a symbol", f"no unit covers line {target.line} of {target.path}", "name a line with text")
        for repository in self._store.documents.repositories():
            if verdict := self._seen(repository.root, target.path):
                return verdict
        return Loss("not on disk", f"there is no file {target.path}", "check the path: it is relative to the root")

    def _seen(self, root: Path, path: str) -> Loss | None:
        try:
            found = explain_path(root, path, self._settings)
        except CodelensError:
            return None
        if found is None:
            return None
        if not isinstance(found, Skip):
            known = {s.path: s for r in self._store.documents.repositories() for s in self._store.documents.skips(r.id)}
            if (skip := known.get(found.path)) is not None:
                return Loss("skipped", f"{path}: {skip.reason.value} ({skip.detail})", _unskip(skip))
            return Loss("not indexed", f"{path} is on disk and not in the index", "run `codelens index`")
        if found.reason.value in ("ignored", "hidden"):
            return Loss("ignored", f"{path}: {found.reason.value} by {found.detail}", _unskip(found))
        return Loss("skipped", f"{path}: {found.reason.value} ({found.detail})", _unskip(found))

    # Between the index and the candidates

    def _not_candidate(self, unit: UnitRow) -> Loss:
        if blame := self._ranking.scope.blame(unit):
            changed = self._first_that_works(unit, blame.without)
            return Loss(
                "filtered", f"{blame.condition} does not hold: {blame.text}", f"leave {blame.condition} out", changed
            )
        if event := next((e for e in self._ranking.trace.events if e.unit == unit.id), None):
            remedy = f"--min-score {event.text} or less"
            return Loss(event.stage, f"its share of the best score is {event.text}", remedy)
        if cut := self._cut(unit):
            channel, place, most = cut
            query = self._first_that_works(unit, self._additions(unit))
            return Loss("cut", f"{channel} ranks it {place}, and gives {most} matches", _say(query), query)
        said = ", ".join(t for _, t, _ in self._ranking.trace.terms) or "nothing"
        own = ", ".join(dict.fromkeys([*split_identifier(unit.name), *split_identifier(unit.container)]))
        query = self._first_that_works(unit, self._additions(unit))
        text = f"no channel matched: the query says {said}; its name says {own}"
        return Loss("no channel", text, _say(query), query)

    def _cut(self, unit: UnitRow) -> tuple[str, int, int] | None:
        """(channel, rank, cut) of the channel that would give it first, were its list longer."""
        best: tuple[str, int, int] | None = None
        channels = make_channels(self._ranking.profile)
        for name in self._ranking.trace.cuts:
            if name == "vector":
                continue  # every unit is somewhere in its list; that says nothing
            matches = channels[name].retrieve(self._ranking.expanded, self._store, DEEP)
            place = next((i for i, m in enumerate(matches, start=1) if m.unit == unit.id), None)
            if place and (best is None or place - self._ranking.trace.cuts[name] < best[1] - best[2]):
                best = (name, place, self._ranking.trace.cuts[name])
        return best

    # Between the candidates and the page

    def _not_shown(self, explained: Explanation, place: int) -> Loss:
        if place <= self._options.offset:
            return Loss("offset", f"rank {place} lies before --offset {self._options.offset}", "--offset 0")
        last = self._ranking.candidates[self._options.offset + self._options.limit - 1]
        assert explained.candidate is not None
        gap = last.score - explained.candidate.score
        differs = _difference(last, explained.candidate)
        text = f"rank {place} of {len(self._ranking.candidates)}: {gap:.6f} behind the last one shown, {differs}"
        query = self._first_that_works(explained.candidate.unit, self._additions(explained.candidate.unit))
        remedy = f"-m {place - self._options.offset}" + (f", or ask: {query}" if query else "")
        return Loss("beaten", text, remedy, query)

    # Remedies

    def _additions(self, unit: UnitRow) -> list[str]:
        """The query with a little more, least first: a word of its name, its name, its name in back-ticks."""
        said = {t for _, t, _ in self._ranking.trace.terms}
        words = [w for w in split_identifier(unit.name) if w not in said and len(w) > 1]
        name = unit.name.replace("`", "")
        exact = f"`{name}`" if unit.kind not in CHUNK_KINDS else f'"{name}"'
        ways = [*words, " ".join(words), name, exact, f"{exact} path:{unit.path}"]
        return [f"{self._text} {way}" for way in dict.fromkeys(ways) if way] + [exact]

    def _first_that_works(self, unit: UnitRow, queries: Sequence[str]) -> str:
        """The first of these queries that shows the unit within the limit; empty if none does."""
        options = replace(self._options, min_score=None, offset=0)
        for query in queries:
            place = rank_of(rank(query, self._store, options, self._settings), unit.id)
            if place is not None and place <= options.limit:
                return query
        return ""


def _say(query: str) -> str:
    return f"ask: {query}" if query else ""


def _unskip(skip: Skip) -> str:
    ways: dict[str, str] = {
        "ignored": "--no-ignore, or a line `!…` in .codelensignore",
        "hidden": "index with --hidden",
        "too large": "raise max_file_size in .codelens.toml",
        "minified": "set include_vendored = true in .codelens.toml",
        "generated": "set include_vendored = true in .codelens.toml",
        "vendored": "set include_vendored = true in .codelens.toml",
    }
    return ways.get(skip.reason.value, "")


def _difference(better: Candidate, worse: Candidate) -> str:
    """The sources in which two candidates differ most, as words."""
    sums: dict[str, float] = {}
    for sign, candidate in ((1.0, better), (-1.0, worse)):
        for part in candidate.contributions:
            sums[part.source] = sums.get(part.source, 0.0) + sign * part.amount
    most = sorted(((s, a) for s, a in sums.items() if a), key=lambda item: (-abs(item[1]), item[0]))[:3]
    return "mostly by " + ", ".join(f"{source} {amount:+.6f}" for source, amount in most) if most else "by place alone"

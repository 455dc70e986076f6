"""Explains why a target has its rank, or which stage of the search lost it, from the trace of that search."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from codelens.config import Settings
from codelens.errors import CodelensError, EmbedderFault, TargetError
from codelens.model.budget import SHOWN
from codelens.model.code import CHUNK_KINDS, DocumentId, IndexInfo, Skip, SkipReason, UnitRow
from codelens.model.fast_dataclass import replace
from codelens.model.request import SearchOptions
from codelens.model.search import Candidate, Explanation, Loss, Match, WhyResult, describe_gap, find_family
from codelens.query.nodes import KINDS, Filter, Query, asks_for_todos, format_node
from codelens.search.channels.vector import compute_query_vector
from codelens.search.files import rank_files
from codelens.search.pipeline import rank
from codelens.search.present import make_result
from codelens.search.rankers import Ranking
from codelens.search.retrieve import select_channels
from codelens.search.run import BELOW_MINIMUM, OUT_OF_TIME, limit_notices, prefetch_nothing, read_query
from codelens.search.scope import ELSEWHERE, list_documents_in_scope
from codelens.store.documents import DocumentRow
from codelens.store.store import Store
from codelens.store.targets import UserTarget, resolve_target
from codelens.store.units import UnitSet
from codelens.store.vectors import compute_cosine
from codelens.text.counts import quantity
from codelens.text.identifiers import split_identifier
from codelens.worktree.place import list_own_files
from codelens.worktree.walk import explain_path

MOST_AT_ONCE = 4  # Most remedies that are tried in parallel if the store has several indexes
DEEP = 100_000  # Most matches of a channel that are searched for a unit that its cut lost
VECTOR_DEEP = 1_300
"""Most matches of `vector` that are searched: sqlite-vec gives at most 4096 neighbours, and the channel fetches three a match."""


def explain_targets(
    query: str | Query,
    targets: Sequence[str],
    store: Store,
    info: IndexInfo,
    options: SearchOptions,
    settings: Settings,
) -> WhyResult:
    """Run a search and explain the place of each target, or of each hit shown. With --files-only a symbol stands for its file.

    Raises TargetError for unknown names and for files that do not exist.
    """
    with store.limit_time(settings.query_seconds):
        query = read_query(query, options)
        todos = asks_for_todos(query.node) and not options.files_only
        resolved = [resolve_target(target, store, todos) for target in targets]
        ranking = (rank_files if options.files_only else rank)(query, store, options, settings)
        result, candidates = make_result(ranking, info), ranking.candidates
        if not targets:
            page = range(options.offset, min(len(candidates), options.offset + options.limit))
            names = [c.unit.path if options.files_only else c.unit.qualified_name for c in candidates]
            return WhyResult(result, tuple(explain_place(names[i], candidates, i) for i in page))
        explainer = (_FileExplainer if options.files_only else _Explainer)(ranking)
        explanations = tuple(explainer.explain(target) for target in resolved)
        notices = limit_notices(store.budget)
    if notices:
        result = replace(result, notices=(*result.notices, *notices))
    return WhyResult(result, explanations)


def explain_place(target: str, order: Sequence[Candidate], place: int) -> Explanation:
    """Explain the candidate at a 0-based position in the ranking."""
    above, below = order[place - 1] if place > 0 else None, order[place + 1] if place + 1 < len(order) else None
    for candidate in filter(None, (above, order[place], below)):
        candidate.write_reasons()
    return Explanation(target, order[place], place + 1, above, below, None)


def explain_not_indexed(target: UserTarget, store: Store, settings: Settings) -> Loss:
    """Explain why a file is not indexed, by the rule that skips it. Raises TargetError if no indexed tree has such a file."""
    path = target.path
    for repository in store.documents.list_repositories():
        if target.repository not in ("", repository.name):
            continue
        try:
            seen = explain_path(repository.root, path, settings, list_own_files(store.path))
        except CodelensError:
            continue
        if seen is None:
            return Loss("not a symbol", f"{path} is a folder", "name a file, as PATH or PATH:LINE")
        if isinstance(seen, Skip):
            skip, is_rule = seen, seen.reason in (SkipReason.IGNORED, SkipReason.HIDDEN)
        else:
            known = {s.path: s for r in store.documents.list_repositories() for s in store.documents.list_skips(r.id)}
            if seen.path not in known:
                return Loss("not indexed", f"{path} is on disk and not in the index", "run `codelens index`")
            skip, is_rule = known[seen.path], False
        remedy = _WAYS_TO_INDEX.get(skip.reason.value, "")
        if is_rule:
            return Loss(skip.reason.value, f"{path}: {skip.detail}", remedy)
        return Loss("skipped", f"{path}: {skip.reason.value} ({skip.detail})", remedy)
    raise TargetError(f"no tree of this index has a file {path}", hint="a path is relative to the root")


def explain_loss(target: UserTarget, loss: Loss) -> Explanation:
    """Make the explanation of a target that is not a candidate."""
    return Explanation(target.text, None, None, None, None, loss)


_WAYS_TO_INDEX = {
    "ignored": "--no-ignore, or a line `!…` in .codelensignore",
    "hidden": "index with --hidden",
    "too large": "raise max_file_size in .codelens.toml",
    **dict.fromkeys(("minified", "generated", "vendored"), "set include_vendored = true in .codelens.toml"),
}  # Reason why a file was skipped → how to get it indexed


class _Explainer:
    """Explains targets of one ranking, by the stages of the pipeline in their order."""

    def __init__(self, ranking: Ranking) -> None:
        self._ranking, self._run = ranking, replace(ranking.run, prefetch=prefetch_nothing)
        self._store, self._options, self._settings = self._run.store, self._run.options, self._run.settings

    def explain(self, target: UserTarget) -> Explanation:
        """Explain the target's place in the ranking, or the stage that lost it."""
        unit, document = target.unit, target.document
        if unit is None and document is not None:
            return explain_loss(target, self._explain_missing_unit(target, document))
        if unit is None:
            return explain_loss(target, explain_not_indexed(target, self._store, self._settings))
        place = self._ranking.find_rank(unit.id)
        if place is not None:
            return self._explain_candidate(target, place - 1)
        missing = f"there was no time to find out why it is not a candidate: {target.text}"
        loss = Loss("out of time", missing, "raise the setting query_seconds")
        with self._store.budget.part(SHOWN, f"why {target.text} is not a candidate"):
            self._store.budget.check()
            loss = self._explain_absence(unit)
            # If the grammar failed, this piece of text might have been a symbol, which would be found more easily
            if document is not None and document.fault and unit.kind in CHUNK_KINDS:
                text = f"{target.path}: {document.fault}; as mere text it is lost at {loss.stage}: {loss.text}"
                loss = Loss("parse failed", text, MEND, loss.remedy_query)
        return explain_loss(target, loss)

    def _explain_missing_unit(self, target: UserTarget, document: DocumentRow) -> Loss:
        """Explain why no unit is at a line of an indexed file, or anywhere in it."""
        if document.fault:
            return Loss("parse failed", f"{target.path}: {document.fault}", MEND)
        what = "it is empty" if target.line is None else f"no unit covers its line {target.line}"
        remedy, line = "name a line with text", target.line or 1
        if units := self._store.units.list_in_document(document.id):
            nearest = min(units, key=lambda u: (min(abs(u.start_line - line), abs(u.end_line - line)), u.start_line))
            remedy = f"the nearest is {nearest.qualified_name}, line {nearest.name_line or nearest.start_line}"
        return Loss("not a symbol", f"{target.path}: {what}", remedy)

    def _explain_candidate(self, target: UserTarget, place: int) -> Explanation:
        """Explain the candidate at a 0-based position in the ranking, which may be on another page."""
        explained = explain_place(target.text, self._ranking.candidates, place)
        before = self._options.offset
        if before <= place < before + self._options.limit:
            return explained
        if place < before:
            text, remedy = f"rank {place + 1} lies before --offset {before}", f"--offset {place} or less"
            return replace(explained, loss=Loss("offset", text, remedy))
        return replace(explained, loss=self._explain_rank(self._ranking.candidates[place], place + 1))

    def _explain_absence(self, unit: UnitRow) -> Loss:
        if unit.id in self._run.originals:
            text = f"--like names this code, or code inside or around it: {self._options.like}"
            return Loss("itself", text, "")
        asked, options = [self._run.query.text], self._options
        if blame := self._run.scope.find_blame(unit):
            text = f"{blame.condition} does not hold: {blame.text}"
            query = self._find_first_that_works(unit, [*blame.without, *self._list_additions(unit, blame.without)])
            remedy = f"leave {blame.condition} out" + (f": {query}" if query else "")
            remedy = "--root-scope, without a PATH" if blame.condition == ELSEWHERE else remedy
            loss = Loss("filtered", text, remedy, query)
            if query or blame.without:
                return loss
            return self._add_other_options(loss, unit, _drop_option(options, blame.condition))
        event = next((e for e in self._run.trace.events if e.unit.id == unit.id), None)
        if event is not None and event.stage == BELOW_MINIMUM:
            said = "confidence" if self._run.profile.confidence else "share of the best score"
            loss = Loss(event.stage, f"its {said} is {event.text}", f"--min-score {event.text} or less")
            return self._add_other_options(loss, unit, replace(options, min_score=float(event.text)))
        query = self._find_first_that_works(unit, self._list_additions(unit, asked))
        if event is not None:
            loss = Loss(event.stage, event.text, _suggest_query(query), query)
        elif cut := self._find_nearest_cut(unit):
            channel, place, most = cut
            text = f"{channel} ranks it {place}, and gives {quantity(most, 'match', 'matches')}"
            loss = Loss("cut", text, _suggest_query(query), query)
        else:
            name_words = ", ".join(dict.fromkeys([*split_identifier(unit.name), *split_identifier(unit.container)]))
            text = self._describe_distance(unit) or f"{self._list_terms()}; its name says {name_words}"
            loss = Loss("no channel", text, _suggest_query(query), query)
        plain = replace(options, min_score=0.0, mode="hybrid", profile="codelens", weights={}, fusion="rrf", expand="")
        return loss if query or options.like else self._add_other_options(loss, unit, plain)

    def _list_terms(self) -> str:
        terms = ", ".join(term for _, term, _ in self._run.trace.terms) or "nothing"
        return f"{'the original' if self._options.like else 'the query'} says {terms}"

    def _describe_distance(self, unit: UnitRow) -> str:
        """Describe a unit's cosine and the least that the channel `vector` takes; empty unless only this channel ran."""
        vector, least = b"", 0.0
        with suppress(EmbedderFault):
            if tuple(self._run.trace.cuts) == ("vector",):
                vector, least = compute_query_vector(self._run)
        distance = self._store.vectors.measure_units(UnitSet([unit.id]), vector).get(unit.id) if vector else None
        return (
            ""
            if distance is None
            else f"its cosine is {compute_cosine(distance):.3f}; nothing below {least:.3f} is near"
        )

    def _add_other_options(self, loss: Loss, unit: UnitRow, options: SearchOptions) -> Loss:
        """Add to a loss a query that shows the unit with these options, if there is one."""
        asked = self._run.query.text
        queries = [asked, *self._list_additions(unit, [asked])]
        if options == self._options or not (query := self._find_first_that_works(unit, queries, options)):
            return loss
        remedy = loss.remedy or "with other options"
        remedy += f", ask: {query}" if query != asked or not loss.remedy else ""
        return replace(loss, remedy=remedy, remedy_query=query, remedy_options=options)

    def _find_nearest_cut(self, unit: UnitRow) -> tuple[str, int, int] | None:
        """Find the channel that missed the unit by the fewest ranks: (channel, rank, cut); None if no channel finds it."""
        cuts, missed = self._run.trace.cuts, list[tuple[str, int, int]]()
        if self._run.within is not None:  # the remedies' searches had other scopes
            self._store.unit_sets.fill_table(self._run.within)

        def retrieve_all(channel: str) -> Sequence[Match]:
            with self._store.enforce_budget():
                most = VECTOR_DEEP if channel == "vector" else DEEP
                return select_channels(self._run.profile)[channel].retrieve(self._run, most).matches

        names = [name for name in cuts if name != "vector" or len(cuts) == 1]  # it ranks all units, which tells nothing
        rankings = self._store.run_tasks(*(partial(retrieve_all, name) for name in names))
        for name, matches in zip(names, rankings, strict=True):
            others = (match.unit for match in matches if match.unit not in self._run.originals)
            place = next((place for place, other in enumerate(others, start=1) if other == unit.id), 0)
            missed += [(name, place, cuts[name])] if place > cuts[name] else []
        if not missed and (place := self._ranking.findings.left_out.get(unit.id, 0)):
            return "fuzzy", place, cuts["fuzzy"]
        return min(missed, key=lambda cut: cut[1] - cut[2], default=None)

    def _explain_rank(self, candidate: Candidate, rank: int) -> Loss:
        options, order = self._options, self._ranking.candidates
        text = f"rank {rank} of {len(order)}"
        if options.sort == "score":
            sums: dict[str, float] = {}
            for sign, one in ((1.0, candidate), (-1.0, order[options.offset + options.limit - 1])):
                for part in one.contributions:
                    sums[find_family(part)] = sums.get(find_family(part), 0.0) + sign * part.amount
            gap, parts = describe_gap(sums, 6)
            text += f": {gap} {'ahead of' if options.reverse else 'behind'} the last one shown: {parts}"
        else:
            text += f" by --sort {options.sort}{' --reverse' * options.reverse}"
        additions = self._list_additions(candidate.unit, [self._run.query.text], rank)
        query = self._find_first_that_works(candidate.unit, additions)
        remedy = f"-m {rank - options.offset}" + (f", or ask: {query}" if query else "")
        return Loss("beaten", text, remedy, query)

    def _list_additions(self, unit: UnitRow, queries: Sequence[str], rank: int | None = None) -> list[str]:
        """List changed queries in the order in which a user would try them; `rank` is the unit's if it is a candidate.

        For a candidate, filters are added first: `-is:test` if tests are above it, its kind, its folder. Then words of its name
        are added, and then the name as written. No query repeats a word. With --like, no words are added, since none rank.
        """
        if self._options.like:
            return []
        if self._options.literal or self._options.regex:
            return [re.escape(unit.name) if self._options.regex else unit.name]
        name = unit.name.replace("`", "").replace('"', "")
        exact = f"`{name}`" if unit.kind not in CHUNK_KINDS else f'"{name}"'
        folder = unit.path.rpartition("/")[0]
        place = format_node(Filter("path", (f"{folder}/" if folder else unit.path,)))
        name_words = {word.casefold() for word in (name, *split_identifier(name))}
        changed: list[str] = []
        for query in queries:
            if rank is not None:
                tests_above = any("test" in c.unit.roles for c in self._ranking.candidates[: rank - 1])
                if tests_above and "test" not in unit.roles and "is:" not in query:
                    changed.append(f"{query} -is:test")
                if unit.kind in KINDS and unit.kind not in CHUNK_KINDS and "kind:" not in query:
                    changed.append(f"{query} kind:{unit.kind}")
                changed += [] if "path:" in query else [f"{query} {place}"]
            present = {word.casefold() for word in _WORD.findall(query)} | {t for _, t, _ in self._run.trace.terms}
            words = [w for w in dict.fromkeys(split_identifier(name)) if w.casefold() not in present and len(w) > 1]
            changed += [f"{query} {way}" for way in dict.fromkeys([*words, " ".join(words)]) if way]
            named = query  # with the name as it is written in place of the plain words that it is made of
            if not set(query) & set('"`/()'):
                named = " ".join(word for word in query.split() if word.casefold() not in name_words)
            changed += [f"{named} {exact}"] + ([] if "path:" in query else [f"{named} {exact} {place}"])
        here = format_node(Filter("path", (unit.path,)))
        return [*dict.fromkeys(query.strip() for query in changed), exact, f"{exact} {here}", here]

    def _find_first_that_works(self, unit: UnitRow, queries: Sequence[str], other: SearchOptions | None = None) -> str:
        """Find the first of these queries that shows the unit, with the same or other options; empty if none does in time."""
        options, store = other or self._options, self._store
        first, last = options.offset + 1, options.offset + options.limit

        def rank_changed_query(query: str) -> Ranking | None:
            """Rank by a changed query; None if an option such as --strict-query forbids it."""
            with suppress(CodelensError), store.limit_time(self._settings.query_seconds, apart=True):
                return rank(query, store, options, self._settings)
            return None

        most = 1 if store.is_one else MOST_AT_ONCE
        for begin in range(0, len(queries), most):
            tried = queries[begin : begin + most]
            rankings = store.run_tasks(*(partial(rank_changed_query, query) for query in tried))
            for query, ranking in zip(tried, rankings, strict=True):
                if ranking is None:
                    continue
                if any(notice.code == OUT_OF_TIME for notice in ranking.run.notices):
                    store.budget.cut.append("not every remedy was tried")
                    return ""
                place = ranking.find_rank(unit.id)
                if place is not None and first <= place <= last:
                    return query
        return ""


_WORD = re.compile(r"\w+")
MEND = "mend the file, or report the grammar; its text is searched all the same"


def _drop_option(options: SearchOptions, condition: str) -> SearchOptions:
    """Remove from the options the one that excludes a unit; of several globs, only the one that does."""
    flag, _, value = condition.partition(" ")
    if flag == "-g":
        globs = tuple(g for g in options.globs if (f"'{g}'" != value if value else g.startswith("!")))
        return replace(options, globs=globs)
    names = {"-T": "languages_not", "-t": "languages", "--kind": "kinds"}
    return replace(options, **{names[flag]: ()}) if flag in names else options


def _suggest_query(query: str) -> str:
    return f"ask: {query}" if query else ""


class _FileExplainer(_Explainer):
    """Explains targets of a ranking of files."""

    def explain(self, target: UserTarget) -> Explanation:
        """Explain the target's file, or the file of a symbol."""
        document = target.unit.document if target.unit else target.document.id if target.document else None
        if document is None:
            return explain_loss(target, explain_not_indexed(target, self._store, self._settings))
        candidates = self._ranking.candidates
        place = next((place for place, c in enumerate(candidates) if c.unit.document == document), None)
        if place is None:
            return explain_loss(target, self._explain_lost_file(document))
        return self._explain_candidate(target, place)

    def _explain_rank(self, candidate: Candidate, rank: int) -> Loss:
        return Loss("beaten", f"rank {rank} of {len(self._ranking.candidates)}", f"-m {rank - self._options.offset}")

    def _explain_lost_file(self, document: DocumentId) -> Loss:
        event = next((e for e in self._run.trace.events if e.unit.document == document), None)
        if event is not None and event.stage == BELOW_MINIMUM:
            text = f"its share of the best score is {event.text}"
            return Loss(event.stage, text, f"--min-score {event.text} or less")
        (row,) = self._store.documents.read_rows([document])
        if not list_documents_in_scope(self._store, self._options, [document]):
            remedy = "--root-scope, or without -t, -g, PATH and the like"
            return Loss("filtered", f"an option keeps {row.path} out", remedy)
        if self._run.within is not None and document not in self._store.files.find_holding(self._run.within):
            text = f"nothing in {row.path} satisfies the conditions of the query"
            return Loss("filtered", text, "leave a condition out")
        text = f"{self._list_terms()}; no word of it is {row.path}'s, and none of its units lies near"
        return Loss("no channel", text, "")

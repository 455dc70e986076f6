"""Finds the units that satisfy the conditions of a query and its options: only these may be found.

Conditions are decided before ranking, so that no channel's limit hides units that satisfy them. The cheapest come first:
path and language of a document, then trigrams, then stored facts about a unit, and its text last.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain

from codelens.config import Settings
from codelens.lang.registry import resolve_language
from codelens.model.budget import CONDITIONS, OutOfTime
from codelens.model.code import DocumentId, Span, UnitId, UnitRow
from codelens.model.fast_dataclass import dataclass, field, replace
from codelens.model.graph import FILE, make_document_node
from codelens.model.request import SearchOptions
from codelens.model.search import Notice
from codelens.query import nodes
from codelens.query.conditions import (
    Conditions,
    SatisfyingUnits,
    add_satisfying,
    evaluate_node,
    find_demanded_words,
    join_alternatives,
    plan_literals,
)
from codelens.query.facts import EMPTY, LastChanges, Matching, find_occurrences, find_pattern, load_metadata, occurs
from codelens.query.filters import CHANGE_FIELDS, COMPARISON, find_repositories, make_kinds_filter, path_matches_glob
from codelens.query.patterns import AllOf, AnyOf, Plan, Ranges, Substring
from codelens.store.documents import DocumentRow, RootNames
from codelens.store.postings import build_trigram_query
from codelens.store.store import Part, Store
from codelens.store.texts import Texts
from codelens.store.units import UnitSet
from codelens.text.counts import quantity

LONGEST_SOUGHT, MOST_SOUGHT = 100, 32
"""Most characters of a text, and most texts of a conjunction, that are looked up in the trigram index. More exclude hardly any
document, and each trigram costs a look-up; afterwards the documents' texts are checked."""
NAMES_SHOWN = 20  # Most repositories that a notice names
ELSEWHERE = "the folder that is searched"
"""Name of the condition that excludes documents outside of a PATH or the working directory."""


@dataclass(frozen=True, slots=True)
class Blame:
    """The conditions that exclude a unit."""

    condition: str
    text: str
    without: Sequence[str]
    """The query without these conditions; empty if an option sets them, or nothing would be left of the query."""


@dataclass(frozen=True, slots=True)
class SearchScope:
    """The units that may be found, with the conditions that exclude the others."""

    query: nodes.Query
    options: SearchOptions
    texts: Texts
    conditions: Conditions
    units: UnitSet | None = None  # None if there are no conditions, and all units may be found
    reach: Mapping[UnitId, Span] = field(default_factory=dict)
    """Unit → the span that satisfies the query for it, if larger than the unit; see `SatisfyingUnits`."""
    lacks_authors: bool = False  # True if the query asks for authors, and those of old lines are unknown

    def find_blame(self, unit: UnitRow) -> Blame | None:
        """Find the conditions that exclude this unit; None if it may be found."""
        if self.units is None:
            return None
        conditions, (document,) = self.conditions, self.texts.store.documents.read_rows([unit.document])
        if option := _find_excluding_option(document, conditions.repositories[document.repository], self.options):
            return Blame(option, f"{document.path} ({document.language})", ())
        facts = conditions.collect_facts(document).narrow_to_unit(unit.kind, unit.name, unit.qualified_name)
        facts = facts._replace(text=self.texts.read(document).read_span(unit.span))
        matching = conditions.make_unit_matchings(document, [unit]).get(unit.id, conditions.matching)
        verdict = evaluate_node(self.query.node, facts, matching)
        if verdict.value is not False or verdict.blame is None:
            return None
        text = f"{unit.kind} {unit.qualified_name} in {unit.path} ({document.language})"
        blamed, rest = [verdict.blame], nodes.remove_node(self.query.node, verdict.blame)
        while rest is not None and (more := evaluate_node(rest, facts, matching)).blame is not None:
            blamed.append(more.blame)
            rest = nodes.remove_node(rest, more.blame)
        kinds = make_kinds_filter(self.options.kinds)
        if kinds is not None and kinds in blamed:
            return Blame(f"--kind {','.join(self.options.kinds)}", text, ())
        if kinds is not None:  # --kind put it first into the tree
            parts = nodes.list_required_parts(self.query.node)
            rest = nodes.remove_node(rest, next(part for part in parts if part == kinds))
        case = f" case:{self.query.case}" if self.query.case != self.options.case else ""
        without = [nodes.format_node(rest) + case] if rest is not None else []
        return Blame(", ".join(map(nodes.format_node, blamed)), text, without)

    def find_matches_by_line(self, unit: UnitRow, document: DocumentRow) -> Mapping[int, Ranges]:
        """Map each line of the unit to the character ranges where the query's phrases and patterns match."""
        leaves = [leaf for leaf in nodes.find_positive_leaves(self.query.node) if nodes.is_exact(leaf)]
        if not leaves:
            return {}
        whole, span, matching = self.texts.read(document), self.reach.get(unit.id, unit.span), self.conditions.matching
        by_line: dict[int, list[tuple[int, int]]] = {}
        for piece in whole.split_span(span):
            text, (first, indent) = whole.decode_span(piece), whole.find_line_and_indent(piece.start)
            ranges = list[tuple[int, int]]()
            for leaf in leaves:
                if isinstance(leaf, nodes.Pattern):
                    ranges += find_pattern(text, leaf.source, matching)
                elif isinstance(leaf, nodes.Phrase):
                    ranges += find_occurrences(text, leaf.text, matching)
                for value in leaf.values if isinstance(leaf, nodes.Filter) else ():
                    ranges += find_occurrences(text, value, matching)
            starts = [0, *(newline.end() for newline in re.finditer("\n", text))]
            for start, end in sorted(ranges):  # a range over several lines is cut to its first
                row = bisect_right(starts, start) - 1
                shift = (indent if row == 0 else 0) - starts[row]
                line_end = (starts[row + 1] - 1 if row + 1 < len(starts) else len(text)) + shift
                by_line.setdefault(first + row, []).append((start + shift, min(end + shift, line_end)))
        return {line: tuple(parts) for line, parts in by_line.items()}


def build_scope(
    store: Store, query: nodes.Query, options: SearchOptions, texts: Texts, settings: Settings
) -> SearchScope:
    """Find the units that satisfy the conditions, within the budget. Raises UsageError for options with unknown names."""
    conditions = read_conditions(store, query, options, texts, settings)
    scope = SearchScope(query, options, texts, conditions)
    restricting = options.repositories, options.languages, options.languages_not, options.globs, options.paths
    if query.plain and not any(restricting):
        return scope
    for value in _list_values("repo", nodes.list_leaves(query.node)):
        find_repositories(value, conditions.matching)  # found once here, so that no index has to know the roots of all
    units, reach, lacks_authors = UnitSet(), dict[UnitId, Span](), False
    sent = replace(conditions, matching=replace(conditions.matching, roots={}), changes=None)
    with store.budget.part(CONDITIONS, "conditions were not decided"):
        satisfy = partial(_find_satisfying_units, conditions=sent, options=options, texts=texts)
        parts = store.run_on_each_index(satisfy, store.map_roots_to_names())
        units = UnitSet(chain.from_iterable(part.units for part in parts))
        reach = {unit: span for part in parts for unit, span in part.of.items()}
        files, left, cut = map(sum, zip(*(part.counts for part in parts), strict=True))
        lacks_authors = cut > 0 and has_condition_on(query.node, "author")
        if left:
            store.budget.cut.append(f"conditions were decided for {files - left} of {quantity(files, 'file')}")
    store.unit_sets.fill_table(units)
    return replace(scope, units=units, reach=reach, lacks_authors=lacks_authors)


def read_conditions(
    store: Store, query: nodes.Query, options: SearchOptions, texts: Texts, settings: Settings
) -> Conditions:
    """Collect the conditions of a query with the data that is needed to decide them."""
    rows = store.documents.list_repositories()
    case = options.case if query.case == "auto" else query.case
    return Conditions(
        node=query.node,
        matching=Matching(case, options.word, store.budget, roots={row.name: row.root.as_posix() for row in rows}),
        repositories={int(row.id): row.name for row in rows},
        metadata=load_metadata(settings.metadata) if has_condition_on(query.node, "meta") else EMPTY,
        changes=LastChanges(store, texts) if has_condition_on(query.node, *CHANGE_FIELDS) else None,
    )


def _find_satisfying_units(
    store: Store, roots: RootNames, conditions: Conditions, options: SearchOptions, texts: Texts
) -> Part[Span]:
    """Find the units of one index that satisfy the conditions, with `SatisfyingUnits.reach`. The counts are (files, files for
    which there was no time, 1 if their history is incomplete)."""
    node, budget, texts = conditions.node, store.budget, texts.get_for_store(store)
    matching = replace(conditions.matching, budget=budget)
    conditions = replace(
        conditions,
        node=join_alternatives(node, matching),
        matching=matching,
        repositories={int(row.id): roots[row.root] for row in store.documents.list_repositories()},
        changes=LastChanges(store, texts) if has_condition_on(node, *CHANGE_FIELDS) else None,
    )
    documents = list_documents_in_scope(store, options, names=conditions.repositories)
    whole, undecided, satisfying, left = list[DocumentId](), list[DocumentRow](), SatisfyingUnits(), len(documents)
    with suppress(OutOfTime):
        for document in documents:
            budget.check()
            value = conditions.decide(document, conditions.node).value
            if value is None:
                undecided.append(document)
                continue
            left -= 1
            if value:
                whole.append(document.id)
        expression = format_trigrams(plan_literals(node)) if store.read_features().fuzzy else ""
        parts: Mapping[DocumentId, Collection[int]] = {}  # parts of large files that may satisfy the query
        if expression:
            with store.enforce_budget():
                allowed = store.postings.find_documents(expression)
            words = find_demanded_words(node)
            named = {d.id for d in undecided if any(occurs(d.path, word, True, False) for word in words)}
            undecided = [d for d in undecided if d.id in allowed or d.id in named]
            parts = {document: numbers for document, numbers in allowed.items() if document not in named}
        left = len(undecided)
        add_satisfying(undecided, conditions, parts, texts, satisfying)
    units = [*store.units.list_ids(whole, nodes.asks_for_todos(node)), *satisfying.units]
    cut = conditions.changes is not None and conditions.changes.is_cut
    return Part(units, satisfying.reach, (len(documents), left - satisfying.files, int(cut)))


def find_unknown_repositories(query: nodes.Query, scope: SearchScope) -> list[Notice]:
    """Make a notice for each `repo:` value that fits no repository of the index."""
    names = list(scope.conditions.repositories.values())
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return [
        Notice("repository", f"no repository fits repo:{value}; there are {', '.join(names[:NAMES_SHOWN])}{more}")
        for value in _list_values("repo", nodes.find_positive_leaves(query.node))
        if not find_repositories(value, scope.conditions.matching)
    ]


def _list_values(field: str, leaves: Iterable[nodes.Leaf]) -> list[str]:
    """List the values of the conditions on a field, each once."""
    filters = [leaf for leaf in leaves if isinstance(leaf, nodes.Filter) and leaf.field == field]
    return list(dict.fromkeys(value for condition in filters for value in condition.values))


def note_missing_metadata(query: nodes.Query, scope: SearchScope) -> list[Notice]:
    """Make a notice if `meta:` asks for a column that the user's table lacks."""
    values = _list_values("meta", nodes.find_positive_leaves(query.node))
    names = [compared[1] for value in values if (compared := COMPARISON.fullmatch(value))]
    columns = {column.lower(): column for column in scope.conditions.metadata.columns}
    if not names or set(names) <= columns.keys():
        return []
    missing = next(name for name in names if name not in columns)
    there = f"it has {', '.join(sorted(columns.values()))}" if columns else "name a file: --metadata FILE"
    return [Notice("metadata", f"no metadata has '{missing}'; {there}")]


def list_documents_in_scope(
    store: Store,
    options: SearchOptions,
    among: Collection[DocumentId] | None = None,
    names: Mapping[int, str] | None = None,
) -> list[DocumentRow]:
    """List the documents, of all or `among` these, that the options allow, by repository and path.

    `names` are names of repositories to use instead of the store's.
    """
    if options.repositories and names is None:
        names = {row.id: row.name for row in store.documents.list_repositories()}
    rows, named = store.documents.read_rows(among), names or {}
    return [row for row in rows if not _find_excluding_option(row, named.get(row.repository, ""), options)]


def _find_excluding_option(document: DocumentRow, repository: str, options: SearchOptions) -> str:
    """Find the option that excludes a document; empty if no option does."""
    if options.repositories and repository not in options.repositories:
        return ELSEWHERE
    if options.languages and document.language not in {resolve_language(n) for n in options.languages}:
        return f"-t {','.join(options.languages)}"
    if document.language in {resolve_language(n) for n in options.languages_not}:
        return f"-T {','.join(options.languages_not)}"
    folders = [path.strip("/") for path in options.paths]
    if folders and not any(f in ("", ".", document.path) or document.path.startswith(f"{f}/") for f in folders):
        return ELSEWHERE
    # The last glob that matches decides; where none does, a path passes unless some glob asks for others
    passes, reason = all(glob.startswith("!") for glob in options.globs), "-g"
    for glob in options.globs:
        if path_matches_glob(document.path, glob.removeprefix("!")):
            passes, reason = not glob.startswith("!"), f"-g '{glob}'"
    return "" if passes else reason


def has_condition_on(node: nodes.Node | None, *fields: str) -> bool:
    """Decide if any condition is on one of these fields."""
    return any(isinstance(leaf, nodes.Filter) and leaf.field in fields for leaf in nodes.list_leaves(node))


def format_trigrams(plan: Plan) -> str:
    """Format a plan as a full-text expression for the trigram index; empty if it requires nothing."""
    if isinstance(plan, Substring):
        return build_trigram_query(plan.text[:LONGEST_SOUGHT])
    if not isinstance(plan, AllOf | AnyOf):
        return ""
    wanted = plan.parts[:MOST_SOUGHT] if isinstance(plan, AllOf) else plan.parts
    parts = [f"({part})" if part else "" for part in map(format_trigrams, wanted)]
    if isinstance(plan, AllOf):
        return " AND ".join(filter(None, parts))
    return " OR ".join(parts) if all(parts) else ""  # one alternative that demands nothing lets everything through


def make_file_unit(document: DocumentRow, repository: str, store: Store, doc: str = "") -> UnitRow:
    """Make a unit that represents a whole file; its id is the number of the file's node in the graph."""
    size, lines = store.files.read_extent(document.id)
    return UnitRow(
        id=UnitId(make_document_node(document.id)),
        document=document.id,
        kind=FILE,
        name=document.path.rpartition("/")[2],
        container="",
        parent=None,
        start_byte=0,
        end_byte=size,
        name_start=0,
        name_end=0,
        body_start=size,
        start_line=1,
        end_line=max(lines, 1),
        name_line=0,
        name_column=0,
        signature="",
        doc=doc,
        path=document.path,
        language=document.language,
        repository=repository,
        roles=document.roles,
    )

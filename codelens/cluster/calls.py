"""The calls that a search makes on a store, and how the answers of shards become that of the whole.

A call says which of its arguments name units, documents, nodes or a repository — only the shards that hold these are asked,
each with its own — what in an answer is a number or a repository's name, and how answers are merged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from codelens.cluster.numbers import Numbers, by_shard, document_of, split, unit_of
from codelens.cluster.shards import IN_PARTS, REHEARSE, Read
from codelens.model.code import UnitId
from codelens.model.fast_dataclass import dataclass, replace
from codelens.model.graph import EXTERNAL
from codelens.store.documents import InOrder, RootNames
from codelens.store.store import Part
from codelens.store.units import UnitSet
from codelens.store.vectors import first_with_ties
from codelens.text.identifiers import fold_identifier

# Arguments

Parts = Mapping[int, Any]  # Shard → its part of an argument
Cut = Callable[[Numbers, Any], Parts | None]
"""Argument → the parts of shards; None if it names nothing, so that all shards are asked."""


def _many(_: Numbers, ids: Iterable[int] | None) -> Parts | None:
    return None if ids is None else by_shard(ids)


def _further(numbers: Numbers, ids: Iterable[int] | None) -> Parts | None:
    own = by_shard(ids or ())
    return None if ids is None else {shard: own.get(shard, []) for shard in numbers.shards}


def _nodes(numbers: Numbers, nodes: Iterable[int]) -> Parts:
    return numbers.nodes_by_shard(nodes)


def _one(_: Numbers, number: int) -> Parts:
    shard, local = split(number)
    return {shard: local}


def _repository(numbers: Numbers, repository: int) -> Parts:
    shard, local = numbers.home(repository)
    return {shard: local}


def _pairs(_: Numbers, pairs: Iterable[tuple[int, int]]) -> Parts:
    found: dict[int, list[tuple[int, int]]] = {}
    for number, other in pairs:
        shard, local = split(number)
        found.setdefault(shard, []).append((local, other))
    return found


def _within(_: Numbers, units: UnitSet | None) -> Parts | None:
    return None if units is None else {shard: UnitSet(map(UnitId, own)) for shard, own in by_shard(units).items()}


def _expressions(numbers: Numbers, expressions: Iterable[str]) -> Parts:
    found: dict[int, list[str]] = {}
    for expression in expressions:
        for shard in numbers.routes.with_any(expression, numbers.shards):
            found.setdefault(shard, []).append(expression)
    return found


def _matches(numbers: Numbers, matches: Sequence[str]) -> Parts:
    return dict.fromkeys(numbers.routes.with_any(matches[-1], numbers.shards), matches)


def _named(numbers: Numbers, name: str) -> Parts:
    return dict.fromkeys(numbers.routes.with_name(fold_identifier(name), numbers.shards), name)


def _of_units(whole: Numbers, numbers: Any) -> Parts | None:
    if isinstance(numbers, RootNames):
        return whole.names_by_root()
    if not isinstance(numbers, dict):
        return None if numbers is None else by_shard(numbers)
    found: dict[int, dict[int, Any]] = {}
    for number, value in numbers.items():
        shard, local = split(number)
        found.setdefault(shard, {})[local] = value
    return found


EXPRESSIONS: Cut = _expressions
MATCHES: Cut = _matches
NAMED: Cut = _named
MANY: Cut = _many
FURTHER: Cut = _further
OF_UNITS: Cut = _of_units
NODES: Cut = _nodes
ONE: Cut = _one
REPOSITORY: Cut = _repository
PAIRS: Cut = _pairs
WITHIN: Cut = _within

# Answers

Lift = Callable[[Numbers, int, Any], Any]  # A shard's value → the whole's


def _same(_: Numbers, __: int, value: Any) -> Any:
    return value


def _unit(_: Numbers, shard: int, value: Any) -> Any:
    return None if value is None else unit_of(shard, value)


def _document(_: Numbers, shard: int, value: Any) -> Any:
    return document_of(shard, value)


def _node(numbers: Numbers, shard: int, value: Any) -> Any:
    return numbers.node(shard, value)


def _unit_row(numbers: Numbers, shard: int, row: Any) -> Any:
    parent = None if row.parent is None else unit_of(shard, row.parent)
    return row._replace(
        id=unit_of(shard, row.id),
        document=document_of(shard, row.document),
        parent=parent,
        repository=numbers.name(shard, row.repository),
    )


def _document_row(numbers: Numbers, shard: int, row: Any) -> Any:
    repository = numbers.repository(shard, row.repository)
    return row and replace(row, id=document_of(shard, row.id), repository=repository)


def _messages(_: Numbers, shard: int, messages: Any) -> Any:
    return replace(messages, best=document_of(shard, messages.best))


def _edge(numbers: Numbers, shard: int, edge: Any) -> Any:
    return replace(edge, source=numbers.node(shard, edge.source), target=numbers.node(shard, edge.target))


def _repository_id(numbers: Numbers, shard: int, value: Any) -> Any:
    return numbers.repository(shard, value)


def _name(numbers: Numbers, shard: int, name: Any) -> Any:
    return numbers.name(shard, name)


SAME, UNIT, DOCUMENT, NODE, NAME = _same, _unit, _document, _node, _name
UNIT_ROW, DOCUMENT_ROW, EDGE, REPOSITORY_ID = _unit_row, _document_row, _edge, _repository_id
MESSAGES = _messages


def _unit_or_none(numbers: Numbers, shard: int, unit: int | None) -> Any:
    return None if unit is None else _unit(numbers, shard, unit)


PARENT = _unit_or_none


def listed(lift: Lift) -> Lift:
    """A list, with keys if it has them."""

    def apply(numbers: Numbers, shard: int, values: Any) -> Any:
        found = [lift(numbers, shard, value) for value in values]
        if isinstance(values, InOrder):
            return InOrder(found, [_key(numbers, shard, key, values.at) for key in values.keys])
        return found

    return apply


def _key(numbers: Numbers, shard: int, key: tuple[Any, ...], at: int) -> tuple[Any, ...]:
    """The key with the repository as the cluster calls it: some keys have its name, and others its id."""
    changed = list(key)
    lift = numbers.name if isinstance(key[at], str) else numbers.repository
    changed[at] = lift(shard, key[at])
    return tuple(changed)


def row(*lifts: Lift) -> Lift:
    """A tuple; values behind the last of these stay."""

    def apply(numbers: Numbers, shard: int, values: Any) -> Any:
        return (*(lift(numbers, shard, v) for lift, v in zip(lifts, values, strict=False)), *values[len(lifts) :])

    return apply


def keyed(key: Lift, value: Lift = SAME) -> Lift:
    """A mapping."""

    def apply(numbers: Numbers, shard: int, values: Any) -> Any:
        return {key(numbers, shard, k): value(numbers, shard, v) for k, v in values.items()}

    return apply


def either(lift: Lift) -> Lift:
    """A value or None."""

    def apply(numbers: Numbers, shard: int, value: Any) -> Any:
        return None if value is None else lift(numbers, shard, value)

    return apply


class ReadAhead(NamedTuple):
    """The answer to a call of the whole that shards have read ahead."""

    method: str
    arguments: tuple[Any, ...]
    answer: Any


def _part(numbers: Numbers, shard: int, part: Any) -> Any:
    if part is None:
        return None
    documents = listed(DOCUMENT)(numbers, shard, part.documents)
    return Part(listed(UNIT)(numbers, shard, part.units), keyed(UNIT)(numbers, shard, part.of), part.counts, documents)


def _reads(numbers: Numbers, shard: int, reads: Sequence[Read]) -> list[ReadAhead]:
    found = []
    for read in reads:
        if (how := CALLS.get(read.method)) is None or _depends(how, read.arguments):
            continue
        arguments = read.arguments
        if (cut := _cut_of(how, arguments)) is not None:
            arguments = (_raised(numbers, shard, cut, arguments[0]), *arguments[1:])
        found.append(ReadAhead(read.method, arguments, how.gives(numbers, shard, read.answer)))
    return found


def _cut_of(how: Call, arguments: Sequence[Any]) -> Cut | None:
    """How the first argument names a part of the whole; None if it does not."""
    return next((cut for place, cut in how.cuts if place == 0 and arguments[0] is not None), None)


def _depends(how: Call, arguments: Sequence[Any]) -> bool:
    """True if the answer depends on numbers that another shard may have too, or that the whole names otherwise."""
    cut = _cut_of(how, arguments)
    return any(arguments[place] is not None for place, _ in how.cuts if place) or not (
        cut is None or cut is ONE or how.each
    )


def _raised(numbers: Numbers, shard: int, cut: Cut, first: Any) -> Any:
    if cut is ONE:
        return unit_of(shard, first)
    raised = (numbers.node(shard, one) if cut is NODES else unit_of(shard, one) for one in first)
    return [one for one in raised if one < EXTERNAL]


def _learnt(answers: Sequence[Sequence[ReadAhead]], arguments: Sequence[Any]) -> list[ReadAhead]:
    """The calls that one shard alone answers, and those that all of them have read."""
    found, everywhere = list[ReadAhead](), dict[Any, list[ReadAhead]]()
    for answer in answers:
        of_all = {}
        for known in answer:
            if _cut_of(CALLS[known.method], known.arguments) is not None:
                found.append(known)
            elif arguments[1] is None:  # all shards were asked
                of_all[known.method, frozen(known.arguments)] = known
        for key, known in of_all.items():
            everywhere.setdefault(key, []).append(known)
    for (method, _), own in everywhere.items():
        if len(own) == len(answers):
            merged = CALLS[method].merge([one.answer for one in own], own[0].arguments)
            found.append(ReadAhead(method, own[0].arguments, merged))
    return found


# Merging

Merge = Callable[[Sequence[Any], Sequence[Any]], Any]
"""The lifted answers in order of their shards, and the arguments → the whole's answer."""


def only(answers: Sequence[Any], _: Sequence[Any]) -> Any:
    """The answer of the one shard that was asked."""
    return answers[0]


def as_they_are(answers: Sequence[Any], _: Sequence[Any]) -> list[Any]:
    """Each answer, shard by shard."""
    return list(answers)


def joined(answers: Sequence[Any], _: Sequence[Any]) -> list[Any]:
    """All elements, shard by shard."""
    return list(chain.from_iterable(answers))


def united(answers: Sequence[Any], _: Sequence[Any]) -> dict[Any, Any]:
    """One mapping: no key is in two shards."""
    return {key: value for answer in answers for key, value in answer.items()}


def in_columns(answers: Sequence[Any], _: Sequence[Any]) -> tuple[dict[Any, Any], list[dict[Any, Any]]]:
    """A mapping, and a list of mappings: each with its like."""
    holding = zip(*(held for _, held in answers), strict=True)
    return united([first for first, _ in answers], ()), [united(held, ()) for held in holding]


def by_value(answers: Sequence[Any], _: Sequence[Any]) -> dict[Any, Any]:
    """One mapping, in order of its values; several shards may have the same key, with the same value."""
    return dict(sorted(united(answers, ()).items(), key=lambda pair: pair[1]))


def one_set(answers: Sequence[Any], _: Sequence[Any]) -> set[Any]:
    """All elements."""
    return set(chain.from_iterable(answers))


def summed(answers: Sequence[Any], _: Sequence[Any]) -> int:
    """The sum of counts."""
    return sum(answers)


def summed_each(answers: Sequence[Any], _: Sequence[Any]) -> tuple[int, ...]:
    """The sums of several counts."""
    return tuple(map(sum, zip(*answers, strict=True)))


def counted(answers: Sequence[Any], _: Sequence[Any]) -> dict[Any, int]:
    """Counts by key, which several shards may have; in order of the keys."""
    found: dict[Any, int] = {}
    for answer in answers:
        for key, count in dict(answer).items():
            found[key] = found.get(key, 0) + count
    return dict(sorted(found.items()))


def highest(answers: Sequence[Any], _: Sequence[Any]) -> dict[Any, float]:
    """The highest value of each key, which several shards may have."""
    found: dict[Any, float] = {}
    for answer in answers:
        for key, value in answer.items():
            found[key] = max(value, found.get(key, value))
    return found


def counted_pairs(answers: Sequence[Any], arguments: Sequence[Any]) -> list[tuple[Any, int]]:
    """The same as pairs."""
    return list(counted(answers, arguments).items())


def everywhere(answers: Sequence[Any], _: Sequence[Any]) -> bool:
    """True if all say so."""
    return all(answers)


def most(answers: Sequence[Any], _: Sequence[Any]) -> int:
    """The greatest."""
    return max(answers, default=0)


def best(limit: int | None) -> Merge:
    """The first of all by their keys; `limit` is the argument that says how many, None for all."""

    def merge(answers: Sequence[InOrder[Any]], arguments: Sequence[Any]) -> InOrder[Any]:
        pairs = [pair for answer in answers for pair in zip(answer.keys, answer, strict=True)]
        pairs.sort(key=lambda pair: pair[0])
        first = pairs if limit is None else pairs[: arguments[limit]]
        return InOrder([element for _, element in first], [key for key, _ in first])

    return merge


def ordered(key: Callable[[Any], Any], limit: int | None = None) -> Merge:
    """All in order of what they are."""

    def merge(answers: Sequence[Any], arguments: Sequence[Any]) -> list[Any]:
        found = sorted(chain.from_iterable(answers), key=key)
        return found if limit is None else found[: arguments[limit]]

    return merge


def distinct(key: Callable[[Any], Any], limit: int) -> Merge:
    """Each once, in order of what they are."""

    def merge(answers: Sequence[Any], arguments: Sequence[Any]) -> list[Any]:
        return sorted(set(chain.from_iterable(answers)), key=key)[: arguments[limit]]

    return merge


def as_asked(of: int) -> Merge:
    """Rows in the order of the documents in the first argument; `of` is the row's place of its document."""

    def merge(answers: Sequence[Any], arguments: Sequence[Any]) -> list[Any]:
        place = {number: at for at, number in enumerate(arguments[0])}
        return sorted(chain.from_iterable(answers), key=lambda found: place[found[of]])

    return merge


@dataclass(frozen=True, slots=True)
class Call:
    """How shards are asked for one method."""

    gives: Lift
    merge: Merge
    cuts: tuple[tuple[int, Cut], ...] = ()  # (place of an argument, how it is cut)
    kept: bool = False  # True for what does not depend on a query: asked for once
    each: Each | None = None
    """For a first argument of many: how an answer falls into what belongs to each of them, so that only new ones are asked for."""


class Each(NamedTuple):
    """How an answer falls into elements for those of the first argument."""

    split: Callable[[Any], Iterable[tuple[Any, Any]]]
    """An answer → pairs (element of the first argument, element of the answer)."""
    made: Callable[[list[Any], Sequence[Any]], Any] = lambda found, _: found  # Elements and the arguments → an answer


def _of_files(answer: tuple[dict[Any, int], list[dict[Any, int]]]) -> Iterable[tuple[Any, Any]]:
    lengths, holding = answer
    for document in lengths.keys() | chain.from_iterable(holding):
        yield document, (document, lengths.get(document), [held.get(document) for held in holding])


def _in_files(found: list[Any], arguments: Sequence[Any]) -> tuple[dict[Any, int], list[dict[Any, int]]]:
    lengths = {document: length for document, length, _ in found if length is not None}
    holding = [{d: held[at] for d, _, held in found if held[at] is not None} for at in range(len(arguments[1]))]
    return lengths, holding


BY_KEY = Each(lambda answer: ((key, (key, value)) for key, value in answer.items()), lambda found, _: dict(found))
BY_FIRST = Each(lambda answer: ((found[0], found) for found in answer))
BY_ID = Each(lambda answer: ((found.id, found) for found in answer))
BY_FILE = Each(_of_files, _in_files)


def call(gives: Lift, merge: Merge, *cuts: tuple[int, Cut], kept: bool = False, each: Each | None = None) -> Call:
    """A short way to write a Call."""
    return Call(gives, merge, cuts, kept, each)


def _of_document(found: Any) -> Any:
    return found.repository, found.path


_ENDING: Callable[[Any], Any] = lambda d: (len(d.path), d.path, d.repository)  # noqa: E731

CALLS: Mapping[str, Call] = {
    IN_PARTS: call(_part, as_they_are, (1, OF_UNITS), (3, FURTHER)),
    REHEARSE: call(_reads, _learnt, (1, OF_UNITS)),
    "documents.rows": call(listed(DOCUMENT_ROW), ordered(_of_document), (0, MANY), each=BY_ID),
    "documents.by_path": call(listed(DOCUMENT_ROW), ordered(lambda d: d.repository)),
    "documents.ending_in": call(listed(DOCUMENT_ROW), ordered(_ENDING, 1)),
    "documents.linkable": call(listed(row(DOCUMENT)), only, (0, REPOSITORY)),
    "documents.at": call(either(DOCUMENT_ROW), only, (0, REPOSITORY)),
    "documents.first": call(listed(DOCUMENT), best(1), (0, MANY)),
    "documents.first_on_paths": call(listed(DOCUMENT), best(1)),
    "documents.on_paths": call(SAME, summed, kept=True),
    "documents.snapshot": call(SAME, only, (0, ONE)),
    "documents.skips": call(SAME, only, (0, REPOSITORY)),
    "documents.is_skipped": call(SAME, only, (0, REPOSITORY)),
    "documents.holds_below": call(SAME, only, (0, REPOSITORY)),
    "documents.skipped_folders": call(SAME, only, (0, REPOSITORY)),
    "parts.places": call(SAME, only, (0, ONE)),
    "parts.bytes_of": call(SAME, only, (0, ONE)),
    "parts.documents": call(listed(DOCUMENT), one_set, kept=True),
    "units.count": call(SAME, summed, kept=True),
    "units.rows": call(keyed(UNIT, UNIT_ROW), united, (0, MANY), each=BY_KEY),
    "units.of_document": call(listed(UNIT_ROW), only, (0, ONE)),
    "units.todos": call(listed(UNIT_ROW), only, (0, ONE)),
    "units.definitions": call(listed(row(UNIT, PARENT)), only, (0, ONE)),
    "units.at_top": call(listed(row(SAME, UNIT, DOCUMENT)), joined, (0, MANY)),
    "units.contained": call(listed(row(SAME, SAME, UNIT, DOCUMENT)), joined, (0, MANY)),
    "units.ids_of": call(listed(row(UNIT)), only, (0, ONE)),
    "units.contents": call(listed(row(UNIT, NAME)), joined, (0, MANY), each=BY_FIRST),
    "units.named": call(listed(UNIT), best(2), (0, NAMED), (1, WITHIN)),
    "units.named_as": call(listed(UNIT), best(3), (0, NAMED), (2, WITHIN)),
    "units.named_from": call(listed(UNIT), best(2), (1, WITHIN)),
    "units.qualified_with": call(listed(UNIT), best(2), (1, WITHIN)),
    "units.in_segment": call(listed(UNIT), best(2), (1, WITHIN)),
    "units.of_todos": call(listed(UNIT), best(1), (0, MANY)),
    "units.of_documents": call(listed(UNIT), joined, (0, MANY)),
    "units.grouped": call(listed(row(UNIT)), best(None), (0, MANY)),
    "units.inside": call(listed(row(UNIT, UNIT)), joined, (0, MANY), each=BY_FIRST),
    "units.around": call(keyed(UNIT, UNIT), united, (0, MANY), each=BY_KEY),
    "units.decorators": call(keyed(UNIT), united, (0, MANY), each=BY_KEY),
    "units.top_level": call(listed(row(DOCUMENT, UNIT)), joined, (0, MANY)),
    "units.briefs": call(listed(row(UNIT, DOCUMENT)), as_asked(1), (0, MANY)),
    "units.spans": call(listed(row(UNIT)), only, (0, ONE)),
    "units.local": call(listed(UNIT), one_set),
    "units.namesakes": call(listed(row(UNIT, DOCUMENT)), joined, (0, NAMED)),
    "units.names_from": call(SAME, distinct(lambda name: (len(name), name), 1)),
    "units.signature": call(SAME, only, (0, ONE)),
    "postings.counts": call(SAME, counted, (0, EXPRESSIONS), kept=True, each=BY_KEY),
    "postings.totals": call(
        SAME, lambda answers, _: (sum(a[0] for a in answers), summed_each([a[1] for a in answers], ())), kept=True
    ),
    "postings.bm25_given": call(listed(row(UNIT)), best(4), (0, MATCHES), (3, WITHIN)),
    "postings.vocabulary": call(SAME, counted_pairs),
    "postings.documents_matching": call(keyed(DOCUMENT), united),
    "postings.names_containing": call(listed(UNIT), best(2), (1, WITHIN)),
    "postings.names_with": call(listed(row(UNIT, DOCUMENT)), best(2), (1, WITHIN)),
    "postings.names_resembling": call(listed(row(UNIT)), best(2), (1, WITHIN)),
    "occurrences.files": call(SAME, summed, kept=True),
    "occurrences.in_units": call(keyed(UNIT), united, (0, WITHIN), each=BY_KEY),
    "occurrences.in_files": call(row(keyed(DOCUMENT), listed(keyed(DOCUMENT))), in_columns, (0, MANY), each=BY_FILE),
    "vectors.width": call(SAME, most, kept=True),
    "vectors.of_files": call(keyed(DOCUMENT), united, (1, MANY)),
    "vectors.distances": call(keyed(UNIT), united, (0, WITHIN), each=BY_KEY),
    "vectors.nearest_files": call(
        keyed(DOCUMENT), lambda answers, arguments: first_with_ties(united(answers, ()), arguments[1])
    ),
    "vectors.of_units": call(SAME, joined, (0, PAIRS)),
    "vectors.sign_counts": call(SAME, counted, (1, WITHIN)),
    "vectors.nearest_below": call(listed(row(UNIT)), ordered(lambda found: found[1], 2), (1, WITHIN)),
    "files.holding": call(listed(DOCUMENT), one_set, (0, WITHIN)),
    "files.on_path": call(listed(DOCUMENT), one_set),
    "files.naming": call(keyed(DOCUMENT), united),
    "files.importing": call(listed(row(DOCUMENT)), joined),
    "files.named_units": call(keyed(DOCUMENT), united, (0, MANY), each=BY_KEY),
    "files.totals": call(SAME, summed_each, kept=True),
    "files.outline": call(SAME, only, (0, ONE)),
    "files.extent": call(SAME, only, (0, ONE)),
    "edges.is_empty": call(SAME, everywhere, kept=True),
    "edges.count": call(SAME, summed, kept=True),
    "edges.unlinked_documents": call(SAME, summed, kept=True),
    "edges.externals_named": call(keyed(NODE), by_value),
    "edges.every": call(listed(EDGE), joined),
    "edges.outgoing": call(listed(EDGE), joined, (0, NODES)),
    "edges.incoming": call(listed(EDGE), joined, (0, NODES)),
    "edges.around": call(listed(row(NODE, NODE)), joined, (0, NODES), each=BY_FIRST),
    "edges.nested": call(listed(row(NODE, NODE)), joined, (0, NODES), each=BY_FIRST),
    "edges.degree": call(keyed(NODE), counted, (0, NODES)),
    "edges.incoming_counts": call(keyed(NODE), counted, (0, NODES)),
    "edges.surest_into": call(keyed(NODE), highest, (0, NODES)),
    "edges.files_using": call(keyed(NODE), united, (0, NODES), each=BY_KEY),
    "edges.names": call(keyed(NODE), united, (0, NODES)),
    "edges.external_names": call(keyed(NODE), united, (0, NODES)),
    "edges.contents": call(listed(row(NODE, NAME)), joined, (0, NODES)),
    "references.of_document": call(SAME, only, (0, ONE)),
    "references.imports_of": call(SAME, only, (0, ONE)),
    "references.bindings_of": call(SAME, only, (0, ONE)),
    "references.documents_using": call(listed(DOCUMENT), joined),
    "references.documents_using_any": call(listed(DOCUMENT), joined),
    "references.unresolved_in": call(SAME, only, (0, ONE)),
    "history.all": call(keyed(REPOSITORY_ID), united, kept=True),
    "history.read": call(SAME, only, (0, REPOSITORY), kept=True),
    "history.of": call(keyed(DOCUMENT), united, (0, MANY), each=BY_KEY),
    "messages.totals": call(SAME, summed_each, kept=True),
    "messages.frequency": call(SAME, summed, kept=True),
    "messages.weigh": call(keyed(DOCUMENT, MESSAGES), united, (0, MANY), each=BY_KEY),
    "messages.commit": call(SAME, only, (0, ONE)),
    "lines.commits": call(SAME, only, (0, REPOSITORY), kept=True),
    "lines.by_path": call(SAME, only, (0, REPOSITORY)),
}
"""Method of a gateway → how shards are asked for it."""


class _Same:
    """A set of units as a key: the object itself, so that comparing costs nothing."""

    def __init__(self, units: UnitSet) -> None:
        self.units = units  # also keeps its id from being used again

    def __hash__(self) -> int:
        return id(self.units)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.units is self.units


def frozen(value: Any) -> Any:
    """A key for arguments. A set of units is the one object, which is never changed."""
    match value:
        case UnitSet():
            return _Same(value)
        case dict():
            return tuple((key, frozen(one)) for key, one in value.items())
        case list() | tuple():
            return tuple(map(frozen, value))
        case set() | frozenset():
            return frozenset(value)
    return value

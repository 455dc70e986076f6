"""The calls that a search makes on a store, and how the answers of shards become that of the whole.

A call is derived from the types of the method. Ids and names in its arguments say which shards are asked, each with its own;
ids and repositories in its answer get the numbers and names of the whole; and the kind of the answer says how several are
merged. `store.merging.merged` marks the exceptions.
"""

from __future__ import annotations

import inspect
from collections import abc
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from codelens.cluster.numbers import Numbers, group_by_shard, split_number, unit_of
from codelens.cluster.shards import GATEWAYS, IN_PARTS, REHEARSE, RecordedCall
from codelens.errors import UsageError
from codelens.model.code import DocumentId, RepositoryId, RepositoryName, UnitId
from codelens.model.fast_dataclass import replace
from codelens.model.graph import EXTERNAL, Node
from codelens.model.history import MessageId
from codelens.store import merging
from codelens.store.documents import InOrder, RootNames
from codelens.store.merging import Elements, Expression, Expressions, Merge, MergeRule, SymbolName
from codelens.store.store import Part
from codelens.store.units import UnitSet
from codelens.text.identifiers import fold_identifier

COLLECTIONS = (list, set, abc.Iterable, abc.Iterator, abc.Sequence, abc.Collection, InOrder)
MAPPINGS = (dict, abc.Mapping)


def _strip(hint: Any) -> Any:
    """A type without `| None`, and the id that a plain number stands for."""
    if get_origin(hint) in (Union, UnionType):
        hint = next(part for part in get_args(hint) if part is not NoneType)
    if get_origin(hint) is Annotated:
        hint = hint if hint in (Expressions, RepositoryName) else hint.__metadata__[0]
    return hint


def _element(hint: Any) -> Any:
    """The type of the elements of a collection, or of the keys of a mapping; None for other types."""
    hint = _strip(hint)
    if hint is UnitSet:
        return UnitId
    return _strip(get_args(hint)[0]) if get_origin(hint) in (*COLLECTIONS, *MAPPINGS) else None


ROW_IDS = (UnitId, DocumentId, _strip(MessageId))  # Ids that are numbered shard by shard

# Arguments

Parts = Mapping[int, Any]  # Shard → its part of an argument
Cut = Callable[[Numbers, Any], Parts | None]
"""Argument → the parts of shards; None if it names nothing, so that all shards are asked."""


def cut_ids(_: Numbers, ids: Iterable[int] | None) -> Parts | None:
    """Units or documents."""
    return None if ids is None else group_by_shard(ids)


def cut_further(numbers: Numbers, ids: Iterable[int] | None) -> Parts | None:
    """Units or documents, of which shards may have none."""
    parts = group_by_shard(ids or ())
    return None if ids is None else {shard: parts.get(shard, []) for shard in numbers.shards}


def cut_nodes(numbers: Numbers, nodes: Iterable[int]) -> Parts:
    """Nodes of the graph."""
    return numbers.nodes_by_shard(nodes)


def cut_id(_: Numbers, number: int | None) -> Parts | None:
    """One unit or document."""
    if number is None:
        return None
    shard, local = split_number(number)
    return {shard: local}


def cut_repository(numbers: Numbers, repository: int) -> Parts:
    """One repository."""
    shard, local = numbers.home(repository)
    return {shard: local}


def cut_pairs(_: Numbers, pairs: Iterable[tuple[int, int]]) -> Parts:
    """Pairs of a unit and something."""
    parts: dict[int, list[tuple[int, int]]] = {}
    for number, other in pairs:
        shard, local = split_number(number)
        parts.setdefault(shard, []).append((local, other))
    return parts


def cut_set(_: Numbers, units: UnitSet | None) -> Parts | None:
    """A set of units."""
    return None if units is None else {shard: UnitSet(map(UnitId, ids)) for shard, ids in group_by_shard(units).items()}


def cut_expressions(numbers: Numbers, expressions: Iterable[str]) -> Parts:
    """Expressions, each for the shards that may match it."""
    parts: dict[int, list[str]] = {}
    for expression in expressions:
        for shard in numbers.routes.with_any(expression, numbers.shards):
            parts.setdefault(shard, []).append(expression)
    return parts


def cut_work(whole: Numbers, numbers: Any) -> Parts | None:
    """The units or documents that work is about, or the roots of repositories."""
    if isinstance(numbers, RootNames):
        return whole.names_by_root()
    if not isinstance(numbers, dict):
        return None if numbers is None else group_by_shard(numbers)
    parts: dict[int, dict[int, Any]] = {}
    for number, value in numbers.items():
        shard, local = split_number(number)
        parts.setdefault(shard, {})[local] = value
    return parts


def _cut_of(hint: Any) -> Cut | None:
    """How an argument of this type is cut; None if every shard gets it as it is."""
    hint = _strip(hint)
    whole: Mapping[Any, Cut] = {
        UnitSet: cut_set,
        RepositoryId: cut_repository,
        Expressions: lambda numbers, m: dict.fromkeys(numbers.routes.with_any(m[-1], numbers.shards), m),
        _strip(SymbolName): lambda n, name: dict.fromkeys(n.routes.with_name(fold_identifier(name), n.shards), name),
        **dict.fromkeys(ROW_IDS, cut_id),
    }
    elements: Mapping[Any, Cut] = {
        Node: cut_nodes,
        _strip(Expression): cut_expressions,
        tuple[UnitId, int]: cut_pairs,
        **dict.fromkeys(ROW_IDS, cut_ids),
    }
    return whole.get(hint) or elements.get(_element(hint))


# Answers

Lift = Callable[[Numbers, int, Any], Any]  # A shard's value → the whole's


def _lift_id(_: Numbers, shard: int, value: int) -> Any:
    return unit_of(shard, value)


def _lift_of(hint: Any) -> Lift | None:
    """How a value of this type becomes the whole's; None if it is the same."""
    base, arguments = get_origin(hint), get_args(hint)
    lifts: Mapping[Any, Lift] = {
        RepositoryName: lambda numbers, shard, name: numbers.name(shard, name),
        RepositoryId: lambda numbers, shard, value: numbers.repository(shard, value),
        Node: lambda numbers, shard, value: numbers.node(shard, value),
        **dict.fromkeys(ROW_IDS, _lift_id),
    }
    if base in (Union, UnionType):
        return _lift_optional(_lift_of(_strip(hint)))
    if (lift := lifts.get(_strip(hint))) is not None:
        return lift
    if base is tuple and arguments[-1] is not Ellipsis:
        return _lift_row([_lift_of(part) for part in arguments])
    if base is InOrder:
        return _lift_in_order(_lift_of(arguments[0]))
    if base in COLLECTIONS:
        lift = _lift_of(arguments[0])
        return lift and _lift_list(lift)
    if base in MAPPINGS:
        return _lift_mapping(*map(_lift_of, arguments))
    record = base or hint
    if hasattr(record, "_fields") or hasattr(record, "field_rules"):
        hints = get_type_hints(record, include_extras=True).items()
        return _lift_record({name: lift for name, of_field in hints if (lift := _lift_of(of_field))})
    return None


def _lift_optional(lift: Lift | None) -> Lift | None:
    return lift and (lambda numbers, shard, value: None if value is None else lift(numbers, shard, value))


def _lift_row(lifts: Sequence[Lift | None]) -> Lift | None:
    places = [(place, lift) for place, lift in enumerate(lifts) if lift]

    def apply(numbers: Numbers, shard: int, row: Any) -> Any:
        values = list(row)
        for place, lift in places:
            values[place] = lift(numbers, shard, values[place])
        return tuple(values)

    return apply if places else None


def _lift_list(lift: Lift) -> Lift:
    return lambda numbers, shard, values: [lift(numbers, shard, value) for value in values]


def _lift_in_order(lift: Lift | None) -> Lift:
    def apply(numbers: Numbers, shard: int, values: InOrder[Any]) -> InOrder[Any]:
        lifted = [lift(numbers, shard, value) for value in values] if lift else values
        return InOrder(lifted, [_lift_key(numbers, shard, key, values.at) for key in values.keys])

    return apply


def _lift_key(numbers: Numbers, shard: int, key: tuple[Any, ...], at: int) -> tuple[Any, ...]:
    """The key with the repository as the cluster calls it: some keys have its name, and others its id."""
    changed = list(key)
    changed[at] = (numbers.name if isinstance(key[at], str) else numbers.repository)(shard, key[at])
    return tuple(changed)


def _lift_mapping(key: Lift | None, value: Lift | None) -> Lift | None:
    def apply(numbers: Numbers, shard: int, values: Any) -> Any:
        return {
            (key(numbers, shard, k) if key else k): (value(numbers, shard, v) if value else v)
            for k, v in values.items()
        }

    return apply if key or value else None


def _lift_record(lifts: Mapping[str, Lift]) -> Lift | None:
    def apply(numbers: Numbers, shard: int, record: Any) -> Any:
        changes = {name: lift(numbers, shard, getattr(record, name)) for name, lift in lifts.items()}
        return record._replace(**changes) if hasattr(record, "_replace") else replace(record, **changes)

    return apply if lifts else None


# Calls


class Call(NamedTuple):
    """How shards are asked for one method."""

    lift: Lift | None
    merge: Merge
    cuts: Sequence[tuple[int, Cut]] = ()  # (place of an argument, how it is cut)
    is_lasting: bool = False  # True for what does not depend on a query: asked for once
    elements: Elements | None = None


BY_KEY = Elements(
    lambda answer: ((key, (key, value)) for key, value in answer.items()), lambda elements, _: dict(elements)
)
BY_FIRST = Elements(lambda answer: ((row[0], row) for row in answer))
BY_ID = Elements(lambda answer: ((record.id, record) for record in answer))


@cache
def find_call(method: str) -> Call:
    """How shards are asked for a method. Raises UsageError for one whose types do not tell."""
    if method == IN_PARTS:
        return Call(_lift_of(Part | None), lambda answers, _: list(answers), ((1, cut_work), (3, cut_further)))
    if method == REHEARSE:
        return Call(_lift_reads, _merge_reads, ((1, cut_work),))
    gateway, _, name = method.partition(".")
    function = getattr(GATEWAYS[gateway], name)
    hints = get_type_hints(function, include_extras=True)
    result = hints.pop("return")
    parameters = [name for name in inspect.signature(function).parameters if name != "self"]
    cuts = [(place, cut) for place, name in enumerate(parameters) if (cut := _cut_of(hints[name])) is not None]
    rule: MergeRule = getattr(function, "merge_rule", MergeRule(None))
    merge = rule.merge or _merge_of(result, cuts, parameters)
    if merge in (None, merging.refuse):
        raise UsageError(f"an index of several shards cannot answer {method} yet")
    first = _element(hints[parameters[0]]) if parameters else None
    elements = rule.elements or (_elements_of(result, first) if first else None)
    return Call(_lift_of(result), merge, cuts, rule.is_lasting or not parameters, elements)


def _merge_of(result: Any, cuts: Sequence[tuple[int, Cut]], parameters: Sequence[str]) -> Merge | None:
    """How answers of this type are merged."""
    base, arguments = get_origin(result), get_args(result)
    if any(cut in (cut_id, cut_repository) for _, cut in cuts):
        return merging.take_only
    if base is InOrder:
        return _take_first(parameters.index("limit") if "limit" in parameters else None)
    if base in MAPPINGS:
        are_apart = _strip(arguments[0]) in (*ROW_IDS, RepositoryId) or arguments[1] is not int
        return merging.join_mappings if are_apart else merging.add_counts
    simple: Mapping[Any, Merge] = {bool: merging.agree, int: merging.add_numbers, tuple: merging.add_tuples}
    if (merge := simple.get(base or result)) is not None:
        return merge
    return (merging.join_sets if base is set else merging.join_lists) if base in COLLECTIONS else None


def _take_first(limit: int | None) -> Merge:
    """Make a merge of lists in order of their keys; `limit` is the place of the argument that says how many, None for all."""

    def merge(answers: Sequence[InOrder[Any]], arguments: Sequence[Any]) -> InOrder[Any]:
        pairs = [pair for answer in answers for pair in zip(answer.keys, answer, strict=True)]
        pairs.sort(key=lambda pair: pair[0])
        first = pairs if limit is None else pairs[: arguments[limit]]
        return InOrder([element for _, element in first], [key for key, _ in first])

    return merge


def _elements_of(result: Any, first: Any) -> Elements | None:
    """How an answer falls into what belongs to the ids of the first argument, if it does."""
    base, element = get_origin(result), _element(result)
    if base in MAPPINGS:
        return BY_KEY if element == first else None
    if base is InOrder or element is None:
        return None
    if get_origin(element) is tuple:
        return BY_FIRST if _strip(get_args(element)[0]) == first else None
    return BY_ID if getattr(element, "field_rules", {}).get("id") and get_type_hints(element)["id"] is first else None


# Reads of a rehearsal


def _lift_reads(numbers: Numbers, shard: int, reads: Sequence[RecordedCall]) -> list[RecordedCall]:
    lifted = []
    for read in reads:
        try:
            call = find_call(read.method)
        except UsageError:
            continue
        if _depends(call, read.arguments):
            continue
        arguments = read.arguments
        if (cut := _first_cut(call, arguments)) is not None:
            arguments = (_lift_first(numbers, shard, cut, arguments[0]), *arguments[1:])
        answer = call.lift(numbers, shard, read.answer) if call.lift else read.answer
        lifted.append(RecordedCall(read.method, arguments, answer))
    return lifted


def _first_cut(call: Call, arguments: Sequence[Any]) -> Cut | None:
    """How the first argument names a part of the whole; None if it does not."""
    return next((cut for place, cut in call.cuts if place == 0 and arguments[0] is not None), None)


def _depends(call: Call, arguments: Sequence[Any]) -> bool:
    """True if the answer depends on numbers that another shard may have too, or that the whole names otherwise."""
    cut = _first_cut(call, arguments)
    return any(arguments[place] is not None for place, _ in call.cuts if place) or not (
        cut is None or cut is cut_id or call.elements
    )


def _lift_first(numbers: Numbers, shard: int, cut: Cut, first: Any) -> Any:
    if cut is cut_id:
        return unit_of(shard, first)
    lifted = (numbers.node(shard, number) if cut is cut_nodes else unit_of(shard, number) for number in first)
    return [number for number in lifted if number < EXTERNAL]


def _merge_reads(answers: Sequence[Sequence[RecordedCall]], arguments: Sequence[Any]) -> list[RecordedCall]:
    """The calls that one shard alone answers, and those that all of them have read."""
    merged, by_call = list[RecordedCall](), dict[Any, list[RecordedCall]]()
    for answer in answers:
        of_all = {}
        for read in answer:
            if _first_cut(find_call(read.method), read.arguments) is not None:
                merged.append(read)
            elif arguments[1] is None:  # all shards were asked
                of_all[read.method, freeze(read.arguments)] = read
        for key, read in of_all.items():
            by_call.setdefault(key, []).append(read)
    for (method, _), reads in by_call.items():
        if len(reads) == len(answers):
            answer = find_call(method).merge([read.answer for read in reads], reads[0].arguments)
            merged.append(RecordedCall(method, reads[0].arguments, answer))
    return merged


class _SameSet:
    """A set of units as a key: the object itself, so that comparing costs nothing."""

    def __init__(self, units: UnitSet) -> None:
        self.units = units  # also keeps its id from being used again

    def __hash__(self) -> int:
        return id(self.units)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _SameSet) and other.units is self.units


def freeze(value: Any) -> Any:
    """A key for arguments. A set of units is the one object, which is never changed."""
    match value:
        case UnitSet():
            return _SameSet(value)
        case dict():
            return tuple((key, freeze(element)) for key, element in value.items())
        case list() | tuple():
            return tuple(map(freeze, value))
        case set() | frozenset():
            return frozenset(value)
    return value

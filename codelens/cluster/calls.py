"""Describe how each store method is sent to shards, and how their answers are merged into one.

The description is derived from the method's type hints. Ids and names in the arguments select the shards, and each shard gets
only its own. Ids and repositories in an answer are translated to those of the whole cluster. The type of the answer decides
how several answers are merged. `store.merging.set_merge_rule` marks the exceptions.
"""

from __future__ import annotations

import inspect
from collections import abc
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import chain
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from codelens.cluster.numbers import Numbers, group_by_shard, join_number, split_number
from codelens.cluster.shards import GATEWAYS, REHEARSE, RUN_ON_INDEX, RecordedCall
from codelens.errors import UsageError
from codelens.model.code import DocumentId, RepositoryId, RepositoryName, UnitId
from codelens.model.fast_dataclass import replace
from codelens.model.graph import EXTERNAL, Node
from codelens.model.groups import group_pairs
from codelens.model.history import MessageId
from codelens.store import merging
from codelens.store.documents import InOrder, RootNames
from codelens.store.merging import ElementRule, Expression, Expressions, Merge, MergeRule, SymbolName
from codelens.store.store import Part
from codelens.store.units import UnitSet
from codelens.text.identifiers import fold_identifier

COLLECTIONS = (list, set, abc.Iterable, abc.Iterator, abc.Sequence, abc.Collection, InOrder)
MAPPINGS = (dict, abc.Mapping)


def _strip(hint: Any) -> Any:
    """Remove `| None` from a type, and replace an annotated plain number by the id type that it stands for."""
    if get_origin(hint) in (Union, UnionType):
        hint = next(part for part in get_args(hint) if part is not NoneType)
    if get_origin(hint) is Annotated:
        hint = hint if hint in (Expressions, RepositoryName) else hint.__metadata__[0]
    return hint


def _find_element_type(hint: Any) -> Any:
    """Find the type of a collection's elements or of a mapping's keys; None for other types."""
    hint = _strip(hint)
    if hint is UnitSet:
        return UnitId
    return _strip(get_args(hint)[0]) if get_origin(hint) in (*COLLECTIONS, *MAPPINGS) else None


ROW_IDS = (UnitId, DocumentId, _strip(MessageId))  # Types of ids that each shard numbers by itself

# Arguments

Parts = Mapping[int, Any]  # Shard → its part of an argument
Cut = Callable[[Numbers, Any], Parts | None]  # Argument → each shard's part of it; None to ask all shards


def cut_ids(whole: Numbers, ids: Any) -> Parts | None:
    """Split units or documents (a collection or the keys of a mapping), or the roots of repositories, by shard."""
    if isinstance(ids, RootNames):
        return whole.map_roots_to_names()
    if isinstance(ids, dict):
        return {shard: dict(pairs) for shard, pairs in cut_pairs(whole, ids.items()).items()}
    return None if ids is None else group_by_shard(ids)


def cut_further(numbers: Numbers, ids: Iterable[int] | None) -> Parts | None:
    """Split a call's units or documents by shard; a shard may get none."""
    parts = group_by_shard(ids or ())
    return None if ids is None else {shard: parts.get(shard, []) for shard in numbers.shards}


def cut_id(_: Numbers, number: int | None) -> Parts | None:
    """Route a call on one unit or document to its shard."""
    return None if number is None else dict([split_number(number)])


def cut_repository(numbers: Numbers, repository: int) -> Parts:
    """Route a call on one repository to the shard that holds it."""
    return dict([numbers.find_home(repository)])


def cut_pairs(_: Numbers, pairs: Iterable[tuple[int, Any]]) -> Parts:
    """Split pairs that begin with a unit or document by its shard."""
    return group_pairs((shard, (local, other)) for n, other in pairs for shard, local in (split_number(n),))


def cut_expressions(numbers: Numbers, expressions: Iterable[str]) -> Parts:
    """Give each shard the FTS5 expressions that it may match."""
    find_shards = numbers.routes.find_with_any
    return group_pairs((shard, e) for e in expressions for shard in find_shards(e, numbers.shards))


CUTS: Mapping[Any, Cut] = {
    UnitSet: cut_ids,
    RepositoryId: cut_repository,
    Expressions: lambda numbers, m: dict.fromkeys(numbers.routes.find_with_any(m[-1], numbers.shards), m),
    _strip(SymbolName): lambda n, name: dict.fromkeys(n.routes.find_with_name(fold_identifier(name), n.shards), name),
    **dict.fromkeys(ROW_IDS, cut_id),
}
"""Type of an argument → how to split it by shard; arguments of other types go unchanged to every shard."""
ELEMENT_CUTS: Mapping[Any, Cut] = {
    Node: Numbers.group_nodes,
    _strip(Expression): cut_expressions,
    tuple[UnitId, int]: cut_pairs,
    **dict.fromkeys(ROW_IDS, cut_ids),
}
"""Type of an argument's elements → how to split the argument by shard."""

# Answers

Lift = Callable[[Numbers, int, Any], Any]  # (numbers, shard, its value) → the same value in the whole cluster
LIFTS: Mapping[Any, Lift] = {
    RepositoryName: Numbers.translate_name,
    RepositoryId: Numbers.translate_repository,
    Node: Numbers.translate_node,
    **dict.fromkeys(ROW_IDS, lambda _, shard, value: join_number(shard, value)),
}


def make_lift(hint: Any) -> Any:
    """Make the `Lift` for values of this type; None if they need no translation."""
    base, arguments = get_origin(hint), get_args(hint)
    if base in (Union, UnionType):
        lift = make_lift(_strip(hint))
        return lift and (lambda numbers, shard, value: None if value is None else lift(numbers, shard, value))
    if plain := LIFTS.get(_strip(hint)):
        return plain
    if base is InOrder:
        return _make_ordered_lift(make_lift(arguments[0]))
    if base in COLLECTIONS:
        lift = make_lift(arguments[0])
        return lift and (lambda numbers, shard, values: [lift(numbers, shard, value) for value in values])
    if base in MAPPINGS:
        key, value = (make_lift(part) or (lambda numbers, shard, same: same) for part in arguments)
        return lambda n, shard, values: {key(n, shard, k): value(n, shard, v) for k, v in values.items()}
    record, lifts = base or hint, dict[Any, Lift]()
    if base is tuple and arguments[-1] is not Ellipsis:
        lifts = {place: lift for place, part in enumerate(arguments) if (lift := make_lift(part))}
    elif hasattr(record, "_fields") or hasattr(record, "field_rules"):
        hints = get_type_hints(record, include_extras=True)
        lifts = {name: lift for name, part in hints.items() if (lift := make_lift(part))}
    else:
        return None

    def lift_fields(numbers: Numbers, shard: int, value: Any) -> Any:
        if base is tuple:
            return tuple(lifts[at](numbers, shard, v) if at in lifts else v for at, v in enumerate(value))
        changes = {name: lift(numbers, shard, getattr(value, name)) for name, lift in lifts.items()}
        return value._replace(**changes) if hasattr(value, "_replace") else replace(value, **changes)

    return lift_fields if lifts else None


def _make_ordered_lift(lift: Lift | None) -> Lift:
    """Make the lift of a sorted list: it also translates the repository in each sort key."""

    def lift_ordered(numbers: Numbers, shard: int, values: InOrder[Any]) -> InOrder[Any]:
        keys = [list(key) for key in values.keys]
        for key in keys:  # some keys hold the repository's name, others its id
            rename = numbers.translate_name if isinstance(key[values.at], str) else numbers.translate_repository
            key[values.at] = rename(shard, key[values.at])
        return InOrder([lift(numbers, shard, value) for value in values] if lift else values, map(tuple, keys))

    return lift_ordered


# Calls


class Call(NamedTuple):
    """Describes how to ask shards for one method."""

    lift: Lift | None
    merge: Merge
    cuts: Sequence[tuple[int, Cut]] = ()  # (position of an argument, how to split it by shard)
    is_lasting: bool = False  # True if the answer does not depend on a query, so that it is asked for only once
    elements: ElementRule | None = None

    def find_first_cut(self, arguments: Sequence[Any]) -> Cut | None:
        """Find how to split the first argument by shard; None if the call does not depend on one."""
        return next((cut for place, cut in self.cuts if place == 0 and arguments[0] is not None), None)


@cache
def find_call(method: str) -> Call:
    """Derive how to ask shards for a method. Raises UsageError if its type hints do not determine it."""
    if method == RUN_ON_INDEX:
        return Call(make_lift(Part | None), lambda answers, _: list(answers), ((1, cut_ids), (3, cut_further)))
    if method == REHEARSE:
        return Call(_lift_reads, _merge_reads, ((1, cut_ids),))
    gateway, _, name = method.partition(".")
    function = getattr(GATEWAYS[gateway], name)
    hints = get_type_hints(function, include_extras=True)
    result = hints.pop("return")
    parameters = [name for name in inspect.signature(function).parameters if name != "self"]
    ways = [CUTS.get(_strip(hints[name])) or ELEMENT_CUTS.get(_find_element_type(hints[name])) for name in parameters]
    cuts = [(place, cut) for place, cut in enumerate(ways) if cut]
    rule: MergeRule = getattr(function, "merge_rule", MergeRule(None))
    merge = rule.merge or _find_merge(result, cuts, parameters)
    if merge in (None, merging.refuse):
        raise UsageError(f"an index of several shards cannot answer {method} yet")
    first = _find_element_type(hints[parameters[0]]) if parameters else None
    elements = rule.elements or (_find_elements(result, first) if first else None)
    return Call(make_lift(result), merge, cuts, rule.is_lasting or not parameters, elements)


def _find_merge(result: Any, cuts: Sequence[tuple[int, Cut]], parameters: Sequence[str]) -> Merge | None:
    """Find the function that merges answers of this type; None if they cannot be merged."""
    base, arguments = get_origin(result), get_args(result)
    if any(cut in (cut_id, cut_repository) for _, cut in cuts):
        return lambda answers, _: answers[0]
    if base is InOrder:
        limit = parameters.index("limit") if "limit" in parameters else None
        return lambda answers, given: _merge_ordered(answers, None if limit is None else given[limit])
    if base in MAPPINGS:
        are_apart = _strip(arguments[0]) in (*ROW_IDS, RepositoryId) or arguments[1] is not int
        return merging.join_mappings if are_apart else merging.add_counts
    simple: Mapping[Any, Merge] = {
        **dict.fromkeys(COLLECTIONS, lambda answers, _: list(chain.from_iterable(answers))),
        set: lambda answers, _: set(chain.from_iterable(answers)),
        tuple: merging.add_tuples,
        bool: lambda answers, _: all(answers),
        int: lambda answers, _: sum(answers),
    }
    return simple.get(base or result)


def _merge_ordered(answers: Sequence[InOrder[Any]], limit: int | None) -> InOrder[Any]:
    """Merge sorted lists by their keys; returns the first `limit` elements, or all."""
    pairs = [pair for answer in answers for pair in zip(answer.keys, answer, strict=True)]
    pairs = sorted(pairs, key=lambda pair: pair[0])[:limit]
    return InOrder([element for _, element in pairs], [key for key, _ in pairs])


def _find_elements(result: Any, first: Any) -> ElementRule | None:
    """Find how to split an answer by the ids of the first argument; None if that is not possible."""
    base, element = get_origin(result), _find_element_type(result)
    if base in MAPPINGS and element == first:
        return ElementRule(lambda answer: ((key, (key, v)) for key, v in answer.items()), lambda pairs, _: dict(pairs))
    if base in MAPPINGS or base is InOrder or element is None:
        return None
    if get_origin(element) is tuple:
        is_first = _strip(get_args(element)[0]) == first
        return ElementRule(lambda answer: ((row[0], row) for row in answer)) if is_first else None
    if getattr(element, "field_rules", {}).get("id") and get_type_hints(element)["id"] is first:
        return ElementRule(lambda answer: ((record.id, record) for record in answer))
    return None


# Reads of a rehearsal


def _lift_reads(numbers: Numbers, shard: int, reads: Sequence[RecordedCall]) -> list[RecordedCall]:
    """Translate a shard's recorded calls to ids of the whole cluster, without those that cannot be translated."""
    lifted = []
    for read in reads:
        try:
            call = find_call(read.method)
        except UsageError:
            continue
        arguments, cut = read.arguments, call.find_first_cut(read.arguments)
        if any(arguments[place] is not None for place, _ in call.cuts if place):
            continue
        if cut is cut_id:
            arguments = (join_number(shard, arguments[0]), *arguments[1:])
        elif cut is not None:
            if not call.elements:
                continue
            to_number = numbers.translate_node if cut is Numbers.group_nodes else join_number
            ids = (to_number(shard, i) for i in arguments[0])
            arguments = ([number for number in ids if number < EXTERNAL], *arguments[1:])
        answer = call.lift(numbers, shard, read.answer) if call.lift else read.answer
        lifted.append(RecordedCall(read.method, arguments, answer))
    return lifted


def _merge_reads(answers: Sequence[Sequence[RecordedCall]], arguments: Sequence[Any]) -> list[RecordedCall]:
    """Merge the recorded calls: keep those that concern a single shard, and those that every shard recorded."""
    merged, by_call = list[RecordedCall](), dict[Any, list[RecordedCall]]()
    for answer in answers:
        of_all = {}
        for read in answer:
            if find_call(read.method).find_first_cut(read.arguments) is not None:
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


def freeze(value: Any) -> Any:
    """Make a hashable key from arguments."""
    match value:
        case dict():
            return tuple((key, freeze(element)) for key, element in value.items())
        case set():
            return frozenset(value)
        case list() | tuple() if not isinstance(value, UnitSet):
            return tuple(map(freeze, value))
    return value

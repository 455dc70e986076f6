"""How a method's answers in several indexes become that of one index of all, where the types of its result do not tell.

`cluster.calls` derives from the types of a method how shards are asked; `set_merge_rule` marks the exceptions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Annotated, Any, NamedTuple, TypeVar

from codelens.model.code import DocumentId, UnitId
from codelens.model.graph import Node

UnitNumber = Annotated[int, UnitId]
DocumentNumber = Annotated[int, DocumentId]
NodeNumber = Annotated[int, Node]  # Ids whose callers have plain numbers
Expression = Annotated[str, "expression"]  # An expression of FTS5: indexes that cannot match it need not be asked
Expressions = Annotated[Sequence[str], "expressions"]  # The same of several, of which the last decides
SymbolName = Annotated[str, "name"]  # The name of units: indexes without it need not be asked

Merge = Callable[[Sequence[Any], Sequence[Any]], Any]  # Answers by index, and the arguments → the answer
M = TypeVar("M", bound=Callable[..., Any])


class Elements(NamedTuple):
    """How an answer falls into elements for those of the first argument, so that only new ones need be asked for."""

    split: Callable[[Any], Iterable[tuple[Any, Any]]]  # An answer → pairs (element of the argument, of the answer)
    join: Callable[[list[Any], Sequence[Any]], Any] = lambda elements, _: elements  # Elements and arguments → an answer


class MergeRule(NamedTuple):
    """Facts that the types of a method do not tell."""

    merge: Merge | None
    is_lasting: bool = False  # True for an answer that many searches need
    elements: Elements | None = None


def set_merge_rule(
    merge: Merge | None = None, *, is_lasting: bool = False, elements: Elements | None = None
) -> Callable[[M], M]:
    """Mark a method with what its types do not tell."""

    def mark(method: M) -> M:
        method.__dict__["merge_rule"] = MergeRule(merge, is_lasting, elements)
        return method

    return mark


def refuse(answers: Sequence[Any], arguments: Sequence[Any]) -> Any:
    """Mark a method that needs all of an index: several indexes cannot answer it."""
    raise NotImplementedError


def join_mappings(answers: Sequence[Any], _: Sequence[Any]) -> dict[Any, Any]:
    """One mapping; what several shards have is the same in all."""
    return {key: value for answer in answers for key, value in answer.items()}


def order_by_value(answers: Sequence[Any], _: Sequence[Any]) -> dict[Any, Any]:
    """One mapping, in order of its values."""
    return dict(sorted(join_mappings(answers, ()).items(), key=lambda pair: pair[1]))


def add_tuples(answers: Sequence[Any], _: Sequence[Any]) -> tuple[Any, ...]:
    """The sums of several counts, which may be tuples of counts again."""
    return tuple(
        add_tuples(column, ()) if isinstance(column[0], tuple) else sum(column) for column in zip(*answers, strict=True)
    )


def add_counts(answers: Sequence[Any], _: Sequence[Any]) -> dict[Any, int]:
    """Counts by key, which several shards may have; in order of the keys."""
    counts: dict[Any, int] = {}
    for answer in answers:
        for key, count in answer.items():
            counts[key] = counts.get(key, 0) + count
    return dict(sorted(counts.items()))


def add_pairs(answers: Sequence[Any], _: Sequence[Any]) -> list[tuple[Any, int]]:
    """The same as pairs."""
    return list(add_counts([dict(answer) for answer in answers], ()).items())


def take_highest(answers: Sequence[Any], _: Sequence[Any]) -> dict[Any, float]:
    """The highest value of each key, which several shards may have."""
    highest: dict[Any, float] = {}
    for answer in answers:
        for key, value in answer.items():
            highest[key] = max(value, highest.get(key, value))
    return highest


def order_by(key: Callable[[Any], Any], limit: int | None = None) -> Merge:
    """Make a merge of all elements in order of what they are. `limit`: the place of the argument that says how many."""

    def merge(answers: Sequence[Any], arguments: Sequence[Any]) -> list[Any]:
        elements = sorted(chain.from_iterable(answers), key=key)
        return elements if limit is None else elements[: arguments[limit]]

    return merge


def order_as_asked(answers: Sequence[Any], arguments: Sequence[Any]) -> list[Any]:
    """Rows in the order of the first argument's documents; a row has its document in the second place."""
    position = {document: at for at, document in enumerate(arguments[0])}
    return sorted(chain.from_iterable(answers), key=lambda row: position[row[1]])

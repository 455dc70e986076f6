"""Rules for merging a method's answers from several indexes, if the method's type hints do not determine them.

`cluster.calls` derives from type hints how shards are asked; `set_merge_rule` marks the exceptions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Annotated, Any, NamedTuple, TypeVar

from codelens.model.code import DocumentId, UnitId
from codelens.model.graph import Node

UnitNumber = Annotated[int, UnitId]
DocumentNumber = Annotated[int, DocumentId]
NodeNumber = Annotated[int, Node]  # Ids that callers pass as plain integers
Expression = Annotated[str, "expression"]  # An FTS5 expression; only indexes that may match it are asked
Expressions = Annotated[Sequence[str], "expressions"]  # Several; only indexes that may match the last are asked
SymbolName = Annotated[str, "name"]  # The name of units; only indexes that may hold it are asked

Merge = Callable[[Sequence[Any], Sequence[Any]], Any]  # (the answers of all indexes, the arguments) → the merged answer
M = TypeVar("M", bound=Callable[..., Any])


class ElementRule(NamedTuple):
    """Splits an answer by the elements of the first argument, so that only new elements need to be requested."""

    split: Callable[[Any], Iterable[tuple[Any, Any]]]  # Answer → pairs (element of the argument, element of the answer)
    join: Callable[[list[Any], Sequence[Any]], Any] = lambda elements, _: elements  # Elements and arguments → an answer


class MergeRule(NamedTuple):
    """Facts about a method that its type hints do not determine."""

    merge: Merge | None
    is_lasting: bool = False  # True to keep the answer, because many searches need it
    elements: ElementRule | None = None


def set_merge_rule(
    merge: Merge | None = None, *, is_lasting: bool = False, elements: ElementRule | None = None
) -> Callable[[M], M]:
    """Mark a method with facts that its type hints do not determine; see `MergeRule`."""

    def mark(method: M) -> M:
        method.__dict__["merge_rule"] = MergeRule(merge, is_lasting, elements)
        return method

    return mark


def refuse(answers: Sequence[Any], arguments: Sequence[Any]) -> Any:
    """Merge rule for a method that needs a single index, and cannot be answered by several."""
    raise NotImplementedError


def join_mappings(answers: Sequence[Any], _: Sequence[Any]) -> dict[Any, Any]:
    """Join mappings into one. Keys in several shards must have the same value."""
    return {key: value for answer in answers for key, value in answer.items()}


def order_by_value(answers: Sequence[Any], _: Sequence[Any]) -> dict[Any, Any]:
    """Join mappings into one, in order of its values."""
    return dict(sorted(join_mappings(answers, ()).items(), key=lambda pair: pair[1]))


def add_tuples(answers: Sequence[Any], _: Sequence[Any]) -> tuple[Any, ...]:
    """Add up tuples of counts, which may be nested."""
    columns = zip(*answers, strict=True)
    return tuple(add_tuples(c, ()) if isinstance(c[0], tuple) else sum(c) for c in columns)


def add_counts(answers: Sequence[Any], _: Sequence[Any]) -> dict[Any, int]:
    """Add up counts by key, in order of the keys."""
    counts = Counter[Any]()
    for answer in answers:
        counts.update(answer)
    return dict(sorted(counts.items()))


def add_pairs(answers: Sequence[Any], _: Sequence[Any]) -> list[tuple[Any, int]]:
    """Add up pairs (key, count), in order of the keys."""
    return list(add_counts([dict(answer) for answer in answers], ()).items())


def take_highest(answers: Sequence[Any], _: Sequence[Any]) -> dict[Any, float]:
    """Join mappings into one, with the highest value of each key."""
    highest: dict[Any, float] = {}
    for answer in answers:
        for key, value in answer.items():
            highest[key] = max(value, highest.get(key, value))
    return highest


def order_by(key: Callable[[Any], Any], limit: int | None = None) -> Merge:
    """Make a rule that sorts all elements by `key`. `limit`: position of the argument that limits their number."""

    def merge(answers: Sequence[Any], arguments: Sequence[Any]) -> list[Any]:
        elements = sorted(chain.from_iterable(answers), key=key)
        return elements if limit is None else elements[: arguments[limit]]

    return merge


def order_as_asked(answers: Sequence[Any], arguments: Sequence[Any]) -> list[Any]:
    """Sort rows in the order of the documents in the first argument; the second value of a row is its document."""
    position = {document: at for at, document in enumerate(arguments[0])}
    return sorted(chain.from_iterable(answers), key=lambda row: position[row[1]])

"""Our `dataclass` behaves like the standard one in everything that the program uses."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import pickle
import pkgutil
from collections.abc import Callable
from typing import Any

import pytest

import codelens
from codelens.model.fast_dataclass import dataclass, field, frozen_dataclass, replace


def define(decorate: Callable[..., Any], field: Callable[..., Any]) -> tuple[type, type, type]:
    @decorate(frozen=True, slots=True)
    class Point:
        x: int
        y: float = 2.5
        marks: dict[str, int] = field(default_factory=dict)

    @decorate(frozen=True, slots=True)
    class NamedNode(Point):
        name: str = "none"

        @property
        def shown(self) -> str:
            return f"{self.name}@{self.x}"

    @decorate(slots=True)
    class Count:
        """A documented one."""

        most: int
        spent: float = field(default=0.0)
        seen: list[int] = field(default_factory=list)

    return Point, NamedNode, Count


@pytest.mark.parametrize(
    ("decorate", "field", "replace"),
    [(dataclass, field, replace), (dataclasses.dataclass, dataclasses.field, dataclasses.replace)],
)
def test_as_the_standard_one(
    decorate: Callable[..., Any], field: Callable[..., Any], replace: Callable[..., Any]
) -> None:
    point_class, named_class, count_class = define(decorate, field)
    point, named, count = point_class(1), named_class(1, name="a"), count_class(most=3)
    assert repr(point).endswith("Point(x=1, y=2.5, marks={})")
    assert repr(count).endswith("Count(most=3, spent=0.0, seen=[])")
    assert [f.name for f in dataclasses.fields(named)] == ["x", "y", "marks", "name"]
    assert named.shown == "a@1"
    assert point == point_class(1, 2.5, {})
    assert point != named_class(1)
    assert point != point_class(2)
    assert point.marks is not point_class(1).marks
    assert replace(named, x=5) == dataclasses.replace(named, x=5) == named_class(5, name="a")
    with pytest.raises(TypeError):
        replace(named, z=1)
    assert dataclasses.is_dataclass(point)
    assert {f.name: (f.default, f.init) for f in dataclasses.fields(count_class)} == {
        "most": (dataclasses.MISSING, True),
        "spent": (0.0, True),
        "seen": (dataclasses.MISSING, True),
    }
    assert dataclasses.asdict(point) == {"x": 1, "y": 2.5, "marks": {}}
    assert dataclasses.astuple(point) == (1, 2.5, {})
    assert hash(point_class(1, 2.0, ())) == hash(point_class(1, 2.0, ()))
    assert copy.deepcopy(named) == copy.copy(named) == named
    with pytest.raises(dataclasses.FrozenInstanceError):
        point.x = 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        del point.x
    with pytest.raises(TypeError):
        hash(count)
    with pytest.raises(TypeError):
        point_class()
    with pytest.raises(TypeError):
        point_class(1, z=1)
    with pytest.raises(AttributeError):
        count.other = 1
    count.spent += 1
    assert count != count_class(3)
    match point:
        case point_class(x, y):  # type: ignore[misc]
            assert (x, y) == (1, 2.5)


@pytest.mark.parametrize("decorate", [dataclass, dataclasses.dataclass])
def test_without_fields(decorate: Callable[..., Any]) -> None:
    @decorate(frozen=True, slots=True)
    class Anything:
        """Has no fields."""

    @decorate(frozen=True, slots=True)
    class Single:
        value: str

    assert Anything() == Anything() != Single("a")
    assert hash(Anything()) == hash(Anything())
    assert Single("a") == Single("a") != Single("b")
    assert len({Single("a"), Single("a"), Single("b")}) == 2
    assert repr(Anything()).endswith("Anything()")


def test_nouns_can_be_pickled() -> None:
    from codelens.model.code import Skip, SkipReason, Span

    for noun in (Span(1, 2), Skip("a", SkipReason.BINARY, "zeros")):
        assert pickle.loads(pickle.dumps(noun)) == noun


def test_every_class_is_defined() -> None:
    """Importing all modules defines all classes; every one has the parameters that its fields ask for."""
    for module in pkgutil.walk_packages(codelens.__path__, "codelens."):
        if module.name != "codelens.__main__":
            importlib.import_module(module.name)


def test_instances_of_a_frozen_data_class_cannot_be_changed() -> None:
    @frozen_dataclass
    class Point:
        x: int
        y: int = 0

    point = Point(1)
    assert point == Point(1, 0)
    assert hash(point) == hash(Point(1, 0))
    with pytest.raises(dataclasses.FrozenInstanceError):
        point.x = 2  # type: ignore[misc]

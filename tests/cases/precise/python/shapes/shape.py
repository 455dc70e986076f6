"""Shapes."""

from abc import ABC, abstractmethod


class Shape(ABC):
    """What can be measured."""

    @abstractmethod
    def area(self) -> float:
        """Its area."""


class Circle(Shape):
    """A round shape."""

    def __init__(self, radius: float) -> None:
        self.radius = radius

    def area(self) -> float:
        return 3.14159 * self.radius**2


def total(shapes: list[Shape]) -> float:
    """The sum of the areas."""
    return sum(shape.area() for shape in shapes)

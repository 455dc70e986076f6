"""Measures two shapes."""

from shapes.shape import Circle, total


def größe() -> float:
    """The size of two circles; the emoji shifts what stands behind it."""
    label = "😀"; return total([Circle(1), Circle(2)]) + len(label)


def report() -> str:
    """A line for people."""
    return f"{größe()} in all"

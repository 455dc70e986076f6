"""A tree of three files about lamps, small enough to know every line of it."""

from __future__ import annotations

from pathlib import Path

FILES = {
    "lamps.py": """\
import os


def light_lamp(level):
    # every Lamp has a level
    return level + 1


def LAMP_count(rows):
    return len(rows)


def dim(level):
    return level - 1
""",
    "shop/lamp.go": """\
package shop

// Sell sells a lamp.
func Sell(lamp string) string {
\treturn lamp
}
""",
    "guide.md": """\
# Guide

Nothing of that kind.
""",
}


def write_lamps(folder: Path) -> Path:
    for path, text in FILES.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
    return folder

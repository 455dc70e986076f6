"""A small project with an index, and one server for all tests that change neither."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from codelens.cli.main import main
from tests.server.lsp.client import LspClient, lsp_server

FILES = {
    "geometry/__init__.py": "",
    "geometry/shapes.py": '''"""Shapes."""

LIMIT = 10


class Shape:
    """Something with an area."""

    def __init__(self, name: str) -> None:
        self.name = name

    def area(self) -> float:
        """The area in square metres."""
        return 0.0


class Square(Shape):
    def __init__(self, side: float) -> None:
        super().__init__("square")
        self.side = side

    def area(self) -> float:
        return self.side * self.side


def make_square(side: float) -> Square:
    """Make a square if it is not too large."""
    width = min(side, LIMIT)
    square = Square(width)
    return square
''',
    "geometry/report.py": '''"""Reports."""

from geometry.shapes import Shape, make_square


def describe(shape: Shape) -> str:
    text = f"{shape.name}: {shape.area()}"
    return text


def report(sides: list[float]) -> list[str]:
    lines = []
    for side in sides:
        lines.append(describe(make_square(side)))
    return lines


def close(anything):
    return anything.unbolt_it()
''',
    "geometry/door.py": """class Door:
    def unbolt_it(self) -> None:
        pass


class Window:
    def unbolt_it(self) -> None:
        pass
""",
    "tests/test_report.py": """from geometry.report import report


def test_report() -> None:
    assert report([2.0]) == ["square: 4.0"]
""",
    "wide.py": """def greet(name: str) -> str:
    return name


text = "🎉🎉 é"; shown = greet("🎉"); again = greet(text)
""",
    "math.h": "int twice(int number);\n",
    "math.c": '#include "math.h"\n\nint twice(int number) {\n  return 2 * number;\n}\n',
    "main.c": '#include "math.h"\n\nint main(void) {\n  return twice(21);\n}\n',
    "trim.rs": "fn trim() {\n    let line = read();\n    let line = line.trim();\n    show(line);\n}\n",
    "pair.c": "typedef struct pair { int first; } pair;\n\nint head(pair *of, struct pair *other) { return of->first; }\n",
    "options.ts": (
        "interface Options { limit: number; $ref: string }\n\nconst wide: Options = { limit: 1, $ref: 'x' };\n\n"
        "function build(options: Options) { return options.$ref; }\n\nbuild({ limit: 2, $ref: 'y' });\n"
    ),
    "arguments.py": """def scale(factor: float) -> float:
    return factor


def grow(amount: float) -> float:
    return amount


def apply(function):
    return function(amount=scale(factor=1.0))
""",
    "notes.md": "# Geometry\n\n## Squares\n\nSee `make_square` in geometry/shapes.py.\n",
}


def write_project(folder: Path) -> Path:
    """The files, in a git repository."""
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The indexed project; tests do not change its files."""
    folder = write_project(tmp_path_factory.mktemp("lsp") / "project")
    assert main(["index", str(folder), "--db", str(folder / ".codelens/index.db"), "-q", "--no-config"]) == 0
    return folder


@pytest.fixture(scope="session")
def client(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LspClient]:
    """A server of the project that all tests may ask. Who opens a file closes it."""
    with lsp_server(tmp_path_factory.mktemp("home"), "--no-index") as started:
        started.initialize(project, options={"codeLens": True})
        yield started

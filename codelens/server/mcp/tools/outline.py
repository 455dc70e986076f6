"""symbols: a file → its outline."""

from __future__ import annotations

from codelens.model import UnitRow
from codelens.render.outline import outline_lines, symbols_of
from codelens.server.mcp.asked import FRESH, LONGEST_PATH, budget, inside, place_of
from codelens.server.mcp.fit import code_line, cut_line, fitted
from codelens.server.mcp.schema import INTEGER, STRING, closed, rows, text
from codelens.server.mcp.tool import Answer, Asked, Record, Tool


def answer(asked: Asked) -> Answer:
    """The symbols of a file in the order of their places."""
    info = asked.index.info()
    path = inside(asked.arguments["file"], info)
    names, below = place_of(path, info)
    units = symbols_of([u for u in asked.index.symbols(below) if u.repository in names])
    lines = [code_line(line) for line in outline_lines(units)]

    def made(count: int) -> Answer:
        cut = len(units) - count
        said = cut_line(cut, "symbols", "raise `budget`, or search with path:")
        record = {"path": path, "symbols": [_record(u) for u in units[:count]], "cut": cut}
        return Answer("\n".join([path, *lines[:count], *said]), record)

    return fitted(len(units), made, asked.arguments["budget"])


def _record(unit: UnitRow) -> Record:
    return {
        "name": unit.qualified_name,
        "kind": unit.kind,
        "line": unit.name_line or unit.start_line,
        "end_line": unit.end_line,
        "signature": code_line(" ".join(unit.signature.split())),
    }


SYMBOL = closed({"name": STRING, "kind": STRING, "line": INTEGER, "end_line": INTEGER, "signature": STRING})
SYMBOLS = Tool(
    name="symbols",
    title="Outline of a file",
    description="The outline of one file: its classes, functions and headings with their lines and signatures. Cheaper than "
    "reading the file.",
    takes=closed(
        {
            "file": text("Path relative to the root, as other tools tell it", most=LONGEST_PATH),
            "fresh": FRESH,
            "budget": budget(3000),
        },
        ["file"],
    ),
    gives=closed({"path": STRING, "symbols": rows(SYMBOL), "cut": INTEGER}),
    answer=answer,
)

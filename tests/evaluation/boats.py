"""Histories that are made for learning: thirty-six short commits, each of which changes one definition that it names."""

from __future__ import annotations

from pathlib import Path

from tests.evaluation.histories import History

THINGS = (
    *("anchor", "barge", "canvas", "dinghy", "engine", "ferry"),
    *("gangway", "harbour", "island", "jetty", "keel", "lantern"),
)
DEEDS = ("weigh", "paint", "count")
SAID = ("Weigh each {} in whole pounds", "Paint every {} before winter comes", "Count a {} twice when asked")


def _code(thing: str, changed: int) -> str:
    lines = [f"def {deed}_{thing}(load):\n    return load + {int(at < changed)}\n" for at, deed in enumerate(DEEDS)]
    return "\n\n".join(lines)


def _test(thing: str, changed: int) -> str:
    lines = [
        f"def test_{deed}_{thing}():\n    assert {deed}_{thing}({int(at < changed)}) > 0\n"
        for at, deed in enumerate(DEEDS)
    ]
    return f"from port.{thing} import *\n\n\n" + "\n\n".join(lines)


def history(top: Path, in_tests: bool) -> History:
    """The changes are in the code, or, where the shipped weights do not look first, in its tests."""
    made = History(top)
    begun = {f"port/{thing}.py": _code(thing, 0) for thing in THINGS}
    made.commit("Begin with the port", begun | {f"tests/test_{thing}.py": _test(thing, 0) for thing in THINGS})
    for at, said in enumerate(SAID):
        for thing in THINGS:
            name, text = (f"tests/test_{thing}.py", _test) if in_tests else (f"port/{thing}.py", _code)
            made.commit(said.format(thing), {name: text(thing, at + 1)})
    return made

from __future__ import annotations

from pathlib import Path

import pytest

from codelens.config import Settings
from codelens.index import Index
from codelens.store.store import Store
from tools.bench.likeness import TRUTHS, functions_of, main, questions

TYPES = """
class Circle:
    def area(self):
        return 3 * self.r * self.r

    def draw(self, canvas):
        for step in range(self.start, self.end, self.width):
            canvas.line(self.x + step, self.y, self.x, self.y + step, colour="black", width=self.width)


class Square:
    def area(self):
        return self.side * self.side

    def paint(self, canvas):
        for step in range(self.start, self.end, self.width):
            canvas.line(self.x + step, self.y, self.x, self.y - step, colour="white", width=self.width)
"""


@pytest.fixture
def index(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    root.mkdir()
    (root / "shapes.py").write_text(TYPES)
    Index.build(tmp_path / "index.db", [root], Settings())
    return tmp_path / "index.db"


def test_truths_are_read_off_the_index(index: Path) -> None:
    store = Store.read(index)
    with store.reading():
        units = functions_of(store)
        names = {u.id: u.qualified_name for u in units}
        found = {
            truth: {names[u.id]: {names[o] for o in right} for u, right in questions(find(units, store), units)}
            for truth, find in TRUTHS.items()
        }
    store.close()
    assert found["namesakes"] == {"Circle.area": {"Square.area"}, "Square.area": {"Circle.area"}}
    assert found["twins"] == {"Circle.draw": {"Square.paint"}, "Square.paint": {"Circle.draw"}}
    assert found["siblings"]["Circle.area"] == {"Circle.draw"}


def test_a_row_for_each_truth_and_mode(index: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(index)]) == 0
    rows = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()[2:]]
    assert len(rows) == 9
    twins = {row[3]: row[2:] for row in rows if row[1] == "twins"}
    assert twins["hybrid"] == ["2", "hybrid", "1.000", "1.000"]
    assert main([]) == 2

"""Real indexes of two small trees, and indexes written for what those do not hold → the edges that are stored."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from codelens.cli.main import main
from codelens.config import Settings
from codelens.linking.precise.scip import BYTES, VARINT, make_tag
from codelens.model.graph import KINDS
from codelens.store.store import Store
from tests.indexing.here import Tree, derive_here
from tests.linking.precise.indexes import CASES

Place = tuple[str, int, str]  # Path, line from 1, and the word there


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    (tmp_path / "tree").mkdir()
    return Tree(tmp_path / "tree", tmp_path / "index.db", derive_here(monkeypatch))


@pytest.fixture
def python(tree: Tree) -> Tree:
    shutil.copytree(CASES / "python", tree.root, dirs_exist_ok=True)
    return tree


@pytest.fixture
def typescript(tree: Tree) -> Tree:
    shutil.copytree(CASES / "typescript", tree.root, dirs_exist_ok=True)
    return tree


def edges(index: Path, *provenances: str) -> list[str]:
    """Each as 'line: source kind target provenance'; all, or those of these provenances."""
    with Store.read(index) as store:
        documents = store.documents.read_rows()
        names: dict[int, str] = {-row.id: row.path for row in documents}
        names |= {unit.id: unit.qualified_name for row in documents for unit in store.units.list_in_document(row.id)}
        found = list(store.edges.list_all(KINDS))
        names |= store.edges.read_external_names(edge.target for edge in found)
        return sorted(
            f"{edge.line}: {names[edge.source]} {edge.kind} {names[edge.target]} {edge.provenance}"
            for edge in found
            if not provenances or edge.provenance in provenances
        )


def write_scip(root: Path, *symbols: list[Place]) -> None:
    """Write an index of these symbols into a tree: the first place of each defines it, the others use it."""
    documents: dict[str, bytes] = {}
    for number, places in enumerate(symbols):
        for i, (path, line, word) in enumerate(places):
            text = (root / path).read_text(encoding="utf-8").split("\n")[line - 1]
            column = text.index(word)
            place = bytes((line - 1, column, column + len(word)))
            role = bytes((make_tag(3, VARINT), 1)) if i == 0 else b""
            found = message(1, place) + message(2, f"s{number}".encode()) + role
            documents[path] = documents.get(path, message(1, path.encode())) + message(2, found)
    (root / "index.scip").write_bytes(b"".join(message(2, document) for _, document in sorted(documents.items())))


def message(field: int, content: bytes) -> bytes:
    size = len(content)
    length = bytes((size,)) if size < 0x80 else bytes((size & 0x7F | 0x80, size >> 7))
    return bytes((make_tag(field, BYTES),)) + length + content


# What real indexes say


def test_edges_by_an_index_of_python(python: Tree) -> None:
    python.run()
    assert edges(python.index) == [
        "13: report calls größe precise",
        "14: Circle extends Shape precise",
        "18: Circle.__init__ accesses_field Circle scope",
        "20: Circle.area overrides Shape.area precise",
        "21: Circle.area accesses_field Circle scope",
        "24: total type_hint_of Shape precise",
        "26: total calls Shape.area precise",
        "3: shapes/main.py imports Circle precise",
        "3: shapes/main.py imports shapes/shape.py import",
        "3: shapes/main.py imports total precise",
        "3: shapes/shape.py imports module:abc import",
        "6: Shape extends symbol:ABC import",
        "8: größe calls Circle precise",
        "8: größe calls total precise",
        "9: Shape.area decorates symbol:abstractmethod import",
    ]


TYPESCRIPT = [
    "10: Circle.area accesses_field Circle scope",
    "18: Square.area accesses_field Square scope",
    "1: src/main.ts imports Circle precise",
    "1: src/main.ts imports Square precise",
    "1: src/main.ts imports src/shape.ts import",
    "1: src/main.ts imports total precise",
    "14: Square implements Shape precise",
    "22: total type_hint_of Shape precise",
    "23: total calls Shape.area precise",
    "4: größe calls Circle precise",
    "4: größe calls Square precise",
    "4: größe calls total precise",
    "6: Circle implements Shape precise",
    "7: report calls größe precise",
]


def test_edges_by_an_index_of_typescript(typescript: Tree) -> None:
    """A use that syntax leaves open is known, and `new` means the class, though SCIP says its constructor."""
    typescript.run()
    overriding = ["17: Square.area overrides Shape.area precise", "9: Circle.area overrides Shape.area precise"]
    assert edges(typescript.index) == sorted([*TYPESCRIPT, *overriding])


def test_two_indexes_of_one_tree_agree(typescript: Tree) -> None:
    typescript.run()
    one = edges(typescript.index)
    shutil.copy(typescript.root / "index.scip", typescript.root / "again.scip")
    typescript.run()
    assert edges(typescript.index) == one


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_edges_start_at_the_right_names_in_other_encodings(python: Tree, encoding: str) -> None:
    python.run()
    plain = edges(python.index)
    for file in (python.root / "shapes").iterdir():
        file.write_bytes(file.read_text(encoding="utf-8").encode(encoding))
    python.run()
    assert edges(python.index) == plain


def test_an_index_in_a_folder_gives_edges_between_its_files(python: Tree) -> None:
    shutil.copytree(python.root, python.root / "inner")
    (python.root / "index.scip").unlink()
    python.run()
    assert "26: total calls Shape.area receiver" in edges(python.index)
    assert "26: total calls Shape.area precise" in edges(python.index)


# What only some indexes say

TWO = "class Rocket:\n    def launch(self): ...\n\n\nclass Missile:\n    def launch(self): ...\n"


@pytest.fixture
def two(tree: Tree) -> Tree:
    """Calls whose target syntax can only guess."""
    tree.write("two.py", TWO)
    tree.write("use.py", "def run():\n    first().launch() or then().later\n    first().launch()\n")
    return tree


def test_an_index_replaces_a_wrong_guess(two: Tree) -> None:
    two.run()
    guesses = [f"{line}: run calls {holder}.launch ambiguous" for line in (2, 3) for holder in ("Missile", "Rocket")]
    assert edges(two.index) == guesses
    write_scip(two.root, [("two.py", 2, "launch"), ("use.py", 3, "launch")])
    two.run()
    assert edges(two.index) == [*guesses[:2], "3: run calls Rocket.launch precise"]


def test_another_use_of_the_name_in_the_line_keeps_its_guesses(two: Tree) -> None:
    two.write("use.py", "def run():\n    first().launch(); then().launch()\n")
    write_scip(two.root, [("two.py", 2, "launch"), ("use.py", 2, "launch")])
    two.run()
    assert edges(two.index) == ["2: run calls Missile.launch ambiguous", "2: run calls Rocket.launch precise"]


def test_a_name_that_no_query_captures_gets_a_reference(two: Tree) -> None:
    two.write("use.py", "from two import Rocket as Ship\n\n\ndef run(thing):\n    made = Ship\n    return made\n")
    write_scip(two.root, [("two.py", 1, "Rocket"), ("use.py", 1, "Rocket"), ("use.py", 5, "Ship")])
    two.run()
    assert edges(two.index, "precise") == ["1: use.py imports Rocket precise", "5: run references Rocket precise"]


def test_a_use_that_leads_to_another_name_is_left_out(two: Tree) -> None:
    write_scip(two.root, [("two.py", 5, "Missile"), ("use.py", 2, "first"), ("use.py", 3, "launch")])
    two.run()
    assert edges(two.index, "precise") == []
    assert len(edges(two.index, "ambiguous")) == 4


def test_a_local_definition_is_used_only_in_its_function(tree: Tree) -> None:
    """scip-python gives equal names in the methods of one class one symbol."""
    tree.write(
        "a.py", "def one():\n    def inner(): ...\n    inner()\n\n\ndef two():\n    def inner(): ...\n    inner()\n"
    )
    write_scip(tree.root, [("a.py", 2, "inner"), ("a.py", 3, "inner"), ("a.py", 8, "inner")])
    tree.run()
    assert edges(tree.index) == ["3: one calls one.inner precise", "8: two calls two.inner scope"]


def test_the_kind_of_use_chooses_between_a_type_and_a_value_of_one_name(tree: Tree) -> None:
    tree.write("a.ts", "export interface Box {}\nexport function Box(): Box { return {}; }\n")
    tree.write("b.ts", 'import { Box } from "./a";\n\nexport function pack(box: Box) {\n  return Box();\n}\n')
    places: list[Place] = [("b.ts", 3, "Box"), ("b.ts", 4, "Box")]
    write_scip(tree.root, [("a.ts", 1, "Box"), *places], [("a.ts", 2, "Box"), *places])
    tree.run()
    with Store.read(tree.index) as store:
        (row,) = store.documents.find_by_path("a.ts")
        kinds = {unit.id: unit.kind for unit in store.units.list_in_document(row.id)}
        found = [
            (e.line, e.kind, kinds[e.target]) for e in store.edges.list_all(["calls", "type_hint_of"]) if e.line > 2
        ]
    assert sorted(found) == [(3, "type_hint_of", "interface"), (4, "calls", "function")]


# What changes in the course of time


def test_a_run_that_changes_nothing_writes_nothing(typescript: Tree) -> None:
    assert typescript.run().notices == ()
    typescript.rests()


def test_updates_give_the_edges_of_a_fresh_index(python: Tree) -> None:
    """An index appears, files change, go and come, and the index goes: each time all is as if indexed just then."""
    index = python.root / "index.scip"
    content = index.read_bytes()
    index.unlink()
    python.run()
    without = edges(python.index)
    index.write_bytes(content)
    assert python.run().wrote
    with_it = edges(python.index)
    python.equals_fresh()
    shape = python.root / "shapes" / "shape.py"
    text = shape.read_text()
    python.write("shapes/more.py", "from shapes.shape import total\n\n\ndef more():\n    return total([])\n")
    python.run()
    python.equals_fresh()
    shape.write_text(text + "\n\ndef last(shapes: list[Shape]) -> float:\n    return total(shapes)\n")
    python.run()
    python.equals_fresh()
    shape.unlink()
    python.run()
    python.equals_fresh()
    shape.write_text(text)
    (python.root / "shapes" / "more.py").unlink()
    python.run()
    python.equals_fresh()
    assert edges(python.index) == with_it
    index.unlink()
    assert python.run().wrote
    python.equals_fresh()
    assert edges(python.index) == without
    assert without != with_it


def test_an_index_of_another_text_is_refused_and_reported(python: Tree) -> None:
    main_file = python.root / "shapes" / "main.py"
    main_file.write_text("# A line above all.\n" + main_file.read_text(encoding="utf-8"), encoding="utf-8")
    (notice,) = python.run().notices
    assert notice.code == "precise"
    assert notice.text == (
        "index.scip: 1 of 3 documents are not used (shapes/main.py: the index was made of another text of this file)"
    )
    assert "9: größe calls total import" in edges(python.index)
    assert "26: total calls Shape.area precise" in edges(python.index)
    python.equals_fresh()


@pytest.mark.parametrize("content", [b"", b"\xff\xfe nonsense", b"\x12\xff\xff\xff\xff\x7f"])
def test_a_damaged_index_is_reported_and_ends_no_run(
    python: Tree, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    python.write("index.scip", content)
    assert main(["index", str(python.root), "--db", str(python.index), "--jobs", "1"]) == 0
    assert "index.scip, byte " in "".join(capsys.readouterr())
    assert edges(python.index, "precise") == []
    python.rests()
    python.equals_fresh()


def test_an_index_that_is_too_large_is_reported(python: Tree) -> None:
    (notice,) = python.run(settings=Settings(max_precise_size=1000)).notices
    assert notice.text.startswith("index.scip is not read: ")
    assert edges(python.index, "precise") == []
    python.run()
    assert "26: total calls Shape.area precise" in edges(python.index)


def test_an_index_of_files_that_are_not_indexed_says_nothing(python: Tree) -> None:
    python.write(".gitignore", "shape.py\n")
    report = python.run()
    assert (report.notices, edges(python.index, "precise")) == ((), ["13: report calls größe precise"])


def test_an_index_of_another_tree_is_reported(python: Tree) -> None:
    (python.root / "shapes").rename(python.root / "forms")
    (notice,) = python.run().notices
    assert notice.text.startswith("index.scip: 3 of 3 documents are not used (shapes/")
    assert notice.text.endswith(": no such file is indexed)")

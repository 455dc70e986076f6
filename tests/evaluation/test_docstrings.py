"""The measurement by documentation, on small trees: its questions and its results."""

from __future__ import annotations

from pathlib import Path

import pytest

from codelens.config import Settings
from codelens.evaluation.docstrings import ask_questions, write_code_without_documentation
from codelens.index import Index

SAID = {
    "open_socket": "Opens a socket to the other machine.",
    "close_socket": "Closes the socket when nothing is left to send.",
    "read_header": "Reads the header that stands before each message.",
    "count_letters": "Counts the letters which a reader has not opened.",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "mail"
    (root / "tests").mkdir(parents=True)
    functions = [f'def {name}(given):\n    """{said}"""\n    return given\n' for name, said in SAID.items()]
    (root / "mail.py").write_text("\n\n".join(functions))
    (root / "tests" / "test_mail.py").write_text('def check():\n    """Looks whether all letters come."""\n')
    (root / "README.md").write_text("Reads the header that stands before each message.\n")
    return root


def test_a_tree_is_copied_without_what_documents_it(tree: Path, tmp_path: Path) -> None:
    questions = write_code_without_documentation(tree, tmp_path / "copy", Settings())
    assert sorted(questions.values()) == sorted(said.removesuffix(".") for said in SAID.values())
    assert [p.name for p in (tmp_path / "copy").rglob("*") if p.is_file()] == ["mail.py"]
    assert not any(said in (tmp_path / "copy" / "mail.py").read_text() for said in SAID.values())


def test_names_that_say_it_are_found_first(tree: Path, tmp_path: Path) -> None:
    questions, index = write_code_without_documentation(tree, tmp_path / "copy", Settings()), tmp_path / "i.db"
    Index.build(index, [tmp_path / "copy"], Settings(model="hashing"))
    found = ask_questions(questions, index, Settings(model="hashing"))
    assert set(found) == {"words (BM25)", "vectors", "rrf 1:1", "rrf 1:2", "minmax .4:.6", "codelens"}
    assert found["codelens"] == found["words (BM25)"] == [1.0] * len(SAID)

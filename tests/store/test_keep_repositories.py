"""An index from which repositories were deleted answers as one that never held them."""

from __future__ import annotations

import shutil
from pathlib import Path

from codelens.config import Settings
from codelens.index import Index
from codelens.model.code import UnitRow
from codelens.store.store import Store
from tests.cluster.queries import answer_bytes, questions, why_bytes
from tests.commands import SAMPLES
from tests.dump import dump, orphans
from tests.fleet.clones import commit, git

UNLIMITED = Settings(query_seconds=0)


def _write_trees(folder: Path) -> list[Path]:
    """Three repositories with histories; words and names of the first occur in the others, too."""
    for name in ("notes", "shop"):
        shutil.copytree(SAMPLES / name / "repo", folder / name)
    shutil.copytree(SAMPLES / "shop/repo", folder / "hidden")
    (folder / "hidden/only_hidden.py").write_text("import socket\n\ndef settle_invoice(amount):\n    return socket\n")
    roots = [folder / name for name in ("shop", "hidden", "notes")]
    for root in roots:
        git(root, "init", "--quiet")
        commit(root)
    return roots


def test_the_rest_is_an_index_of_the_rest(tmp_path: Path) -> None:
    shop, hidden, notes = _write_trees(tmp_path)
    Index.build(tmp_path / "part.db", [shop, hidden, notes], UNLIMITED)
    Index.build(tmp_path / "fresh.db", [shop, notes], UNLIMITED)
    with Store.write(tmp_path / "part.db") as part:
        rows = part.documents.list_repositories()
        part.keep_repositories([row.id for row in rows if row.root != hidden])
    left, expected = dump(tmp_path / "part.db"), dump(tmp_path / "fresh.db")
    for table in expected.keys() - {"meta"}:
        assert left[table] == expected[table], table
    assert orphans(tmp_path / "part.db") == []
    with Store.read(tmp_path / "part.db") as part, Store.read(tmp_path / "fresh.db") as fresh:
        units = sorted(
            (unit for d in fresh.documents.read_rows() for unit in fresh.units.list_in_document(d.id)),
            key=UnitRow.content_order,
        )
        for number, question in enumerate(questions(units, ["shop", "notes"], 60, seed=5)):
            assert answer_bytes(question, part, UNLIMITED) == answer_bytes(question, fresh, UNLIMITED), question
            unit = units[number * 37 % len(units)]
            target = f"{unit.repository}/{unit.path}:{unit.start_line}"
            if number % 10 == 0:
                expected_account = why_bytes(question, target, fresh, UNLIMITED)
                assert why_bytes(question, target, part, UNLIMITED) == expected_account, question

"""Places of indexes in a tree, and paths of their documents."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from codelens.linking.precise.indexes import IndexFile, find_indexes, place_in_tree, read_tree_indexes

FOUND = {
    "index.scip": "",
    ".scip/all.scip": "",
    "api/index.scip": "api",
    "web/main.scip": "web",
    "web/.scip/x.scip": "web",
}
NOT_FOUND = (".git/index.scip", "web/src/index.scip", "scip", ".scip.d", "index.scip.gz", "scipy.py")


def test_indexes_are_found_in_the_root_and_one_folder_below(tmp_path: Path) -> None:
    for path in (*FOUND, *NOT_FOUND):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(b"\x0a\x00")
    (tmp_path / "folder.scip").mkdir()
    found = list(find_indexes(tmp_path, 2))
    assert found == [IndexFile(path, tmp_path / path, folder) for path, folder in FOUND.items()]


def test_a_tree_with_dumps_alone_gets_one_notice(tmp_path: Path) -> None:
    for name in ("dump.lsif", "other.lsif"):
        (tmp_path / name).write_text("{}")
    (notice,) = read_tree_indexes(tmp_path, 100).notices
    assert notice.text == "dump.lsif is not read: LSIF is not supported; write a SCIP index instead"
    (tmp_path / "index.scip").write_bytes(b"\x0a\x00")
    assert read_tree_indexes(tmp_path, 100).notices == ()


def test_a_large_index_is_refused_with_its_size(tmp_path: Path) -> None:
    (tmp_path / "index.scip").write_bytes(bytes(1_500_000))
    assert [index.refusal for index in find_indexes(tmp_path, 1_500_000 - 1)] == ["1.5 MB, limit 1.5 MB"]


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_links_to_indexes_are_not_followed(tmp_path: Path) -> None:
    tree, elsewhere = tmp_path / "tree", tmp_path / "elsewhere"
    for folder in (tree / "web", elsewhere):
        folder.mkdir(parents=True)
    (elsewhere / "index.scip").write_bytes(b"\x0a\x00")
    (tree / "index.scip").symlink_to(elsewhere / "index.scip")
    (tree / ".scip").symlink_to(elsewhere)
    (tree / "web" / ".scip").symlink_to(elsewhere)
    (tree / "linked").symlink_to(elsewhere)
    assert list(find_indexes(tree, 100)) == []


def test_a_missing_tree_has_no_indexes(tmp_path: Path) -> None:
    assert list(find_indexes(tmp_path / "none", 100)) == []


def test_paths_are_below_the_project_or_below_the_root() -> None:
    known = {"web/src/a.ts", "src/a.ts", "src/b.ts"}
    assert place_in_tree("web", "src/a.ts", known) == "web/src/a.ts"
    assert place_in_tree("web", "src/b.ts", known) == "src/b.ts"
    assert place_in_tree("", "src/a.ts", known) == "src/a.ts"
    assert place_in_tree("web", "src/c.ts", known) is None

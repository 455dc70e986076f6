"""Cached packs: served only if nothing has changed; their files do not contain the request."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path

import pytest

from codelens.config import Settings
from codelens.context import cache
from codelens.context.cache import PackCache
from codelens.errors import UsageError
from codelens.index import Index
from codelens.model.context import TASK, ContextRequest, Forms, PackedText
from codelens.model.request import SearchOptions
from codelens.render.context import make_layout
from codelens.render.paths import PathStyle
from tests.context.layouts import CHARS
from tests.search.trees import QUICK, Tree

TASK_TEXT = "Zanzibar total"
REQUEST = ContextRequest(TASK, CHARS, SearchOptions(limit=9), 2000, query=TASK_TEXT)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = Tree(tmp_path, {"cart.py": "def total(lines):\n    return sum(lines)\n"})
    made.index().close()
    return made


def pack(
    tree: Tree, request: ContextRequest = REQUEST, format: str = "markdown", settings: Settings = QUICK
) -> PackedText:
    with Index.open(tree.db, settings) as index:
        return index.context(request, make_layout(format, PathStyle("root", "")))


def packs(tree: Tree) -> list[Path]:
    return sorted((tree.root.parent / "cache/codelens/packs").glob("*"))


def test_the_same_question_is_answered_from_the_cache(tree: Tree) -> None:
    first, second = pack(tree), pack(tree)
    assert (first.cached, second.cached) == (False, True)
    assert replace(second, cached=False) == first
    assert pack(tree, replace(REQUEST, query="  Zanzibar\n total ")).cached


@pytest.mark.slow
@pytest.mark.parametrize(
    "other",
    [
        replace(REQUEST, query="zanzibar total"),
        replace(REQUEST, budget=1999),
        replace(REQUEST, forms=Forms.SIGNATURES),
        replace(REQUEST, options=SearchOptions(limit=8)),
        replace(REQUEST, counter=replace(CHARS, name="other")),
    ],
)
def test_another_question_is_not_answered_from_the_cache(other: ContextRequest, tree: Tree) -> None:
    pack(tree)
    assert not pack(tree, other).cached


def test_another_format_is_not_answered_from_the_cache(tree: Tree) -> None:
    pack(tree)
    assert not pack(tree, format="xml").cached


def test_blanks_in_a_quoted_text_count(tree: Tree) -> None:
    pack(tree, replace(REQUEST, query='total "a  b"'))
    assert not pack(tree, replace(REQUEST, query='total "a b"')).cached


@pytest.mark.slow
def test_an_index_of_new_content_serves_no_old_pack(tree: Tree) -> None:
    pack(tree)
    tree.write({"cart.py": "def total(lines):\n    return max(lines)\n"})
    tree.index().close()
    made = pack(tree)
    assert not made.cached
    assert "max(lines)" in made.text
    tree.write({"cart.py": "def total(lines):\n    return sum(lines)\n"})
    tree.index().close()
    assert pack(tree).cached, "the content is the old one again"


def test_a_file_that_has_changed_on_disk_makes_the_pack_again(tree: Tree) -> None:
    pack(tree)
    tree.write({"cart.py": "def total(lines):\n    return 0\n"})
    made = pack(tree)
    assert (made.cached, made.changed) == (False, ("cart.py",))
    assert pack(tree).cached
    (tree.root / "cart.py").unlink()
    assert not pack(tree).cached


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["", "{", "[]", '{"key": 1}', "null", "\0" * 9])
def test_a_damaged_pack_is_made_again(damage: str, tree: Tree) -> None:
    first = pack(tree)
    [file] = packs(tree)
    file.write_text(damage)
    assert pack(tree) == first
    assert pack(tree).cached


@pytest.mark.slow
@pytest.mark.parametrize("key", ["text", "key"])
def test_a_pack_that_was_tampered_with_is_made_again(key: str, tree: Tree) -> None:
    first = pack(tree)
    [file] = packs(tree)
    record = json.loads(file.read_text())
    file.write_text(json.dumps(record | {key: "something else"}))
    assert pack(tree) == first


def test_the_request_is_not_stored(tree: Tree) -> None:
    for format in ("markdown", "xml", "json", "compact"):
        pack(tree, format=format)
    assert len(packs(tree)) == 4
    for file in packs(tree):
        assert "zanzibar" not in (file.name + file.read_text()).lower()
        assert file.stat().st_mode & 0o077 == 0, "for this user alone"


def test_the_token_of_the_next_part_is_kept_without_the_request(tree: Tree) -> None:
    tree.write({"cart.py": "".join(f"def total_{n}():\n    return {n}\n\n\n" for n in range(40))})
    tree.index().close()
    first, second = (pack(tree, replace(REQUEST, budget=160)) for _ in range(2))
    assert first.more and second.cached
    assert replace(second, cached=False) == first
    [file] = packs(tree)
    asked = base64.b64encode(b'"query":"' + TASK_TEXT.encode()).decode()[4:-4]
    assert first.more not in file.read_text() and asked not in file.read_text()


def test_a_pack_with_a_notice_about_the_question_is_not_kept(tree: Tree) -> None:
    assert pack(tree, replace(REQUEST, query="total zanzibar:x OR")).notices
    assert packs(tree) == []


def test_only_the_newest_are_kept(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MOST_KEPT", 3)
    for budget in range(300, 306):
        pack(tree, replace(REQUEST, budget=budget))
    assert len(packs(tree)) == 3


def test_a_setting_turns_the_cache_of_packs_off(tree: Tree) -> None:
    pack(tree, settings=replace(QUICK, pack_cache=False))
    assert packs(tree) == []


def test_a_folder_that_cannot_be_made_changes_no_answer(tree: Tree) -> None:
    (tree.root.parent / "cache").write_text("a file")
    assert pack(tree) == pack(tree)


def test_clearing_removes_all_packs(tree: Tree) -> None:
    pack(tree)
    cached = PackCache(packs(tree)[0].parent)
    assert cached.clear() == 1
    assert packs(tree) == []
    assert cached.clear() == 0
    assert not pack(tree).cached


def test_errors_are_not_cached(tree: Tree) -> None:
    with pytest.raises(UsageError):
        pack(tree, replace(REQUEST, budget=2))
    assert packs(tree) == []


def test_nobody_reads_half_a_pack(tmp_path: Path) -> None:
    folder = PackCache(tmp_path / "p")
    made = PackedText("text", 0, 1, 1, 1, (), ())
    folder.store_pack("a" * 64, made, (("tree", "a.py", "fresh"),))
    assert [p.name for p in (tmp_path / "p").iterdir()] == ["a" * 64 + ".pack.json"]
    assert folder.find_pack("a" * 64, REQUEST) == (replace(made, cached=True), (("tree", "a.py", "fresh"),))
    assert folder.find_pack("b" * 64, REQUEST) is None

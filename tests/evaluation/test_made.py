"""Tasks made from a git history: queries, answers, the tree, and repeatability."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from codelens.config import Settings
from codelens.errors import CannotWrite, UsageError
from codelens.evaluation.make_tasks import (
    KINDS,
    MadeTasks,
    TaskCounts,
    choose_name,
    find_repository,
    format_summary,
    make_tasks,
)
from codelens.evaluation.tasks import read_tasks
from codelens.index import Index
from codelens.model.request import SearchOptions
from codelens.store.store import Store
from codelens.worktree.walk import walk_tree
from tests.evaluation.histories import History

STORE = '''"""Keeps jars."""

LIMIT = 12


class Shelf:
    """A shelf that jars stand on in rows."""

    depth = 3

    def put(self, jar):
        """Places a jar behind those that are already there."""
        self.jars.append(jar)
        return len(self.jars)

    def take(self):
        return self.jars.pop()


def label(jar):
    """Writes down what is inside for people in a hurry."""
    return jar.content
'''
GUIDE = "# Jars\n\nWhat they are.\n\n## Opening\n\nTurn left.\n\n## Closing\n\nTurn right.\n"
TEST = "from store import label\n\n\ndef test_label():\n    assert label(1) == 1\n"
SPOILT = "Jars that stand at the back would spoil before anyone came to eat them."
SMALL = TaskCounts(commits=40, docs=10, identifiers=10)


@pytest.fixture(scope="module")
def larder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A history of one commit of each kind that matters, oldest first."""
    history = History(tmp_path_factory.mktemp("histories") / "larder")
    step = history.commit
    tree = {
        "src/store.py": STORE,
        "docs/guide.md": GUIDE,
        "tests/test_store.py": TEST,
        "CHANGELOG.md": "# 1.0\n\nFirst.\n",
    }
    step(
        "Begin with the jars",
        tree | {"src/größe.py": "def weigh(jar):\n    return 1\n", "old.py": "def age():\n    return 1\n"},
    )
    text = STORE.replace("LIMIT = 12", "LIMIT = 20")
    step("store: allow twenty jars in all (#7)", {"src/store.py": text, "CHANGELOG.md": "# 1.1\n\nMore.\n"})
    text = text.replace("        return self.jars.pop()", "        return self.jars.pop(0)")
    step(f"Take the oldest jar first\n\n{SPOILT}\n\nFixes #9", {"src/store.py": text})
    text = text.replace("    def take", "    def count(self):\n        return len(self.jars)\n\n    def take")
    step("Let a shelf count its jars", {"src/store.py": text})
    text = text.replace("already there", "there before it")
    step("Say better where put leaves the jar", {"src/store.py": text})
    step("Explain how to open sticky jars", {"docs/guide.md": GUIDE.replace("Turn left.", "Warm it, then turn left.")})
    step("Check labels of empty jars too", {"tests/test_store.py": TEST + "    assert label(0) == 0\n"})
    step("Weigh jars without their lids", {"src/größe.py": "def weigh(jar):\n    return jar.mass\n"})
    step("Move the age of jars to its place", {"old.py": None, "src/age.py": "def age():\n    return 1\n"})
    step("Bump version to 1.2", {"src/store.py": text.replace("depth = 3", "depth = 4")})
    step("Bump jar from 1 to 2", {"src/store.py": text.replace("depth = 3", "depth = 5")}, author="jars[bot] <b@b>")
    step('Revert "Let a shelf count its jars"', {"src/store.py": text})
    text = text.replace("depth = 3", "depth = 6")
    step("Fix it", {"src/store.py": text})
    step("Check labels of empty jars too", {"tests/test_store.py": TEST})
    step("Describe the newest changes of jars", {"CHANGELOG.md": "# 1.2\n\nMost.\n"})
    step("Add a lid to the shelf", {"src/lid.py": "def lid():\n    return 1\n"})
    step("Make lids of jars much stronger", {"src/lid.py": "def lid():\n    return 2\n"})
    history.git("checkout", "-q", "-b", "side")
    step("Shorten what a label may say", {"src/store.py": text.replace("jar.content", "jar.content[:9]")})
    history.git("checkout", "-q", "main")
    step("Tidy the kitchen a little bit", {"notes.txt": "tidy\n"})
    history.merge("side")
    return history.top


@pytest.fixture(scope="module")
def made(larder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, MadeTasks]:
    folder = tmp_path_factory.mktemp("tasks") / "new" / "place"
    return folder, make_tasks(find_repository(larder), "larder", folder, SMALL)


def rows(folder: Path, kind: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / f"larder-{kind}.jsonl").read_text("utf-8").splitlines()]


def answers(row: dict[str, Any]) -> list[tuple[str, str]]:
    return [(entry["files"][0], entry["symbol"]) for entry in row["relevant"]]


def test_a_subject_asks_for_what_its_commit_changed(made: tuple[Path, MadeTasks]) -> None:
    store = "src/store.py"
    assert {row["query"]: answers(row) for row in rows(made[0], "commits")} == {
        "store: allow twenty jars in all": [(store, "LIMIT")],
        "Take the oldest jar first": [(store, "Shelf.take")],
        "Let a shelf count its jars": [(store, "Shelf")],
        "Say better where put leaves the jar": [(store, "Shelf.put")],
        "Explain how to open sticky jars": [("docs/guide.md", "Jars.Opening")],
        "Check labels of empty jars too": [("tests/test_store.py", "test_label")],
        "Weigh jars without their lids": [("src/größe.py", "weigh")],
        "Shorten what a label may say": [(store, "label")],
    }


def test_what_makes_no_task_is_counted(made: tuple[Path, MadeTasks]) -> None:
    left_out = made[1].left_out
    assert left_out == {
        "a release or a version": 1,
        "by a bot": 1,
        "a revert": 1,
        "too few words": 1,
        "a subject again": 1,
        "no source file": 2,
        "changes no definition": 2,
        "changes only what the base does not have": 1,
    }
    kept = made[1].tasks["commits"]
    assert kept + sum(left_out.values()) == made[1].looked_at == 18
    assert "18 commits looked at, 8 kept; left out: 2 changes no definition, 2 no source file" in "\n".join(
        format_summary("larder", made[1])
    )


def test_a_body_that_explains_makes_a_longer_question(made: tuple[Path, MadeTasks]) -> None:
    (row,) = rows(made[0], "tasks")
    assert row["query"] == f"Take the oldest jar first. {SPOILT}"
    assert (row["kind"], answers(row)) == ("task", [("src/store.py", "Shelf.take")])


def test_the_tree_is_that_of_the_base(made: tuple[Path, MadeTasks]) -> None:
    tree = made[0] / "larder-commits"
    laid = {str(p.relative_to(tree)) for p in tree.rglob("*") if p.is_file()}
    assert laid == {"src/store.py", "docs/guide.md", "tests/test_store.py", "CHANGELOG.md", "src/größe.py", "old.py"}
    assert (tree / "src/store.py").read_text() == STORE
    for row in rows(made[0], "commits"):
        assert list(row) == ["id", "repo", "query", "relevant", "kind", "commit", "base"]
        assert (row["repo"], row["kind"], row["base"]) == ("larder", "commit", made[1].base)


def test_documentation_asks_on_a_tree_without_it(made: tuple[Path, MadeTasks]) -> None:
    asked = {row["query"]: answers(row) for row in rows(made[0], "docs")}
    assert asked == {
        "A shelf that jars stand on in rows": [("src/store.py", "Shelf")],
        "Places a jar behind those that are already there": [("src/store.py", "Shelf.put")],
        "Writes down what is inside for people in a hurry": [("src/store.py", "label")],
    }
    bare = (made[0] / "larder-docs/src/store.py").read_text()
    assert "hurry" not in bare
    assert "return jar.content" in bare
    assert (made[0] / "larder-docs/docs/guide.md").read_text() == GUIDE


def test_names_ask_bare_and_with_their_container(made: tuple[Path, MadeTasks]) -> None:
    found = rows(made[0], "names")
    asked = {row["query"]: answers(row) for row in found}
    assert {place for places in asked.values() for place in places} == {
        ("src/store.py", name) for name in ("LIMIT", "Shelf", "Shelf.put", "Shelf.take", "label")
    } | {("tests/test_store.py", "test_label"), ("src/größe.py", "weigh"), ("old.py", "age")}
    for at, row in enumerate(found):
        symbol = row["relevant"][0]["symbol"]
        assert row["query"] == (symbol if at % 2 else symbol.rpartition(".")[2])


def test_an_index_of_the_tree_holds_every_answer(made: tuple[Path, MadeTasks], tmp_path: Path) -> None:
    tasks = read_tasks([made[0] / f"larder-{kind}.jsonl" for kind in ("commits", "tasks", "names")])
    assert len(tasks) == 8 + 1 + 8
    Index.build(tmp_path / "i.db", [made[0] / "larder-commits"], Settings(model="hashing"))
    with Store.read(tmp_path / "i.db") as store, store.reading():
        documents = {row.path: row.id for row in store.documents.read_rows()}
        for entry in (entry for task in tasks for entry in task.relevant):
            (path,) = entry.files
            assert entry.symbol in {unit.qualified_name for unit in store.units.list_in_document(documents[path])}
    with Index.open(tmp_path / "i.db") as index:
        for task in (task for task in tasks if task.kind == "identifier"):
            found = {(hit.unit.qualified_name, hit.unit.path) for hit in index.search(task.query, SearchOptions()).hits}
            assert (task.relevant[0].symbol, *task.relevant[0].files) in found


def digest(folder: Path) -> str:
    files = sorted(p for p in folder.rglob("*") if p.is_file())
    return hashlib.sha256(b"".join(str(p.relative_to(folder)).encode() + p.read_bytes() for p in files)).hexdigest()


def test_the_same_history_gives_the_same_bytes(larder: Path, made: tuple[Path, MadeTasks], tmp_path: Path) -> None:
    bare = tmp_path / "bare.git"
    History(tmp_path / "any").git("clone", "-q", "--bare", str(larder), str(bare))
    make_tasks(find_repository(bare), "larder", tmp_path / "again", SMALL)
    assert digest(tmp_path / "again") == digest(made[0])
    make_tasks(find_repository(larder / ".git"), "larder", tmp_path / "again", SMALL)
    assert digest(tmp_path / "again") == digest(made[0]), "in place of what was made before"


def test_the_base_is_no_farther_than_the_tasks_need(larder: Path, tmp_path: Path) -> None:
    made = make_tasks(find_repository(larder), "larder", tmp_path / "few", TaskCounts(commits=2))
    found = rows(tmp_path / "few", "commits")
    assert len(found) == 2
    assert made.looked_at < 18
    assert made.left_out.get("more than were wanted", 0) <= 1


def test_another_head_is_used(larder: Path, tmp_path: Path) -> None:
    made = make_tasks(find_repository(larder), "larder", tmp_path / "old", SMALL, head="side~14")
    assert [row["query"] for row in rows(tmp_path / "old", "commits")] == [
        "store: allow twenty jars in all",
        "Take the oldest jar first",
        "Let a shelf count its jars",
    ]
    assert made.looked_at == 3


def test_a_single_commit_has_a_tree_and_no_commits_to_ask(tmp_path: Path) -> None:
    history = History(tmp_path / "one")
    history.commit("Begin with the jars", {"store.py": STORE})
    made = make_tasks(find_repository(history.top), "one", tmp_path / "out", SMALL)
    counts = {"commits": 0, "tasks": 0, "docs": 3, "names": 5, "topics": 0}
    assert {kind: count for kind, count in made.tasks.items() if kind in counts} == counts
    assert (made.base, made.looked_at) == (made.head, 0)


def test_a_large_tree_is_drawn_from_and_keeps_the_answers(larder: Path, tmp_path: Path) -> None:
    made = make_tasks(find_repository(larder), "larder", tmp_path / "cut", TaskCounts(commits=40, max_files=4))
    tree = tmp_path / "cut/larder-commits"
    laid = {str(p.relative_to(tree)) for p in tree.rglob("*") if p.is_file()}
    assert laid == {"src/store.py", "docs/guide.md", "tests/test_store.py", "src/größe.py"}
    assert (made.not_drawn, made.tasks["commits"]) == (2, 8)


def test_links_and_other_repositories_are_not_laid(tmp_path: Path) -> None:
    history = History(tmp_path / "linked")
    (history.top / "out").symlink_to("/etc")
    (history.top / "file.py").symlink_to("../../secret.py")
    inner = history.commit("Begin with the jars", {"store.py": STORE, "picture.png": b"\x89PNG\0\0\1"})
    history.git("update-index", "--add", "--cacheinfo", f"160000,{inner},module")
    history.git("commit", "-q", "-m", "Add a module from elsewhere")
    make_tasks(find_repository(history.top), "linked", tmp_path / "tasks", SMALL)
    tree = tmp_path / "tasks/linked-commits"
    assert [p.name for p in tree.rglob("*")] == ["store.py"]


def test_a_tree_that_leads_out_of_its_folder_is_not_followed(tmp_path: Path) -> None:
    """Git itself refuses to check such a tree out; its objects can hold it all the same."""
    history = History(tmp_path / "bad")
    history.commit("Begin with the jars", {"store.py": STORE})
    blob = history.git("rev-parse", "HEAD:store.py")

    def tree(name: str, kind: str, what: str) -> str:
        raw = {"blob": b"100644 ", "tree": b"40000 "}[kind] + name.encode() + b"\0" + bytes.fromhex(what)
        place = tmp_path / "raw"
        place.write_bytes(raw)
        return history.git("hash-object", "-t", "tree", "-w", "--literally", str(place))

    for outer in ("..", ".git", ".GIT", "."):
        made = tree(outer, "tree", tree("escaped.py", "blob", blob))
        commit = history.git("commit-tree", made, "-m", "Lead out of the folder")
        make_tasks(find_repository(history.top), "bad", tmp_path / "tasks" / "deep", SMALL, head=commit)
        assert not list((tmp_path / "tasks/deep/bad-commits").rglob("*"))
        assert not list(tmp_path.rglob("escaped.py"))


def test_what_is_ignored_in_the_tree_is_no_answer(tmp_path: Path) -> None:
    history = History(tmp_path / "hidden")
    history.commit("Begin with the jars", {".gitignore": "", ".secret/store.py": STORE, "store.py": STORE})
    history.commit("Allow twenty jars in all", {".secret/store.py": STORE.replace("12", "20")})
    made = make_tasks(find_repository(history.top), "hidden", tmp_path / "tasks", SMALL)
    assert made.tasks["commits"] == 0
    assert made.left_out == {"changes only what an index leaves out": 1}
    tree = tmp_path / "tasks/hidden-commits"
    assert any(".secret" in entry.path for entry in walk_tree(tree, Settings()))


@pytest.mark.parametrize("name", ["commits.txt", "larder-commits", "larder-docs.jsonl"])
def test_what_others_made_is_not_written_over(larder: Path, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "full"
    folder.mkdir()
    if name.endswith("commits"):
        (folder / name).mkdir()
    else:
        (folder / name).write_text('{"mine": 1}\n')
    with pytest.raises(UsageError, match=f"did not write: {name}"):
        make_tasks(find_repository(larder), "larder", folder, SMALL)
    assert [entry.name for entry in folder.iterdir()] == [name]


def test_repositories_share_a_folder(larder: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        make_tasks(find_repository(larder), name, tmp_path / "both", TaskCounts(2, 0, 0))
    assert len(list((tmp_path / "both").glob("*.jsonl"))) == 2 * len(KINDS)


def test_an_impossible_folder_is_reported(larder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="is not a folder"):
        make_tasks(find_repository(larder), "larder", tmp_path / "file", SMALL)
    with pytest.raises(CannotWrite):
        make_tasks(find_repository(larder), "larder", tmp_path / "file" / "below", SMALL)
    with pytest.raises(UsageError, match="lies in a git repository"):
        make_tasks(find_repository(larder), "larder", larder / "tasks", SMALL)


def test_a_repository_is_named_as_its_folder_is(larder: Path, tmp_path: Path) -> None:
    assert choose_name(find_repository(larder)) == "larder"
    assert choose_name(find_repository(larder / ".git")) == "larder"
    assert choose_name(find_repository(larder / "src"), "own") == "own"
    odd = History(tmp_path / "-an odd name!")
    assert choose_name(find_repository(odd.top)) == "an-odd-name"
    for wrong in ("a/b", "..", "-x"):
        with pytest.raises(UsageError):
            choose_name(find_repository(larder), wrong)
    with pytest.raises(UsageError, match="not in a git repository"):
        find_repository(tmp_path)
    with pytest.raises(UsageError, match="no such folder"):
        find_repository(tmp_path / "none")

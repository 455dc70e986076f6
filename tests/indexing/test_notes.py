"""Notes, skills and marked comments in an index: what is taken in, what it is linked to, and that it disturbs nothing."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from codelens.config import Settings
from codelens.index import Index
from codelens.indexing.build import update_file
from codelens.model.code import SkipReason
from codelens.model.graph import RelationOptions
from codelens.store.store import Store
from codelens.worktree.place import prepare_index_folder
from tests.dump import dump, orphans
from tests.indexing.here import Tree as Built
from tests.indexing.here import derive_here
from tests.search.trees import Tree, ask_one, find, names

FILES = {
    "src/app.py": (
        "class Flask:\n    def run(self):\n        serve()\n        # TODO: retry on timeouts\n        return self\n\n\n"
        "def serve():\n    return 1  # FIXME: port is fixed\n"
    ),
    "src/net.py": "def retry(times):\n    return times\n",
    ".codelens/notes/why-retry.md": (
        "---\ntitle: Flaky networks\nkind: note\ntags: [wire]\n"
        "links:\n  - src/net.py:1\n  - Flask.run\n  - ../../outside.py:3\n---\n"
        "We try thrice because of DNS; see `retry` and `src/app.py`.\n"
    ),
    ".codelens/notes/todo/backoff.md": "---\ntitle: Exponential backoff\nkind: task\nstatus: open\n---\nDouble the pause.\n",
    ".codelens/notes/picture.png": b"\x89PNG\0",
    ".codelens/other.md": "not a note\n",
    "skills/deploy/SKILL.md": (
        "---\nname: deploy\ndescription: How to ship a release\ntriggers: [cut a version, ship it]\n---\nRun the script.\n"
    ),
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    made = Tree(tmp_path_factory.mktemp("notes"), FILES)
    made.index().close()
    return made


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Built:
    (tmp_path / "tree").mkdir()
    (tmp_path / "at").mkdir()
    return Built(tmp_path / "tree", tmp_path / "at" / "index.db", derive_here(monkeypatch))


@pytest.fixture
def index(tree: Tree) -> Iterator[Index]:
    with Index.open(tree.db) as opened:
        yield opened


@pytest.mark.slow
def test_notes_are_units_with_the_fields_of_their_front_matter(index: Index) -> None:
    note, task, skill = (
        index.symbols(path)[0]
        for path in (".codelens/notes/why-retry.md", ".codelens/notes/todo/backoff.md", "skills/deploy/SKILL.md")
    )
    assert (note.kind, note.name, note.signature, note.start_line, note.name_line) == (
        "note",
        "Flaky networks",
        " #wire",
        1,
        10,
    )
    assert (task.kind, task.name, task.signature.strip()) == ("task", "Exponential backoff", "open")
    assert (skill.kind, skill.name, skill.doc) == ("skill", "deploy", "How to ship a release")


def test_notes_tasks_and_skills_are_found_by_kind(index: Index) -> None:
    assert names(find(index, "dns kind:note")) == ["Flaky networks"]
    assert names(find(index, "retry", kinds=("note",))) == ["Flaky networks"]
    assert names(find(index, "ship", kinds=("skill",))) == ["deploy"]
    assert set(names(find(index, "kind:task"))) == {
        "Exponential backoff",
        "Flask.run.TODO: retry on timeouts",
        "serve.FIXME: port is fixed",
    }
    assert names(find(index, "kind:todo port")) == ["serve.FIXME: port is fixed"]


def test_tasks_are_found_by_their_words(index: Index) -> None:
    assert names(find(index, "timeouts", kinds=("task",)))[0] == "Flask.run.TODO: retry on timeouts"
    assert names(find(index, "double the pause", kinds=("task",)))[0] == "Exponential backoff"
    assert names(find(index, "zebra", kinds=("task",))) == []


def test_triggers_are_words_of_a_skill(index: Index) -> None:
    assert names(find(index, "cut a version"))[0] == "deploy"


def test_a_marked_comment_takes_part_only_if_the_query_asks_for_tasks(index: Index) -> None:
    for query in (
        "retry on timeouts",
        '"retry on timeouts"',
        "lang:python",
        "path:src",
        "-kind:function",
        "/TODO/",
        "fixed port",
    ):
        assert all(hit.unit.kind != "todo" for hit in find(index, query, limit=100).hits), query
    assert ask_one(index, "kind:task timeouts", "src/app.py:4").candidate is not None
    assert ask_one(index, "serve", "src/app.py:4").target == "src/app.py:4"


def test_why_names_the_comment_at_its_line(index: Index) -> None:
    explained = ask_one(index, "kind:task timeouts", "src/app.py:4")
    assert explained.candidate is not None
    assert explained.candidate.unit.kind == "todo"
    assert next(c.source for c in explained.candidate.contributions) == "exact"


@pytest.mark.slow
def test_marked_comments_are_in_no_statistics(tree: Tree, tmp_path: Path) -> None:
    """Rows of words, counts and vectors are those of the same tree without the marks."""
    plain = Tree(
        tmp_path, FILES | {"src/app.py": str(FILES["src/app.py"]).replace("TODO", "NOTA").replace("FIXME", "NOTAM")}
    )
    plain.index().close()
    figures = []
    for one in (tree, plain):
        connection = apsw.Connection(str(one.db))
        connection.execute(
            "CREATE VIRTUAL TABLE temp.names USING fts5vocab('main', 'name_trigrams', 'instance')"
        ).fetchall()
        rows = [
            next(connection.execute(f"SELECT count(*) FROM {t}"))[0]
            for t in ("unit_terms_docsize", "vectors", "(SELECT DISTINCT doc FROM temp.names)")
        ]
        with Store.read(one.db) as store:
            documents = {row.id for row in store.documents.read_rows()}
            figures.append(
                (rows, store.units.count(), sorted(store.occurrences.count_in_files(documents, [])[0].values()))
            )
    assert figures[0] == figures[1]


def test_notes_lead_to_code_and_back(index: Index) -> None:
    def sources(target: str) -> set[str]:
        return {
            r.source.qualified_name for r in index.graph.refs(target, RelationOptions(kinds=("documents",))).relations
        }

    assert "Flaky networks" in sources("src/net.py")
    assert "Flaky networks" in sources("Flask.run")
    assert "Flaky networks" in sources("src/app.py")
    found = find(index, "thrice because of DNS")
    assert names(found)[0] == "Flaky networks"
    assert "Flask.run" in names(found), "the walk leads on to what the note is about"
    (walked,) = [h for h in found.hits if h.unit.qualified_name == "Flask.run"]
    assert any("reached from Flaky networks, which documents it" in c.reason for c in walked.contributions)


def test_a_place_outside_the_tree_is_a_fault_and_the_note_is_indexed(tree: Tree) -> None:
    with Store.read(tree.db) as store:
        faults = {row.path: row.fault for row in store.documents.read_rows() if row.fault}
    assert faults == {".codelens/notes/why-retry.md": "front matter: line 5: '../../outside.py' leads out of the tree"}


@pytest.mark.slow
def test_lost_places_are_reported_with_the_hits(tmp_path: Path) -> None:
    tree = Tree(tmp_path, FILES)
    tree.index().close()
    (tree.root / "src/net.py").unlink()
    with tree.index() as index:
        said = [n.text for n in find(index, "dns", kinds=("note",)).notices if n.code == "note-place"]
    assert said == [".codelens/notes/why-retry.md: lost: was src/net.py:1"]


def test_only_notes_are_indexed_in_the_folder_of_codelens(tree: Tree) -> None:
    with Index.open(tree.db) as index:
        skips = {skip.path: skip.reason for _, skip in index.list_skips()}
    assert skips[".codelens/other.md"] is SkipReason.NESTED_INDEX
    assert skips[".codelens/notes/picture.png"] is SkipReason.BINARY
    with Store.read(tree.db) as store:
        assert ".codelens/other.md" not in {row.path for row in store.documents.read_rows()}


def test_git_tracks_notes_and_ignores_the_index(tree: Tree, tmp_path: Path) -> None:
    root = tmp_path / "repo"
    made = Tree(root, FILES)
    subprocess.run(["git", "init", "-q"], cwd=made.root, check=True)
    ignore = made.root / ".codelens/.gitignore"
    for before in ("*\n", None):
        if before is None:
            ignore.unlink()
        else:
            ignore.write_text(before)
        prepare_index_folder(made.root / ".codelens/index.db")
        (made.root / ".codelens/index.db").write_text("")
        seen = subprocess.run(
            ["git", "status", "--short", "-uall"], cwd=made.root, check=True, capture_output=True, text=True
        ).stdout
        assert "?? .codelens/notes/why-retry.md" in seen
        assert "index.db" not in seen
        assert ".gitignore" not in seen
    ignore.write_text("*\n!mine\n")
    prepare_index_folder(made.root / ".codelens/index.db")
    assert ignore.read_text() == "*\n!mine\n", "what somebody changed stays"


def test_notes_are_read_even_if_git_ignores_them(built: Built) -> None:
    subprocess.run(["git", "init", "-q"], cwd=built.root, check=True)
    built.write(".gitignore", ".codelens\n")
    built.write(".codelens/.gitignore", "*\n")
    built.write(".codelens/notes/a.md", "a note\n")
    built.write(".codelens/notes/b.md", "b\n")
    built.run()
    with Store.read(built.index) as store:
        assert {row.path for row in store.documents.read_rows()} == {".codelens/notes/a.md", ".codelens/notes/b.md"}
    built.write(".codelensignore", "/.codelens/notes/b.md\n")
    built.run()
    with Store.read(built.index) as store:
        assert {row.path for row in store.documents.read_rows()} == {".codelens/notes/a.md"}
    built.write(".codelensignore", ".codelens/\n")
    built.run()
    with Store.read(built.index) as store:
        assert store.documents.read_rows() == []


def test_a_folder_of_notes_that_is_a_link_is_not_followed(built: Built, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/a.md").write_text("secret\n")
    (built.root / ".codelens").mkdir()
    (built.root / ".codelens/notes").symlink_to(tmp_path / "elsewhere")
    assert built.run().indexed == 0


def test_a_moved_file_gets_the_kind_of_its_new_folder(built: Built) -> None:
    text = "---\nkind: task\n---\n# Do it\n"
    built.write("docs/a.md", text)
    built.run()
    (built.root / ".codelens/notes").mkdir(parents=True)
    (built.root / "docs/a.md").rename(built.root / ".codelens/notes/a.md")
    built.run()
    with Index.open(built.index) as index:
        assert [u.kind for u in index.symbols(".codelens/notes/a.md")] == ["task"]
    (built.root / ".codelens/notes/a.md").rename(built.root / "docs/b.md")
    built.run()
    with Index.open(built.index) as index:
        assert [u.kind for u in index.symbols("docs/b.md")][-1] == "section"


def test_updating_one_file_gives_what_a_run_gives(built: Built) -> None:
    built.write("a.py", "def f():\n    return 1\n")
    built.write(".codelens/notes/a.md", "---\nlinks: [a.py:1]\n---\nabout `f`\n")
    built.run()
    built.write(".codelens/notes/b.md", "---\ntitle: b\nlinks:\n  - f\n---\nmore\n")
    built.write(".codelens/notes/a.md", "changed, and no more about it\n")
    for path in (".codelens/notes/b.md", ".codelens/notes/a.md", "no/such.md"):
        assert update_file(built.index, built.root, path, Settings()) == (path != "no/such.md")
    assert orphans(built.index) == []
    fresh = Built(built.root, built.index.with_name("fresh.db"), built.derivations)
    Index.build(fresh.index, [built.root], Settings())
    assert dump(built.index) == dump(fresh.index)
    (built.root / ".codelens/notes/b.md").unlink()
    assert not update_file(built.index, built.root, ".codelens/notes/b.md", Settings())
    built.run()  # notes the folder's new time
    built.rests()

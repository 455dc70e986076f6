"""`codelens note`: writing, changing and removing note files, updating the index, and refusals."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from codelens.store.connection import hold_writer_lock
from tests.commands import Run

NET = "def connect(host):\n    return open_socket(host)\n\n\ndef close(it):\n    it.end()\n"
Typed = Callable[[str], None]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A tree without an index."""
    (tmp_path / "tree/src").mkdir(parents=True)
    (tmp_path / "tree/src/net.py").write_text(NET)
    subprocess.run(["git", "init", "-q", str(tmp_path / "tree")], check=True)
    return tmp_path / "tree"


@pytest.fixture
def indexed_root(root: Path, run: Run) -> Path:
    assert run("index", "-q", cwd=root).code == 0
    return root


@pytest.fixture(autouse=True)
def typed(monkeypatch: pytest.MonkeyPatch) -> Typed:
    """Standard input; empty unless a test pipes text."""

    def pipe(text: str) -> None:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: False, buffer=io.BytesIO(text.encode())))

    pipe("")
    monkeypatch.delenv("EDITOR", raising=False)
    monkeypatch.delenv("VISUAL", raising=False)
    return pipe


def note(root: Path, name: str) -> str:
    return (root / f".codelens/notes/{name}.md").read_text()


def test_a_note_from_title_to_search(indexed_root: Path, run: Run) -> None:
    ran = run("note", "add", "Why we connect  twice", "--tag", "net", "--at", "src/net.py:2", "--at", "close", "-m", "DNS *lies*.",
              cwd=indexed_root)  # fmt: skip
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == "why-we-connect-twice: Why we connect twice #net\n  src/net.py:2\n  src/net.py:5\n"
    text = note(indexed_root, "why-we-connect-twice")
    assert text.startswith(
        "---\ntitle: Why we connect twice\nkind: note\ntags:\n- net\nlinks:\n- {path: src/net.py, line: 2"
    )
    assert text.endswith("---\nDNS *lies*.\n")
    found = json.loads(run("search", "--json", "kind:note lies").out)["results"]
    assert [hit["path"] for hit in found] == [".codelens/notes/why-we-connect-twice.md"]
    assert "why-we-connect-twice.md" in run("refs", "close").out
    assert (
        "?? .codelens/"
        in subprocess.run(["git", "status", "--short"], capture_output=True, text=True, check=True).stdout
    )


def test_a_task_and_its_status(indexed_root: Path, run: Run, typed: Typed) -> None:
    typed("Piped words.\r\nMore.\n")
    assert (
        run("note", "add", "Close sockets", "--task", cwd=indexed_root).out == "close-sockets: Close sockets [open]\n"
    )
    assert note(indexed_root, "close-sockets").endswith("---\nPiped words.\nMore.\n")
    assert run("note", "add", "Write docs", "--task", "--status", "doing", "-m", "x").code == 0
    assert run("note", "add", "A thought", "-m", "x").code == 0
    assert [line.partition(":")[0] for line in run("note", "list", "--task").out.splitlines()] == [
        "close-sockets",
        "write-docs",
    ]
    assert run("note", "edit", "close", "--status", "done").out == "close-sockets: Close sockets [done]\n"
    assert run("note", "list", "--status", "open").code == 1
    listed = json.loads(run("note", "list", "--json", "--status", "done").out)
    assert [(n["id"], n["kind"], n["status"]) for n in listed["notes"]] == [("close-sockets", "task", "done")]
    hits = json.loads(run("search", "--json", "kind:task sockets").out)["results"]
    assert [hit["path"] for hit in hits] == [".codelens/notes/close-sockets.md"]


def test_ids_are_readable_and_never_twice(root: Path, run: Run) -> None:
    for title, expected in (
        ("Größe, & Maß!", "grosse-ma"),
        ("../../etc/passwd", "etc-passwd"),
        ("検索", "note"),
        ("検索", "note-2"),
        ("a " * 80, "a-a-a"),
    ):
        assert run("note", "add", title, "-m", "x", cwd=root).out.startswith(expected.replace("grosse-ma", "gro")), (
            title
        )
    assert len(list((root / ".codelens/notes").iterdir())) == 5
    assert {p.parent for p in root.rglob("*.md")} == {root / ".codelens/notes"}


@pytest.mark.slow
def test_a_place_follows_the_code_and_is_reported_when_lost(indexed_root: Path, run: Run) -> None:
    run("note", "add", "Here", "--at", "src/net.py:2", "--at", "close", "-m", "x", cwd=indexed_root)
    net = indexed_root / "src/net.py"
    net.write_text("# one\n# two\n" + NET)
    run("index", "-q")
    assert "at:      src/net.py:4 (was src/net.py:2)  connect\n" in run("note", "show", "here").out
    subprocess.run(["git", "add", "-A"], check=True)
    subprocess.run(["git", "mv", "src/net.py", "src/web.py"], check=True)
    run("index", "-q")
    assert (
        run("note", "list").out == "here: Here\n  src/web.py:4 (was src/net.py:2)\n  src/web.py:7 (was src/net.py:5)\n"
    )
    (indexed_root / "src/web.py").write_text(NET.partition("\n\n\n")[2])
    run("index", "-q")
    shown = run("note", "show", "here").out
    assert "at:      lost: was src/net.py:2  connect\n" in shown
    assert "at:      src/web.py:1 (was src/net.py:5)  close\n" in shown
    places = json.loads(run("note", "show", "here", "--json").out)["places"]
    assert [(p["standing"], p["path"], p["line"]) for p in places] == [("lost", "", 0), ("moved", "src/web.py", 1)]
    assert run("note", "list", "--lost").out.startswith("here: ")
    searched = run("search", "kind:note here")
    assert "note: .codelens/notes/here.md: lost: was src/net.py:2" in searched.err


def test_edit_renews_what_moved_and_takes_places_away(indexed_root: Path, run: Run) -> None:
    run("note", "add", "Here", "--at", "src/net.py:2", "--at", "close", "-m", "x", cwd=indexed_root)
    (indexed_root / "src/net.py").write_text("# one\n" + NET)
    run("index", "-q")
    assert (
        run("note", "edit", "here", "--tag", "a", "--tag", "b").out
        == "here: Here #a #b\n  src/net.py:3\n  src/net.py:6\n"
    )
    assert run("note", "edit", "here", "--untag", "a", "--unlink", "src/net.py:3", "--title", "There").out == (
        "here: There #b\n  src/net.py:6\n"
    )
    ran = run("note", "edit", "here", "--unlink", "src/none.py:1")
    assert (ran.code, "src/net.py:6" in ran.err) == (2, True)
    assert run("note", "edit", "here", "--at", "connect", "-m", "new words").code == 0
    assert note(indexed_root, "here").endswith("---\nnew words\n")
    assert run("note", "edit", "here").code == 2, "nothing to change, and no terminal for an editor"


def test_what_people_wrote_by_hand_stays(indexed_root: Path, run: Run) -> None:
    folder = indexed_root / ".codelens/notes/deep"
    folder.mkdir(parents=True)
    (folder / "Own name.md").write_text(
        "---\n# mine\nauthor: me\nmeta:\n  a: b\nstatus: later\nkind: task\n---\n\n# Title\n\nwords\n"
    )
    assert run("note", "list", cwd=indexed_root).out == "deep/Own name: Title [later]\n"
    assert run("note", "edit", "deep/Own name", "--status", "done").code == 0
    assert (folder / "Own name.md").read_text() == (
        "---\n# mine\nauthor: me\nmeta:\n  a: b\nstatus: done\nkind: task\n---\n\n# Title\n\nwords\n"
    )


def test_invalid_front_matter_is_reported(indexed_root: Path, run: Run) -> None:
    (indexed_root / ".codelens/notes").mkdir()
    (indexed_root / ".codelens/notes/odd.md").write_text("---\nkind: song\nlinks: [/etc/passwd:1]\n---\nzebra\n")
    ran = run("note", "list", cwd=indexed_root)
    assert ran.out == "odd: odd\n"
    assert "odd.md: line 2: kind is note or task, not 'song'" in ran.err
    assert "odd.md: line 3: '/etc/passwd' is not a path below the root" in ran.err
    run("index", "-q")
    assert run("search", "zebra").code == 0
    assert "front matter" in run("status").out
    (indexed_root / ".codelens/notes/open.md").write_text("---\ntitle: x\n")
    ran = run("note", "edit", "open", "--status", "done")
    assert (ran.code, "is not closed" in ran.err) == (2, True)


def test_remove_wants_the_whole_id(indexed_root: Path, run: Run) -> None:
    for title in ("One note", "Two notes"):
        run("note", "add", title, "-m", "zebra", cwd=indexed_root)
    assert run("note", "remove", "one").code == 2
    assert run("note", "remove", "one-note", "nobody").code == 2
    assert run("note", "list").out.startswith("one-note: "), "nothing goes where one of them is not known"
    ran = run("note", "remove", "one-note")
    assert (ran.code, ran.out, ran.err) == (0, "", "codelens: removed .codelens/notes/one-note.md\n")
    assert "one-note" not in run("search", "zebra").out


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("add",),
        ("add", " "),
        ("add", "x", "--status", "open"),
        ("add", "x", "--at", "../outside.py:1"),
        ("add", "x", "--at", "/etc/passwd:1"),
        ("add", "x", "--at", "src/net.py:99"),
        ("add", "x", "--at", "src/gone.py:1"),
        ("add", "x", "--at", "nobody_is_named_so"),
        ("add", "x" * 5000),
        ("add", "x", "--tag", "y" * 5000),
        ("add", "not UTF-8: \udcff"),
        ("add", "x", "-m", "not UTF-8: \udcff"),
        ("add", "x", "-m", "y" * 2_000_001),
        ("show",),
        ("show", "none"),
        ("show", "../../src/net"),
        ("remove", "../../src/net.py"),
        ("edit", "none", "--status", "done"),
    ],
)
def test_a_refused_note_writes_nothing(arguments: tuple[str, ...], indexed_root: Path, run: Run) -> None:
    (indexed_root.parent / "outside.py").write_text("x = 1\n")
    before = sorted(indexed_root.rglob("*.md"))
    ran = run("note", *arguments, cwd=indexed_root)
    assert (ran.code, ran.out) == (2, "")
    assert "hint: " in ran.err
    assert sorted(indexed_root.rglob("*.md")) == before
    assert (indexed_root / "src/net.py").read_text() == NET


def test_a_folder_of_notes_that_is_a_link_is_not_written(indexed_root: Path, run: Run, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (indexed_root / ".codelens/notes").symlink_to(tmp_path / "elsewhere")
    assert run("note", "add", "x", "-m", "x", cwd=indexed_root).code == 2
    (tmp_path / "elsewhere/a.md").write_text("x\n")
    assert run("note", "list").code == 1
    assert [p.name for p in (tmp_path / "elsewhere").iterdir()] == ["a.md"]


def test_a_folder_of_notes_that_is_a_file_is_reported(indexed_root: Path, run: Run) -> None:
    (indexed_root / ".codelens/notes").write_text("no folder\n")
    ran = run("note", "add", "x", "-m", "x", cwd=indexed_root)
    assert (ran.code, ran.out) == (2, "")
    assert "hint: check that you may write to " in ran.err and ".codelens/notes, and free space" in ran.err


def test_without_an_index_notes_are_files_all_the_same(root: Path, run: Run) -> None:
    ran = run("note", "add", "Early", "--at", "src/net.py:2", "--at", "connect", "-m", "x", cwd=root / "src")
    assert (ran.code, ran.out) == (0, "early: Early\n  src/net.py:2\n  connect\n")
    assert "`codelens index` includes .codelens/notes" in ran.err
    assert json.loads(run("note", "list", "--json").out)["notes"][0]["places"][0]["standing"] == "unknown"
    assert not (root / ".codelens/index.db").exists()
    run("index", "-q")
    assert run("note", "show", "early").out.count("at:      src/net.py:") == 2


def test_paths_are_meant_from_the_working_directory(indexed_root: Path, run: Run) -> None:
    assert "  src/net.py:2\n" in run("note", "add", "x", "--at", "net.py:2", "-m", "x", cwd=indexed_root / "src").out


def test_a_busy_index_is_noted_and_the_note_is_written(indexed_root: Path, run: Run) -> None:
    with hold_writer_lock(indexed_root / ".codelens/index.db"):
        ran = run("note", "add", "Busy", "-m", "x", cwd=indexed_root)
    assert ran.code == 0
    assert "the next `codelens index` includes the note" in ran.err
    run("index", "-q")
    assert run("search", "kind:note busy").code == 0


def test_quiet_says_nothing(indexed_root: Path, run: Run) -> None:
    assert (ran := run("note", "add", "x", "-q", "-m", "x", cwd=indexed_root)).out + ran.err == ""
    assert run("note", "list", "-q").code == 0


@pytest.mark.slow
def test_on_a_terminal_the_editor_is_opened(indexed_root: Path) -> None:
    pty = pytest.importorskip("pty")
    editor = indexed_root.parent / "editor.sh"
    editor.write_text("#!/bin/sh\nprintf 'written by hand\\n' >> \"$1\"\n")
    editor.chmod(0o755)
    environment = {**os.environ, "EDITOR": str(editor), "PYTHONPATH": str(Path(__file__).parents[2])}
    for arguments in (("add", "By hand"), ("edit", "by-hand")):
        leader, follower = pty.openpty()
        command = [sys.executable, "-m", "codelens", "note", *arguments]
        ran = subprocess.run(
            command, cwd=indexed_root, env=environment, stdin=follower, stdout=follower, stderr=follower, check=False
        )
        os.close(follower)
        os.close(leader)
        assert ran.returncode == 0
    assert note(indexed_root, "by-hand").count("written by hand") == 2


def test_an_empty_list_says_so(indexed_root: Path, run: Run) -> None:
    nothing = run("note", "list", cwd=indexed_root)
    assert (nothing.code, nothing.out, nothing.err) == (1, "", "codelens: there are no notes yet\n")
    assert run("note", "list", "-q", cwd=indexed_root).err == ""
    run("note", "add", "One", "-m", "text", cwd=indexed_root)
    unfit = run("note", "list", "--task", cwd=indexed_root)
    assert (unfit.code, unfit.err) == (1, "codelens: no note matches\n")

"""pin, rate, feedback, used, open and memory as a shell sees them: nothing is recorded unless the user switched it on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from codelens.cli.editor import build_editor_arguments
from codelens.config import Settings
from codelens.index import Index
from tests.commands import Run, SpanRun

NOW = "1700000000"
COMMANDS = [
    *("memory pin app.py", "memory unpin app.py", "memory rate app.py 7", "memory feedback 1 useful"),
    *("memory feedback Shop.sell useless", "memory used app.py"),
]


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An indexed tree; memory is on."""
    monkeypatch.setenv("CODELENS_MEMORY", "1")
    monkeypatch.setenv("EDITOR", "true")
    monkeypatch.delenv("VISUAL", raising=False)
    tree = tmp_path / "shop"
    (tree / "lib").mkdir(parents=True)
    (tree / "app.py").write_text("class Shop:\n    def sell(self, lamp):\n        return price(lamp)\n")
    (tree / "lib/prices.py").write_text(
        "def price(lamp):\n    return lamp.price\n\n\ndef lamp_tax(lamp):\n    return 1\n"
    )
    (tree / ".codelens").mkdir()
    Index.build(tree / ".codelens/index.db", [tree], Settings(jobs=1))
    return tree


def memory_of(tree: Path) -> Path:
    return tree / ".codelens/memory.db"


def exported(run: Run, tree: Path) -> dict[str, list[dict[str, object]]]:
    told: dict[str, list[dict[str, object]]] = json.loads(run("memory", "export", cwd=tree).out)
    return told


def test_without_being_switched_on_nothing_is_recorded(run: Run, shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CODELENS_MEMORY")
    assert run("search", "lamp price", cwd=shop).code == 0
    assert run("context", "lamp price", cwd=shop).code == 0
    for command in COMMANDS:
        ran = run(*command.split(), cwd=shop)
        assert (ran.code, ran.out) == (2, "")
        line, hint = ran.err.splitlines()
        assert line == "codelens: error: memory is off: nothing is recorded"
        assert hint.startswith("hint: set `memory = true` in your own configuration file")
    assert sorted(p.name for p in (shop / ".codelens").iterdir()) == ["index.db"]


def test_a_project_may_not_switch_it_on(run: Run, shop: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CODELENS_MEMORY")
    (shop / ".codelens.toml").write_text("memory = true\n")
    ran = run("search", "lamp", cwd=shop)
    assert ran.code == 0 and "a project may not set 'memory': ignored" in ran.err
    assert not memory_of(shop).exists()
    (shop / ".codelens.toml").write_text("memory = false\n")
    own = tmp_path / "no-config/codelens/config.toml"
    own.parent.mkdir(parents=True)
    own.write_text("memory = true\n")
    assert run("search", "lamp", cwd=shop).code == 0
    assert not memory_of(shop).exists(), "a project may do without"
    (shop / ".codelens.toml").unlink()
    assert run("search", "lamp", cwd=shop).code == 0
    assert memory_of(shop).exists()


def test_a_flag_switches_it_on_and_off(run: Run, shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = run("search", "lamp price", "--no-memory", "--json", cwd=shop).out
    assert not memory_of(shop).exists()
    run("memory", "pin", "lamp_tax", cwd=shop)
    with_pin = run("search", "lamp price", "--json", "--now", NOW, cwd=shop).out
    assert with_pin != plain
    before = memory_of(shop).read_bytes()
    assert run("search", "lamp price", "--no-memory", "--json", cwd=shop).out == plain
    assert run("context", "lamp price", "--no-memory", cwd=shop).code == 0
    assert memory_of(shop).read_bytes() == before
    monkeypatch.delenv("CODELENS_MEMORY")
    assert run("search", "lamp price", "--json", cwd=shop).out == plain
    assert "pin" in run("search", "lamp price", "--memory", "--json", "--contributions", cwd=shop).out


def test_a_session_of_searching_judging_and_using(run: Run, shop: Path) -> None:
    def asked(*arguments: str) -> SpanRun:
        ran = run(*arguments, "--now", NOW, cwd=shop)
        assert ran.code == 0, ran.err
        return ran

    first = asked("search", "lamp price", "--format", "{qualified_name}").out.split()
    assert {"price", "lamp_tax", "Shop.sell"} <= set(first)
    number = str(first.index("Shop.sell") + 1)
    assert asked("memory", "feedback", number, "useful").err == "codelens: useful: app.py Shop.sell\n"
    assert asked("memory", "used", "lib/prices.py:1").out == "lib/prices.py price\n"
    asked("memory", "pin", "lamp_tax")
    asked("memory", "rate", "lib/prices.py", "8")
    assert asked("why", "lamp price", "--check").code == 0
    why = asked("why", "--all", "lamp price").out
    for part in ("useful 1 of 1 time", "rated 8 of 10", "pinned"):
        assert part in why
    shown = run("memory", "show", cwd=shop).out.splitlines()
    assert "app.py Shop.sell (method): useful 1 of 1 time, shown 1 time, for words lamp… 1 time, pric… 1 time" in shown
    assert "lib/prices.py (file): rated 8" in shown
    assert run("memory", "unpin", "lamp_tax", cwd=shop).code == 0
    assert run("memory", "unpin", "lamp_tax", cwd=shop).code == 1


def test_context_is_recorded_and_can_be_used(run: Run, shop: Path) -> None:
    assert run("context", "price of a lamp", "--now", NOW, cwd=shop).code == 0
    assert exported(run, shop)["answers"][-1]["query"] == "price of a lamp"
    assert run("memory", "used", "app.py", "--now", NOW, cwd=shop).out == "app.py Shop.sell\n"
    assert run("memory", "used", "nowhere.py", cwd=shop).code == 1


def test_hits_that_were_used_can_be_named_by_number(run: Run, shop: Path) -> None:
    names = run("search", "lamp price", "--now", NOW, "--format", "{name}", cwd=shop).out.split()
    number = str(names.index("lamp_tax") + 1)
    assert run("memory", "used", number, "--now", NOW, cwd=shop).out == "lib/prices.py lamp_tax\n"
    assert "the last answer has no hit 99" in run("memory", "used", "99", cwd=shop).err
    both = run("memory", "used", "price", number, "--now", NOW, cwd=shop).out.splitlines()
    assert set(both) == {"lib/prices.py lamp_tax", "lib/prices.py price"}


def test_formats_about_files_record_no_answer(run: Run, shop: Path) -> None:
    for flag in ("-l", "-c", "-L"):
        run("search", "lamp", flag, cwd=shop)
    assert not memory_of(shop).exists()


def test_open_starts_the_editor_at_the_line(
    run: Run, shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = tmp_path / "bin/vim"
    editor.parent.mkdir()
    editor.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/called\n')
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", f"{editor} -R")
    names = run("search", "lamp tax", "--no-memory", "--format", "{name}", cwd=shop).out.split()
    number = str(names.index("lamp_tax") + 1)

    def opened(number: str, *flags: str) -> tuple[int, str]:
        ran = run("search", "lamp tax", "--now", NOW, "--open", number, *flags, cwd=shop)
        return ran.code, ran.err

    assert opened(number, "--no-memory")[0] == 0
    assert not memory_of(shop).exists()
    assert opened(number)[0] == 0
    assert (tmp_path / "called").read_text().split() == ["-R", "+5", str(shop / "lib/prices.py")]
    assert [(row["name"], row["count"]) for row in exported(run, shop)["uses"]] == [("lamp_tax", 1)]
    code, said = opened("99")
    assert code == 2 and "--open 99: the answer has" in said
    monkeypatch.setenv("VISUAL", "false")
    assert opened(number)[0] == 2
    monkeypatch.setenv("VISUAL", str(tmp_path / "no-such-editor"))
    assert opened(number)[0] == 2
    monkeypatch.delenv("VISUAL")
    monkeypatch.delenv("EDITOR", raising=False)
    code, said = opened(number)
    assert code == 2 and "no editor is set" in said
    assert [(row["name"], row["count"]) for row in exported(run, shop)["uses"]] == [("lamp_tax", 1)]


@pytest.mark.parametrize(
    ("editor", "arguments"),
    [
        ("vim", ["+7", "/a b.py"]),
        ("/usr/bin/nvim", ["+7", "/a b.py"]),
        ("nano", ["+7", "/a b.py"]),
        ("emacsclient", ["+7", "/a b.py"]),
        ("code", ["--goto", "/a b.py:7"]),
        ("Code.exe", ["--goto", "/a b.py:7"]),
        ("subl", ["/a b.py:7"]),
        ("hx", ["/a b.py:7"]),
        ("idea.sh", ["--line", "7", "/a b.py"]),
        ("somebodys-editor", ["/a b.py"]),
    ],
)
def test_each_editor_gets_the_line_in_its_own_way(editor: str, arguments: list[str]) -> None:
    assert build_editor_arguments(editor, Path("/a b.py"), 7) == arguments


def test_forgetting_and_exporting(run: Run, shop: Path) -> None:
    run("search", "a secret lamp", "--now", NOW, cwd=shop)
    run("memory", "pin", "Shop.sell", "--now", NOW, cwd=shop)
    run("memory", "rate", "lib/prices.py", "3", "--now", NOW, cwd=shop)
    told = exported(run, shop)
    assert told["schema"] == 1
    assert told["pins"] == [
        {"repository": "shop", "path": "app.py", "name": "Shop.sell", "kind": "method", "at": int(NOW)}
    ]
    assert told["ratings"][0]["rating"] == 3.0
    assert told["answers"][0]["words"] == ["secret", "lamp"]
    assert run("memory", "forget", "Shop.sell", cwd=shop).code == 0
    told = exported(run, shop)
    assert told["pins"] == told["answers"] == []
    assert told["ratings"]
    assert run("memory", "forget", "Shop.sell", cwd=shop).code == 2
    assert run("memory", "forget", cwd=shop).code == 2
    ran = run("memory", "forget", "--all", cwd=shop)
    assert ran.code == 2 and "--yes" in ran.err
    assert run("memory", "forget", "--all", "--yes", cwd=shop).code == 0
    assert not memory_of(shop).exists()
    assert run("memory", "show", cwd=shop).code == 1
    record = json.loads(run("memory", "show", "--json", cwd=shop).out)
    assert (record["memory"], record["places"]) == (True, [])


def test_looking_and_forgetting_work_while_it_is_off(run: Run, shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("memory", "pin", "Shop.sell", cwd=shop)
    monkeypatch.delenv("CODELENS_MEMORY")
    ran = run("memory", "show", "Shop", cwd=shop)
    assert ran.code == 1 and "nothing is recorded about Shop" in ran.err
    ran = run("memory", "show", "app.py:2", cwd=shop)
    assert (ran.code, ran.out) == (0, "app.py Shop.sell (method): pinned\n")
    assert "memory is off" in ran.err
    assert run("memory", "forget", "Shop.sell", cwd=shop).code == 0


def test_a_damaged_file_breaks_no_search(run: Run, shop: Path) -> None:
    plain = run("search", "lamp price", "--no-memory", cwd=shop).out
    memory_of(shop).write_bytes(b"this was a database once " * 100)
    ran = run("search", "lamp price", cwd=shop)
    assert (ran.code, ran.out) == (0, plain)
    (told,) = ran.err.splitlines()
    assert "searched without memory" in told
    assert "is damaged" in told and "memory forget --all" in told
    assert run("why", "lamp price", "--check", cwd=shop).code == 0
    ran = run("memory", "pin", "app.py", cwd=shop)
    assert ran.code == 2 and "is damaged" in ran.err
    assert run("memory", "show", cwd=shop).code == 2
    assert run("memory", "forget", "--all", "--yes", cwd=shop).code == 0
    assert run("search", "lamp price", cwd=shop).err == ""


def test_where_nothing_can_be_written_a_search_says_so_and_answers(run: Run, shop: Path) -> None:
    memory_of(shop).mkdir()
    ran = run("search", "lamp price", cwd=shop)
    assert ran.code == 0 and ran.out
    assert "not recorded" in ran.err


@pytest.mark.slow
def test_removing_an_index_keeps_its_memory(run: Run, shop: Path) -> None:
    run("memory", "pin", "Shop.sell", cwd=shop)
    ran = run("index", "--remove", "--yes", cwd=shop)
    assert ran.code == 0 and str(memory_of(shop)) in ran.err
    assert memory_of(shop).exists()
    Index.build(shop / ".codelens/index.db", [shop], Settings(jobs=1))
    assert run("memory", "show", cwd=shop).out == "app.py Shop.sell (method): pinned\n"


@pytest.mark.slow
def test_the_memory_of_an_index_elsewhere_is_not_indexed(run: Run, shop: Path) -> None:
    db = shop / "named.db"
    assert run("index", "-q", "--db", str(db), cwd=shop).code == 0
    assert run("memory", "pin", "Shop.sell", "--db", str(db), cwd=shop).code == 0
    ran = run("index", "--explain-path", "named.memory.db", "--db", str(db), cwd=shop)
    assert ran.out == "named.memory.db: skipped: index: codelens' own files\n"


@pytest.mark.slow
def test_several_processes_search_and_record_at_once(run: Run, shop: Path) -> None:
    command = [sys.executable, "-m", "codelens", "search", "lamp price", "--now", NOW]
    running = [
        subprocess.Popen(command, cwd=shop, env=os.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(4)
    ]
    ends = [process.communicate() for process in running]
    assert [process.returncode for process in running] == [0] * 4
    assert [err for _, err in ends] == [b""] * 4
    told = exported(run, shop)
    assert len(told["answers"]) == 4
    assert len([row for row in told["stamps"] if row["name"] == "price"]) == 4


@pytest.mark.slow
@pytest.mark.parametrize(("now", "code"), [("2023-11-14T22:13:20+00:00", 0), (NOW, 0), ("soon", 2), ("2023-13-01", 2)])
def test_times_are_iso_dates_or_unix_seconds(run: Run, shop: Path, now: str, code: int) -> None:
    ran = run("search", "lamp", "--now", now, cwd=shop)
    assert ran.code == code
    if code == 0:
        assert [answer["at"] for answer in exported(run, shop)["answers"]] == [int(NOW)]
    else:
        assert "not a time" in ran.err


@pytest.mark.slow
@pytest.mark.parametrize("late", ["9" * 23, "9" * 5000, "253402300800", "10000-01-01", ""])
def test_a_time_after_the_year_9999_is_refused(late: str, run: Run, shop: Path) -> None:
    ran = run("search", "lamp", "--now", late, cwd=shop)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"codelens: error: --now {late}: not a time") and "\nhint: " in ran.err
    assert not memory_of(shop).exists()


def test_what_a_diff_names_was_used(run: Run, shop: Path) -> None:
    """As knowing's DetectUsed: a result whose name stands in what was edited. Names in unchanged lines say nothing."""
    assert run("search", "lamp price tax", "--now", NOW, cwd=shop).code == 0
    diff = shop / "edit.diff"
    diff.write_text(
        "--- a/app.py\n+++ b/lamp_tax.py\n@@ -1,2 +1,2 @@\n def sell(self):\n-    return 1\n+    return price(2)\n"
    )
    ran = run("memory", "used", "--diff", "edit.diff", "--now", NOW, cwd=shop)
    assert (ran.code, ran.out) == (0, "lib/prices.py price\n")
    known = {
        (row["name"], row["useful"]) for row in json.loads(run("memory", "show", "--json", cwd=shop).out)["places"]
    }
    assert ("price", 1) in known
    assert ("lamp_tax", 1) not in known
    diff.write_text("+nothing_of_it()\n")
    assert run("memory", "used", "--diff", "edit.diff", cwd=shop).code == 1
    assert run("memory", "used", "app.py", "--diff", "edit.diff", cwd=shop).code == 2
    assert run("memory", "used", "--diff", "none.diff", cwd=shop).err.startswith("codelens: error: --diff none.diff: ")

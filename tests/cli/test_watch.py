"""`codelens watch` as a process: what it says, and how it ends."""

from __future__ import annotations

import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from codelens.errors import format_install_command
from codelens.indexing.build import remove_index
from codelens.watching.process import WatchProcess
from tests.commands import Run
from tests.watching.watched import PATIENCE, await_true, finds

pytestmark = pytest.mark.slow

pytest.importorskip("watchfiles", reason="needs the extra `watch`")
posix = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
LIMITED = 'echo 3 > /proc/sys/user/max_inotify_watches && exec "$@"'
"""In a user namespace of its own, where the limit on watches is ours to set."""


class Lines:
    """stderr of a process, line by line."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process, self.all = process, list[str]()
        self._waiting: queue.Queue[str] = queue.Queue()
        Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            self.all.append(line)
            self._waiting.put(line)

    def until(self, part: str) -> str:
        """The next line that holds this, without those before it."""
        while True:
            try:
                line = self._waiting.get(timeout=PATIENCE)
            except queue.Empty:
                raise AssertionError(f"no line with {part!r} in {self.all}") from None
            if part in line:
                return line


@contextmanager
def watching(root: Path, *options: str, before: tuple[str, ...] = ()) -> Iterator[Lines]:
    command = [*before, sys.executable, "-m", "codelens", "watch", *options]
    process = subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    lines = Lines(process)
    try:
        yield lines
    finally:
        process.kill()
        process.wait()


def ended(lines: Lines) -> tuple[int, str]:
    code = lines.process.wait(PATIENCE)
    assert lines.process.stdout
    return code, lines.process.stdout.read()


def save(root: Path, name: str) -> None:
    (root / "saved.py").write_text(f"def {name}():\n    pass\n")


def objects(lines: Lines) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines.all]


@posix
def test_watch_prints_a_line_an_update_and_ends_by_an_interrupt(own: Path) -> None:
    with watching(own) as lines:
        assert str(own) in lines.until("watching")
        save(own, "overheard")
        assert "updated: 1 new (" in lines.until("updated")
        lines.process.send_signal(signal.SIGINT)
        assert ended(lines) == (130, "")
    assert lines.all[-1] == "codelens: interrupted\n"
    assert finds(own / ".codelens/index.db", "overheard")[0] == "saved.py"


@posix
def test_sigterm_ends_a_watch_with_0(own: Path) -> None:
    with watching(own, "-q") as lines:
        await_true(lambda: bool(finds(own / ".codelens/index.db", "note")))
        save(own, "quietly")
        await_true(lambda: bool(finds(own / ".codelens/index.db", "quietly")))
        lines.process.terminate()
        assert ended(lines) == (0, "")
    assert lines.all == []


@posix
def test_sigterm_during_an_update_undoes_it(tmp_path: Path) -> None:
    """No update happened: the index is unchanged, and there are no files next to it."""
    root = tmp_path / "tree"
    root.mkdir()
    (root / "first.py").write_text("def first(): pass\n")
    index = root / ".codelens/index.db"
    with watching(root, "--progress", "json") as lines:
        lines.until('"watching"')
        for number in range(400):
            (root / f"m{number}.py").write_text(f"def of_many_{number}(): pass\n" * 30)
        lines.until('"phase": "index"')
        lines.process.terminate()
        assert ended(lines) == (0, "")
    assert finds(index, "of_many_7") == []
    assert finds(index, "first") == ["first.py"]
    assert sorted(path.name for path in index.parent.iterdir()) == [".gitignore", "index.db"]


def test_progress_json_prints_an_object_an_event(own: Path) -> None:
    with watching(own, "--progress", "json", "--debounce", "100") as lines:
        lines.until('"watching"')
        save(own, "for_machines")
        event = json.loads(lines.until('"updated"'))
    assert (event["type"], event["event"]) == ("watch", "updated")
    assert [(r["root"], r["added"]) for r in event["repositories"]] == [(str(own), 1)]
    assert {one["type"] for one in objects(lines)} == {"watch", "progress"}


def test_a_removed_index_ends_the_watch(own: Path) -> None:
    with watching(own) as lines:
        lines.until("watching")
        remove_index(own / ".codelens/index.db")
        assert ended(lines) == (3, "")
    assert [line.split(": ")[:2] for line in lines.all[1:]] == [
        ["codelens", "error"],
        ["hint", "create it again with `codelens index` or `codelens watch`\n"],
    ]


def test_a_missing_watchfiles_is_named(own: Path) -> None:
    code = "import sys; sys.modules['watchfiles'] = None; from codelens.cli.main import main; sys.exit(main(['watch']))"
    ran = subprocess.run([sys.executable, "-c", code], cwd=own, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == (
        "codelens: error: watching needs watchfiles, which a default install does not include\n"
        f"hint: {format_install_command('watch')}, or walk the trees instead with --poll 2\n"
    )


def test_polling_does_without_it(own: Path) -> None:
    code = (
        "import sys; sys.modules['watchfiles'] = None; from codelens.cli.main import main; "
        "sys.exit(main(['watch', '--poll', '0.3']))"
    )
    process = subprocess.Popen([sys.executable, "-c", code], cwd=own, stderr=subprocess.PIPE, text=True)
    try:
        lines = Lines(process)
        lines.until("watching")
        save(own, "without_events")
        lines.until("updated")
        assert finds(own / ".codelens/index.db", "without_events")
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def limited() -> tuple[str, ...]:
    before = ("unshare", "--user", "--map-root-user", "sh", "-c", LIMITED, "sh")
    if not shutil.which("unshare") or subprocess.run([*before, "true"], capture_output=True).returncode:
        pytest.skip("no user namespaces here, in which to set the limit on watches")
    return before


def test_where_the_system_has_no_more_watches_it_polls(own: Path, limited: tuple[str, ...]) -> None:
    for number in range(10):
        (own / f"folder{number}").mkdir()
    with watching(own, before=limited) as lines:
        assert "limit reached): walking every 2 s instead" in lines.until("no file events")
        lines.until("watching")
        save(own, "without_watches")
        lines.until("updated")
    assert finds(own / ".codelens/index.db", "without_watches")


CLOSED = """
import os, sys
from pathlib import Path
from threading import Event
import watchfiles.main
from codelens.watching.events import yield_changes
if os.geteuid() == 0:
    os.setuid(65534)
heard = yield_changes([Path(sys.argv[1])], Event())
next(heard)
(Path(sys.argv[1]) / "open/saved.py").touch()
print(next(paths for paths in heard if paths))
"""


@posix
def test_a_folder_that_may_not_be_read_keeps_no_other_from_being_watched() -> None:
    tree = Path("/tmp") / f"codelens-{os.getpid()}"  # where others may come too: root's own folders are closed to them
    try:
        (tree / "closed").mkdir(parents=True)
        (tree / "open").mkdir()
        for folder, mode in (("closed", 0), ("open", 0o777), (".", 0o755)):
            (tree / folder).chmod(mode)
        ran = subprocess.run(
            [sys.executable, "-c", CLOSED, str(tree)], capture_output=True, text=True, timeout=PATIENCE
        )
        assert (ran.returncode, "open/saved.py" in ran.stdout) == (0, True), ran.stderr
    finally:
        shutil.rmtree(tree)


@pytest.mark.parametrize("options", [("--debounce", "-1"), ("--poll", "-1"), ("nowhere",)])
def test_invalid_options_are_refused(options: tuple[str, ...], own: Path, run: Run) -> None:
    assert run("watch", *options, cwd=own).code == 2


def test_a_server_starts_the_watch_as_a_process(own: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("index", "-q", cwd=own).code == 0
    index = own / ".codelens/index.db"
    (own / "typer.py").write_text("open('imported', 'w')\n")
    monkeypatch.chdir(own)
    told: queue.Queue[Any] = queue.Queue()
    watch = WatchProcess(index, report=told.put)
    try:
        until(told, "watching")
        save(own, "for_servers")
        until(told, "updated")
        assert finds(index, "for_servers")
        assert watch.is_alive()
    finally:
        watch.stop()
    assert not watch.is_alive()
    assert not (own / "imported").exists()


def until(told: queue.Queue[Any], event: str) -> None:
    while told.get(timeout=PATIENCE).get("event") != event:
        pass


PARENT = """
import sys, time
from pathlib import Path
from codelens.watching.process import WatchProcess
watch = WatchProcess(Path(sys.argv[1]), report=lambda told: print(told, flush=True))
print(watch._process.pid, flush=True)
time.sleep(600)
"""


@posix
def test_it_ends_with_a_server_that_is_killed(own: Path, run: Run) -> None:
    assert run("index", "-q", cwd=own).code == 0
    command = [sys.executable, "-c", PARENT, str(own / ".codelens/index.db")]
    parent = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert parent.stdout
    child = int(parent.stdout.readline())
    while "watching" not in parent.stdout.readline():
        time.sleep(0)
    parent.kill()
    parent.wait()
    await_true(lambda: not is_running(child))


def is_running(process: int) -> bool:
    state = Path(f"/proc/{process}/stat")
    if state.parent.parent.joinpath("self").exists():
        return state.exists() and state.read_text().rpartition(")")[2].split()[0] != "Z"
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True

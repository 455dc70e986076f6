"""A watched index agrees with its trees after each change; whatever happens to them, the watch goes on or says why not."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from codelens.config import load_settings
from codelens.errors import NoIndex, SettingsError, UsageError
from codelens.index import Index
from codelens.indexing.build import remove_index
from codelens.model.runs import WatchStep
from codelens.watching.watch import STORM, Roots, Watch, WatchOptions
from codelens.worktree.place import list_own_files
from tests.watching.watched import PATIENCE, SMALL, Heard, await_true, finds, is_fresh, watching

pytest.importorskip("watchfiles", reason="needs the extra `watch`")
UPDATED, LOOKED = WatchStep.UPDATED, WatchStep.LOOKED
STORM_FILES = 10_000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    (root / "src").mkdir(parents=True)
    (root / "src/one.py").write_text("def first(): pass\n")
    return root


@pytest.fixture
def index(root: Path) -> Path:
    return root / ".codelens/index.db"


def git(root: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "gc.auto=0")
    subprocess.run(["git", "-C", str(root), *identity, *arguments], check=True, capture_output=True)


@pytest.mark.slow
def test_saved_new_renamed_and_removed_files_are_indexed(root: Path, index: Path) -> None:
    with watching(index, root) as heard:
        assert finds(index, "first") == ["src/one.py"]
        (root / "src/one.py").write_text("def second(): pass\n")
        assert heard.until(UPDATED).reports[0].changed == 1
        assert (finds(index, "first"), finds(index, "second")) == ([], ["src/one.py"])
        (root / "new/deep").mkdir(parents=True)
        (root / "new/deep/two.py").write_text("def third(): pass\n")
        assert heard.until(UPDATED).reports[0].added == 1
        (root / "new/deep/two.py").rename(root / "new/deep/three.py")
        assert heard.until(UPDATED).reports[0].renamed == 1
        assert finds(index, "third") == ["new/deep/three.py"]
        shutil.rmtree(root / "new")
        assert heard.until(UPDATED).reports[0].removed == 1
        assert finds(index, "third") == []


def test_earlier_changes_are_indexed_at_the_start(root: Path, index: Path) -> None:
    Index.build(index, [root], SMALL)
    (root / "src/one.py").write_text("def while_nobody_watched(): pass\n")
    with watching(index, root):
        assert finds(index, "while_nobody_watched") == ["src/one.py"]


@pytest.mark.slow
def test_saves_by_rename_are_noticed(root: Path, index: Path) -> None:
    """Editors rename a new file over the old one, and create and delete others next to it."""
    with watching(index, root) as heard:
        (root / "src/4913").touch()
        (root / "src/4913").unlink()
        (root / "src/.one.py.swp").write_text("x")
        (root / "src/one.py~").write_text("def saved(): pass\n")
        (root / "src/one.py~").replace(root / "src/one.py")
        heard.until(UPDATED)
        assert finds(index, "saved") == ["src/one.py"]


@pytest.mark.slow
def test_ignored_files_cause_no_update(root: Path, index: Path) -> None:
    (root / ".gitignore").write_text("out/\n*.log\n")
    for folder in ("out", "node_modules/m", ".hidden"):
        (root / folder).mkdir(parents=True)
    with watching(index, root) as heard:
        for number in range(30):
            (root / f"out/{number}.py").write_text(f"x = {number}\n")
            (root / f"node_modules/m/{number}.js").write_text(f"x({number})\n")
            (root / f".hidden/{number}.py").write_text(f"x = {number}\n")
            (root / "a.log").write_text(f"{number}\n")
            (index.parent / "beside").write_text(f"{number}\n")
            time.sleep(0.05)  # together longer than the pause that an update waits for
        (root / "src/one.py").write_text("def wakes(): pass\n")
        heard.until(UPDATED)
        assert (heard.count(UPDATED), heard.count(LOOKED)) == (1, 0)


@pytest.mark.slow
def test_writing_the_index_causes_no_update(root: Path) -> None:
    """Even if the index is in the tree."""
    index = root / "here.db"
    with watching(index, root) as heard:
        (root / "src/one.py").write_text("def once(): pass\n")
        heard.until(UPDATED)
        time.sleep(2)
        assert (heard.count(UPDATED), heard.count(LOOKED)) == (1, 0)


@pytest.mark.slow
def test_changed_rules_and_settings_cause_an_update(root: Path, index: Path) -> None:
    def settings_of(root: Path):  # type: ignore[no-untyped-def]
        flags = {"vector": False, "fuzzy": False, "jobs": 1}
        return load_settings(root, root, flags)

    with watching(index, root, options=WatchOptions(settings_of=settings_of)) as heard:
        (root / "src/.codelensignore").write_text("one.py\n")
        assert heard.until(UPDATED).reports[0].removed == 1
        (root / "src/.codelensignore").unlink()
        assert heard.until(UPDATED).reports[0].added == 1
        (root / "src/.seen.py").write_text("def unveiled(): pass\n")
        (root / ".codelens.toml").write_text("hidden = true\n")
        await_true(lambda: finds(index, "unveiled") == ["src/.seen.py"])
        (root / ".codelens.toml").write_text("hidden = maybe\n")
        await_true(lambda: finds(index, "unveiled") == [])


def test_a_commit_without_changed_files_causes_an_update(root: Path, index: Path) -> None:
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "one")
    with watching(index, root) as heard:
        git(root, "commit", "-qm", "two", "--allow-empty")
        heard.until(UPDATED)
        with Index.open(index) as opened:
            ((_, history),) = opened.list_histories()
        assert history
        assert history.commits == 2


@pytest.mark.slow
def test_an_update_waits_for_git(root: Path, index: Path) -> None:
    git(root, "init", "-q")
    with watching(index, root) as heard:
        (root / ".git/index.lock").touch()
        (root / "src/one.py").write_text("def half_way(): pass\n")
        time.sleep(2)
        assert heard.count(UPDATED) == 0
        (root / ".git/index.lock").unlink()
        heard.until(UPDATED)
        assert finds(index, "half_way")


@pytest.mark.slow
def test_a_branch_switch_of_ten_thousand_files_is_one_update(root: Path, index: Path) -> None:
    (root / ".gitignore").write_text(".codelens/\n")
    git(root, "init", "-q", "-b", "few")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "few")
    git(root, "checkout", "-qb", "many")
    for folder in range(100):
        (root / f"part{folder}").mkdir()
        for number in range(STORM_FILES // 100):
            (root / f"part{folder}/f{number}.txt").write_text(f"word{folder} word{number}\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "many")
    git(root, "checkout", "-q", "few")
    with watching(index, root) as heard:
        git(root, "checkout", "-q", "many")
        event = heard.until(UPDATED)
        assert event.reports[0].added == STORM_FILES > STORM
        (root / "part7/after.txt").write_text("after_the_storm\n")  # in a folder that the storm created
        assert heard.until(UPDATED).reports[0].added == 1
        git(root, "checkout", "-qf", "few")
        await_true(lambda: is_fresh(index) and heard.all[-1].reports[0].indexed == 2)
        git(root, "checkout", "-q", "many")
        git(root, "checkout", "-q", "few")
        (root / "src/one.py").write_text("def there_and_back(): pass\n")
        await_true(lambda: bool(finds(index, "there_and_back")))
        assert is_fresh(index)


@pytest.mark.slow
def test_constant_changes_do_not_delay_an_update_forever(root: Path, index: Path) -> None:
    with watching(index, root) as heard:
        end = time.monotonic() + PATIENCE
        while not heard.count(UPDATED) and time.monotonic() < end:
            (root / "src/one.py").write_text(f"def at_{time.monotonic_ns()}(): pass\n")
            time.sleep(0.1)
        assert heard.count(UPDATED)


HOLD = """
import sys
from pathlib import Path
from codelens.store.connection import hold_writer_lock
with hold_writer_lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.mark.slow
def test_a_watch_waits_for_another_writer(root: Path, index: Path) -> None:
    with watching(index, root) as heard:
        command = [sys.executable, "-c", HOLD, str(index)]
        holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert holder.stdin
        assert holder.stdout
        assert holder.stdout.readline() == b"held\n"
        (root / "src/one.py").write_text("def waited_for(): pass\n")
        assert str(holder.pid) in heard.until(WatchStep.WAITING).text
        time.sleep(2)
        assert heard.count(WatchStep.WAITING) == 1
        holder.stdin.close()
        holder.wait()
        heard.until(UPDATED)
        assert finds(index, "waited_for")


@pytest.mark.slow
def test_two_watches_of_one_index(root: Path, index: Path) -> None:
    with watching(index, root) as first, watching(index, root) as second:
        for number in range(3):
            (root / "src/one.py").write_text(f"def both_{number}(): pass\n")
            await_true(lambda number=number: bool(finds(index, f"both_{number}")))  # type: ignore[misc]
        assert first.count(WatchStep.FAULT) == second.count(WatchStep.FAULT) == 0


def run_until_it_ends(watch: Watch) -> None:
    try:
        watch.run()
    finally:
        watch.stop()


def test_a_watch_ends_if_the_index_is_removed(root: Path, index: Path) -> None:
    def remove(event: object) -> None:
        remove_index(index)

    with pytest.raises(NoIndex, match="was removed"):
        run_until_it_ends(Watch(index, [root], SMALL, report=remove))


def test_a_watch_ends_if_its_only_root_moves(root: Path, tmp_path: Path) -> None:
    heard = Heard()

    def move(event: object) -> None:
        if heard.all:
            heard(event)  # type: ignore[arg-type]
        else:
            heard(event)  # type: ignore[arg-type]
            root.rename(tmp_path / "moved")

    with pytest.raises(UsageError, match="no folders left"):
        run_until_it_ends(Watch(tmp_path / "index.db", [root], SMALL, report=move))
    assert heard.all[-1].step is WatchStep.GONE


@pytest.mark.slow
def test_one_of_two_roots_disappears_and_returns(root: Path, tmp_path: Path) -> None:
    other, index = tmp_path / "other", tmp_path / "index.db"
    other.mkdir()
    (other / "two.py").write_text("def of_the_other(): pass\n")
    with watching(index, root, other) as heard:
        other.rename(tmp_path / "away")
        assert str(other) in heard.until(WatchStep.GONE).text
        (root / "src/one.py").write_text("def still_watched(): pass\n")
        heard.until(UPDATED)
        assert finds(index, "still_watched")
        assert finds(index, "of_the_other")  # the index keeps its files
        (tmp_path / "away/two.py").write_text("def of_the_other_again(): pass\n")
        (tmp_path / "away").rename(other)
        heard.until(WatchStep.BACK)
        await_true(lambda: bool(finds(index, "of_the_other_again")))


def test_a_replaced_root_is_indexed_again(root: Path, tmp_path: Path) -> None:
    """For example a new clone in place of the old one: the system still watches the folder that was moved."""
    index = tmp_path / "index.db"
    with watching(index, root) as heard:
        shutil.copytree(root, tmp_path / "clone")
        root.rename(tmp_path / "old")
        (tmp_path / "clone").rename(root)
        heard.until(WatchStep.BACK)
        (root / "src/one.py").write_text("def in_the_new_one(): pass\n")
        await_true(lambda: bool(finds(index, "in_the_new_one")))


def test_unreadable_files_do_not_end_the_watch(root: Path, index: Path) -> None:
    with watching(index, root) as heard:
        (root / "src/bytes.py").write_bytes(bytes(range(256)) * 40)
        (root / "src/broken.py").symlink_to("nowhere")
        (root / "src/fine.py").write_text("def fine(): pass\n")
        heard.until(UPDATED)
        assert finds(index, "fine") == ["src/fine.py"]
        assert heard.count(WatchStep.FAULT) == 0


def test_polling_needs_no_events(root: Path, index: Path) -> None:
    with watching(index, root, options=WatchOptions(poll=0.2)) as heard:
        (root / "src/one.py").write_text("def polled(): pass\n")
        heard.until(UPDATED)
        assert finds(index, "polled")


def test_a_watch_without_roots_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        Watch(tmp_path / "index.db", [tmp_path / "nowhere"], SMALL).run()


def test_with_invalid_settings_all_changes_count_except_our_own(root: Path, index: Path) -> None:
    def faulty(root: Path) -> Callable[[str], bool]:
        raise SettingsError(f"{root}: no settings")

    beside = tuple(str(path) for path in (index, root / "here.db.lock", index.parent / "anything"))
    roots = Roots([root], list_own_files(root / "here.db"), faulty)
    assert not roots.has_relevant_path(beside)
    assert roots.has_relevant_path([*beside, str(root / "src/one.py")])

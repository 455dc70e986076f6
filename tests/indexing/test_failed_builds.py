"""A build that fails leaves nothing beside the index; one that is interrupted is resumed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from codelens.config import Settings
from codelens.errors import CannotWrite, IndexBusy, IndexCorrupt, UsageError
from codelens.index import Index
from codelens.model.runs import Progress, ProgressSink
from codelens.store.store import Store
from codelens.worktree.place import BUILDING
from tests.dump import dump
from tests.indexing.here import Tree

PAGE = 4096


@pytest.fixture
def some(tree: Tree) -> Tree:
    draw = random.Random(1)
    for number in range(20):
        lines = [f"    # {draw.randbytes(40).hex()}" for _ in range(50)]
        called = f"f{(number + 1) % 20}"
        text = "\n".join(
            [f"from m{(number + 1) % 20} import {called}", f"def f{number}():", *lines, f"    return {called}()"]
        )
        tree.write(f"m{number}.py", text)
    return tree


def list_files(tree: Tree) -> list[str]:
    return sorted(file.name for file in tree.index.parent.iterdir())


def build(tree: Tree, progress: ProgressSink | None = None, rebuild: bool = False, **settings: object) -> None:
    chosen = Settings(**settings)  # type: ignore[arg-type]
    Index.build(tree.index, [tree.root], chosen, progress=progress, rebuild=rebuild)


def make_failure(phase: str, fault: BaseException) -> ProgressSink:
    def fail(step: Progress) -> None:
        if step.phase == phase:
            raise fault

    return fail


@contextmanager
def limit_files(size: int) -> Iterator[None]:
    """Let no file of this process grow above `size` bytes, as on a full disk."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.slow
@pytest.mark.parametrize("rebuild", [False, True])
@pytest.mark.parametrize("share", [0.02, 0.3, 0.7, 0.95])
def test_for_lack_of_room(some: Tree, share: float, rebuild: bool) -> None:
    build(some)
    size, before = some.index.stat().st_size, dump(some.index)
    if not rebuild:
        some.index.unlink()
    with limit_files(int(size * share)), pytest.raises(CannotWrite, match="cannot be written"):
        build(some, rebuild=rebuild, commit_bytes=10_000)
    assert list_files(some) == ["index.db"] * rebuild
    build(some)
    assert dump(some.index) == before


@pytest.mark.parametrize("phase", ["index", "link", "verify"])
def test_for_an_unforeseen_reason(some: Tree, phase: str) -> None:
    with pytest.raises(ZeroDivisionError):
        build(some, make_failure(phase, ZeroDivisionError()), commit_bytes=10_000)
    assert list_files(some) == []


def test_for_a_model_that_is_missing(some: Tree) -> None:
    with pytest.raises(UsageError):
        build(some, model=str(some.root / "nowhere.model"))
    assert list_files(some) == []


def test_for_a_damaged_page(some: Tree) -> None:
    def damage(step: Progress) -> None:
        if step.phase == "verify":
            building = some.index.with_name(some.index.name + BUILDING)
            with building.open("r+b") as file:
                file.seek(PAGE)
                file.write(b"\xff" * (building.stat().st_size - PAGE))

    with pytest.raises(IndexCorrupt):
        build(some, damage)
    assert list_files(some) == []


@pytest.mark.parametrize("phase", ["index", "verify"])
def test_an_interrupt_leaves_only_what_is_resumed(some: Tree, phase: str) -> None:
    with pytest.raises(KeyboardInterrupt):
        build(some, make_failure(phase, KeyboardInterrupt()), commit_bytes=10_000)
    assert {name.removesuffix("-journal") for name in list_files(some)} == {"index.db" + BUILDING}
    (report,) = Index.build(some.index, [some.root], Settings())
    assert report.resumed == (phase == "verify")
    assert list_files(some) == ["index.db"]


def test_readers_of_the_old_index_leave_only_what_is_resumed(some: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    build(some)
    monkeypatch.setattr("codelens.store.connection.SWITCH_BACK_SECONDS", 0.1)
    with Store.write(some.index) as writer:
        writer.begin_work()
        with Store.read(some.index), pytest.raises(IndexBusy, match="the new index is ready"):
            build(some, rebuild=True)
        assert "index.db" + BUILDING in list_files(some)
        assert not any("compacted" in name for name in list_files(some))
    (report,) = Index.build(some.index, [some.root], Settings(), rebuild=True)
    assert report.resumed
    assert list_files(some) == ["index.db"]

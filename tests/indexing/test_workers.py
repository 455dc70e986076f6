"""Worker processes: order, faults that cost one file, and their end. The bad grammars are modules in place of Lua's wheel."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from codelens.config import Settings
from codelens.errors import CodelensError
from codelens.indexing.derive import Job, Result
from codelens.indexing.workers import KEPT_BYTES, KeptWorkers, derive_all
from codelens.model.code import FileStamp, SeenFile, Skip, SkipReason
from codelens.model.extraction import DerivedDocument, UnchangedFile
from codelens.processes.pool import WorkerProcess
from codelens.text.terms import join_trigrams
from codelens.worktree.files import hash_content
from tests.workers import close_idle_workers

BadGrammar = Callable[[str], None]
posix = pytest.mark.skipif(os.name == "nt", reason="signals")
linux = pytest.mark.skipif(sys.platform != "linux", reason="ps --ppid")


@pytest.fixture(scope="module", autouse=True)
def _no_idle_workers() -> None:
    """The tests here count workers."""
    close_idle_workers()


@pytest.fixture
def bad_lua(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> BadGrammar:
    """Put a module of this code where Lua's grammar would be imported from."""

    def install(code: str) -> None:
        folder = tmp_path_factory.mktemp("wheels")
        (folder / "tree_sitter_lua.py").write_text(textwrap.dedent(code), encoding="utf-8")
        monkeypatch.syspath_prepend(folder)

    return install


def job(root: Path, path: str, content: bytes | None = None, known_hash: bytes | None = None) -> Job:
    if content is not None:
        (root / path).write_bytes(content)
    size = len(content or b"")
    return Job(str(root), SeenFile(path, path, FileStamp(size, 0, 0)), known_hash)


def some_files(root: Path, count: int) -> list[Job]:
    return [
        job(root, f"file{i:03}.py", b"def function%d():\n    return %d\n" % (i, i) * (i % 7 + 1)) for i in range(count)
    ]


def all_derived(results: list[Result]) -> list[DerivedDocument]:
    documents = [r for r in results if isinstance(r, DerivedDocument)]
    assert len(documents) == len(results), results
    return documents


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 3])
def test_results_come_in_the_order_of_the_jobs(tmp_path: Path, workers: int) -> None:
    jobs = some_files(tmp_path, 320)
    documents = all_derived(list(derive_all(iter(jobs), Settings(jobs=workers))))
    assert [d.seen for d in documents] == [j.seen for j in jobs]
    assert all(d.extraction.units[0].name == f"function{i}" for i, d in enumerate(documents))


@pytest.mark.slow
def test_any_number_of_workers_gives_the_same_documents(tmp_path: Path) -> None:
    jobs = some_files(tmp_path, 250)
    assert list(derive_all(jobs, Settings(jobs=1))) == list(derive_all(jobs, Settings(jobs=3)))


def test_without_jobs_no_worker_starts() -> None:
    assert list(derive_all([], Settings())) == []


def test_indexed_content_is_not_derived_again(tmp_path: Path) -> None:
    same, other = b"same = 1\n", b"other = 1\n"
    jobs = [job(tmp_path, "a.py", same, hash_content(same)), job(tmp_path, "b.py", other, hash_content(same))]
    first, second = derive_all(jobs, Settings())
    assert first == UnchangedFile(jobs[0].seen, hash_content(same)) and isinstance(second, DerivedDocument)


def test_files_that_cannot_be_indexed_are_skips_with_a_reason(tmp_path: Path) -> None:
    jobs = [
        job(tmp_path, "binary.py", b"\0\1\2" * 100),
        job(tmp_path, "gone.py"),
        job(tmp_path, "grown.py", b"# longer than allowed\n" * 10),
        job(tmp_path, "fine.py", b"fine = 1\n"),
    ]
    binary, gone, grown, fine = derive_all(jobs, Settings(max_file_size=100, include_vendored=True))
    assert isinstance(binary, Skip) and binary.reason == SkipReason.TOO_LARGE
    assert isinstance(gone, Skip) and (gone.reason, gone.detail) == (SkipReason.UNREADABLE, "vanished while indexing")
    assert isinstance(grown, Skip) and grown.reason == SkipReason.TOO_LARGE
    assert isinstance(fine, DerivedDocument)
    (binary,) = derive_all(jobs[:1], Settings())
    assert isinstance(binary, Skip) and binary.reason == SkipReason.BINARY and binary.stamp == jobs[0].seen.stamp


@posix
def test_a_pipe_in_place_of_a_file_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    (result,) = derive_all([job(tmp_path, "pipe.py")], Settings())
    assert isinstance(result, Skip) and result.reason == SkipReason.UNREADABLE


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_grammar_that_aborts_costs_its_file_the_symbols(tmp_path: Path, bad_lua: BadGrammar, workers: int) -> None:
    bad_lua("import os\ndef language(): os.abort()\n")
    jobs = some_files(tmp_path, 12)
    jobs.insert(3, job(tmp_path, "bad.lua", b"function lost() end\n"))
    jobs.insert(8, job(tmp_path, "bad too.lua", b"function gone() end\n"))
    documents = all_derived(list(derive_all(jobs, Settings(jobs=workers))))
    assert [d.seen for d in documents] == [j.seen for j in jobs]
    bad = [d for d in documents if d.language == "lua"]
    assert all(d.extraction.fault.startswith("grammar crashed (") for d in bad)
    assert [d.trigrams for d in bad] == [join_trigrams(f"function {name}() end\n") for name in ("lost", "gone")]
    assert "lost" in bad[0].postings[0].body
    assert not any(d.extraction.fault for d in documents if d.language == "python")


@pytest.mark.slow
@posix
def test_a_grammar_that_loops_is_ended_by_the_limit_of_cpu_time(tmp_path: Path, bad_lua: BadGrammar) -> None:
    bad_lua("import re\ndef language(): re.match('(a|aa)+$', 'a' * 200 + 'b')\n")  # one call into C without end
    jobs = [job(tmp_path, "loops.lua", b"x = 1\n"), *some_files(tmp_path, 3)]
    documents = all_derived(list(derive_all(jobs, Settings(parse_seconds=2.5))))
    assert documents[0].extraction.fault == "grammar ran over 2.5 s"
    assert [d.extraction.fault for d in documents[1:]] == ["", "", ""]


@pytest.mark.slow
def test_a_grammar_that_sleeps_is_ended_by_the_wall_limit(tmp_path: Path, bad_lua: BadGrammar) -> None:
    bad_lua("import time\ndef language(): time.sleep(1000)\n")
    jobs = [*some_files(tmp_path, 2), job(tmp_path, "sleeps.lua", b"x = 1\n")]
    documents = all_derived(list(derive_all(jobs, Settings(), KeptWorkers(wall_seconds=4.0))))
    assert documents[2].extraction.fault == "grammar ran over 4 s"


@pytest.mark.slow
@pytest.mark.parametrize("error", ["MemoryError()", "RuntimeError('odd')", "ImportError('no wheel')"])
def test_an_exception_in_a_grammar_is_the_fault_of_its_file(tmp_path: Path, bad_lua: BadGrammar, error: str) -> None:
    bad_lua(f"def language(): raise {error}\n")
    (document,) = all_derived(list(derive_all([job(tmp_path, "a.lua", b"words\n")], Settings())))
    assert error.partition("(")[0] in document.extraction.fault or "no wheel" in document.extraction.fault
    assert document.trigrams == "ord\nrds\nwor\n"


def test_what_a_grammar_prints_does_not_reach_the_answers(tmp_path: Path, bad_lua: BadGrammar) -> None:
    bad_lua(
        "import os\ndef language():\n    print('noise', flush=True)\n    os.write(1, b'noise')\n    raise ImportError\n"
    )
    assert len(all_derived(list(derive_all([job(tmp_path, "a.lua", b"words\n")], Settings())))) == 1


@pytest.mark.slow
@linux
def test_a_worker_killed_from_outside_is_replaced(tmp_path: Path) -> None:
    results = derive_all(some_files(tmp_path, 40), Settings(jobs=1))
    found = [next(results)]
    (worker,) = children()
    os.kill(worker, signal.SIGKILL)
    assert len(all_derived(found + list(results))) == 40


@linux
def test_closing_early_ends_the_workers(tmp_path: Path) -> None:
    results: Iterator[Result] = derive_all(some_files(tmp_path, 300), Settings(jobs=2))
    next(results)
    assert children()
    results.close()  # type: ignore[attr-defined]
    assert not children()


@linux
def test_workers_ignore_a_keyboard_interrupt(tmp_path: Path) -> None:
    results = derive_all(some_files(tmp_path, 40), Settings(jobs=1))
    found = [next(results)]
    (worker,) = children()
    os.kill(worker, signal.SIGINT)
    assert not any(d.extraction.fault for d in all_derived(found + list(results)))


@linux
def test_workers_end_when_their_parent_dies(tmp_path: Path) -> None:
    some_files(tmp_path, 1)
    program = f"""
        import os
        from tests.indexing.test_workers import *
        results = derive_all((job(Path({str(tmp_path)!r}), "file000.py") for _ in range(1000)), Settings(jobs=1))
        next(results)
        print(*children(), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    parent = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, cwd=Path.cwd()
    )
    (worker,) = map(int, parent.stdout.split())
    deadline = time.monotonic() + 10
    while alive(worker) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not alive(worker)


def test_a_run_fails_if_no_worker_can_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises((CodelensError, OSError)):
        list(derive_all(some_files(tmp_path, 1), Settings()))


def test_nothing_is_imported_from_the_folder_that_is_indexed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("marshal", "numpy", "xxhash", "json", "encodings", "codelens"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported from the repository')\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    assert len(all_derived(list(derive_all([job(tmp_path, "numpy.py", b"x = 1\n")], Settings())))) == 1


def children() -> list[int]:
    """Worker processes of this process."""
    listed = subprocess.run(
        ["ps", "-ww", "-o", "pid=,args=", "--ppid", str(os.getpid())], capture_output=True, text=True
    )
    return [int(line.split()[0]) for line in listed.stdout.splitlines() if " derive " in line]


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.slow
def test_workers_are_kept_for_the_next_small_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started, start = list[int](), WorkerProcess.__init__

    def counted(process: WorkerProcess, *given: Any, **named: Any) -> None:
        started.append(repository)
        start(process, *given, **named)

    monkeypatch.setattr(WorkerProcess, "__init__", counted)
    large = b"".join(b"value%d = %d\n" % (i, i) for i in range(KEPT_BYTES // 15))
    workers = KeptWorkers(5)
    for repository in range(5):
        settings = Settings(jobs=1, include_vendored=True, max_file_size=10_000_000, fuzzy=repository < 2)
        (tmp_path / str(repository)).mkdir()
        jobs = some_files(tmp_path / str(repository), 3)
        if repository == 3:
            jobs += [job(tmp_path / "3", f"large{i}.txt", large) for i in range(2)]
        assert len(all_derived(list(derive_all(jobs, settings, kept=workers)))) == len(jobs)
    assert started == [0, 2, 4], "other settings need other workers; after the large repository the memory is freed"
    assert not threads_of_workers(), "after the last repository none is left"


def threads_of_workers() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "codelens-derive"]


def test_kept_workers_end_when_they_are_closed(tmp_path: Path) -> None:
    workers = KeptWorkers(2)
    assert list(derive_all(some_files(tmp_path, 1), Settings(jobs=1), kept=workers))
    assert threads_of_workers()
    workers.close()
    assert not threads_of_workers()

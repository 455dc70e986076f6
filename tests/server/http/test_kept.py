"""Answers are kept for five minutes, and never longer than the state of the index that gave them."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest

from codelens.config import Settings
from codelens.index import Index
from codelens.server.http.desk import UNSURE_NS, AnswerCache, IndexState, list_deciding_files, stamp_files
from tests.accepted import accepted
from tests.server.http.conftest import SAMPLES, Serve


@pytest.fixture
def own(tmp_path: Path) -> Path:
    shutil.copytree(SAMPLES / "notes/repo", tmp_path / "notes")
    Index.build(tmp_path / "index.db", [tmp_path / "notes"], Settings(jobs=1))
    return tmp_path


@pytest.mark.slow
def test_equal_questions_are_answered_once_for_five_minutes(serve: Serve, own: Path) -> None:
    now = [1000.0]
    client = serve(own / "index.db", answers=AnswerCache(lambda: now[0]))
    first = client.get("/api/search?q=note&limit=3")
    assert "age" not in first.headers
    now[0] += 299
    again = client.post("/api/search", json={"query": "note", "limit": 3})
    assert again.headers["age"] == "299"
    assert again.content == first.content
    assert "age" not in client.get("/api/search?q=note&limit=4").headers
    now[0] += 1
    assert "age" not in client.get("/api/search?q=note&limit=3").headers


@pytest.mark.slow
def test_a_new_snapshot_is_seen_at_once(serve: Serve, own: Path) -> None:
    client = serve(own / "index.db")
    before = client.get("/api/search?q=wombatParade").json()
    (own / "notes/fresh.py").write_text("def wombat_parade():\n    return 1\n")
    Index.build(own / "index.db", [own / "notes"], Settings(jobs=1))
    after = client.get("/api/search?q=wombatParade").json()
    assert after["index"]["snapshot"] != before["index"]["snapshot"]
    assert after["results"][0]["name"] == "wombat_parade"


def test_traces_that_were_read_since_count_at_once(serve: Serve, built: Path, tmp_path: Path) -> None:
    index = accepted(Path(shutil.copy(built, tmp_path)))
    client = serve(index)
    asked = "/api/search?q=price+of+an+order&profile=knowing&limit=30"
    cold = client.get(asked)
    assert client.get(asked).headers["age"]
    with Index.open(index, Settings()) as opened:
        opened.graph.traces().ingest([("spans.json", (SAMPLES / "shop/spans.json").read_bytes())])
    warm = client.get(asked)
    assert "age" not in warm.headers
    assert warm.json()["results"] != cold.json()["results"]
    with Index.open(index, Settings()) as opened:
        opened.graph.traces().forget()
    assert client.get(asked).json()["results"] == cold.json()["results"]


def test_a_table_that_was_written_since_counts_at_once(serve: Serve, own: Path) -> None:
    table = own / "table.csv"
    table.write_text("path,category\nnotes/auth.py,login\n")
    client = serve(own / "index.db", settings=Settings(metadata=str(table)))
    asked = "/api/search?q=password&category=login"
    assert client.get(asked).json()["count"] > 0
    table.write_text("path,category\nnotes/auth.py,other\n")
    assert client.get(asked).json()["count"] == 0


def test_answers_are_not_cached_while_a_deciding_file_was_just_written(own: Path) -> None:
    """Its next writing may leave the same size and time."""
    table = own / "table.csv"
    settings = Settings(metadata=str(table))
    files = list_deciding_files(own / "index.db", settings)
    assert stamp_files(files) == ((None, None), True)
    table.touch()
    written = table.stat().st_mtime_ns
    for after, settled in ((1, False), (2 * UNSURE_NS, True)):
        assert stamp_files(files, lambda at=written + after: at)[1] == settled


def test_status_is_never_cached(serve: Serve, own: Path) -> None:
    client = serve(own / "index.db")
    client.get("/api/status?check=true")
    (own / "notes/fresh.py").write_text("x = 1\n")
    (changes,) = [r["changes"] for r in client.get("/api/status?check=true").json()["repositories"]]
    assert changes["new"] == ["fresh.py"]


@pytest.mark.slow
def test_an_index_is_written_while_others_ask(serve: Serve, own: Path) -> None:
    """No connection stays open between questions, so a writer finds its moment and leaves one file behind."""
    client = serve(own / "index.db")
    wrong: list[str] = []
    ended = threading.Event()

    def keep_asking() -> None:
        number = 0
        while not ended.is_set():
            number += 1
            got = client.get("/api/search", params={"q": f"note {number}"})
            if got.status_code != 200:
                wrong.append(got.text)

    asking = threading.Thread(target=keep_asking)
    asking.start()
    try:
        for number in range(3):
            (own / f"notes/more{number}.py").write_text(f"def wombat_{number}():\n    pass\n")
            (report,) = Index.build(own / "index.db", [own / "notes"], Settings(jobs=1))
            assert report.added == 1
    finally:
        ended.set()
        asking.join()
    assert wrong == []
    assert client.get("/api/search?q=wombat_2").json()["results"][0]["name"] == "wombat_2"
    Index.build(own / "index.db", [own / "notes"], Settings(jobs=1), force=True)
    assert sorted(path.name for path in own.glob("index.db*")) == ["index.db"]


def test_the_least_recent_answers_are_dropped_when_the_cache_is_full() -> None:
    answers = AnswerCache(lambda: 0.0, most_bytes=10)
    for name in "abc":
        answers.put(("s", name, ""), b"1234")
    assert [answers.get(("s", name, "")) is not None for name in "abc"] == [False, True, True]
    answers.put(("s", "large", ""), bytes(11))
    assert answers.get(("s", "large", "")) is None
    assert answers.get(("s", "b", "")) == (b"1234", 0)


def test_the_snapshot_of_an_index_that_was_just_written_is_read_again(own: Path) -> None:
    """Its next writing may leave the same size and time."""
    index = own / "index.db"
    written = index.stat().st_mtime_ns
    late, early = (IndexState(index, Settings(), lambda at=at: written + at) for at in (2 * UNSURE_NS, 1))
    assert late.find_cached_snapshot() is None
    assert late.read_snapshot() == early.read_snapshot()
    assert late.find_cached_snapshot() == late.read_snapshot()
    assert early.find_cached_snapshot() is None
    index.with_name("index.db-wal").touch()
    assert late.find_cached_snapshot() is None

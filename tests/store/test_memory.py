"""The memory file: records come back by place, a record is written completely or not at all, and damage is reported."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import time
from pathlib import Path

import pytest

from codelens.errors import MemoryFault
from codelens.model.memory import FILE, AnsweredPlace, Feedback, LearnedWord, Place, RecordedAnswer, make_file_place
from codelens.processes.child import end_with_parent
from codelens.store.connection import remove_database
from codelens.store.records import MOST_ANSWERS, Memory
from tests.writable import writable

RUN = Place("app", "src/app.py", "Flask.run", "method")
OTHER = Place("app", "src/app.py", "Flask.stop", "method")
ELSEWHERE = Place("app", "lib/é.py", "run", "function")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


def test_reading_a_missing_file_is_empty_and_creates_none(file: Path) -> None:
    with Memory.open_for_reading(file) as memory:
        assert memory.read_records([RUN.path]).places == {}
        assert memory.find_learned_words(["run"], 1) == []
        assert memory.read_last_answer() is None
        assert memory.export_rows()["pins"] == []
    assert not file.exists()


def test_a_file_being_created_is_empty(file: Path) -> None:
    file.touch()
    with Memory.open_for_reading(file) as memory:
        assert (memory.list_places(), memory.read_last_answer()) == ([], None)


def test_records_come_back_by_place(file: Path) -> None:
    with Memory.open_for_writing(file) as memory:
        memory.pin_place(RUN, 1)
        memory.pin_place(RUN, 2)
        memory.rate_place(RUN, 3, 1)
        memory.rate_place(RUN, 7.5, 2)
        memory.count_use(RUN, 5)
        memory.count_use(RUN, 6)
        memory.add_judgement(RUN, Feedback(True, "d1", query="serve"), 7)
        memory.add_judgement(RUN, Feedback(False, "d2", True, "serve"), 8)
        memory.add_stamp(RUN, 9)
        memory.add_stamp(OTHER, 9)
        memory.count_use(ELSEWHERE, 9)
    with Memory.open_for_reading(file) as memory:
        recalled = memory.read_records([RUN.path])
        told = recalled.find(RUN)
        assert (told.pinned, told.rating, told.uses, told.stamps) == (True, 7.5, 2, (9,))
        assert told.feedback == (Feedback(True, "d1", query="serve"), Feedback(False, "d2", True, "serve"))
        assert (told.outcomes, told.success) == ((1, 2), 0.5)
        assert set(recalled.places) == {RUN, OTHER}
        assert recalled.find(OTHER).stamps == (9,)
        assert memory.list_places() == [ELSEWHERE, RUN, OTHER]
    assert [f.name for f in file.parent.iterdir()] == [file.name]


def test_a_record_about_a_file_applies_to_its_symbols(file: Path) -> None:
    with Memory.open_for_writing(file) as memory:
        memory.pin_place(make_file_place(RUN), 1)
        memory.rate_place(make_file_place(RUN), 4, 1)
        memory.rate_place(RUN, 9, 1)
    with Memory.open_for_reading(file) as memory:
        recalled = memory.read_records([RUN.path])
    assert (recalled.find(RUN).pinned, recalled.find(RUN).rating) == (True, 9)
    assert (recalled.find(OTHER).pinned, recalled.find(OTHER).rating) == (True, 4)
    assert recalled.find(make_file_place(RUN)).rating == 4
    assert make_file_place(RUN).kind == FILE


def test_unpinning_returns_whether_there_was_a_pin(file: Path) -> None:
    with Memory.open_for_writing(file) as memory:
        memory.pin_place(RUN, 1)
        assert memory.unpin_place(RUN)
        assert not memory.unpin_place(RUN)
        assert not memory.read_records([RUN.path]).find(RUN).pinned


def test_only_the_newest_stamps_are_kept(file: Path) -> None:
    with Memory.open_for_writing(file) as memory:
        for at in (*range(100, 125), 50):
            memory.add_stamp(RUN, at)
    with Memory.open_for_reading(file) as memory:
        assert memory.read_records([RUN.path]).find(RUN).stamps == tuple(range(105, 125))


def test_words_recall_places_used_often_enough(file: Path) -> None:
    with Memory.open_for_writing(file) as memory:
        for at in range(3):
            memory.learn_word("serve", RUN, at)
        memory.learn_word("serve", OTHER, 1)
        memory.learn_word("serve", OTHER, 2)
        memory.learn_word("stop", OTHER, 3)
    with Memory.open_for_reading(file) as memory:
        assert memory.find_learned_words(["stop", "serve"], 2) == [
            LearnedWord("serve", RUN, 3),
            LearnedWord("serve", OTHER, 2),
        ]
        assert memory.find_learned_words(["halt"], 1) == []


def test_each_session_has_its_own_last_answer(file: Path) -> None:
    places = (AnsweredPlace(1, RUN, 10), AnsweredPlace(2, OTHER, 20))
    with Memory.open_for_writing(file) as memory:
        first = memory.add_answer(RecordedAnswer("serve it", ("serve",), 1, places))
        memory.add_answer(RecordedAnswer("other", (), 2, (), session="b"))
        memory.mark_used(first, 2)
    with Memory.open_for_reading(file) as memory:
        told = memory.read_last_answer()
        assert told is not None
        assert (told.query, told.words, told.number) == ("serve it", ("serve",), first)
        assert told.places == (AnsweredPlace(1, RUN, 10), AnsweredPlace(2, OTHER, 20, True))
        assert memory.find_unsettled() == [told]
        other = memory.read_last_answer("b")
        assert other is not None and other.query == "other"
    with Memory.open_for_writing(file) as memory:
        memory.settle_answer(first)
        assert memory.find_unsettled() == []
        for at in range(MOST_ANSWERS):
            memory.add_answer(RecordedAnswer("more", (), at, places))
        assert len(memory.export_rows()["answers"]) == MOST_ANSWERS


def test_forgetting_a_place_deletes_everything_about_it(file: Path) -> None:
    with Memory.open_for_writing(file) as memory:
        for place in (RUN, OTHER):
            memory.pin_place(place, 1)
            memory.add_judgement(place, Feedback(True, "", query="the words of a query"), 1)
            memory.learn_word("serve", place, 1)
        memory.add_answer(RecordedAnswer("a secret", (), 1, (AnsweredPlace(1, RUN, 10), AnsweredPlace(2, OTHER, 20))))
        assert memory.forget_places([RUN]) == 4
    with Memory.open_for_reading(file) as memory:
        told = memory.export_rows()
        assert memory.list_places() == [OTHER]
        assert "Flask.run" not in repr(told) and told["answers"] == []
        assert len(told["pins"]) == len(told["feedback"]) == len(told["vocabulary"]) == 1


def test_a_failed_record_is_rolled_back(file: Path) -> None:
    with pytest.raises(ZeroDivisionError), Memory.open_for_writing(file) as memory:
        memory.pin_place(RUN, 1 // 0 if memory.list_places() == [] else 1)
    with Memory.open_for_writing(file) as memory:
        memory.pin_place(RUN, 1)
    with pytest.raises(ZeroDivisionError), Memory.open_for_writing(file) as memory:
        memory.pin_place(OTHER, 1)
        memory.count_use(OTHER, 1 // 0)
    with Memory.open_for_reading(file) as memory:
        assert memory.list_places() == [RUN]


def _use_often(file: Path, place: Place, times: int) -> None:
    end_with_parent(os.getppid())
    for at in range(times):
        with Memory.open_for_writing(file) as memory:
            memory.count_use(place, at)
            memory.count_use(RUN, at)


def test_two_processes_record_at_once(file: Path) -> None:
    times = 40
    many = multiprocessing.get_context("spawn")
    both = [many.Process(target=_use_often, args=(file, place, times)) for place in (OTHER, ELSEWHERE)]
    for process in both:
        process.start()
    for process in both:
        process.join()
    assert [process.exitcode for process in both] == [0, 0]
    with Memory.open_for_reading(file) as memory:
        recalled = memory.read_records([RUN.path, ELSEWHERE.path])
    assert [recalled.find(place).uses for place in (RUN, OTHER, ELSEWHERE)] == [2 * times, times, times]


def _record_and_hang(file: Path) -> None:
    end_with_parent(os.getppid())  # even if the tests are killed
    with Memory.open_for_writing(file) as memory:
        memory.count_use(OTHER, 1)
        for number in range(20_000):  # more than SQLite's cache, so that the file itself is written before the commit
            memory.add_judgement(Place("app", f"{number}.py", "x" * 200, "function"), Feedback(True, ""), 1)
        (file.parent / "ready").touch()
        time.sleep(600)


@pytest.mark.slow
def test_a_killed_record_leaves_the_previous_state(file: Path) -> None:
    with Memory.open_for_writing(file) as memory:
        memory.count_use(RUN, 1)
    process = multiprocessing.get_context("spawn").Process(target=_record_and_hang, args=(file,))
    process.start()
    while not (file.parent / "ready").exists():
        assert process.is_alive()
        time.sleep(0.02)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert file.with_name(f"{file.name}-journal").stat().st_size, "the kill came in the middle of a record"
    with Memory.open_for_reading(file) as memory:
        assert memory.list_places() == [RUN]
    with Memory.open_for_writing(file) as memory:
        memory.count_use(RUN, 2)
    with Memory.open_for_reading(file) as memory:
        assert memory.read_records([RUN.path]).find(RUN).uses == 2


@pytest.mark.parametrize("content", [b"nothing of the kind" * 100, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_file_is_reported(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(MemoryFault, match="is damaged"), Memory.open_for_reading(file):
        pass
    with pytest.raises(MemoryFault, match="is damaged"), Memory.open_for_writing(file):
        pass
    assert file.read_bytes() == content
    assert remove_database(file)
    assert not remove_database(file)


def test_damage_inside_the_file_is_reported_when_it_is_read(file: Path) -> None:
    with Memory.open_for_writing(file) as memory:
        for number in range(500):
            memory.pin_place(Place("app", f"{number}.py", "f", "function"), 1)
    content = bytearray(file.read_bytes())
    content[4096 : len(content) : 7] = b"\x5a" * len(content[4096 : len(content) : 7])
    file.write_bytes(content)
    with pytest.raises(MemoryFault, match="is damaged"), Memory.open_for_reading(file) as memory:
        memory.export_rows()
        memory.list_places()


def test_newer_and_foreign_files_are_left_alone(file: Path) -> None:
    with Memory.open_for_writing(file) as memory:
        memory.pin_place(RUN, 1)
    with writable(file) as connection:
        connection.execute("PRAGMA user_version = 99").fetchall()
    with pytest.raises(MemoryFault, match="newer codelens"), Memory.open_for_reading(file):
        pass
    file.unlink()
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE songs (name)")
    connection.close()
    before = file.read_bytes()
    with pytest.raises(MemoryFault, match="not a memory file"), Memory.open_for_writing(file):
        pass
    assert file.read_bytes() == before

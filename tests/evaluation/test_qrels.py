"""Task files and TREC's files: what is read, and what is refused with its place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from codelens.errors import UsageError
from codelens.evaluation.tasks import Relevant, Task, read_qrels, read_tasks, read_topics, read_trec

GOOD = {"id": "t1", "repo": "shop", "query": "add", "relevant": [{"symbol": "Cart.add", "files": ["cart.py"]}]}


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_a_task_is_read(tmp_path: Path) -> None:
    row = GOOD | {"tier": "easy", "kind": "commit", "more": 1}
    bare = {"id": "t1", "repo": "other", "query": "x", "tier": None, "relevant": [{"symbol": "f"}, {"files": ["a.py"]}]}
    file = write(tmp_path / "tasks.jsonl", f"{json.dumps(row)}\n\n{json.dumps(bare)}\n")
    assert read_tasks([file]) == [
        Task("t1", "shop", "add", (Relevant("Cart.add", ("cart.py",)),), "easy", "commit"),
        Task("t1", "other", "x", (Relevant("f", ()), Relevant("", ("a.py",)))),
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "not JSON"),
        ("[]", "not an object"),
        (json.dumps(GOOD | {"query": 3}), "'query'"),
        (json.dumps({k: v for k, v in GOOD.items() if k != "repo"}), "'repo'"),
        (json.dumps(GOOD | {"tier": 1}), "'tier'"),
        (json.dumps(GOOD | {"relevant": []}), "'relevant'"),
        (json.dumps(GOOD | {"relevant": ["f"]}), "'relevant'"),
        (json.dumps(GOOD | {"relevant": [{"symbol": "f", "files": "a.py"}]}), "'files'"),
        (json.dumps(GOOD | {"relevant": [{"symbol": ""}]}), "neither symbol nor file"),
        (json.dumps(GOOD), "a second task 't1' of shop"),
    ],
)
def test_a_fault_names_file_and_line(tmp_path: Path, line: str, said: str) -> None:
    file = write(tmp_path / "tasks.jsonl", f"{json.dumps(GOOD)}\n\n{line}\n")
    with pytest.raises(UsageError, match=r"tasks\.jsonl:3: ") as fault:
        read_tasks([file])
    assert said in str(fault.value)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "tasks.jsonl").write_bytes(b"\xff\xfe{}")
    with pytest.raises(UsageError, match=r":1: not UTF-8"):
        read_tasks([tmp_path / "tasks.jsonl"])
    with pytest.raises(UsageError, match="No such file"):
        read_tasks([tmp_path / "none"])


def test_topics_as_rows(tmp_path: Path) -> None:
    assert read_topics(write(tmp_path / "topics.tsv", "1\tadd an item\n\n2\ttotal of a\tcart\n")) == {
        "1": "add an item",
        "2": "total of a\tcart",
    }


def test_topics_as_objects(tmp_path: Path) -> None:
    text = '{"id": 1, "query": "add an item"}\n{"id": "b", "query": "total"}\n'
    assert read_topics(write(tmp_path / "topics.jsonl", text)) == {"1": "add an item", "b": "total"}


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("1\tadd\n1\tadd", "topics:2: a second topic 1"),
        ("add", "topics:1: not a topic"),
        ('{"id": 1}', "topics:1: not a topic"),
        ("{", "topics:1: not a topic"),
    ],
)
def test_faults_of_topics(tmp_path: Path, text: str, place: str) -> None:
    with pytest.raises(UsageError, match=place):
        read_topics(write(tmp_path / "topics", text))


def test_qrels(tmp_path: Path) -> None:
    text = "1 0 src/cart.py:Cart.add 2\n1 0 src/my cart.py 1\n1 0 src/cart.py 0\n2 Q0 a.cpp:Foo::bar -1\n3 0 a.cpp:Foo::bar 1\n"
    assert read_qrels(write(tmp_path / "qrels", text)) == {
        "1": (Relevant("Cart.add", ("src/cart.py",), pinned=True), Relevant("", ("src/my cart.py",), pinned=True)),
        "2": (),
        "3": (Relevant("Foo::bar", ("a.cpp",), pinned=True),),
    }
    with pytest.raises(UsageError, match="qrels:2: "):
        read_qrels(write(tmp_path / "qrels", "1 0 a.py 1\n1 0 a.py\n"))


def test_topics_without_an_answer_are_reported(tmp_path: Path) -> None:
    topics = write(tmp_path / "topics", "1\tone\n2\ttwo\n3\tthree\n")
    tasks, notes = read_trec(topics, write(tmp_path / "qrels", "1 0 a.py 1\n2 0 a.py 0\n9 0 a.py 1\n"))
    assert tasks == [Task("1", "", "one", (Relevant("", ("a.py",), pinned=True),))]
    assert notes == [
        "2 topics without a relevant document are not asked, as 2",
        "qrels judges 1 topics that topics has not, as 9",
    ]

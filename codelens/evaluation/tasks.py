"""Read, draw and write tasks: queries with the definitions and files that answer them, in JSON Lines or TREC files.

A TREC document is a path, or `path:Container.name`. Judgements are binary: anything above 0 is relevant.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import xxhash

from codelens.errors import UsageError
from codelens.files import write_in_one_step
from codelens.model.extraction import Unit
from codelens.model.fast_dataclass import frozen_dataclass
from codelens.text.notation import parse_json

Place = tuple[str, str]  # Path and qualified name of a definition
ABSENT, NOTHING = "absent", "nothing"
UNANSWERED = (ABSENT, NOTHING)
"""Kinds of tasks without an answer: queries of absent words, and questions about things that the code does not do."""


@frozen_dataclass
class Relevant:
    """An answer: a definition 'Container.name' (empty for a whole file) and the files that contain it (empty if unknown)."""

    symbol: str
    files: tuple[str, ...]
    pinned: bool = False  # True if hits must be in these files by every rule, as for TREC documents


@frozen_dataclass
class Task:
    """A query and its relevant entries."""

    id: str
    repository: str  # Empty if there is one index for all
    query: str
    relevant: tuple[Relevant, ...]
    tier: str = ""  # Difficulty in the author's view: easy, medium, hard
    kind: str = ""
    """Origin: for generated tasks commit, task, documentation, identifier or topic, for example; any word for others."""

    @property
    def key(self) -> str:
        """Key in saved runs; ids are unique only within a repository."""
        return f"{self.repository}/{self.id}"


FORM = 'a line is {"id": …, "repo": …, "query": …, "relevant": [{"symbol": "Container.name", "files": […]}]}'


def read_tasks(paths: Sequence[Path]) -> list[Task]:
    """Read JSON Lines files. Raises UsageError with file and line for an invalid or repeated task."""
    tasks: dict[str, Task] = {}
    for path in paths:
        for number, line in _read_lines(path):
            task = _parse_task(line, f"{path}:{number}")
            if task.key in tasks:
                raise UsageError(f"{path}:{number}: a second task '{task.id}' of {task.repository or 'no repository'}")
            tasks[task.key] = task
    return list(tasks.values())


def _read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Read the lines of a file, without blank ones, with their numbers."""
    try:
        text = path.read_bytes()
    except OSError as fault:
        raise UsageError(f"{path}: {fault.strerror}") from None
    for number, line in enumerate(text.split(b"\n"), start=1):
        try:
            decoded = line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r")
        except UnicodeDecodeError:
            raise UsageError(f"{path}:{number}: not UTF-8") from None
        if decoded.strip():
            yield number, decoded


def _parse_task(line: str, place: str) -> Task:
    try:
        row = parse_json(line)
    except ValueError as fault:
        raise UsageError(f"{place}: not JSON: {fault}", FORM) from None
    if not isinstance(row, dict):
        raise UsageError(f"{place}: not an object", FORM)
    for name in ("id", "repo", "query"):
        if not isinstance(row.get(name), str):
            raise UsageError(f"{place}: '{name}' must be a string", FORM)
    for name in ("tier", "kind"):
        if not isinstance(row.get(name) or "", str):
            raise UsageError(f"{place}: '{name}' must be a string")
    relevant = row.get("relevant")
    if not isinstance(relevant, list) or not (relevant or row.get("kind") in UNANSWERED):
        rule = f"at least one entry, unless the kind is {ABSENT} or {NOTHING}"
        raise UsageError(f"{place}: 'relevant' must be a list with {rule}", FORM)
    entries = tuple(_parse_relevant(entry, place) for entry in relevant)
    return Task(row["id"], row["repo"], row["query"], entries, row.get("tier") or "", row.get("kind") or "")


def _parse_relevant(entry: Any, place: str) -> Relevant:
    symbol, files = (entry.get("symbol", ""), entry.get("files") or []) if isinstance(entry, dict) else (None, None)
    if not isinstance(symbol, str) or not isinstance(files, list) or not all(isinstance(f, str) for f in files):
        raise UsageError(f"{place}: an entry of 'relevant' must have a string 'symbol' and a list 'files'", FORM)
    if not symbol and not files:
        raise UsageError(f"{place}: an entry of 'relevant' names neither symbol nor file", FORM)
    return Relevant(symbol, tuple(files))


def read_trec(topics: Path, qrels: Path) -> tuple[list[Task], list[str]]:
    """Read tasks from TREC files: topics with a relevant document become tasks, notes tell of the others. Raises UsageError."""
    queries, judged = read_topics(topics), read_qrels(qrels)
    tasks = [Task(topic, "", query, judged[topic]) for topic, query in queries.items() if judged.get(topic)]
    notes = []
    if unjudged := [topic for topic in queries if not judged.get(topic)]:
        notes.append(f"{len(unjudged)} topics without a relevant document are not asked, as {unjudged[0]}")
    if unknown := [topic for topic in judged if topic not in queries]:
        notes.append(f"{qrels.name} judges {len(unknown)} topics that {topics.name} has not, as {unknown[0]}")
    return tasks, notes


def read_topics(path: Path) -> dict[str, str]:
    """Read topic → query, from lines of number, tab and query, or JSON objects with id and query. Raises UsageError."""
    topics: dict[str, str] = {}
    for number, line in _read_lines(path):
        topic, _, query = map(str.strip, line.partition("\t"))
        if line.startswith("{"):
            try:
                row = parse_json(line)
                topic, query = str(row["id"]), str(row["query"])
            except (ValueError, KeyError, TypeError):
                topic = ""
        if not (topic and query):
            raise UsageError(f"{path}:{number}: not a topic's number, a tab and its query")
        if topic in topics:
            raise UsageError(f"{path}:{number}: a second topic {topic}")
        topics[topic] = query
    return topics


def read_qrels(path: Path) -> dict[str, tuple[Relevant, ...]]:
    """Read topic → relevant entries, from lines `topic iteration document judgement`. Raises UsageError."""
    judged: dict[str, dict[Relevant, None]] = {}
    for number, line in _read_lines(path):
        row = re.fullmatch(r"\s*(\S+)\s+(\S+)\s+(\S.*?)\s+(-?\d+)\s*", line)
        if row is None:
            raise UsageError(f"{path}:{number}: not a topic, an iteration, a document and a judgement")
        entries = judged.setdefault(row[1], {})
        if int(row[4]) > 0:
            file, _, symbol = row[3].partition(":")  # names may contain colons (`Foo::bar`), source paths hardly do
            entries[Relevant(symbol, (file,), pinned=True)] = None
    return {topic: tuple(entries) for topic, entries in judged.items()}


Row = dict[str, object]  # A task as a JSON object


@frozen_dataclass
class PlacedUnit:
    """A definition with the path of its file."""

    path: str
    unit: Unit

    @property
    def place(self) -> Place:
        """The path and the qualified name."""
        return self.path, self.unit.qualified_name


@frozen_dataclass
class TaskDraft:
    """A query with the definitions that answer it. Drafts are sampled in the order of a hash of `seed`."""

    query: str
    answers: tuple[PlacedUnit, ...]
    seed: str


LABELS = {"documentation": "doc", "identifier": "name"}  # Kind → its name in ids of tasks


def sample_rows(
    repository: str,
    kind: str,
    drafts: Iterable[TaskDraft],
    wanted: int,
    *,
    fold: Callable[[str], str] = str,
    is_usable: Callable[[TaskDraft], bool] = lambda draft: True,
) -> list[Row]:
    """Make tasks of at most `wanted` drafts, drawn by hash. Queries that are equal after `fold` are dropped."""
    drafts = sorted(drafts, key=lambda d: (xxhash.xxh3_64_intdigest(f"codelens made {d.seed}".encode()), d.query))
    counts = Counter(fold(draft.query) for draft in drafts)
    rows: list[Row] = []
    for draft in drafts:
        if len(rows) == wanted:
            break
        if counts[fold(draft.query)] == 1 and is_usable(draft):
            files: dict[str, set[str]] = {}  # A name declared and defined in two files is one entry with two files
            for answer in draft.answers:
                files.setdefault(answer.unit.qualified_name, set()).add(answer.path)
            relevant = [{"symbol": symbol, "files": sorted(paths)} for symbol, paths in files.items()]
            identity = f"{repository}-{LABELS.get(kind, kind)}-{len(rows)}"
            rows.append(make_row(identity, repository, draft.query, relevant, kind))
    return rows


def make_row(identity: str, repository: str, query: str, relevant: Sequence[Mapping[str, object]], kind: str) -> Row:
    """Make a task as a JSON object."""
    return {"id": identity, "repo": repository, "query": query, "relevant": relevant, "kind": kind}


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Write tasks as JSON Lines. Raises OSError."""
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    write_in_one_step(path, lines.encode())

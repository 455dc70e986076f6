"""Large files are read, stored and searched in parts; sizes are small here, so that small files are large."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tracemalloc
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from codelens.config import Settings
from codelens.index import Index
from codelens.indexing import derive
from codelens.indexing.build import BUILDING
from codelens.indexing.derive import Job, Result
from codelens.indexing.workers import derive_all, derive_file
from codelens.model.code import FileStamp, SeenFile
from codelens.model.extraction import DerivedDocument, UnfinishedFile
from codelens.model.request import SearchOptions
from codelens.store.documents import Parts
from codelens.store.store import Store
from codelens.store.texts import LONGEST_LINE, PARTS_HELD, Texts
from tests.dump import dump, orphans
from tests.indexing.here import Tree

pytestmark = pytest.mark.slow

PART = 3_000
WORDS = [
    "table",
    "index",
    "reader",
    "writer",
    "budget",
    "kernel",
    "socket",
    "buffer",
    "answer",
    "query",
    "größe",
    "naïve",
]
ALL = Settings(include_vendored=True)  # Long lines too


def prose(lines: int, ends: str = "\n", words: list[str] = WORDS, seed: int = 1) -> str:
    """Lines with a number each, blank ones and indented ones among them, with some long runs of blanks."""
    draw = random.Random(seed)
    told = []
    for number in range(lines):
        said = " ".join(draw.choice(words) for _ in range(draw.randrange(1, 12)))
        told.append(
            f"{'    ' * draw.randrange(3)}line{number} {said};" if number % 7 else " " * draw.choice([0, 2, 700])
        )
    return ends.join(told)


ASCII = [word for word in WORDS if word.isascii()]
CONTENTS = {
    "notes.txt": prose(900).encode(),
    "ends.txt": prose(900, "\r\n").encode() + b"\r\n",
    "mark.txt": b"\xef\xbb\xbf" + prose(700).encode(),
    "wide.txt": b"\xff\xfe" + prose(500).encode("utf-16-le"),
    "bare.txt": prose(500, words=ASCII).encode("utf-16-be"),
    "latin.txt": prose(700).encode("cp1252"),
    "chinese.txt": prose(500, words=["索引", "搜索", "文件", "这里有一些内容", "数据库的表"]).encode("gb18030"),
    "line.txt": prose(900, " ").encode(),
    "blank.txt": b"\n" * 9_000 + prose(300).encode() + b" \n" * 9_000,
    "rows.sql.txt": b"".join(b"INSERT INTO t VALUES (%d, 'row %d');\n" % (n, n * 7) for n in range(900)),
}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """All but very small files are large, and parts are short."""
    monkeypatch.setattr(derive, "LARGE_SIZE", 5_000)
    monkeypatch.setattr(derive, "MOST_PARSED", 9_000)
    monkeypatch.setattr(derive, "PART_SIZE", PART)
    monkeypatch.setattr("codelens.indexing.files.BLOCK", 1_000)


def write(tree: Tree, contents: dict[str, bytes]) -> None:
    for path, content in contents.items():
        tree.write(path, content)


def indexed_whole(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Another index of the same tree, in which no file is large."""
    with monkeypatch.context() as patch:
        patch.setattr(derive, "LARGE_SIZE", 1 << 40)
        other = replace(tree, index=tree.index.with_name("whole") / "index.db")
        other.run(settings=ALL)
    return other.index


def parts_of(index: Path, path: str) -> list[bytes]:
    with Store.read(index) as store:
        [row] = store.documents.find_by_path(path)
        return list(Texts(store).read(row).read_parts())


def test_chunks_are_the_same_wherever_parts_end(tree: Tree, small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tree, CONTENTS)
    report = tree.run(settings=ALL)
    assert report.indexed == len(CONTENTS) and not report.faults
    in_parts, whole = dump(tree.index), dump(indexed_whole(tree, monkeypatch))
    for rows in (in_parts["documents"], whole["documents"]):
        rows[:] = [(*row[:8], *row[9:]) for row in rows]  # the confidence in an encoding is of other pieces of the text
    for table in ("documents", "units", "unit_terms", "name_trigrams", "vectors"):
        assert in_parts[table] == whole[table], table
    assert not whole["parts"] and orphans(tree.index) == []
    for path, content in CONTENTS.items():
        parts = parts_of(tree.index, path)
        assert len(parts) > 3 and b"".join(parts) == content


QUERIES = (
    ('"budget kernel"', SearchOptions()),
    ("budget kernel socket", SearchOptions()),
    ("größe naïve", SearchOptions(literal=True)),
    (r"line4\d\d .*kernel", SearchOptions(regex=True)),
    ("索引 索引", SearchOptions(literal=True)),
    ("row 6293", SearchOptions(literal=True)),
    ('"no such phrase"', SearchOptions()),
    ('"reader writer" -"line401"', SearchOptions(context_before=2, context_after=1)),
    ('"socket" path:wide', SearchOptions()),
    ("kernel OR budget OR größe OR 索引", SearchOptions()),
    ('"answer"', SearchOptions(files_only=True)),
)


@pytest.mark.parametrize(("query", "options"), QUERIES)
def test_answers_are_the_same_wherever_parts_end(
    tree: Tree, small: None, monkeypatch: pytest.MonkeyPatch, query: str, options: SearchOptions
) -> None:
    write(tree, CONTENTS)
    tree.run(settings=ALL)
    whole = indexed_whole(tree, monkeypatch)
    options = replace(options, limit=300)
    answers = [Index.open(index).search(query, options) for index in (tree.index, whole)]
    one, other = ([(h.unit.path, h.unit.span, h.line, h.column, h.snippet, h.score) for h in a.hits] for a in answers)
    assert one == other
    assert bool(one) == ("no such" not in query)


def test_line_numbers_continue_across_parts(tree: Tree, small: None) -> None:
    write(tree, CONTENTS)
    tree.run(settings=ALL)
    with Store.read(tree.index) as store:
        texts = Texts(store)
        for row in store.documents.read_rows():
            content = CONTENTS[row.path][row.bom :].decode(row.encoding)
            wanted = [line.removesuffix("\r") for line in content.removesuffix("\n").split("\n")]
            lines = texts.read_lines(row)
            assert len(lines) == len(wanted)
            assert [line[:LONGEST_LINE] for line in lines] == wanted
            assert list(lines[3:9]) == wanted[3:9] and lines[-1] == wanted[-1]
            with pytest.raises(IndexError):
                lines[len(wanted)]
            whole = texts.read(row)
            place = {c: row.bom + len(content[:c].encode(row.encoding)) for c in range(len(content) + 1)[::97]}
            for c, byte in place.items():
                start, end = content.rfind("\n", 0, c) + 1, content.find("\n", c)
                assert whole.find_line_and_indent(byte) == (content.count("\n", 0, c) + 1, c - start)
                assert whole.find_line_start(byte) == byte - len(content[start:c].encode(row.encoding))
                left = content[c:end] if end >= 0 else content[c:]
                assert whole.find_line_end(byte) == byte + len(left.encode(row.encoding))


def test_sections_continue_across_parts(tree: Tree, small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derive, "PART_SIZE", 9_000)  # some sections
    told = "\n".join(f"{'#' * (1 + n % 3)} Part {n}\n\n{prose(20, seed=n)}\n" for n in range(40))
    tree.write("guide.md", told)
    report = tree.run(settings=ALL)
    assert report.faults == {"guide.md": "over 0 MB: only its text is indexed"}
    columns = ["kind", "name", "container", "span", "start_line", "end_line", "name_line", "name_column", "body_start"]
    found = []
    for index in (tree.index, indexed_whole(tree, monkeypatch)):
        with Store.read(index) as store:
            [row] = store.documents.read_rows()
            units = [u for u in store.units.read_extracted(row.id) if u.kind in ("section", "text")]
            found.append([[getattr(unit, column) for column in columns] for unit in units])
    assert found[0] == found[1] and len(found[0]) >= 40
    assert len(parts_of(tree.index, "guide.md")) > 3


def test_code_over_its_limit_is_text(tree: Tree, small: None) -> None:
    code = "".join(f"def task_{n}(items):\n    return run(items, {n})\n\n\n" for n in range(300))
    tree.write("small.py", "".join(code.splitlines(keepends=True)[:80]))
    tree.write("large.py", code)
    report = tree.run()
    assert report.faults == {"large.py": "over 0 MB: only its text is indexed"}
    index = Index.open(tree.index)
    found = index.search("task_290", SearchOptions()).hits
    assert next(h.unit.kind for h in found if h.unit.path == "large.py") == "toplevel"
    [first, *_] = index.search("run(items, 290)", SearchOptions(literal=True)).hits
    assert (first.unit.path, first.line) == ("large.py", 290 * 4 + 2)


def test_large_notebooks_and_binaries_are_skipped(tree: Tree, small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derive, "MOST_NOTEBOOK", 20_000)
    tree.write("image.dat", bytes(random.Random(1).randbytes(9_000)))
    tree.write("made.txt", "// Code generated by tool. DO NOT EDIT.\n" + prose(300))
    tree.write("line.js", ";".join(f"var a{n}=b{n}" for n in range(2_000)))
    tree.write("big.ipynb", '{"cells": [' + " " * 30_000 + "]}")
    report = tree.run()
    assert report.skipped == {"binary": 1, "generated": 1, "minified": 1, "too large": 1}
    with Store.read(tree.index) as store:
        [repository] = store.documents.list_repositories()
        told = {skip.path: skip.detail for skip in store.documents.list_skips(repository.id)}
    assert told["big.ipynb"] == "a notebook is read whole, up to 0 MB"
    tree.rests()


def test_a_large_file_is_updated_renamed_and_removed_as_others_are(tree: Tree, small: None) -> None:
    write(tree, CONTENTS)
    tree.run(settings=ALL)
    tree.rests(ALL)
    assert tree.run(settings=ALL, verify=True).unchanged == len(CONTENTS)
    content = CONTENTS["notes.txt"]
    for edited in (content + b"the end\n", b"the start\n" + content, content[:9_000], content[:4_000], content):
        tree.write("notes.txt", edited)
        assert tree.run(settings=ALL).changed == 1
        assert tree.derivations.derived == ["notes.txt"]
        tree.equals_fresh(ALL)
    (tree.root / "notes.txt").rename(tree.root / "moved.txt")
    assert tree.run(settings=ALL).renamed == 1
    (tree.root / "wide.txt").unlink()
    assert tree.run(settings=ALL).removed == 1
    tree.equals_fresh(ALL)


def test_a_file_that_changes_while_it_is_read_is_left_out(tree: Tree, small: None) -> None:
    tree.write("other.txt", prose(20))
    tree.write("notes.txt", prose(900))
    tree.run()

    inner = tree.derivations.__call__

    def meddle(jobs: Iterable[Job], settings: Settings, **_: object) -> Iterator[Result]:
        for result in inner(jobs, settings):
            if isinstance(result, DerivedDocument):
                tree.write(result.seen.path, prose(901, seed=2))
            yield result

    tree.write("notes.txt", prose(902))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("codelens.indexing.pipeline.derive_all", meddle)
        report = tree.run()
    assert (report.indexed, report.skipped, report.removed) == (1, {"unreadable": 1}, 1)
    assert orphans(tree.index) == [] and not dump(tree.index)["parts"]
    assert tree.run().added == 1
    tree.equals_fresh()


def test_vectors_are_made_again_part_by_part(tree: Tree, small: None) -> None:
    write(tree, {name: CONTENTS[name] for name in ("notes.txt", "mark.txt", "wide.txt", "latin.txt")})
    tree.write("short.py", "def helper():\n    return 1\n")
    tree.run()
    before = dump(tree.index)
    assert before["vectors"]
    connection = apsw.Connection(str(tree.index))
    connection.execute("UPDATE documents SET embedder = ''; DELETE FROM vectors; DELETE FROM vector_bits").fetchall()
    connection.close()
    assert tree.run().wrote
    after = dump(tree.index)
    assert after["vectors"] == before["vectors"] and after["documents"] == before["documents"]


def seen_file(root: Path, name: str) -> SeenFile:
    stat = (root / name).stat()
    return SeenFile(name, name, FileStamp(stat.st_size, stat.st_mtime_ns, stat.st_ino))


def test_memory_does_not_grow_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derive, "LARGE_SIZE", 100_000)
    monkeypatch.setattr(derive, "PART_SIZE", 50_000)
    monkeypatch.setattr("codelens.indexing.files.BLOCK", 20_000)
    settings, peaks, sizes = Settings(vector=False), [], []
    for repeats in (1, 8):  # the same words, or the caches of words would grow
        (tmp_path / "log.txt").write_text(prose(6_000) * repeats)
        tracemalloc.start()
        made = derive_file(Job(str(tmp_path), seen_file(tmp_path, "log.txt")), settings, None)
        assert isinstance(made, DerivedDocument)
        sizes.append(max(sum(u.span.end - u.span.start for u in part.units) for part in made.parts))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.3 * peaks[0]
    assert max(sizes) < 2 * 50_000


def test_a_search_reads_only_the_parts_that_it_needs(tree: Tree, small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"line {n} says nothing of note" for n in range(6_000)]
    lines[2_500] = "here the purple elephant sleeps"
    tree.write("log.txt", "\n".join(lines))
    tree.run()
    read = set[int]()
    bytes_of = Parts.read_bytes

    def counted(self: Parts, document: int, number: int) -> bytes:
        read.add(number)
        return bytes_of(self, document, number)  # type: ignore[arg-type]

    monkeypatch.setattr(Parts, "read_bytes", counted)
    [hit, *_] = Index.open(tree.index).search('"purple elephant"', SearchOptions()).hits
    assert (hit.line, hit.snippet[0].text) == (2_501, lines[2_500])
    assert len(read) <= 3 and len(parts_of(tree.index, "log.txt")) > 30


def test_only_a_few_parts_are_in_memory(tree: Tree, small: None) -> None:
    tree.write("log.txt", prose(3_000))
    tree.run()
    with Store.read(tree.index) as store:
        whole = Texts(store).read(store.documents.read_rows()[0])
        assert b"".join(whole.read_parts()) == prose(3_000).encode()
        assert len(whole._held) == PARTS_HELD


def large_tree(root: Path) -> str:
    """A tree with one file above the size limits and several small ones."""
    root.mkdir()
    text = prose(90_000)
    assert len(text.encode()) > derive.LARGE_SIZE
    (root / "big.txt").write_bytes(text.encode())
    for n in range(3):
        (root / f"a{n}.py").write_text(f"def helper_{n}():\n    return {n}\n")
        (root / f"z{n}.py").write_text(f"def tailor_{n}():\n    return {n}\n")
    return text


def test_parts_come_from_worker_processes(tmp_path: Path) -> None:
    text = large_tree(tmp_path / "tree")
    index = tmp_path / "index.db"
    settings = Settings(max_file_size=10_000_000, vector=False)
    [report] = Index.build(index, [tmp_path / "tree"], settings)
    assert (report.indexed, report.symbols, report.skipped) == (7, 6, {})
    assert b"".join(parts_of(index, "big.txt")) == text.encode()
    wanted = text.split("\n").index(next(line for line in text.split("\n") if "line80001 " in line)) + 1
    [hit, *_] = Index.open(index).search('"line80001"', SearchOptions()).hits
    assert (hit.unit.path, hit.line) == ("big.txt", wanted)


def test_unread_parts_do_not_block_a_worker(tmp_path: Path) -> None:
    large_tree(tmp_path / "tree")
    jobs = [Job(str(tmp_path / "tree"), seen_file(tmp_path / "tree", name)) for name in ("big.txt", "z0.py", "z1.py")]
    results = list(derive_all(iter(jobs), Settings(max_file_size=10_000_000, jobs=1, vector=False)))
    assert [type(result) for result in results] == [DerivedDocument] * 3


DIES = """
import os, signal, sys
from pathlib import Path
from codelens.config import Settings
from codelens.index import Index
from codelens.store.documents import Parts
add = Parts.add
def dying(self, document, number, part):
    add(self, document, number, part)
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
Parts.add = dying
Index.build(Path(sys.argv[1]), [Path(sys.argv[2])], Settings(max_file_size=10_000_000, vector=False))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="has no SIGKILL")
@pytest.mark.parametrize("existed", [False, True])
def test_a_kill_leaves_no_half_document(tmp_path: Path, existed: bool) -> None:
    root, index = tmp_path / "tree", tmp_path / "index.db"
    settings = Settings(max_file_size=10_000_000, vector=False)
    text = large_tree(root)
    if existed:
        Index.build(index, [root], settings)
        (root / "big.txt").write_text(text + "the end\n")
    ended = subprocess.run([sys.executable, "-c", DIES, str(index), str(root)], check=False)
    assert ended.returncode == -signal.SIGKILL
    left = index if existed else index.with_name(index.name + BUILDING)
    with Store.write(left, index) as store:  # as the next run opens it
        documents = store.documents.find_by_path("big.txt")
        assert [b"".join(Texts(store).read(row).read_parts()) for row in documents] == [text.encode()] * existed
    Index.build(index, [root], settings)
    assert b"".join(parts_of(index, "big.txt")) == (root / "big.txt").read_bytes()
    assert orphans(index) == []


@pytest.mark.skipif(sys.platform != "linux", reason="finds the process by /proc")
def test_a_worker_that_dies_between_parts_costs_only_this_file(tmp_path: Path) -> None:
    large_tree(tmp_path / "tree")
    settings = Settings(max_file_size=10_000_000, vector=False)
    jobs = [Job(str(tmp_path / "tree"), seen_file(tmp_path / "tree", name)) for name in ("big.txt", "z0.py")]
    results = derive_all(iter(jobs), replace(settings, jobs=1))
    first = next(results)
    assert isinstance(first, DerivedDocument)
    taken = iter(first.parts)
    next(taken)
    kill_children()
    with pytest.raises(UnfinishedFile, match="a worker process ended while it was read"):
        list(taken)
    assert isinstance(next(results), DerivedDocument)
    results.close()


def kill_children() -> None:
    """End the worker processes of this process."""
    for task in Path("/proc/self/task").iterdir():
        for child in (task / "children").read_text().split():
            os.kill(int(child), signal.SIGKILL)

"""Hostile trees: names, links, special files and contents made to break an indexer, some of them changing while they are read."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from codelens.lang.registry import languages
from tools.campaign import Campaign, Report, expect
from tools.program import CommandRun, Program, listed, unchanged

FILES_A_TREE = 250  # Files of one attempt
LIMITS = {"CODELENS_MAX_FILE_SIZE": "300000", "CODELENS_PARSE_SECONDS": "2"}
"""Limits with which 10 000 files take minutes; a file over a limit is a skip with a reason, which is checked too."""
DEEP = 60  # Nested folders whose names together reach the longest path of Linux
SECRET = "secret_outside_of_the_root"  # A word of files that only links lead to: none of it may be found

NAMES: tuple[bytes, ...] = (
    *(b"new\nline.py", b"tab\there.py", b"esc\x1b[31mred\x1b[0m.py", b"title\x1b]0;owned\x07.md"),
    *(b"bell\x07\x08\x7f.c", b"c1\xc2\x9b31m.go", b"latin\xe9.py", b"\xff\xfe.js", b"half\xe4\xb8.rs"),
    *(b"surrogate\xed\xa0\x80.ts", b"-rf", b"--db=x.py", b" leading.py", b"trailing .py", b"dots...py", b"..."),
    *(b"quote\"'`.py", b"back\\slash.py", b"*.py", b"[a-z].py", b"!not.py", b"#hash.py", b"$(touch x).sh", b"`id`.sh"),
    *(b"a;b|c&d.sh", b"%s%n%x.c", b"{path}{x.y}.py", b"file:line:3:4.py", b"CON.py", b"nul.txt"),
    *("rtl\u202egnp.py".encode(), "zero\u200bwidth.py".encode(), "ligature\ufb01.py".encode(), "e\u0301.py".encode()),
    *("\u00e9.py".encode(), "\U0001f4a9.py".encode(), b"Case.py", b"CASE.py", b"case.py", b"a" * 251 + b".py"),
    "\u6f22".encode() * 84 + b".p",
)
Content = Callable[[random.Random], bytes]


def _noise(luck: random.Random) -> bytes:
    return luck.randbytes(luck.randint(0, 3000))


def _repeated(piece: bytes, most: int, between: bytes = b"") -> Content:
    def make(luck: random.Random) -> bytes:
        times = int(most ** luck.random())
        return piece * times + between + luck.choice((b"", piece[:1] * times))

    return make


def _nested(opening: bytes, closing: bytes, most: int = 30_000) -> Content:
    def make(luck: random.Random) -> bytes:
        depth = int(most ** luck.uniform(0.5, 1))
        return opening * depth + b"x" + closing * luck.choice((depth, 0, depth // 2))

    return make


def _code(luck: random.Random) -> bytes:
    return "".join(f"def f{n}(a, b={n}):\n    return g{n - 1}(a)\n\n" for n in range(luck.randint(1, 60))).encode()


def _cut_text(luck: random.Random) -> bytes:
    text = "class Größe:\n    '''漢字 😀'''\n    def naïve(self): return 'ﬁ'\n" * luck.randint(1, 40)
    encodings = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "gb18030", "shift_jis")
    raw = text.encode(luck.choice(encodings), "replace")
    return raw[: luck.randint(0, len(raw))] + luck.choice((b"", b"\xff", b"\0", b"\xed\xa0\x80"))


def _notebook(luck: random.Random) -> bytes:
    cell: object = {
        "cell_type": luck.choice(("code", "markdown", 5, None)),
        "source": luck.choice(("x = 1", ["a\n", 7], None, {})),
    }
    book: dict[str, object] = {
        "cells": luck.choice(([cell] * luck.randint(0, 50), "x", {"a": cell}, None)),
        "nbformat": luck.choice((4, "4", -1)),
    }
    book["metadata"] = luck.choice(({}, {"kernelspec": {"language": luck.choice(("python", "\x1b[0m", 3))}}, []))
    raw = json.dumps(book).encode()
    return raw[: luck.randint(0, len(raw))] if luck.random() < 0.4 else raw


CONTENTS: tuple[tuple[tuple[str, ...], Content], ...] = (
    ((), _noise),
    ((), _cut_text),
    ((), _nested(b"(", b")")),
    ((), _nested(b"{", b"}")),
    ((), _nested(b"[", b"]")),
    ((), _nested(b"if (a) { ", b" }", 5000)),
    ((), _nested(b"f(", b")")),
    ((), _repeated(b"a", 250_000)),
    ((), _repeated(b"x = 1; ", 30_000)),
    ((), _repeated(b"\0", 100_000, b"def f(): pass\n")),
    ((), _repeated(b"\xef\xbb\xbf", 1000, b"def f(): pass\n")),
    ((), _repeated(b"/*", 50_000)),
    ((), _repeated(b'"', 50_000)),
    ((), _repeated(b"\\\n", 30_000)),
    ((), _repeated(b"\r", 50_000, b"class A {}\r")),
    ((), _repeated(b"<<EOF\n", 20_000)),
    ((), _repeated(b"a.b().", 20_000)),
    ((), _repeated(b"-", 100_000, b"1")),
    ((), lambda luck: b"def " + b"n" * luck.randint(1, 200_000) + b"(): pass\n"),
    ((), _code),
    (("ipynb",), _notebook),
    (("ipynb",), lambda luck: b'{"cells":' * int(30_000 ** luck.random())),
    (("json",), _nested(b"[", b"]", 100_000)),
    (("json",), _nested(b'{"a":', b"}", 50_000)),
    (("html", "xml"), _nested(b"<div>", b"</div>", 30_000)),
    (("html", "xml"), _repeated(b"<!--", 30_000)),
    (("md",), _nested(b"[", b"](x)", 50_000)),
    (("md",), _repeated(b"> ", 50_000, b"# head\n")),
    (("md",), _repeated(b"```\n", 30_000)),
    (("md",), _repeated(b"*a_", 50_000)),
    (("md",), _repeated(b"| a ", 20_000, b"\n|---|\n")),
    (("md", "mdc"), lambda luck: b"---\n" + b"a: &a [*a, " * int(20_000 ** luck.random()) + b"\n---\n# x\n"),
    (
        ("md",),
        lambda luck: b"---\n" + b"  " * luck.randint(0, 3000) + b"- " * luck.randint(0, 3000) + b"x: |\n y\n---\ntext",
    ),
    (("yaml", "toml"), _nested(b"[", b"]", 100_000)),
    (("yaml",), lambda luck: b"".join(b" " * n + b"a:\n" for n in range(luck.randint(1, 500)))),
    (("proto",), _nested(b"message A { ", b"}", 5000)),
)  # (name extensions, a function that makes a content); without extensions, those of any language


def extensions() -> list[str]:
    return sorted({ending for row in languages().values() for ending in row.extensions})


class Grown:
    """A hostile tree, and files outside it that must not be read."""

    def __init__(self, root: Path, outside: Path, luck: random.Random, files: int) -> None:
        self.root, self.luck, self._outside = os.fsencode(root), luck, outside
        self._endings = extensions()
        self._folders = [self.root]
        self.sockets: list[socket.socket] = []
        outside.mkdir(parents=True)
        (outside / "kept.py").write_text(f"def {SECRET}(): pass\n")
        root.mkdir()
        self._grow_folders()
        for number in range(files):
            self._file(number)
        for special in (self._links, self._special, self._sparse, self._locked):
            with contextlib.suppress(OSError):  # a file system that has no such thing
                special()

    def close(self) -> None:
        for one in self.sockets:
            one.close()
        for place, folders, _ in os.walk(self.root):
            for name in folders:
                with contextlib.suppress(OSError):
                    os.chmod(os.path.join(place, name), 0o755)  # noqa: PTH101, PTH118 - names of any bytes

    def _path(self, name: bytes) -> bytes:
        return os.path.join(self.luck.choice(self._folders), name)  # noqa: PTH118 - names of any bytes

    def _grow_folders(self) -> None:
        for name in self.luck.sample(NAMES, 8):
            self._folders.append(os.path.join(self.luck.choice(self._folders), b"d" + name[:200]))  # noqa: PTH118
            os.makedirs(self._folders[-1], exist_ok=True)  # noqa: PTH103
        here = os.open(self.root, os.O_RDONLY)
        try:  # deeper than a path may be long: step by step
            for _ in range(self.luck.choice((0, DEEP, 2000))):
                os.mkdir(b"n" * 60, dir_fd=here)
                below = os.open(b"n" * 60, os.O_RDONLY, dir_fd=here)
                os.close(here)
                here = below
            with os.fdopen(os.open(b"deep.py", os.O_WRONLY | os.O_CREAT, dir_fd=here), "wb") as file:
                file.write(b"def deep(): pass\n")
        finally:
            os.close(here)

    def _file(self, number: int) -> None:
        endings, make = self.luck.choice(CONTENTS)
        ending = self.luck.choice(endings or self._endings)
        name = self.luck.choice(NAMES) if self.luck.random() < 0.3 else f"f{number}.{ending}".encode()
        with contextlib.suppress(IsADirectoryError), open(self._path(name), "wb") as file:  # noqa: PTH123
            file.write(make(self.luck))

    def _links(self) -> None:
        for target in (
            *(b"loop", b".", b"..", b"/", b"/etc/passwd", b"/proc/self/mem", os.fsencode(self._outside), b"nowhere"),
            b"x" * 4000,
        ):
            os.symlink(target, self._path(b"link%d.py" % self.luck.randrange(10**6)))  # noqa: PTH211
        os.symlink(b"loop.py", self._path(b"loop.py"))  # noqa: PTH211
        os.symlink(os.fsencode(self._outside / "kept.py"), os.path.join(self.root, b"out.py"))  # noqa: PTH118, PTH211

    def _special(self) -> None:
        os.mkfifo(self._path(b"pipe.py"))
        one = socket.socket(socket.AF_UNIX)
        self.sockets.append(one)
        with contextlib.suppress(OSError):  # a path too long for a socket
            one.bind(os.path.join(self.root, b"socket.py"))  # noqa: PTH118
        if os.geteuid() == 0:
            for name, device in ((b"zero.py", (1, 5)), (b"random.c", (1, 9)), (b"full.go", (1, 7))):
                os.mknod(self._path(name), 0o20666, os.makedev(*device))

    def _sparse(self) -> None:
        with open(self._path(b"sparse.py"), "wb") as file:  # noqa: PTH123
            file.truncate(1 << 40)
        with open(self._path(b"holes.c"), "wb") as file:  # noqa: PTH123
            file.truncate(200_000)

    def _locked(self) -> None:
        for mode in (0o000, 0o400, 0o100):
            place = self._path(b"locked%o" % mode)
            os.mkdir(place)  # noqa: PTH102
            os.chmod(place, mode)  # noqa: PTH101
        with open(self._path(b"unreadable.py"), "wb") as file:  # noqa: PTH123
            os.fchmod(file.fileno(), 0)


def stir(root: Path, luck: random.Random, ended: threading.Event) -> None:
    """Change the tree until `ended` is set: files grow, shrink, vanish, come back, and become folders or links."""
    number = 0
    folder = root / "stirred"
    while not ended.is_set():
        number += 1
        path = folder / f"s{number % 30}.py"
        with contextlib.suppress(OSError):
            folder.mkdir(exist_ok=True)
            change = luck.randrange(7)
            if change < 3:
                path.write_bytes(b"def stirred(): pass\n" * luck.randrange(2000))
            elif change == 3:
                path.unlink(missing_ok=True)
            elif change == 4:
                os.truncate(path, luck.randrange(2000))
            elif change == 5:
                path.rename(folder / f"s{luck.randrange(30)}.py")
            else:
                shutil.rmtree(folder, ignore_errors=True)
        ended.wait(0.002)


def questions(luck: random.Random) -> Sequence[tuple[str, ...]]:
    """Questions about such a tree, in forms that print names and contents."""
    form = luck.choice(((), ("--json",), ("--vimgrep",), ("-l",), ("-c",), ("--csv",), ("--markdown",), ("--sarif",)))
    return (
        ("search", *form, luck.choice(("def", "x", "class", "漢字", "red", SECRET, "a b c", '"return"'))),
        luck.choice((("status", "--skipped"), ("files", "py"), ("map",), ("graph", "export"), ("note", "list"))),
        luck.choice((("why", "f1"), ("context", "change f1"), ("impact", "f1"), ("refs", "f1"), ("symbols", "f1.py"))),
    )


def run(count: int, seed: int, folder: Path, report: Report) -> None:
    """`count` files, in trees of some hundred; each tree is an attempt."""
    if sys.platform == "win32":
        report.note("skipped: such names and files are of Unix")
        return
    number = seed
    while report.tried < count:
        files = min(FILES_A_TREE, count - report.tried)
        with report.attempt(number, tries=files):
            _attempt(folder / str(number), random.Random(number), files, report)
        subprocess.run(["rm", "-rf", str(folder / str(number))], check=True)  # Python's own recurses once a folder
        number += 1


def _attempt(folder: Path, luck: random.Random, files: int, report: Report) -> None:
    folder.mkdir()
    grown = Grown(folder / "tree", folder / "outside", luck, files)
    program = Program(folder / "home", LIMITS)
    program.home.mkdir()
    index, root = folder / "at/index.db", folder / "tree"
    index.parent.mkdir()
    where = ("--db", str(index))
    ended = threading.Event()
    stirring = threading.Thread(target=stir, args=(root, random.Random(luck.random()), ended))
    try:
        before = listed(folder)
        ran = program.run("index", str(root), *where, "--json", cwd=folder, codes=(0,))
        _accounted(ran, report)
        unchanged(before, folder, [index.parent, program.home])
        stirring.start()
        program.run("index", str(root), *where, cwd=folder, codes=(0,))
        for question in questions(luck):
            answer = program.run(*question, *where, cwd=root, codes=(0, 1, 2))
            expect(
                SECRET not in answer.out.decode("utf-8", "replace") or SECRET in question,
                f"read outside of the root: {answer}",
            )
    finally:
        ended.set()
        if stirring.is_alive():
            stirring.join()
        grown.close()
    program.run("index", str(root), *where, cwd=folder, codes=(0,))
    found = program.run("search", *where, "-F", "-l", f"def {SECRET}", cwd=root, codes=(0, 1))
    expect(found.code == 1, f"a link out of the root was followed: {found.out!r}")


def _accounted(ran: CommandRun, report: Report) -> None:
    """Files seen are those indexed and those skipped, each with a reason; no fault is an exception of Python's."""
    for repository in json.loads(ran.out)["repositories"]:
        skipped = sum(repository["skipped"].values())
        expect(
            repository["seen"] == repository["indexed"] + skipped,
            f"seen {repository['seen']}, indexed {repository['indexed']}, skipped {skipped}",
        )
        report.counts.update(repository["skipped"])
        report.counts["indexed"] += repository["indexed"]
        wrong = {path: fault for path, fault in repository["faults"].items() if "Error" in fault or "crashed" in fault}
        expect(not wrong, f"a file broke its worker: {dict(list(wrong.items())[:3])}")


CAMPAIGNS = (
    Campaign("hostile-trees", run, 10_000, "files of hostile names, kinds and contents, some changing meanwhile"),
)

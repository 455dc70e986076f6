"""Damaged index files: every answer must be that of the whole file, or exit code 3 with the command that mends it.

python -m tools.faults.damage [--count N] [--seed S] [--out FILE.json]
"""

from __future__ import annotations

import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from codelens.processes.python import build_codelens_command
from tools.campaign import ROOT, Campaign, Report, expect, main
from tools.program import split_commands

PAGE = 4096
INDEX_EVERY, PROCESS_EVERY = 10, 50
"""Every so many damaged files, one also goes through `codelens index`, which takes seconds, or through new processes. Chosen."""
COMMANDS = split_commands(
    "search 'how is the discount computed' --json; search password --mode keyword; search 'price of an order' --mode vector;"
    "search discuont --mode fuzzy; search -F return -n; search --regex 'def [a-z]+' -l; why 'place order' --json;"
    "symbols notes/auth.py; refs Calculate; callers Calculate; files order; context 'change how discounts are applied'; map;"
    "snapshot list --json; status --json"
)
LASTING = COMMANDS[:13]  # Commands whose output is the same for a rebuilt index
UNFORESEEN = ("Traceback", "--debug", "Exception ignored")


class _Kept(io.BytesIO):
    """A buffer that can still be read when a command has closed it."""

    def close(self) -> None:
        pass


class Said(NamedTuple):
    """How a command ended, and what it printed."""

    code: int
    out: bytes
    err: str


class Base(NamedTuple):
    """An intact index as files by suffix, and each command's answer for it."""

    files: Mapping[str, bytes]
    answers: Mapping[tuple[str, ...], tuple[Said, ...]]
    """Command → its correct answers: several, since a truncated log holds an earlier state."""


def run(count: int, seed: int, folder: Path, report: Report) -> None:
    """Run every command on `count` damaged files in this process, some in a new process, some with an index run after it."""
    with isolate(folder):
        tree, rest, logged = _made(folder)
        for number in range(seed, seed + count):
            rng = random.Random(number)
            kind = rng.choice(sorted(KINDS))
            base = logged if kind in LOGGED else rest
            files = KINDS[kind](rng, dict(base.files))
            report.counts[kind] += 1
            with report.attempt(number):
                _attempt(kind, tree, base, files, rng, report)


def _attempt(kind: str, tree: Path, base: Base, files: Mapping[str, bytes], rng: random.Random, report: Report) -> None:
    lay = _layer(tree, files)
    lay()
    bad = [fault for command in COMMANDS if (fault := _wrong(ask(tree, command), base.answers[command], command))]
    expect(not bad, f"{kind}: {bad[0] if bad else ''} ({len(bad)} of {len(COMMANDS)} commands)")
    checked = ask(tree, ("doctor", "--check"))
    expect(checked.code in (0, 3) and not _unforeseen(checked), f"{kind}: doctor --check {_short(checked)}")
    report.counts[f"doctor --check {checked.code}"] += 1
    if rng.randrange(PROCESS_EVERY) == 0:
        lay()
        for command in rng.sample(COMMANDS, 3):
            fault = _wrong(_process(tree, command), base.answers[command], command)
            expect(not fault, f"{kind}, as a process: {fault}")
        report.counts["processes"] += 3
    if rng.randrange(INDEX_EVERY) == 0:
        lay()
        ran = ask(tree, ("index", "--json"))
        expect(ran.code == 0 and not _unforeseen(ran), f"{kind}: index {_short(ran)}")
        rebuilt = b'"rebuilt"' in ran.out
        report.counts[f"index: {'rebuilt' if rebuilt else 'updated'}"] += 1
        expect(not rebuilt or "rebuilt" in ran.err, f"{kind}: index does not say that it rebuilt")
        for command in LASTING:
            answer = ask(tree, command)
            expect(
                any(
                    (answer.code, _timeless(answer)) == (right.code, _timeless(right))
                    for right in base.answers[command]
                ),
                f"{kind}: after index, {command}: {_short(answer)}",
            )
        checked = ask(tree, ("doctor", "--check", "full"))
        expect(checked.code == 0, f"{kind}: after index, doctor --check full {_short(checked)}")


def _timeless(ran: Said) -> bytes:
    """The output of a command without the moment of the last run."""
    return re.sub(rb'"indexed_at":"[^"]*"', b"", ran.out)


def _wrong(ran: Said, right: tuple[Said, ...], command: tuple[str, ...]) -> str:
    if _unforeseen(ran):
        return f"{command}: {_short(ran)}"
    if ran.code == 3 and "codelens index" in ran.err:
        return ""
    return "" if any((ran.code, ran.out) == (r.code, r.out) for r in right) else f"{command}: {_short(ran)}"


def _unforeseen(ran: Said) -> bool:
    return any(sign in ran.err for sign in UNFORESEEN)


def _short(ran: Said) -> str:
    return f"ended with {ran.code}; stdout {ran.out[:200]!r}; stderr {ran.err[-500:]}"


# The whole index


def _made(folder: Path) -> tuple[Path, Base, Base]:
    """(tree, an index at rest, one that a killed writer left in WAL mode). Both were updated after they were built."""
    tree = folder / "tree"
    for name in ("notes", "shop"):
        shutil.copytree(ROOT / "sample_repos" / name / "repo", tree, dirs_exist_ok=True)
    (tree / "notes").mkdir(exist_ok=True)
    text = 'def check(password):\n    """Checks a password."""\n    return bool(password)\n'
    (tree / "notes/auth.py").write_text(text)
    git = ["git", "-C", str(tree), "-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"]):
        subprocess.run([*git, *command], check=True)
    first = ask(tree, ("index", "-q"))
    expect(first.code == 0, _short(first))
    (tree / "late.py").write_text("def come_late(price):\n    return check(price)\n")
    expect(ask(tree, ("index", "-q")).code == 0, "the update failed")
    whole = {"": _index(tree).read_bytes()}
    answers = {command: (ask(tree, command),) for command in COMMANDS}
    codes = {command: runs[0].code for command, runs in answers.items() if runs[0].code not in (0, 1)}
    expect(not codes, f"of a whole index: {codes}")
    return tree, Base(whole, answers), _logged(tree, answers)


def _logged(tree: Path, before: Mapping[tuple[str, ...], tuple[Said, ...]]) -> Base:
    """The index with a log that holds one more commit, which `symbols` and `search` show."""
    from codelens.store.connection import open_writer, switch_to_wal

    index = _index(tree)
    with closing(open_writer(index)[0]) as connection:
        switch_to_wal(connection)
        connection.execute("UPDATE units SET signature = signature || ' # late'").fetchall()
        beside = {s: index.with_name(index.name + s).read_bytes() for s in ("", "-wal")}
        after = {command: ask(tree, command) for command in COMMANDS}
    return Base(beside, {command: (*before[command], after[command]) for command in COMMANDS})


# Damage: (random numbers, files by suffix) → the damaged files

Files = dict[str, bytes]


def _in_main(change: Callable[[random.Random, bytearray], Any]) -> Callable[[random.Random, Files], Files]:
    def damaged(rng: random.Random, files: Files) -> Files:
        content = bytearray(files[""])
        change(rng, content)
        return files | {"": bytes(content)}

    return damaged


def _flip(rng: random.Random, content: bytearray) -> None:
    for _ in range(rng.choice((1, 1, 2, 8, 64))):
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)


def _overwrite(rng: random.Random, content: bytearray) -> None:
    at, length = rng.randrange(len(content)), rng.choice((1, 2, 16, 300, 5000, 50_000))
    fill = rng.choice((rng.randbytes(length), bytes(length), b"\xff" * length))
    content[at : at + length] = fill[: len(content) - at]


def _place(rng: random.Random, content: bytearray) -> slice:
    at = rng.randrange(len(content) // PAGE) * PAGE
    return slice(at, at + PAGE)


def _blank(rng: random.Random, content: bytearray) -> None:
    content[_place(rng, content)] = rng.choice((bytes(PAGE), b"\xff" * PAGE, rng.randbytes(PAGE)))


def _swap(rng: random.Random, content: bytearray) -> None:
    one, other = _place(rng, content), _place(rng, content)
    content[one], content[other] = content[other], content[one]


def _duplicate(rng: random.Random, content: bytearray) -> None:
    content[_place(rng, content)] = content[_place(rng, content)]


def _truncate(rng: random.Random, content: bytearray) -> None:
    length = rng.randrange(len(content))
    del content[length - length % rng.choice((1, PAGE)) :]


def _grow(rng: random.Random, content: bytearray) -> None:
    noise = rng.randbytes(rng.randrange(1, 3 * PAGE))
    content += rng.choice((bytes(PAGE), noise, bytes(content[_place(rng, content)])))


def _shift(rng: random.Random, content: bytearray) -> None:
    at = rng.randrange(len(content))
    if rng.random() < 0.5:
        del content[at : at + rng.randrange(1, PAGE)]
    else:
        content[at:at] = rng.randbytes(rng.randrange(1, PAGE))


HEADER = (
    *((16, 2), (18, 1), (19, 1), (20, 1), (21, 1), (24, 4), (28, 4), (32, 4), (36, 4), (40, 4), (44, 4), (56, 4)),
    *((60, 4), (68, 4), (92, 4)),
)  # Place and length of its fields (https://www.sqlite.org/fileformat.html#the_database_header)


def _header(rng: random.Random, content: bytearray) -> None:
    at, length = rng.choice(HEADER)
    old = int.from_bytes(content[at : at + length], "big")
    new = rng.choice((0, 1, old + 1, old - 1, old * 2, rng.getrandbits(8 * length), (1 << 8 * length) - 1))
    content[at : at + length] = (new % (1 << 8 * length)).to_bytes(length, "big")


JOURNAL = bytes.fromhex("d9d505f920a163d7")


def _journal(rng: random.Random, files: Files) -> Files:
    heads = (b"", b"\0", JOURNAL, JOURNAL + (1).to_bytes(4, "big"))
    return files | {"-journal": rng.choice(heads) + rng.randbytes(rng.choice((0, 1, 512, 20_000)))}


def _strange_log(rng: random.Random, files: Files) -> Files:
    log = rng.choice((b"", bytes(32), rng.randbytes(40_000), bytes.fromhex("377f0682002de218") + rng.randbytes(20_000)))
    return files | {"-wal": log} | ({"-shm": rng.randbytes(32_768)} if rng.random() < 0.5 else {})


def _log(rng: random.Random, files: Files) -> Files:
    log = bytearray(files["-wal"])
    rng.choice((_flip, _overwrite, _truncate, lambda *_: None))(rng, log)
    return files | {"-wal": bytes(log)}


KINDS: dict[str, Callable[[random.Random, Files], Files]] = {
    "bits": _in_main(_flip),
    "bytes": _in_main(_overwrite),
    "page": _in_main(_blank),
    "swapped pages": _in_main(_swap),
    "duplicated page": _in_main(_duplicate),
    "truncated": _in_main(_truncate),
    "grown": _in_main(_grow),
    "shifted": _in_main(_shift),
    "header": _in_main(_header),
    "added journal": _journal,
    "added foreign log": _strange_log,
    "log": _log,
    "log, and bits": lambda rng, files: _in_main(_flip)(rng, files),
}
LOGGED = {"log", "log, and bits"}


# Commands


def _index(tree: Path) -> Path:
    return tree / ".codelens/index.db"


def _layer(tree: Path, files: Mapping[str, bytes]) -> Callable[[], None]:
    """Replace the existing files with these."""

    def lay() -> None:
        for old in _index(tree).parent.glob("index.db*"):
            old.unlink()
        for suffix, content in files.items():
            _index(tree).with_name("index.db" + suffix).write_bytes(content)

    return lay


@contextmanager
def isolate(folder: Path) -> Iterator[None]:
    """Set up an empty home, and restore the working directory afterwards."""
    kept, here = dict(os.environ), Path.cwd()
    os.environ.update({"HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", "COLUMNS": "100"})
    for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        os.environ[name] = str(folder / name)
    try:
        yield
    finally:
        os.chdir(here)
        os.environ.clear()
        os.environ.update(kept)


def ask(tree: Path, command: tuple[str, ...]) -> Said:
    """Run a command in this process, as its entry point does."""
    from codelens.cli.main import main as codelens

    os.chdir(tree)
    out, err, streams = _Kept(), _Kept(), (sys.stdout, sys.stderr)
    sys.stdout, sys.stderr = io.TextIOWrapper(out, encoding="utf-8"), io.TextIOWrapper(err, encoding="utf-8")
    try:
        code = codelens(list(command))
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        sys.stdout, sys.stderr = streams
    return _plain(Said(code, out.getvalue(), err.getvalue().decode("utf-8", "replace")), command)


def _process(tree: Path, command: tuple[str, ...]) -> Said:
    ran = subprocess.run([*build_codelens_command(), *command], cwd=tree, capture_output=True, check=False)
    return _plain(Said(ran.returncode, ran.stdout, ran.stderr.decode("utf-8", "replace")), command)


def _plain(ran: Said, command: tuple[str, ...]) -> Said:
    """The output without the size and mode of the file, which damage may change without harm."""
    if command[0] != "status" or not ran.out:
        return ran
    record = json.loads(ran.out)
    for name in ("file_bytes", "journal_mode", "tables"):
        record.pop(name, None)
    return ran._replace(out=json.dumps(record).encode())


CAMPAIGNS = (Campaign("damaged-files", run, 400, "an index with bits, pages, its header or its log damaged"),)

if __name__ == "__main__":
    sys.exit(main("tools.faults.damage", CAMPAIGNS))

"""The worth of page checksums: wrong answers of damaged indexes, with them or with SQLite's checks alone.

    python -m tools.faults.layers [--count N] [--without-checksums]

Without checksums, connections set `cell_size_check`, and `quick_check` replaces the check of all pages in `codelens index`
and `codelens doctor`. The hashes of texts and the counts are compared in both.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw

from codelens.indexing import build
from codelens.store import checksums, connection
from tools.faults import damage

COLUMNS = ("files", "answers", "silent", "told", "other", "updates", "wrong after")
INDEX_EVERY = 3  # Of so many damaged files, one also goes through `codelens index`


def check_by_sqlite(path: Path) -> Iterator[str]:
    """Find faults as SQLite's quick check does; yields messages."""
    try:
        with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as plain:
            yield from (text for (text,) in plain.execute("PRAGMA quick_check(1)") if text != "ok")
    except apsw.Error as fault:
        yield str(fault)


def leave_out_checksums() -> None:
    """Make codelens in this process open and check files with what SQLite offers."""
    prepare = connection._prepare_connection

    def prepare_strictly(opened: apsw.Connection, *more: Any) -> apsw.Connection:
        opened.execute("PRAGMA cell_size_check = ON").fetchall()
        return prepare(opened, *more)

    connection._prepare_connection = prepare_strictly  # type: ignore[assignment]
    for module in (checksums, connection):
        module.find_vfs = lambda path: None  # type: ignore[attr-defined]
    for module in (checksums, build):
        module.find_file_faults = check_by_sqlite  # type: ignore[attr-defined]
    build.has_checksums = lambda path: True  # type: ignore[attr-defined]


def count_answers(count: int, folder: Path) -> dict[str, Counter[str]]:
    """Damage `count` files, each kind in turn; returns the counts of each kind."""
    counts = {kind: Counter[str]() for kind in sorted(damage.KINDS)}
    with damage.isolate(folder):
        tree, rest, logged = damage._made(folder)
        for number in range(count):
            luck = random.Random(number)
            kind = list(counts)[number % len(counts)]
            base = logged if kind in damage.LOGGED else rest
            lay = damage._layer(tree, damage.KINDS[kind](luck, dict(base.files)))
            lay()
            counts[kind].update(["files"])
            for command in damage.COMMANDS:
                counts[kind].update(["answers", _judge(damage.ask(tree, command), base, command)])
            if number % INDEX_EVERY == 0:
                lay()
                damage.ask(tree, ("index", "--json"))
                counts[kind].update(["updates", *["wrong after"] * _is_wrong_after_update(tree, base)])
    return counts


def _judge(ran: damage.Said, base: damage.Base, command: tuple[str, ...]) -> str:
    if damage._wrong(ran, base.answers[command], command):
        return "silent" if ran.code in (0, 1) and not damage._unforeseen(ran) else "other"
    return "told" if ran.code == 3 else "right"


def _is_wrong_after_update(tree: Path, base: damage.Base) -> bool:
    for command in damage.LASTING:
        answer = damage.ask(tree, command)
        given = answer.code, damage._timeless(answer)
        if given not in [(right.code, damage._timeless(right)) for right in base.answers[command]]:
            return True
    return False


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.faults.layers", description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=130, help="damaged files (default 130)")
    parser.add_argument("--without-checksums", action="store_true", help="with SQLite's checks alone")
    options = parser.parse_args(arguments)
    if options.without_checksums:
        leave_out_checksums()
    with tempfile.TemporaryDirectory() as folder:
        counts = count_answers(options.count, Path(folder))
    print(f"{'kind':20}", *(f"{column:>11}" for column in COLUMNS))
    total = Counter[str]()
    for kind, of_kind in counts.items():
        total += of_kind
        print(f"{kind:20}", *(f"{of_kind[column]:11}" for column in COLUMNS))
    print(f"{'all':20}", *(f"{total[column]:11}" for column in COLUMNS))
    return 0


if __name__ == "__main__":
    sys.exit(main())

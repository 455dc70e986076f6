"""Readers during a write, which see the state before or after it, and pairs of writers, of which the second exits with 5."""

from __future__ import annotations

import random
import shutil
import sys
from pathlib import Path

from tests.dump import dump
from tools.campaign import Campaign, Report, expect
from tools.faults.kills import Running, finish, index_command, index_files, start, write_tree

READERS = (["search", "--json", "task"], ["status", "--json"], ["symbols", "part0/module0.py"], ["files", "module"])


class Place:
    """A tree whose files all change between two versions, and its index in each of them."""

    def __init__(self, folder: Path) -> None:
        self.home, self.root, self.index, self.old = (folder / n for n in ("home", "tree", "at/index.db", "old.db"))
        for new in (self.home, self.index.parent):
            new.mkdir(parents=True)
        write_tree(self.root, 1)
        finish(self.index, self.root, self.home)
        shutil.copy2(self.index, self.old)
        write_tree(self.root, 2)
        finish(self.index, self.root, self.home)
        self.new = dump(self.index)

    def writer(self, luck: random.Random) -> Running:
        """Start an index run."""
        run = start(index_command(self.index, self.root, *luck.choice(((), ("--rebuild",), ("--force",)))), self.home)
        for _ in range(luck.randrange(1, 20)):
            if not run.hear():
                break
        return run

    def reset(self) -> None:
        shutil.rmtree(self.index.parent)
        self.index.parent.mkdir()
        shutil.copy2(self.old, self.index)

    def settled(self) -> None:
        """Check that after a last, undisturbed run the index has the new state and no leftover files."""
        finish(self.index, self.root, self.home)
        expect(dump(self.index) == self.new, "the index differs from that of a writer that was alone")
        expect(index_files(self.index) == ["index.db"], f"files left next to the index: {index_files(self.index)}")


def readers(count: int, seed: int, folder: Path, report: Report) -> None:
    """Make at least `count` reads; an attempt is one writer, with reads until it ends."""
    if sys.platform != "linux":
        report.note("skipped: it forks")
        return
    place, number = Place(folder), seed
    while report.tried < count:
        luck = random.Random(number)
        with report.attempt(number, tries=0):
            place.reset()
            writer, readings = place.writer(luck), list[Running]()
            for _ in range(luck.randint(3, 12)):
                readings.append(start([*luck.choice(READERS), "--db", str(place.index)], place.home))
                report.tried += 1
            for reading in readings:
                code = reading.end()
                report.counts[f"reader, exit {code}"] += 1
                expect(code == 0, f"a reader ended with {code}: {reading.messages}")
            code = writer.end()
            report.counts[f"writer, exit {code}"] += 1
            # A rebuild gives way to readers that hold the old file.
            expect(
                code == 0 or (code == 5 and "readers hold" in str(writer.messages)),
                f"the writer ended with {code}: {writer.messages}",
            )
            place.settled()
        number += 1


def writers(count: int, seed: int, folder: Path, report: Report) -> None:
    """Start pairs of writers: while the first writes, the second reports who holds the index."""
    if sys.platform != "linux":
        report.note("skipped: it forks")
        return
    place = Place(folder)
    for number in range(seed, seed + count):
        luck = random.Random(number)
        with report.attempt(number):
            place.reset()
            first, second = place.writer(luck), place.writer(luck)
            codes = second.end(), first.end()
            report.counts[f"exits {codes}"] += 1
            messages = f"{first.messages} {second.messages}"
            expect(codes in ((5, 0), (0, 0), (0, 5)), f"two writers ended with {codes}: {messages}")
            busy = first if codes[1] == 5 else second
            if 5 in codes:
                other = second.pid if busy is first else first.pid
                expect(
                    str(other) in busy.messages[0] or "unknown" in busy.messages[0],
                    f"the one that is busy is not named: {busy.messages}",
                )
            place.settled()


CAMPAIGNS = (
    Campaign("readers-beside", readers, 1000, "reads during a write"),
    Campaign("two-writers", writers, 100, "pairs of writers"),
)

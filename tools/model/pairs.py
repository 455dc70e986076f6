"""Mine the pairs of a folder of trees, one file per package: `python -m tools.model.pairs TREES OUT`.

Each tree is mined in its own process, because a grammar may crash or hang: that costs one package and is reported. Packages
with a file are skipped, so the command resumes where it was interrupted.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from codelens.config import Settings
from codelens.indexing.files import ReadText, read_text
from codelens.model.code import SeenFile
from codelens.processes.python import start
from codelens.text.identifiers import fold_identifier
from codelens.training.mining import MAX_FILE, mine_tree
from codelens.worktree.walk import walk_tree
from codelens.zstd import zstd

ENDING = ".jsonl.zst"
Record = dict[str, Any]  # kind, query, name, context, signature, body, language, path, line


def read_pairs(file: Path) -> Iterator[Record]:
    """The records of one package's file, in its order."""
    for line in zstd.decompress(file.read_bytes()).split(b"\n"):
        if line:
            yield json.loads(line)


def write_pairs(file: Path, records: Iterable[Record]) -> None:
    """Records as JSON lines, compressed; the file is there as a whole or not at all."""
    lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    partial = file.with_suffix(".partial")
    partial.write_bytes(zstd.compress(lines.encode("utf-8", "replace"), 6))
    partial.replace(file)


SECONDS = 1200  # Wall time of one tree. The bytes that are read of it take a tenth of this.


def main(arguments: list[str] | None = None) -> int:
    """Mine all trees, or one. Returns the number of trees that failed, at most 1 as an exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.model.pairs", description=__doc__)
    parser.add_argument("trees", type=Path, help="a folder that holds a folder for each package")
    parser.add_argument("out", type=Path)
    parser.add_argument("--against", type=Path, nargs="*", default=[], help="trees whose files must not be learnt from")
    parser.add_argument("--excluded", type=Path, help="a file of names; folders of such a name give no pairs")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--one", action="store_true", help="`trees` is one package's tree, `out` the file to write")
    given = parser.parse_args(arguments)
    held_out = (given.out.parent if given.one else given.out) / "held-out.json"
    if given.one:
        hashes, names = json.loads(held_out.read_text())
        write_tree(given.trees, given.out, {bytes.fromhex(h) for h in hashes}, frozenset(names))
        return 0
    given.out.mkdir(parents=True, exist_ok=True)
    names = excluded_names(given.excluded) if given.excluded else []
    held_out.write_text(json.dumps([sorted({h.hex() for tree in given.against for h in file_hashes(tree)}), names]))
    trees = [t for t in sorted(given.trees.iterdir()) if t.is_dir() and not (given.out / (t.name + ENDING)).exists()]
    with ThreadPoolExecutor(given.jobs) as pool:
        failed = sum(pool.map(lambda tree: _mined_apart(tree, given.out / (tree.name + ENDING)), trees))
    print(f"{len(trees)} trees, {failed} failed", file=sys.stderr)
    return min(failed, 1)


def excluded_names(path: Path) -> list[str]:
    """The folded names in a file of names: lines of words, comments after #, 'owner/name' in brackets left out."""
    lines = (line.partition("#")[0] for line in path.read_text(encoding="utf-8").splitlines())
    return sorted({fold_identifier(word) for line in lines for word in line.split() if "/" not in word})


def file_hashes(tree: Path) -> Iterator[bytes]:
    """The content hash of each text of a tree."""
    settings = Settings(no_ignore=True, max_file_size=MAX_FILE)
    for seen in walk_tree(tree, settings):
        if isinstance(seen, SeenFile):
            read = read_text(tree, seen, settings)
            if isinstance(read, ReadText):
                yield read.content_hash


def _mined_apart(tree: Path, out: Path) -> bool:
    """Mine a tree in its own process; report and return True if that failed."""
    arguments = ("--one", str(tree.absolute()), str(out.absolute()))
    with start("tools.model.pairs:main", *arguments, stderr=subprocess.PIPE) as process:
        try:
            errors = process.communicate(timeout=SECONDS)[1].decode("utf-8", "replace")
            fault = f"exit code {process.returncode}: {errors[-300:]}" if process.returncode else ""
        except subprocess.TimeoutExpired:
            process.kill()
            fault = f"over {SECONDS} s"
    if fault:
        print(f"{tree.name}: {fault}", file=sys.stderr)
    return bool(fault)


def write_tree(tree: Path, out: Path, known: Iterable[bytes] = (), excluded: Iterable[str] = ()) -> None:
    """Write the pairs of one tree as JSON lines, and counts of what was left out to <name>.counts.json."""
    counts: Counter[str] = Counter()
    pairs = mine_tree(tree, frozenset(known), frozenset(excluded), counts)
    counts.update(f"{pair.kind} {pair.language}" for pair in pairs)
    counts_file = out.with_name(out.name.removesuffix(ENDING) + ".counts.json")
    counts_file.write_text(json.dumps(dict(sorted(counts.items())), indent=1))
    write_pairs(out, (pair.make_record() for pair in pairs))


if __name__ == "__main__":
    sys.exit(main())

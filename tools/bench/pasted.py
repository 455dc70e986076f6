"""Measure how often a pasted message or line of code is found first: `python -m tools.bench.pasted [--count N] [-v] INDEX...`.

Messages are texts in quotes of four words or more, and lines have three words and code around them. Both are sampled by hash from
indexed files that are not tests; a text that occurs on two lines of its repository is left out.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import xxhash

from codelens.config import Settings
from codelens.index import Index
from codelens.model.request import SearchOptions
from codelens.model.search import SearchResult

MESSAGE = re.compile(r"""(?<!\w)(["'])((?:[^"'\\`{}<>%$]|(?<=\w)'(?=\w)){24,90})\1""")
PROSE = ("markdown", "text", "restructuredtext", "json", "yaml", "toml", "html", "css", "xml")
COMMENT = 3  # Lines of a comment above a definition
Draw = Callable[[str], Iterator[str]]


def messages(line: str) -> Iterator[str]:
    """The messages of a line: texts in quotes, most of whose words are words."""
    for found in MESSAGE.finditer(line):
        words = found[2].split()
        if len(words) >= 4 and sum(bool(re.fullmatch(r"[A-Za-z][a-z']*[,.:;!?]?", word)) for word in words) >= 4:
            yield found[2].strip()


def code_lines(line: str) -> Iterator[str]:
    """The line, if it is code with three words."""
    text = line.strip()
    looks_like_code = re.match(r"\w", text) and re.search(r"[(=]", text)
    if 25 <= len(text) <= 120 and looks_like_code and len(re.findall(r"[A-Za-z_]{3,}", text)) >= 3:
        yield text


def sample(index: Index, draw: Draw, count: int) -> list[tuple[str, str, int]]:
    """(text, path, line) of texts that occur once."""
    places: dict[str, tuple[str, int]] = {}
    seen: Counter[str] = Counter()
    for file in index.list_files(SearchOptions()):
        is_code = file.language not in PROSE and not {"test", "docs", "vendored", "generated"} & set(file.roles)
        for number, line in enumerate(index.read_source(file.path, file.repository).lines, start=1):
            for text in draw(line):
                seen[text] += 1
                if is_code:
                    places[text] = (file.path, number)
    once = (text for text in places if seen[text] == 1)
    single = sorted(once, key=lambda text: (xxhash.xxh3_64_intdigest(text.encode()), text))
    return [(text, *places[text]) for text in single[:count]]


def is_first(result: SearchResult, path: str, line: int) -> bool:
    """True if the first hit is around the line, or begins just below it, as after a comment."""
    return bool(result.hits) and any(
        hit.unit.path == path and hit.unit.start_line - COMMENT <= line <= hit.unit.end_line for hit in result.hits[:1]
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """A row for each index, and the totals."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.pasted", description=__doc__)
    parser.add_argument("indexes", nargs="+", type=Path, metavar="INDEX")
    parser.add_argument("--count", type=int, default=5, help="texts of each kind from each index")
    parser.add_argument("-v", action="store_true", help="list the texts that are not found first")
    options = parser.parse_args(arguments)
    print("| index | messages | first | lines | first |\n|---|---:|---:|---:|---:|")
    totals = [0, 0, 0, 0]
    for path in options.indexes:
        with Index.open(path, Settings()) as index:
            row: list[int] = []
            for draw in (messages, code_lines):
                texts = sample(index, draw, options.count)
                missed = [t for t in texts if not is_first(index.search(t[0], SearchOptions(limit=1)), *t[1:])]
                row += [len(texts), len(texts) - len(missed)]
                if options.v:
                    print(*(f"{place}:{line}: {text}" for text, place, line in missed), sep="\n")
        totals = [a + b for a, b in zip(totals, row, strict=True)]
        print(f"| {path.stem} | {' | '.join(map(str, row))} |")
    print(f"| all | {' | '.join(map(str, totals))} |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Asks codelens and ripgrep the same questions about indexed trees: `python -m tools.ripgrep [--queries N] TREE …`.

The queries are made from each tree's own text, always the same for the same tree. Output and exit codes must be equal byte for
byte, in the order of codelens. ripgrep gets the files of the index as arguments, so the rules of which files are searched are
compared apart: `files` lists those that only one of the two would search. Needs `rg` on the path.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass
from pathlib import Path

from codelens.cli.main import main as codelens

WORD = re.compile(r"[A-Za-z_]\w{2,}")
LONGEST_LINE = 120  # Characters of lines that queries are cut from
CRLF = "--crlf"
"""Lets `$` match before a carriage return, as it does in codelens. ripgrep then writes "\\r\\n" everywhere, so it is left out."""
MENDED = 14  # The version of ripgrep in which -w finds the whole of a word that a pattern may find in part
SHOWN = 300  # Characters of an output that a difference shows


@dataclass(frozen=True, slots=True)
class Question:
    """One question to both programs: the arguments of each, without paths."""

    ours: tuple[str, ...]
    theirs: tuple[str, ...]


Make = Callable[[], Question]


@dataclass(frozen=True, slots=True)
class Answer:
    """The exit code and the lines on stdout."""

    code: int
    out: bytes


def questions(texts: Sequence[str], count: int, seed: str) -> list[Question]:
    """Questions about a tree with these texts: each form in turn, with words that occur and words that do not."""
    draw = random.Random(seed)
    forms = list(_forms(_Pieces(texts, draw)))
    return [forms[i % len(forms)]() for i in range(count)]


class _Pieces:
    """Words, parts of words and parts of lines of a tree, drawn at random."""

    def __init__(self, texts: Sequence[str], draw: random.Random) -> None:
        self.texts, self.draw = [text for text in texts if WORD.search(text)], draw

    def line(self) -> str:
        """A line with a word in it."""
        while True:
            line = self.draw.choice(self.draw.choice(self.texts).split("\n"))
            if WORD.search(line) and len(line) < LONGEST_LINE:
                return line.rstrip("\r")

    def word(self) -> str:
        """A word as it is written."""
        return str(self.draw.choice(WORD.findall(self.line())))

    def part(self) -> str:
        """Three or more characters from inside a word."""
        word = self.word()
        start = self.draw.randrange(len(word) - 2)
        return word[start : self.draw.randrange(start + 3, len(word) + 1)]

    def phrase(self) -> str:
        """A piece of a line with its punctuation, which starts at a word."""
        line = self.line()
        start = self.draw.choice([found.start() for found in WORD.finditer(line)])
        return line[start : start + self.draw.randrange(4, 24)].rstrip()

    def absent(self) -> str:
        """A word that hardly occurs."""
        return self.word() + self.word()[::-1] + "zq"


def _forms(some: _Pieces) -> Iterator[Make]:
    """Functions that make a question each: a kind of query with the flags that are compared."""

    def literal(*flags: str) -> Make:
        def make() -> Question:
            text = some.draw.choice((some.word, some.part, some.phrase))()
            if "-x" in flags:
                text = some.line()
                return Question(("-F", "-n", *flags, "-e", text), (CRLF, "-F", "-S", "-n", *flags, "-e", text))
            return Question(("-F", "-n", *flags, "-e", text), ("-F", "-S", "-n", *flags, "-e", text))

        return make

    def word(*flags: str) -> Make:
        """A word without -F, as a user types it."""

        def make() -> Question:
            text = some.draw.choice((some.word, some.word, some.part))()
            return Question((*flags, text), ("-F", "-S", *flags, "-e", text))

        return make

    def pattern(source: str, *flags: str) -> Make:
        def make() -> Question:
            filled = source.format(a=re.escape(some.word()), b=re.escape(some.word()), p=re.escape(some.part()))
            return Question(("--regex", "-n", *flags, "-e", filled), (CRLF, "-S", "-n", *flags, "-e", filled))

        return make

    def several(*flags: str) -> Make:
        def make() -> Question:
            asked = [part for text in (some.word(), some.part(), some.phrase()) for part in ("-e", text)]
            return Question(("-F", "-n", *flags, *asked), ("-F", "-S", "-n", *flags, *asked))

        return make

    def absent(*flags: str) -> Make:
        def make() -> Question:
            text = some.absent()
            return Question((*flags, text), ("-F", "-S", *flags, "-e", text))

        return make

    yield from (word("-l"), word("-c"), word("-n"), word("-n", "-w"), word("-l", "-w"), word("-c", "-w"))
    yield from (
        word("-n", "-o"),
        word("-n", "-C2"),
        word("-n", "-A1"),
        word("-n", "-B3"),
        word("-c", "-o"),
        word("-l", "-i"),
    )
    yield from (literal(), literal("-c"), literal("-l"), literal("-w"), literal("-o"), literal("-x"), literal("-C1"))
    yield from (literal("-i"), literal("-s"), literal("--column"), literal("-v", "-c"), literal("-N"), literal("-0"))
    yield from (pattern("{a}"), pattern(r"\b{a}\b"), pattern("{a}|{b}"), pattern(r"{p}\w+", "-o"), pattern(r"{a}\s*\("))
    yield from (
        pattern(r"^\s*{a}"),
        pattern("{a}$"),
        pattern(r"[^a-z]{p}[^a-z]"),
        pattern(r"{a}.*{b}"),
        pattern(r"\w+{p}", "-w", "-o"),
    )
    yield from (
        pattern(r"(?i){a}", "-c"),
        pattern(r"^$", "-c"),
        pattern(r"{p}.", "-o", "-i"),
        pattern(r"[A-Z]\w*{p}", "-l"),
    )
    yield from (several(), several("-c"), several("-o"), several("-l", "-w"), literal("-M", "60"), literal("-I"))
    yield from (
        absent("-l"),
        absent("-n"),
        absent("-c"),
        word("--files-without-match"),
        word("-v", "-l"),
        word("-x", "-n"),
    )


def ask_codelens(arguments: Sequence[str]) -> Answer:
    """Run `codelens search` in this process, in the working directory."""
    captured = io.BytesIO()
    out = io.TextIOWrapper(captured, encoding="utf-8")
    stdout, sys.stdout = sys.stdout, out
    try:
        with redirect_stderr(io.StringIO()):
            code = codelens(["search", "--no-config", *arguments])
        out.flush()
        return Answer(code, captured.getvalue())
    finally:
        sys.stdout = stdout


def ask_ripgrep(arguments: Sequence[str], files: Sequence[str]) -> Answer:
    """Run `rg` over these files in their order, with their names before each line."""
    command = ["rg", "--no-config", "--no-messages", "--text", "-j1", "--color=never", *arguments]
    command += [] if "-I" in arguments else ["-H"]
    ran = subprocess.run([*command, "--", *files], capture_output=True, check=False)
    return Answer(ran.returncode, ran.stdout)


def differences(tree: Path, count: int) -> Iterator[dict[str, object]]:
    """The questions about a tree that the two programs answer differently, with both answers."""
    os.chdir(tree)
    files = ask_codelens(["--files"]).out.decode("utf-8", "surrogateescape").splitlines()
    texts = [Path(file).read_text(encoding="utf-8", errors="replace") for file in files]
    version = subprocess.run(["rg", "--version"], capture_output=True, text=True, check=True).stdout
    old = re.match(r"ripgrep (\d+)", version)
    for question in questions(texts, count, tree.name):
        if old and int(old[1]) < MENDED and "-w" in question.theirs and "-F" not in question.theirs:
            continue
        ours, theirs = ask_codelens(question.ours), ask_ripgrep(question.theirs, files)
        if CRLF in question.theirs:
            ours, theirs = (Answer(a.code, a.out.replace(b"\r\n", b"\n")) for a in (ours, theirs))
        if ours != theirs:
            yield {"ours": question.ours, "theirs": question.theirs} | _first_difference(ours, theirs)


def _first_difference(ours: Answer, theirs: Answer) -> dict[str, object]:
    if ours.code != theirs.code:
        return {
            "codes": [ours.code, theirs.code],
            "out": [ours.out[:SHOWN].decode(errors="replace"), theirs.out[:SHOWN].decode(errors="replace")],
        }
    mine, yours = ours.out.split(b"\n"), theirs.out.split(b"\n")
    only = [list(Counter(a) - Counter(b)) for a, b in ((mine, yours), (yours, mine))]
    return {
        "only": [[line[:SHOWN].decode(errors="replace") for line in lines[:3]] for lines in only],
        "lines": [len(mine), len(yours)],
    }


def files_apart(tree: Path) -> dict[str, list[str]]:
    """The files that only one of the two programs would search, with the reason where codelens leaves one out."""
    os.chdir(tree)
    ours = set(ask_codelens(["--files"]).out.decode("utf-8", "surrogateescape").splitlines())
    found = subprocess.run(["rg", "--no-config", "--files"], capture_output=True, check=False).stdout
    theirs = set(found.decode("utf-8", "surrogateescape").splitlines())
    return {"only codelens": sorted(ours - theirs), "only ripgrep": sorted(theirs - ours)}


def main(arguments: Sequence[str]) -> int:
    """Ask about each tree, which must have an index; exits with 1 if an answer differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trees", nargs="+", type=Path)
    parser.add_argument("--queries", type=int, default=200)
    asked = parser.parse_args(arguments)
    failed = 0
    for tree in [tree.resolve() for tree in asked.trees]:
        apart = files_apart(tree)
        print(f"{tree.name}: files {json.dumps(apart, ensure_ascii=False)}")
        found = list(differences(tree, asked.queries))
        for difference in found:
            print(json.dumps(difference, ensure_ascii=False))
        print(f"{tree.name}: {asked.queries} queries, {len(found)} differ")
        failed += len(found)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

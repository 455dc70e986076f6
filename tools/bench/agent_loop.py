"""Count the calls and tokens until the right place is printed: `python -m tools.bench.agent_loop CLONES WORK [--semble PYTHON]`.

A script stands in for the agent, the same one for each tool: it asks with the description of a task, reads 60 lines around each of
the first three places of which only a line was shown, and asks for more, up to five rounds. A place is right if it is in the
file of the task's symbol, at one of its lines. A token is four characters of what was printed.

The tasks are commits of public repositories: the first line of the message, and the definition that was changed. Each is asked
on the tree before its commit, taken from CLONES, a folder with a clone (bare or not) of each repository by its name.

* search: `codelens search -m 10`, then `--offset`.
* context: `codelens context --budget 2000`, then `--more`.
* ripgrep: a word of the description in each round, those on the fewest lines first; at most 50 lines of each answer. The order of
  the words is a gift: counting the lines costs no call.
* semble: five results, then ten … with their code, since it has no pages. `--semble` is a Python that has it; `--alpha 0` asks it
  without vectors, for machines without its model.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean, median
from typing import NamedTuple

from codelens.config import Settings
from codelens.index import Index
from codelens.processes.python import build_codelens_command

TASKS = Path(__file__).with_name("agent_loop.jsonl")
ROUNDS, READS, BEFORE, AFTER = 5, 3, 20, 40
HITS, BUDGET, LINES, CHUNKS = 10, 2000, 50, 5
STOP_WORDS = """
about add all allow also and any are because before but can cause does don dont ensure fix for from has have how into its
make more not now only should some than that the then there this use using was when which with without would
"""
ASK_SEMBLE = """
import sys
from semble.index import SembleIndex
index, alpha = SembleIndex.from_path("."), float(sys.argv[2]) if sys.argv[2] else None
for top in sys.argv[3:]:
    for hit in index.search(sys.argv[1], top_k=int(top), alpha=alpha):
        chunk = hit.chunk
        print(f"{chunk.file_path}:{chunk.start_line}-{chunk.end_line}\\n\\n{chunk.content}\\n")
    print(end="\\f")
"""
"""Prints the answers to all rounds at once, each with a form feed at its end, since the start takes seconds."""


class Place(NamedTuple):
    """Lines of a file that an answer shows; `whole` if it shows the code, not only where it is."""

    path: str
    first: int
    last: int
    whole: bool = True


class Answer(NamedTuple):
    """The output of one call."""

    text: str
    places: Sequence[Place]


Rounds = Iterator[Answer]
Tool = Callable[[Path, Path, str], Rounds]


def run(arguments: Sequence[str], tree: Path, env: Mapping[str, str] | None = None) -> str:
    """The output of a command in a tree."""
    ran = subprocess.run(arguments, cwd=tree, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return ran.stdout.decode("utf-8", "replace")


def lines_shown(text: str) -> list[Place]:
    """The places of lines PATH:LINE:…"""
    found = re.findall(r"^(?:\./)?([^:\n]+):(\d+):", text, re.MULTILINE)
    return [Place(path, int(line), int(line), whole=False) for path, line in found]


def search(tree: Path, db: Path, query: str) -> Rounds:
    """Pages of ten hits."""
    command = [*build_codelens_command(), "search", "--no-config", "--db", str(db), "-m", str(HITS)]
    for page in range(ROUNDS):
        text = run([*command, "--offset", str(page * HITS), "--", query], tree)
        yield Answer(text, lines_shown(text))


def context(tree: Path, db: Path, query: str) -> Rounds:
    """Parts of a pack."""
    command = [*build_codelens_command(), "context", "--no-config", "--no-cache", "--db", str(db)]
    command += ["--budget", str(BUDGET), "--counter", "chars"]
    rest = ["--", query]
    for _ in range(ROUNDS):
        text = run([*command, *rest], tree)
        bodies = re.findall(r"^## .* · `([^`]+):(\d+)-(\d+)`", text, re.MULTILINE)
        places = [Place(path, int(first), int(last)) for path, first, last in bodies]
        file = ""
        for line in text.partition("\n## Signatures\n\n```\n")[2].split("\n"):
            if number := re.match(r"  (\d+) ", line):
                places.append(Place(file, int(number[1]), int(number[1]), whole=False))
            file = file if number else line
        yield Answer(text, places)
        token = re.search(r"--more (\S+)`\n$", text)
        if not token:
            return
        rest = ["--more", token[1]]


def ripgrep(tree: Path, db: Path, query: str) -> Rounds:
    """A word in each round, the rarest first."""
    words = dict.fromkeys(w for w in re.findall(r"\w{3,}", query.lower()) if w not in STOP_WORDS.split())
    command = ["rg", "--line-number", "--no-heading", "--with-filename", "--ignore-case", "-F", "--sort=path"]
    answers = {word: run([*command, "-e", word, "."], tree).splitlines() for word in words}
    for word in sorted((w for w in words if answers[w]), key=lambda w: len(answers[w]))[:ROUNDS]:
        text = "".join(f"{line}\n" for line in answers[word][:LINES])
        yield Answer(text, lines_shown(text))


def semble_with(python: str, alpha: str) -> Tool:
    """More and more results, with their code."""

    def semble(tree: Path, db: Path, query: str) -> Rounds:
        tops = [str(page * CHUNKS) for page in range(1, ROUNDS + 1)]
        for text in run([python, "-c", ASK_SEMBLE, query, alpha, *tops], tree).split("\f")[:-1]:
            found = re.findall(r"^([^\s:]+):(\d+)-(\d+)\n\n", text, re.MULTILINE)
            yield Answer(text, [Place(path, int(first), int(last)) for path, first, last in found])

    return semble


def read(tree: Path, place: Place) -> Answer:
    """The lines around a place."""
    lines = (tree / place.path).read_text(encoding="utf-8", errors="replace").splitlines()
    first, last = max(1, place.first - BEFORE), min(len(lines), place.last + AFTER)
    text = "".join(f"{n}: {lines[n - 1]}\n" for n in range(first, last + 1))
    return Answer(text, [Place(place.path, first, last)])


def calls(tree: Path, rounds: Rounds) -> Rounds:
    """All answers of the loop in order: a question, then what it led to."""
    seen: list[Place] = []
    for answer in rounds:
        yield answer
        seen += [place for place in answer.places if place.whole]
        left = READS
        for place in (p for p in answer.places if not p.whole):
            known = any(s.path == place.path and s.first <= place.first <= s.last for s in seen)
            if left and not known:
                shown = read(tree, place)
                seen += shown.places
                left -= 1
                yield shown


class Cost(NamedTuple):
    """Calls and tokens of one task."""

    found: bool
    calls: int
    tokens: int


def cost_of(tree: Path, rounds: Rounds, path: str, first: int, last: int) -> Cost:
    """Run the loop until the right place is printed."""
    count = characters = 0
    for answer in calls(tree, rounds):
        count, characters = count + 1, characters + len(answer.text)
        if any(p.path == path and p.first <= last and first <= p.last for p in answer.places):
            return Cost(True, count, characters // 4)
    return Cost(False, count, characters // 4)


def lay_tree(clones: Path, work: Path, task: Mapping[str, str]) -> tuple[Path, Path]:
    """(the tree before the task's commit, its index), both made if they are not in `work` yet."""
    tree, db = work / task["fix"], work / f"{task['fix']}.db"
    if not db.exists():
        tree.mkdir(parents=True, exist_ok=True)
        clone = clones / task["repo"].rpartition("/")[2]
        command = ["git", "-C", str(clone), "archive", f"{task['fix']}^"]
        archive = subprocess.run(command, stdout=subprocess.PIPE, check=True)
        subprocess.run(["tar", "-x", "-C", str(tree)], input=archive.stdout, check=True)
        indexing = [*build_codelens_command(), "index", "-q", "--no-config", "--db", str(db), str(tree)]
        subprocess.run(indexing, check=True)
    return tree, db


def lines_of(db: Path, path: str, symbol: str) -> tuple[int, int]:
    """The first and the last line of a definition."""
    with Index.open(db, Settings()) as index:
        units = [unit for unit in index.symbols(path) if unit.qualified_name == symbol]
    assert units, f"{symbol} is not in {path}"
    return min(u.start_line for u in units), max(u.end_line for u in units)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a row for each tool."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clones", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--semble", metavar="PYTHON")
    parser.add_argument("--only", action="append", help="a tool of the table; may be repeated")
    parser.add_argument("--alpha", default="", help="semble's share of vectors, 0 to 1")
    given = parser.parse_args(arguments)
    tools: dict[str, Tool] = {"codelens search": search, "codelens context": context, "ripgrep": ripgrep}
    if given.semble:
        tools["semble"] = semble_with(given.semble, given.alpha)
    tools = {name: tool for name, tool in tools.items() if name in (given.only or tools)}
    costs: dict[str, list[Cost]] = {name: [] for name in tools}
    for task in map(json.loads, TASKS.read_text(encoding="utf-8").splitlines()):
        tree, db = lay_tree(given.clones.resolve(), given.work.resolve(), task)
        place = (task["path"], *lines_of(db, task["path"], task["symbol"]))
        for name, tool in tools.items():
            costs[name].append(cost_of(tree, tool(tree, db, task["query"]), *place))
        print(task["fix"], *(f"{name} {tuple(costs[name][-1])}" for name in tools), file=sys.stderr)
    print(
        "| tool | found | in the first call | calls, median (mean) | tokens, median (mean) |\n|---|---:|---:|---:|---:|"
    )
    for name, rows in costs.items():
        first = sum(row.found and row.calls == 1 for row in rows)
        called, printed = [row.calls for row in rows], [row.tokens for row in rows]
        counts = f"{median(called):g} ({mean(called):.1f}) | {median(printed):,.0f} ({mean(printed):,.0f})"
        print(f"| {name} | {sum(row.found for row in rows)} of {len(rows)} | {first} | {counts} |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""How complete `codelens refs` is: `python -m tools.bench.references INDEX=TREE … [--names 24] [--seed 1] [--missed 20]`.

Universal Ctags finds the definitions and Pygments the tokens of code, so that neither is ours. Of the names that a tree defines
exactly once, every other line on which Pygments sees the name in code should be listed. A line in a file that lacks the name
should not, and an answer that lacks a line should give a notice.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pygments.lexers import get_lexer_for_filename
from pygments.token import Token
from pygments.util import ClassNotFound

from codelens.errors import TargetError
from codelens.index import Index
from codelens.lang.registry import detect_language, languages
from codelens.model.graph import RelationOptions
from codelens.model.request import SearchOptions

KINDS = {
    **dict.fromkeys(("method", "singletonMethod"), "method"),
    **dict.fromkeys(("constant", "enumerator", "enumConstant", "macro"), "constant"),
    **dict.fromkeys(("class", "struct", "interface", "trait", "enum", "typedef", "type"), "type"),
    **dict.fromkeys(("member", "field", "property"), "field"),
    **dict.fromkeys(("variable", "var"), "variable"),
    "function": "function",
}  # Kind by ctags → kind in the report
NOT_DEFINING = frozenset(
    ("prototype", "unknown", "nameref", "import", "package", "namespace", "module", "alias", "label", "file")
)  # Kinds of ctags that do not count as a second definition; locals and parameters do
LARGEST = 1_000_000
SHORTEST = 3
_NAME = re.compile(r"[A-Za-z_]\w*")
Place = tuple[str, int]


class Drawn(NamedTuple):
    """A name that its tree defines once, and the other lines of code that have it."""

    name: str
    kind: str
    expected: frozenset[Place]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table of kinds, and missed lines."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.references", description=__doc__)
    parser.add_argument("pairs", nargs="+", metavar="INDEX=TREE")
    parser.add_argument("--names", type=int, default=24, help="names drawn from each tree")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--missed", type=int, default=0, help="print so many missed lines")
    options = parser.parse_args(arguments)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    missed = list[str]()
    for pair in options.pairs:
        index_path, _, tree = pair.partition("=")
        with Index.open(Path(index_path)) as index:
            files = frozenset(path for _, path in index.files(SearchOptions()))
            for drawn in draw_names(Path(tree), files, options.names, options.seed):
                missed += judge(index, Path(tree), drawn, counts[drawn.kind])
    print_table(counts)
    random.Random(options.seed).shuffle(missed)
    print("\n".join(missed[: options.missed]))
    return 0


def draw_names(tree: Path, files: frozenset[str], number: int, seed: int) -> list[Drawn]:
    """Names that ctags finds once in a tree, as many of each kind as there are."""
    tokens = lex(tree, files)
    tags = [tag for tag in map(json.loads, _run_ctags(tree)) if tag["path"].removeprefix("./") in files]
    counted = Counter(tag["name"] for tag in tags if tag.get("kind") not in NOT_DEFINING)
    by_kind: dict[str, list[Drawn]] = defaultdict(list)
    for tag in sorted(tags, key=lambda tag: (tag["name"], tag["path"], tag.get("line", 0))):
        kind, place = KINDS.get(tag.get("kind", "")), (tag["path"].removeprefix("./"), tag.get("line", 0))
        lines = tokens.get(tag["name"], frozenset())
        if kind and counted[tag["name"]] == 1 and place in lines and len(lines) > 1 and len(tag["name"]) >= SHORTEST:
            by_kind[kind].append(Drawn(tag["name"], kind, lines - {place}))
    chance, drawn = random.Random(seed), list[Drawn]()
    for kind in sorted(by_kind):
        chance.shuffle(by_kind[kind])
    while len(drawn) < number and any(by_kind.values()):
        drawn += [by_kind[kind].pop() for kind in sorted(by_kind) if by_kind[kind]]
    return drawn[:number]


def _run_ctags(tree: Path) -> Iterator[str]:
    command = ["ctags", "-R", "--output-format=json", "--fields=+nKl", "--kinds-all=*", "-f", "-", "."]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, errors="replace", check=True)
    yield from filter(None, done.stdout.split("\n"))


def lex(tree: Path, files: frozenset[str]) -> Mapping[str, frozenset[Place]]:
    """Name → the lines of code that have it as a token."""
    found: dict[str, set[Place]] = defaultdict(set)
    for relative in sorted(files):
        path = tree / relative
        row = languages().get(detect_language(relative))
        if row is None or not row.grammar or row.prose or not path.is_file() or path.stat().st_size > LARGEST:
            continue
        try:
            lexer = get_lexer_for_filename(relative, stripnl=False, ensurenl=False)
            text = path.read_text("utf-8")
        except (ClassNotFound, UnicodeDecodeError):
            continue
        line = 1
        for kind, value in lexer.get_tokens(text):
            if kind in Token.Name or kind in Token.Keyword.Type:
                for name in _NAME.findall(value):
                    found[name].add((relative, line))
            line += value.count("\n")
    return {name: frozenset(lines) for name, lines in found.items()}


def judge(index: Index, tree: Path, drawn: Drawn, counts: Counter[str]) -> list[str]:
    """Count the answer for one name; returns its missed lines."""
    counts["names"] += 1
    counts["lines"] += len(drawn.expected)
    try:
        answer = index.graph.refs(drawn.name, RelationOptions())
    except TargetError as fault:
        counts["errors"] += 1
        return [f"{drawn.kind} {drawn.name}: {fault}"]
    listed = {(r.place.path, r.place.line) for r in answer.relations}
    lost = sorted(drawn.expected - listed)
    counts["found"] += len(drawn.expected) - len(lost)
    counts["complete"] += not lost
    counts["silent"] += bool(lost) and not answer.notices
    for relation in answer.relations:
        counts[relation.certainty or "edge"] += 1
    for path in {path for path, _ in listed}:
        counts["without the name"] += drawn.name not in (tree / path).read_text("utf-8", "replace")
    return [f"{drawn.kind} {drawn.name} {path}:{line} {_line(tree / path, line)}" for path, line in lost]


def _line(path: Path, line: int) -> str:
    return path.read_text("utf-8", "replace").split("\n")[line - 1].strip()[:100]


def print_table(counts: Mapping[str, Counter[str]]) -> None:
    """The counts by kind, and all together."""
    print(
        "| kind | names | code lines | found | names complete | errors | silent | files without it | resolved | likely | by name |"
    )
    print("|---|" + "---:|" * 10)
    whole = Counter[str]()
    for count in counts.values():
        whole.update(count)
    for kind, c in [*sorted(counts.items()), ("all", whole)]:
        shares = f"{c['found'] / max(c['lines'], 1):.3f} | {c['complete'] / c['names']:.3f}"
        sure = f"{c['resolved']} | {c['likely']} | {c['by name']}"
        faults = f"{c['errors']} | {c['silent']} | {c['without the name']}"
        print(f"| {kind} | {c['names']} | {c['lines']} | {shares} | {faults} | {sure} |")


if __name__ == "__main__":
    sys.exit(main())

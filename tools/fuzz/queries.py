"""Generated queries of every shape against one index, in process: the CPU seconds of each, and every exception.

    python -m tools.fuzz.queries --tree DIR [--db FILE] [--count N] [--seed S] [--first I] [--out FILE.json]

Query number I of a seed is the same in every run, so a campaign runs in parts, and `--first I --count 1` repeats a query.
The exit code is 1 if a query took over the budget plus a tenth, or raised what is not a CodelensError.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from codelens.config import Settings, load_weights
from codelens.errors import CodelensError
from codelens.index import Index
from codelens.model.request import SearchOptions
from codelens.query.filters import FIELD_TESTS
from codelens.query.nodes import KINDS
from codelens.search.intent import INTENTS

TOLERANCE = 1.1  # Factor on the budget: one step of work may end after it
SHOWN = 200  # Characters of a query that a report shows
WORST = 25
FILES_READ = 300  # Files of the tree whose words and lines queries are made of

SCRIPTS = (
    (0x20, 0x7E), (0xA0, 0x24F), (0x370, 0x3FF), (0x400, 0x4FF), (0x590, 0x5FF), (0x600, 0x6FF), (0x900, 0x97F),
    (0xE00, 0xE7F), (0x1100, 0x11FF), (0x2000, 0x206F), (0x2190, 0x22FF), (0x3040, 0x30FF), (0x4E00, 0x9FFF),
    (0xAC00, 0xD7A3), (0xFE00, 0xFE0F), (0x1D400, 0x1D7FF), (0x1F300, 0x1F64F), (0x20000, 0x2A6DF), (0x0, 0x1F),
)  # fmt: skip
"""First and last code point of blocks that random text is drawn from: scripts with and without case, signs, controls."""


@dataclass(frozen=True, slots=True)
class Material:
    """The raw material of generated queries: words, lines, and paths of a tree, and names of its symbols."""

    words: Sequence[str]
    lines: Sequence[str]
    texts: Sequence[str]
    paths: Sequence[str]
    names: Sequence[str]


@dataclass(frozen=True, slots=True)
class Case:
    """One question: `command` is search, files or why."""

    number: int
    shape: str
    command: str
    query: str
    options: SearchOptions
    targets: tuple[str, ...] = ()


def material_of(index: Index, root: Path) -> Material:
    """The material from the files of an indexed tree, in a fixed order."""
    paths = sorted(path for _, path in index.files(SearchOptions()))
    read = [(root / path).read_bytes()[:200_000] for path in paths[:: max(1, len(paths) // FILES_READ)]]
    texts = [raw.decode("utf-8", "replace") for raw in read]
    words = sorted({word for text in texts for word in re.findall(r"[^\W\d]\w+", text)})
    lines = sorted({line.strip() for text in texts for line in text.splitlines() if len(line.strip()) > 3})
    symbols = (unit for path in paths[:: max(1, len(paths) // 60)] for unit in index.symbols(path))
    names = sorted({unit.qualified_name for unit in symbols})
    return Material(words, lines, texts, paths, names)


# Shapes


def _size(rng: random.Random, most: int) -> int:
    """From 1 to `most`, each order of magnitude equally often."""
    return int(most ** rng.random())


def _word(rng: random.Random, of: Material) -> str:
    return rng.choice(of.words)


def _prose(rng: random.Random, of: Material) -> str:
    return " ".join(_word(rng, of) for _ in range(1 + _size(rng, 12)))


def _many_words(rng: random.Random, of: Material) -> str:
    return " ".join(_word(rng, of) for _ in range(_size(rng, 5000)))


def _many_alternatives(rng: random.Random, of: Material) -> str:
    joint = rng.choice((" OR ", " OR ", " AND ", " OR NOT ", " OR -", " NOT "))
    return joint.join(_operand(rng, of) if rng.random() < 0.2 else _word(rng, of) for _ in range(_size(rng, 4000)))


def _characters(rng: random.Random, of: Material) -> str:
    scripts = rng.sample(SCRIPTS, rng.randint(1, len(SCRIPTS)))
    spaces = rng.choice((0.0, 0.02, 0.2))
    return "".join(
        " " if rng.random() < spaces else chr(rng.randint(*rng.choice(scripts))) for _ in range(_size(rng, 20_000))
    )


def _one_character(rng: random.Random, of: Material) -> str:
    return rng.choice((rng.choice('a(/"`*-.:|\\ é中'), _word(rng, of)[:2])) * _size(rng, 20_000)


def _pasted(rng: random.Random, of: Material) -> str:
    text = rng.choice(of.texts)
    at = rng.randrange(max(1, len(text)))
    return text[at : at + _size(rng, 20_000)]


def _trace(rng: random.Random, of: Material) -> str:
    """A pasted stack trace or compiler's output."""
    rows = (
        f'  File "/home/u/src/{rng.choice(of.paths)}", line {rng.randint(1, 4000)}, in {_word(rng, of)}\n    '
        + rng.choice(of.lines)
        for _ in range(_size(rng, 120))
    )
    return "Traceback (most recent call last):\n" + "\n".join(rows) + f"\n{_word(rng, of)}: {rng.choice(of.lines)}"


def _wildcard(rng: random.Random, of: Material) -> str:
    word = _word(rng, of)
    return rng.choice((word[:2] + "*", word[: rng.randint(1, len(word))] + "*", "*", "*" + word, "a*b", word + "**"))


def _wildcards(rng: random.Random, of: Material) -> str:
    return " ".join(_wildcard(rng, of) for _ in range(_size(rng, 800)))


def _phrase(rng: random.Random, of: Material) -> str:
    phrase = rng.choice((rng.choice(of.lines), _prose(rng, of), _word(rng, of)[:2], " ", "\\", "é"))
    return f'"{phrase}"' if rng.random() < 0.9 else f'"{phrase}'


def _phrases(rng: random.Random, of: Material) -> str:
    return rng.choice((" ", " OR ", " -")).join(_phrase(rng, of) for _ in range(_size(rng, 500)))


def _ticked(rng: random.Random, of: Material) -> str:
    name = rng.choice((_word(rng, of), rng.choice(of.names), rng.choice(of.lines)))
    return f"`{name}`" if rng.random() < 0.9 else f"`{name}"


def _many_ticked(rng: random.Random, of: Material) -> str:
    return rng.choice((" ", " OR ")).join(_ticked(rng, of) for _ in range(_size(rng, 1500)))


ODD = (
    *("", ",", ",,,", '""', "*", "**", "?", "[", "[!a-", "/", "../..", ".", "\\", "é", "中*", "9999", "-1"),
    *("2026-13-45", "'", "%"),
)
VALUES = {
    "lang": ("c", "python", "C++", "tcl", "cobol"),
    "kind": (*sorted(KINDS), "thing"),
    "is": ("test", "nothing"),
    "case": ("yes", "no", "auto", "maybe"),
    "after": ("2020", "1970-01-01", "2026-02-30", "9999", "0001"),
    "before": ("2020", "9999", "0000", "1"),
    "meta": ("stars>=1", "a=b", "=", "stars", "x!=y,z"),
}


def _filter(rng: random.Random, of: Material) -> str:
    field = rng.choice((*FIELD_TESTS, "language", "nofield"))
    drawn = (
        lambda: rng.choice(VALUES.get(field, ("redis",))),
        lambda: rng.choice(ODD),
        lambda: rng.choice(of.paths),
        lambda: "*" * rng.randint(1, 30) + _word(rng, of),
        lambda: "/".join(["**"] * rng.randint(1, 20)),
        lambda: _word(rng, of),
        lambda: _phrase(rng, of),
    )
    weights = (8, 2, 2, 1, 1, 2, 1)
    values = [rng.choices(drawn, weights)[0]() for _ in range(_size(rng, 6) if rng.random() < 0.9 else _size(rng, 400))]
    return f"{field}:{','.join(values)}"


def _filters(rng: random.Random, of: Material) -> str:
    return " ".join(_filter(rng, of) for _ in range(_size(rng, 30)))


def _regex(rng: random.Random, of: Material, depth: int = 0) -> str:
    """A pattern of any kind, some of them ambiguous or huge."""
    if depth > 4:
        return re.escape(_word(rng, of))

    def inner() -> str:
        return _regex(rng, of, depth + 1)

    drawn: tuple[Callable[[], str], ...] = (
        lambda: _word(rng, of),
        lambda: rng.choice((".", r"\w", r"\s", r"\d", "[a-z]", "[^a]", r"\W", r"\b", "^", "$", "[^\\n]", r"(?s:.)")),
        lambda: rng.choice((".*", ".+", r"\w*", r"\w+\s*", r"(?:\s|.)*", r"[\s\S]*", r".*?", r"\S+")),
        lambda: f"({inner()})" + rng.choice(("*", "+", "?", "{2,5}", "{1,40}", "*?", "*+", "")),
        lambda: inner() + inner(),
        lambda: inner() + inner() + inner(),
        lambda: f"(?:{inner()}|{inner()})",
        lambda: f"(?:{'|'.join(_word(rng, of) for _ in range(_size(rng, 800)))})",
        lambda: rng.choice(("(?=", "(?!", "(?<=", "(?i:", "(?P<a>")) + inner() + ")",
        lambda: rng.choice(
            (r"(a+)+b", r"(a|a)*b", r"(.*)(.*)(.*)x", r"(\w+)\s\1", "(x+x+)+y", ".*.*.*=.*", "a{1,999}b{1,999}")
        ),
        lambda: rng.choice(("[", "(", "*", "(?P<", "\\", "{9,1}", "(?<=a+)", "[[:alpha:]]", "(?x) a # b", "\\p{L}")),
    )
    return rng.choices(drawn, (6, 4, 3, 4, 5, 3, 3, 1, 2, 2, 1))[0]()


def _slashed(rng: random.Random, of: Material) -> str:
    return "/" + _regex(rng, of).replace("/", "\\/") + "/"


def _patterns(rng: random.Random, of: Material) -> str:
    return rng.choice((" ", " OR ", " -")).join(_slashed(rng, of) for _ in range(_size(rng, 60)))


def _operand(rng: random.Random, of: Material) -> str:
    return rng.choices((_word, _wildcard, _phrase, _ticked, _filter, _slashed), (6, 2, 2, 1, 3, 2))[0](rng, of)


def _nested(rng: random.Random, of: Material, depth: int = 0) -> str:
    if depth > 6 or rng.random() < 0.3:
        return _operand(rng, of)
    joint = rng.choice((" OR ", " AND ", " ", " NOT ", " -"))
    group = joint.join(_nested(rng, of, depth + 1) for _ in range(rng.randint(1, 4)))
    return rng.choice(("({})", "{}", "-({})", "NOT ({})", "({}", "{})", "(({}))")).format(group)


def _unbalanced(rng: random.Random, of: Material) -> str:
    parts = ("(", ")", "OR", "AND", "NOT", "-", '"', "`", "/", ",", ":")
    return " ".join(rng.choice(parts) if rng.random() < 0.5 else _operand(rng, of) for _ in range(_size(rng, 400)))


def _deep(rng: random.Random, of: Material) -> str:
    depth = _size(rng, 3000)
    return "(" * depth + _nested(rng, of) + ")" * rng.choice((depth, depth - 1, 0))


def _mixed(rng: random.Random, of: Material) -> str:
    return " ".join(_operand(rng, of) for _ in range(_size(rng, 40)))


SHAPES: dict[str, tuple[Callable[[random.Random, Material], str], float]] = {
    # name → (what makes one, how often)
    "prose": (_prose, 4),
    "many words": (_many_words, 3),
    "alternatives": (_many_alternatives, 3),
    "characters": (_characters, 3),
    "one character": (_one_character, 1),
    "pasted": (_pasted, 2),
    "trace": (_trace, 2),
    "wildcards": (_wildcards, 2),
    "phrases": (_phrases, 2),
    "back-ticks": (_many_ticked, 2),
    "filters": (_filters, 3),
    "pattern": (_slashed, 3),
    "patterns": (_patterns, 2),
    "regex": (_regex, 3),
    "nested": (_nested, 4),
    "unbalanced": (_unbalanced, 3),
    "deep": (_deep, 1),
    "mixed": (_mixed, 4),
}


def _mutated(rng: random.Random, query: str) -> str:
    """The query with some characters gone, doubled or replaced."""
    for _ in range(rng.randint(1, 5)):
        at = rng.randint(0, len(query))
        end = min(len(query), at + _size(rng, 8))
        piece = rng.choice(("", query[at:end] * 2, rng.choice('()"`/-*:,|[]\\ \n\0é'), " OR ", " NOT "))
        query = query[:at] + piece + query[end:]
    return query


def make_case(number: int, seed: int, of: Material) -> Case:
    """The query of this number: the same for the same seed and tree."""
    rng = random.Random(f"{seed}:{number}")
    shape = rng.choices(list(SHAPES), [often for _, often in SHAPES.values()])[0]
    query = SHAPES[shape][0](rng, of)
    if rng.random() < 0.15:
        query = _mutated(rng, query)
    command = rng.choices(("search", "files", "why"), (8, 1, 1))[0]
    options = _options(rng, shape, command, of)
    targets: tuple[str, ...] = ()
    if command == "why" and rng.random() < 0.6:
        targets = (
            rng.choice((rng.choice(of.names), rng.choice(of.paths), f"{rng.choice(of.paths)}:{rng.randint(1, 300)}")),
        )
    return Case(number, shape, command, query, options, targets)


def _options(rng: random.Random, shape: str, command: str, of: Material) -> SearchOptions:
    """Options that are mostly the defaults; each is set now and then, so that many combinations occur."""
    options = SearchOptions(
        regex=shape == "regex" or rng.random() < 0.02,
        literal=shape != "regex" and rng.random() < 0.04,
        files_only=command == "files" or (command == "why" and rng.random() < 0.2),
    )
    if options.regex and options.literal:
        options = replace(options, literal=False)
    some: dict[str, Callable[[], Any]] = {
        "mode": lambda: rng.choice(("hybrid", "keyword", "vector", "exact", "fuzzy")),
        "profile": lambda: rng.choice([name for name in load_weights() if name != "likeness"]),
        "intent": lambda: rng.choice(sorted(INTENTS)),
        "fusion": lambda: rng.choice(("rrf", "weighted", "minmax")),
        "expand": lambda: rng.choice(("none", "walk", "bfs")),
        "rerank": lambda: True,
        "prefix": lambda: True,
        "word": lambda: True,
        "case": lambda: rng.choice(("yes", "no")),
        "min_score": lambda: rng.random(),
        "kinds": lambda: (rng.choice(sorted(KINDS)),),
        "globs": lambda: (rng.choice(("*.c", "!*.c", "src/**", "**/*test*", "*" * 20 + "x")),),
        "paths": lambda: (rng.choice(of.paths).rpartition("/")[0],),
        "languages": lambda: (rng.choice(("c", "tcl", "python")),),
        "sort": lambda: rng.choice(("path", "modified")),
        "reverse": lambda: True,
        "limit": lambda: rng.choice((1, 5, 100, 1000)),
        "offset": lambda: rng.choice((1, 50, 5000)),
        "context_before": lambda: rng.choice((1, 5, 500)),
        "snippet_lines": lambda: rng.choice((0, 1, 40)),
        "now": lambda: rng.randint(0, 4_000_000_000),
        "strict_query": lambda: True,
        "like": lambda: rng.choice(of.names),
    }
    often = dict.fromkeys(("mode", "profile"), 0.15)
    chosen = {name: make() for name, make in some.items() if rng.random() < often.get(name, 0.03)}
    if "like" in chosen and command == "files":
        del chosen["like"]
    return replace(options, **chosen)


# Running


def run_case(case: Case, index: Index) -> dict[str, Any]:
    """Run one query; return its CPU seconds, a command's exit code for it, and its notices."""
    row: dict[str, Any] = {
        "number": case.number,
        "shape": case.shape,
        "command": case.command,
        "length": len(case.query),
        "query": case.query[:SHOWN],
        "options": _given(case.options),
        "code": 0,
    }
    started = time.process_time()
    try:
        if case.command == "why":
            result = index.why(case.query, case.targets, case.options).search
        else:
            result = index.search(case.query, case.options)
        row |= {"hits": len(result.hits), "notices": sorted({notice.code for notice in result.notices})}
    except CodelensError as fault:
        row |= {"code": fault.exit_code, "error": f"{type(fault).__name__}: {fault}"[:SHOWN]}
    except Exception as fault:  # the campaign looks for these
        row |= {
            "code": -1,
            "error": f"{type(fault).__name__}: {fault}"[:SHOWN],
            "trace": traceback.format_exc()[-3000:],
        }
    row["seconds"] = round(time.process_time() - started, 4)
    return row


def _given(options: SearchOptions) -> dict[str, Any]:
    usual = SearchOptions()
    names = SearchOptions.__dataclass_fields__
    return {name: getattr(options, name) for name in names if getattr(options, name) != getattr(usual, name)}


def summary(rows: Sequence[dict[str, Any]], budget: float) -> dict[str, Any]:
    """The summary of a campaign for a reader."""
    seconds = sorted(row["seconds"] for row in rows)
    over = [row for row in rows if row["seconds"] > budget * TOLERANCE]
    shapes: dict[str, list[float]] = {}
    for row in rows:
        shapes.setdefault(row["shape"], []).append(row["seconds"])
    return {
        "tried": len(rows),
        "budget": budget,
        "over": len(over),
        "exceptions": sum(row["code"] < 0 for row in rows),
        "seconds": {f"p{share}": _share(seconds, share) for share in (50, 90, 99, 100)},
        "total": round(sum(seconds), 1),
        "codes": dict(sorted(Counter(row["code"] for row in rows).items())),
        "notices": dict(Counter(code for row in rows for code in row.get("notices", ())).most_common()),
        "shapes": {
            name: {"tried": len(of), "over": sum(s > budget * TOLERANCE for s in of), "worst": max(of)}
            for name, of in sorted(shapes.items())
        },
        "worst": sorted(rows, key=lambda row: -row["seconds"])[:WORST],
        "slow": [row["number"] for row in over],
        "faults": [row for row in rows if row["code"] < 0],
    }


def _share(ordered: Sequence[float], share: int) -> float:
    return ordered[min(len(ordered) - 1, len(ordered) * share // 100)] if ordered else 0.0


def as_text(report: dict[str, Any]) -> str:
    lines = [
        f"{report['tried']} queries, {report['over']} over {report['budget'] * TOLERANCE:g} CPU s, "
        f"{report['exceptions']} exceptions",
        "  ".join(f"{name} {value:.3f} s" for name, value in report["seconds"].items()) + f"  all {report['total']} s",
        f"exit codes: {report['codes']}",
        f"notices: {report['notices']}",
        *(
            f"  {name:14} {of['tried']:5} tried {of['over']:4} over  worst {of['worst']:.2f} s"
            for name, of in report["shapes"].items()
        ),
        *(
            f"{row['seconds']:7.2f} s  #{row['number']} {row['shape']}, {row['command']}, "
            f"{row['length']} characters {row['options']}"
            for row in report["worst"][:10]
        ),
        *(f"#{row['number']} {row['error']}\n{row['trace']}" for row in report["faults"]),
    ]
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Series:
    """The queries to run: `count` of them, from number `first` on, drawn with `seed`."""

    count: int
    seed: int
    first: int = 0
    budget: float | None = None  # CPU seconds a query may take; None takes the default of codelens


def run(
    series: Series, folder: Path, report: Callable[[dict[str, Any]], None], db: Path | None = None
) -> dict[str, Any]:
    """Run the queries on the tree at `folder`, pass the row of each to `report`, and return the summary.

    The tree is indexed into `db` unless that exists already; without `db`, into a file that is removed afterwards.
    """
    settings = Settings()
    limit = getattr(settings, "query_seconds", 2.0) if series.budget is None else series.budget
    with tempfile.TemporaryDirectory() as scratch:
        place = db or Path(scratch) / "index.db"
        if not place.exists():
            Index.build(place, [folder], settings)
        with Index.open(place, settings) as index:
            of = material_of(index, folder)
            index.search("warm up `the` imports /a.c/", SearchOptions())
            rows = []
            for number in range(series.first, series.first + series.count):
                row = run_case(make_case(number, series.seed, of), index)
                report(row)
                rows.append(row)
    return summary(rows, limit)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz.queries", description="Generated queries, timed.")
    parser.add_argument("--tree", type=Path, required=True, metavar="DIR", help="the tree to search")
    parser.add_argument("--db", type=Path, metavar="FILE", help="its index; built if it does not exist, and kept")
    parser.add_argument("--count", type=int, default=3000, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    parser.add_argument("--first", type=int, default=0, metavar="I", help="number of the first query (default 0)")
    parser.add_argument("--budget", type=float, metavar="SECONDS", help="CPU seconds a query may take")
    parser.add_argument("--out", type=Path, metavar="FILE.json", help="write all rows and the summary")
    options = parser.parse_args(arguments)
    rows: list[dict[str, Any]] = []

    def report(row: dict[str, Any]) -> None:
        rows.append(row)
        if len(rows) % 100 == 0:
            print(f"{len(rows)} of {options.count}", file=sys.stderr, flush=True)

    series = Series(options.count, options.seed, options.first, options.budget)
    result = run(series, options.tree.absolute(), report, options.db)
    print(as_text(result))
    if options.out:
        text = json.dumps({"summary": result, "rows": rows}, indent=1, ensure_ascii=True)
        options.out.write_text(text + "\n", encoding="utf-8")
    return 1 if result["over"] or result["exceptions"] else 0


if __name__ == "__main__":
    sys.exit(main())

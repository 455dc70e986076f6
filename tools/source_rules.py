"""Checks the source for readability: `python -m tools.source_rules [PATH …]` lists faults, one per line, and exits with 1.

`make lint` runs it. It checks what a linter for Python in general cannot know: the words of this project, names of functions and
classes that say nothing, and that pages cited in comments exist. `--counts` prints how often each rule is broken instead, tolerated
names included, and how long the modules of each package are.
"""

from __future__ import annotations

import ast
import io
import re
import statistics
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
MOST_PARAMETERS = 6
PUBLIC_ENTRIES = {("index", "build"), ("build", "index_fleet")}
"""Functions that callers know by their keywords: more parameters than six are options with defaults."""
VAGUE = frozenset({"common", "data", "handler", "helper", "helpers", "info", "manager", "misc", "util", "utils"})
PARTICIPLES = frozenset(
    (
        *("ablated", "asked", "cached", "carried", "compared", "concerned", "derived", "explained", "known", "made"),
        *("measured", "named", "prepared", "recorded", "related", "remembered", "shown", "telling", "told"),
    )
)
# A name of participles and particles alone does not say what a function does, or what an object is.
PARTICLE = (
    "about|after|again|all|among|around|at|before|below|beside|between|by|down|each|for|from|in|inside|into|off|of|on|one|out|outside"
    "|over|through|to|together|under|up|whole|with|within|without"
)
PARTICIPLE = (
    "begun|bound|built|drawn|found|given|gone|grown|held|hidden|kept|known|laid|learnt|left|lost|made|meant|said|seen|sent|shown|spent"
    r"|spoken|spread|stood|taken|told|worn|written|\w{2,}[^e]ed|\w{2,}ing"
)
NOUN = (
    "anything|binding|building|embed|embedding|encoding|everything|heading|incoming|listing|mapping|meaning|nothing|outgoing|pairing"
    "|posting|ranking|rating|recording|setting|spelling|string|substring|warning"
)
EMPTY_WORD = re.compile(rf"(?!(?:{NOUN})$)(?:{PARTICLE}|{PARTICIPLE})", re.IGNORECASE)
VAGUE_LOCALS = frozenset(("found", "held", "kept", "one", "own", "told", "them"))
# Names that were there before the rule. Rename what you touch, and take it out of the list.
TOLERATED = frozenset((ROOT / "tools" / "tolerated_names.txt").read_text(encoding="utf-8").split())
OPENING = re.compile(r"(Of|What|Whether|That|Those|Where|Who|As)\b(?! of\b)")
"""First words of a docstring that hide its subject. A docstring begins with a verb or a noun."""
PHRASES = {
    re.compile(rf"\b(?:{pattern})\b"): better
    for pattern, better in {
        "anew": "again, from scratch",
        "(?:is|are) none": "there is no …, is missing, does not exist",
        "of one's own": "own, private",
        "be had": "available, use either … or …",
        "beside": "next to, as well as, except",
        "said": "reported, given, named",
        "told": "reported, shown, given",
        "thought of": "considered",
        "nobody asks": "not requested",
        "counts no": "is not counted",
        "(?<![Tt]here )(?:is|are) no(?! longer| more)": "is not a …",
        "(?:is|are) to be": "must be, should be",
        "what is no": "anything that is not",
        "where there is none": "if there is no …",
    }.items()
}
PAGE = re.compile(r"(?<![\w./*-])(?:docs/)?[a-z][\w-]*\.md\b")

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Fault(NamedTuple):
    """A broken rule with its place."""

    path: Path
    line: int
    rule: str
    detail: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}: {self.rule}: {self.detail}"


class Prose(NamedTuple):
    """A docstring, a comment, or a string that reads as a sentence."""

    line: int
    text: str
    is_docstring: bool


def check(paths: Sequence[Path]) -> list[Fault]:
    """All faults of these files, by path and line; uniqueness is checked within the package as a whole."""
    sources = sorted((ROOT / "codelens").rglob("*.py"))
    wanted = set(paths) or {*sources, *(ROOT / "tools").rglob("*.py")}
    faults = [fault for path in sorted(wanted) if path != Path(__file__) for fault in _faults(path)]
    faults += [fault for fault in _repeated_classes(sources) if fault.path in wanted]
    return sorted(faults)


def _faults(path: Path) -> Iterator[Fault]:
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    if path.stem in VAGUE | PARTICIPLES:
        yield Fault(path, 1, "vague module name", path.stem)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            arguments = node.args
            names = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
            count = len([name for name in names if name not in ("self", "cls")])
            if count > MOST_PARAMETERS and (path.stem, node.name) not in PUBLIC_ENTRIES:
                yield Fault(path, node.lineno, "too many parameters", f"{node.name} has {count}")
        if isinstance(node, Definition) and says_nothing(node):
            tolerated = ", tolerated for now" if node.name in TOLERATED else ""
            yield Fault(path, node.lineno, "name says nothing" + tolerated, node.name)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in VAGUE_LOCALS:
            yield Fault(path, node.lineno, "vague local, tolerated for now", node.id)
    for prose in (*_strings(tree), *_comments(source)):
        if prose.is_docstring and (found := OPENING.match(prose.text)):
            yield Fault(path, prose.line, "docstring opening", f"begins with {found[0]!r}: {prose.text[:60]!r}")
        for pattern, better in PHRASES.items():
            for found in pattern.finditer(prose.text):
                line = prose.line + prose.text.count("\n", 0, found.start())
                yield Fault(path, line, "phrase", f"{found[0]!r}: write {better}")
        if prose.is_docstring or prose.text.startswith("#"):
            for page in PAGE.findall(prose.text):
                if not any((folder / page).exists() for folder in (ROOT, ROOT / "docs")):
                    yield Fault(path, prose.line, "missing page", page)


def says_nothing(definition: Definition) -> bool:
    """Whether a name has only participles and particles: `_told`, `going_on`, `Taken`. A property may be a condition: `closed`."""
    returns = getattr(definition, "returns", None)
    is_condition = any(ast.unparse(decorator) == "property" for decorator in definition.decorator_list) and (
        isinstance(returns, ast.Name) and returns.id == "bool"
    )
    words = [] if definition.name.startswith("__") else re.findall(r"[A-Z]?[a-z0-9]+", definition.name)
    return bool(words) and not is_condition and all(EMPTY_WORD.fullmatch(word) for word in words)


def _strings(tree: ast.Module) -> Iterator[Prose]:
    docstrings = set()
    for node in ast.walk(tree):
        for before, after in (
            zip([None, *getattr(node, "body", ())], getattr(node, "body", ()), strict=False)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            else ()
        ):
            documented = before is None or isinstance(before, ast.Assign | ast.AnnAssign)
            if documented and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                docstrings.add(after.value)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if node in docstrings:
                yield Prose(node.lineno, node.value.strip(), True)
            elif node.value.count(" ") >= 2 and not node.value.startswith("SELECT"):
                yield Prose(node.lineno, node.value, False)


def _comments(source: str) -> Iterator[Prose]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield Prose(token.start[0], token.string, False)


def _repeated_classes(sources: Iterable[Path]) -> Iterator[Fault]:
    places: dict[str, list[tuple[Path, int]]] = defaultdict(list)
    for path in sources:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                places[node.name.lstrip("_")].append((path, node.lineno))
    for name, found in places.items():
        if len(found) > 1:
            for path, line in found:
                others = ", ".join(str(other.relative_to(ROOT / "codelens")) for other, _ in found if other != path)
                yield Fault(path, line, "class name used twice", f"{name}, also in {others}")


def module_sizes() -> list[str]:
    """For each package, most lines first: lines, modules, and lines of the middle module."""
    rows = []
    for package in (ROOT / "codelens").iterdir():
        sizes = [len(path.read_text(encoding="utf-8").splitlines()) for path in package.rglob("*.py")]
        if sizes:
            rows.append((sum(sizes), len(sizes), round(statistics.median(sizes)), package.name))
    lines = [
        f"{size:6} {name}: {count} modules, median {median}" for size, count, median, name in sorted(rows, reverse=True)
    ]
    return [f"{sum(row[0] for row in rows):6} lines in packages", *lines]


def main(arguments: Sequence[str]) -> int:
    """Print the faults of the files or folders named, or of everything."""
    named = [Path(a).resolve() for a in arguments if a != "--counts"]
    paths = [file for path in named for file in (path.rglob("*.py") if path.is_dir() else [path])]
    if named and not paths:
        print(f"no Python files in {', '.join(map(str, named))}", file=sys.stderr)
        return 2
    every = check(paths)
    faults = [fault for fault in every if not fault.rule.endswith("tolerated for now")]
    if "--counts" in arguments:
        counts = [f"{count:6} {rule}" for rule, count in Counter(fault.rule for fault in every).most_common()]
        print("\n".join([*counts, *([] if paths else module_sizes())]))
    else:
        print("\n".join(map(str, faults)), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

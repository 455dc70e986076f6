"""Checks the source for readability: `python -m tools.source_rules [PATH …]` lists faults, one per line, and exits with 1.

`make lint` runs it. It checks what a linter for Python in general cannot know: the words of this project, how many modules a
package has, and that pages cited in comments exist. `--counts` prints how often each rule is broken instead.
"""

from __future__ import annotations

import ast
import io
import re
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
MOST_MODULES: dict[str, int] = {
    "cli": 50,
    "cluster": 9,
    "context": 9,
    "embed": 12,
    "evaluation": 17,
    "fleet": 10,
    "graph": 13,
    "indexing": 20,
    "lang": 11,
    "linking": 15,
    "memory": 2,
    "model": 12,
    "notes": 4,
    "processes": 5,
    "query": 9,
    "render": 18,
    "search": 42,
    "server": 36,
    "snapshots": 4,
    "store": 20,
    "text": 11,
    "traces": 3,
    "training": 8,
    "watching": 4,
    "worktree": 16,
}
"""Package → most modules, `__init__.py` included. A new module needs a reason; often it belongs inside its only importer."""
VAGUE = frozenset({"common", "data", "handler", "helper", "helpers", "info", "manager", "misc", "util", "utils"})
PARTICIPLES = frozenset(
    (
        *("ablated", "asked", "cached", "carried", "compared", "concerned", "derived", "explained", "known", "made"),
        *("measured", "named", "prepared", "recorded", "related", "remembered", "shown", "telling", "told"),
    )
)
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
    return sorted(faults + ([] if paths else list(_too_many_modules())))


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


def _too_many_modules() -> Iterator[Fault]:
    for package, most in MOST_MODULES.items():
        count = len(list((ROOT / "codelens" / package).rglob("*.py")))
        if count > most:
            yield Fault(ROOT / "codelens" / package, 1, "too many modules", f"{count}, at most {most}")


def main(arguments: Sequence[str]) -> int:
    """Print the faults of the files or folders named, or of everything."""
    named = [Path(a).resolve() for a in arguments if a != "--counts"]
    paths = [file for path in named for file in (path.rglob("*.py") if path.is_dir() else [path])]
    if named and not paths:
        print(f"no Python files in {', '.join(map(str, named))}", file=sys.stderr)
        return 2
    faults = check(paths)
    lines = [f"{count:6} {rule}" for rule, count in Counter(fault.rule for fault in faults).most_common()]
    print("\n".join(lines if "--counts" in arguments else map(str, faults)), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

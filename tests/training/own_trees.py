"""Trees with a vocabulary of their own: queries never use the words of the code. With a git history, if wanted."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

TAILS = ("ten", "rick", "sole", "dax", "lim", "vor", "nap", "gud")
ENDINGS = ("et", "ondo", "ifa", "umm", "aso", "ild", "erk", "oph")
SAID = tuple(head + tail for head in ("mor", "bal", "fur", "hoi", "cau") for tail in TAILS)
WRITTEN = tuple(head + tail for head in ("zeb", "kri", "plo", "wag", "yus") for tail in ENDINGS)
THINGS = ("sail", "keel", "mast", "anchor", "hull", "rudder", "galley", "cabin")
FILES, FUNCTIONS, COMMITS = 80, 4, 150

Function = tuple[int, str]  # (verb, thing)


def question(function: Function) -> str:
    """The verb is another word in the code, which has to be learnt; the thing is the same."""
    verb, thing = function
    return f"{SAID[verb].capitalize()} the {thing} again"


def source(functions: list[Function], checked: frozenset[int] = frozenset(), documented: bool = True) -> str:
    """A module; functions at the places `checked` have a line more."""
    parts = []
    for place, (verb, thing) in enumerate(functions):
        doc = f'    """{question((verb, thing))}."""\n' if documented else ""
        check = f"    assert plan.{WRITTEN[verb]}able\n" if place in checked else ""
        parts.append(
            f"def {WRITTEN[verb]}_{thing}(plan, total):\n{doc}{check}"
            f"    for part in reversed(plan.{thing}[total:]):\n"
            f"        {WRITTEN[verb]}(plan.{thing}, part, total + 1)\n"
        )
    return "\n\n".join(parts)


def modules(seed: int) -> dict[str, list[Function]]:
    """Path → its functions, all of them different."""
    draw = random.Random(seed)
    every = [(verb, thing) for verb in range(len(SAID)) for thing in THINGS]
    chosen = draw.sample(every, FILES * FUNCTIONS)
    return {f"port/dock{n}.py": chosen[n * FUNCTIONS : (n + 1) * FUNCTIONS] for n in range(FILES)}


def write_tree(folder: Path, seed: int) -> None:
    """Documented functions in some files."""
    for path, functions in modules(seed).items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(source(functions), encoding="utf-8")


def write_repository(folder: Path, seed: int) -> None:
    """The same with a history: each commit but the first changes one function and says it in the function's question."""
    draw = random.Random(seed)
    tree = modules(seed)
    changed: dict[str, frozenset[int]] = dict.fromkeys(tree, frozenset())
    commits = [_commit(0, "Begin", {path: source(functions) for path, functions in tree.items()})]
    places = draw.sample([(path, n) for path in tree for n in range(FUNCTIONS)], COMMITS)
    for number, (path, place) in enumerate(places, start=1):
        changed[path] |= {place}
        commits.append(
            _commit(
                number,
                f"fix: {question(tree[path][place])} after a storm (#{number})",
                {path: source(tree[path], changed[path])},
            )
        )
    import_commits(folder, commits)


def _commit(number: int, subject: str, files: dict[str, str]) -> str:
    when = f"t <t@t> {1_600_000_000 + number} +0000"
    head = f"commit refs/heads/main\ncommitter {when}\ndata {len(subject.encode())}\n{subject}\n"
    return head + "".join(f"M 644 inline {p}\ndata {len(t.encode())}\n{t}\n" for p, t in files.items())


def import_commits(folder: Path, commits: list[str]) -> None:
    """One process for all of a history."""
    subprocess.run(["git", "init", "-q", "-b", "main", str(folder)], check=True)
    stream = "\n".join(commits).encode()
    subprocess.run(["git", "fast-import", "--quiet"], cwd=folder, input=stream, check=True)
    subprocess.run(["git", "reset", "-q", "--hard", "main"], cwd=folder, check=True)

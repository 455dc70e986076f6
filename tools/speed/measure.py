"""A tree → the figures of every tool, taken in turns."""

from __future__ import annotations

import compileall
import json
import shutil
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import codelens
from codelens.processes.python import build_codelens_command
from tools.speed.peers import FOUND_BY, INSTALL, Peer
from tools.speed.questions import SHAPES, draw, files_with_symbols
from tools.speed.warm import ask_server
from tools.tour.measure import COMMENTS, MB, Limits, Spent, spend

Figures = dict[str, float]  # Measure → value: seconds (_s), milliseconds (_ms), megabytes (_mb)
TreeFigures = dict[str, Any]
"""A tree in the JSON: its size and what of it codelens indexes, questions, each tool with its figures, what is not installed."""

NO_LIMITS = Limits(3600.0, 1 << 50)
CHANGED = 10
WARM = 40  # Questions to a warm process; those before them that do not count are of the same shapes
FIRST = 3
NO_ANSWER = "exit code 1"  # How a search that finds nothing ends


def measure_tree(name: str, tree: Path, work: Path, repeat: int) -> TreeFigures:
    """Measure each tool on `tree`, which is changed: it becomes a git repository, and ten files get a comment."""
    tree_mb = _size(tree) / MB
    _commit(tree)
    compileall.compile_dir(Path(codelens.__file__).parent, quiet=1)
    found = {name: find(tree, work) for name, find in FOUND_BY.items()}
    peers = [peer for peer in found.values() if peer]
    taken: dict[tuple[str, str], list[float]] = defaultdict(list)

    def take(peer: Peer, what: str, command: Sequence[str], unit: float = 1.0) -> Spent:
        spent = spend(command, NO_LIMITS, tree, peer.env)
        if spent.ended and not spent.ended.startswith(NO_ANSWER):
            sys.exit(f"{' '.join(command)}: {spent.ended}")
        suffix = "s" if unit == 1 else "ms"
        taken[peer.name, f"{what}_{suffix}"].append(spent.wall * unit)
        taken[peer.name, f"{what}_cpu_{suffix}"].append(spent.cpu * unit)
        return spent

    for _ in range(repeat):
        for peer in peers:
            if peer.place:
                _remove(peer.place)
                taken[peer.name, "peak_mb"].append(take(peer, "index", peer.index).peak / MB)
                taken[peer.name, "index_mb"].append(_size(peer.place) / MB)
    own = next(peer for peer in peers if peer.place and peer.name == "codelens")
    assert own.place  # it has an index
    drawn = draw(own.place, max(repeat, WARM // len(SHAPES) + 2))
    status = _status(own)
    for _ in range(repeat):
        for peer in (peer for peer in peers if peer.update):
            take(peer, "no_op", peer.update)
    changing = [file for file, _ in zip((f for f, _ in files_with_symbols(own.place)), range(CHANGED), strict=False)]
    for turn in range(repeat):
        _change(changing, turn)
        for peer in (peer for peer in peers if peer.place):
            take(peer, "ten_files", peer.update)
    for turn in range(repeat):
        for shape in filter(drawn.get, SHAPES):
            for peer in (peer for peer in peers if shape in peer.ask):
                take(peer, shape, peer.ask[shape](drawn[shape][turn % len(drawn[shape])]), 1000)
    figures: dict[str, Figures] = {peer.name: {} for peer in peers}
    for (tool, what), values in taken.items():
        figures[tool][what] = round(statistics.median(values), 4)
        if what == "index_mb":
            figures[tool]["index_ratio"] = round(figures[tool][what] / tree_mb, 3)
    asked = _in_turn(drawn)
    for peer in peers:
        if peer.warm:
            figures[peer.name] |= _warm_figures(asked, peer.warm([question for _, question in asked]))
    if served := ask_server(own.place, [question for _, question in asked[FIRST:]], own.env):
        figures["codelens"]["serve_p95_ms"] = round(_percentile(served, 0.95) * 1000, 2)
    versions = [
        spend([*build_codelens_command(), "--version"], NO_LIMITS, tree, own.env).cpu for _ in range(max(5, repeat))
    ]
    figures["codelens"]["version_cpu_ms"] = round(statistics.median(versions) * 1000, 1)
    return {
        "name": name,
        "files": status["files"],
        "tree_mb": round(tree_mb, 2),
        "source_mb": round(status["bytes"] / MB, 2),
        "questions": {shape: questions[:repeat] for shape, questions in drawn.items()},
        "tools": {
            peer.name: {"version": peer.version, "note": peer.note, "figures": figures[peer.name]} for peer in peers
        },
        "not_installed": {name: INSTALL[name] for name, peer in found.items() if peer is None},
    }


def _in_turn(drawn: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """(shape, question), the shapes in turn: as many as are asked of a warm process. A tiny tree repeats some."""
    shapes = [(shape, questions) for shape, questions in drawn.items() if questions]
    turns = (divmod(number, len(shapes)) for number in range(FIRST + WARM if shapes else 0))
    return [(shapes[at][0], shapes[at][1][turn % len(shapes[at][1])]) for turn, at in turns]


def _warm_figures(asked: Sequence[tuple[str, str]], seconds: Sequence[float]) -> Figures:
    by_shape: dict[str, list[float]] = defaultdict(list)
    for (shape, _), spent in list(zip(asked, seconds, strict=True))[FIRST:]:
        by_shape[shape].append(spent)
    figures = {f"warm_{shape}_ms": statistics.median(spent) for shape, spent in by_shape.items()}
    for name, share in (("p50", 0.5), ("p95", 0.95)):
        figures[f"warm_{name}_ms"] = _percentile(seconds[FIRST:], share)
    return {name: round(value * 1000, 2) for name, value in figures.items()}


def _percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else 0.0


def _status(own: Peer) -> dict[str, int]:
    command = [*build_codelens_command(), "status", "--json", "--no-check", "--no-config", "--db", str(own.place)]
    record = json.loads(subprocess.run(command, stdout=subprocess.PIPE, env=own.env, check=True).stdout)
    (repository,) = record["repositories"]
    return {"files": repository["documents"], "bytes": repository["source_bytes"]}


def _commit(tree: Path) -> None:
    """A git repository of one commit; git's own index knows every file, so that its status need not read any."""
    name = [
        "-c",
        "user.name=bench",
        "-c",
        "user.email=bench@localhost",
        "-c",
        "gc.auto=0",
        "-c",
        "commit.gpgsign=false",
    ]
    for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--no-verify", "-m", "All"], ["status"]):
        subprocess.run(["git", "-C", str(tree), *name, *words], check=True, stdout=subprocess.DEVNULL)


def _change(files: Sequence[Path], turn: int) -> None:
    for number, file in enumerate(files):
        with file.open("a", encoding="utf-8") as text:
            text.write(f"\n{COMMENTS.get(file.suffix, '#')} change {turn} of file {number}\n")


def _remove(place: Path) -> None:
    if place.is_dir():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)


def _size(place: Path) -> int:
    return sum(file.stat().st_size for file in _files_at(place))


def _files_at(place: Path) -> Iterator[Path]:
    return (file for file in place.rglob("*") if file.is_file()) if place.is_dir() else iter([place])

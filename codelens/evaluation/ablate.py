"""Indexes and tasks → a table: every profile, and each part of the ranking left out, beside the profile that ships.

    python -m codelens.evaluation.ablate INDEXES --tasks FILE… --commits FILE… [--rows codelens,knowing,…]

INDEXES holds REPO.db for the repositories of --tasks and REPO-commits.db for those of --commits. `p` is a paired test of
snDCG@10 (see `compare`): of a profile against the first row, of a part left out against its profile, where that has a row.
A repository without an index is left out, and said.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from codelens.config import Settings
from codelens.evaluation.compare import compare
from codelens.evaluation.scoring import CUTOFF, Answer, Rule, Task, read_tasks, same_file, score, strict
from codelens.model import SearchOptions
from codelens.search.pipeline import rank
from codelens.search.profiles import Profile, load_profile
from codelens.store.store import Store

METRIC = "snDCG@10"
SHOWN = ("P@10", "sP@10", METRIC, "shit@10")

Change = Callable[[Profile], Profile]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: a profile, and what is changed in it."""

    name: str
    profile: str
    change: Change = field(default=lambda profile: profile)
    fusion: str = "rrf"


def without_vectors(profile: Profile) -> Profile:
    """Neither ranks nor nearness of vectors."""
    bonuses = {name: weight for name, weight in profile.bonuses.items() if name != "nearness"}
    return replace(profile, channels={**profile.channels, "vector": 0.0}, bonuses=bonuses)


def without_walk(profile: Profile) -> Profile:
    """No walk over the symbol graph."""
    return replace(profile, graph={})


def with_graph(**values: object) -> Change:
    """Other settings of the walk."""
    return lambda profile: replace(profile, graph={**profile.graph, **values})


def without_kinds(*kinds: str) -> Change:
    """The walk does not follow these kinds of edges."""
    return lambda p: replace(
        p, graph={**p.graph, "kinds": {k: w for k, w in p.graph["kinds"].items() if k not in kinds}}
    )


def with_section(section: str, **values: object) -> Change:
    """Other settings of one stage of the composite profiles."""

    def change(profile: Profile) -> Profile:
        changed = {**profile.composite[section], **values}
        return replace(profile, composite={**profile.composite, section: changed})

    return change


ROWS = (
    Row("codelens", "codelens"),
    Row("- vectors", "codelens", without_vectors),
    Row("codelens by weighted scores", "codelens", fusion="weighted"),
    Row("codelens by minmax", "codelens", fusion="minmax"),
    Row("- the walk", "codelens", without_walk),
    Row("- what only the walk finds", "codelens", with_graph(joining=0)),
    Row("- edges against their direction", "codelens", with_graph(backward=0.0)),
    Row("- calls", "codelens", without_kinds("calls")),
    Row("- contains and member_of", "codelens", without_kinds("contains", "member_of")),
    Row("- tests", "codelens", without_kinds("tests")),
    Row("- references and type_hint_of", "codelens", without_kinds("references", "type_hint_of")),
    Row("- bases and overrides", "codelens", without_kinds("extends", "implements", "overrides", "inherits")),
    Row("rrf", "rrf"),
    Row("rrf - vectors", "rrf", without_vectors),
    Row("rrf by weighted scores", "rrf", fusion="weighted"),
    Row("rrf by minmax", "rrf", fusion="minmax"),
    Row("graph-memory", "graph-memory"),
    Row("knowing", "knowing"),
    Row("knowing-base", "knowing-base"),
    Row("knowing - focus", "knowing", with_section("seeds", focus=False)),
    Row("knowing - neighbours' names", "knowing", with_section("seeds", neighbours=0.0)),
    Row("knowing - implementors", "knowing", with_section("seeds", implementors=0)),
    Row("knowing - paths", "knowing", with_section("seeds", paths=0)),
    Row("knowing - steps of the walk", "knowing", with_section("walk", steps=0)),
    Row("knowing - against the direction", "knowing", with_section("walk", backward=0.0)),
)
PROFILE_OF = {row.name: row.profile for row in ROWS}


@dataclass(slots=True)
class Run:
    """One row's figures over one set of tasks: metric → task → value; and seconds in all."""

    values: dict[str, dict[str, float]] = field(default_factory=lambda: {metric: {} for metric in SHOWN})
    seconds: float = 0.0


def measure(row: Row, tasks: Sequence[Task], index: Path, rule: Rule, into: Run) -> None:
    """Ask all tasks of one repository of its index, and write their figures down."""
    options = SearchOptions(profile=row.profile, fusion=row.fusion, limit=CUTOFF)
    profile, settings = row.change(load_profile(options)), Settings()
    with Store.read(index) as store, store.reading():
        for task in tasks:
            started = time.process_time()
            ranked = rank(task.query, store, options, settings, profile).candidates[:CUTOFF]
            into.seconds += time.process_time() - started
            hits = [Answer(c.unit.qualified_name, c.unit.path) for c in ranked]
            for metric, value in score(task, hits, rule).items():
                into.values[metric][f"{task.repository}/{task.id}"] = value


def ablate(
    rows: Sequence[Row], tasks: Mapping[Path, Sequence[Task]], rule: Rule, tell: Callable[[str], object]
) -> dict[str, Run]:
    """Row's name → its figures over these tasks, by index."""
    found: dict[str, Run] = {}
    for row in rows:
        run = found[row.name] = Run()
        for index, asked in tasks.items():
            measure(row, asked, index, rule, run)
        tell(f"{row.name}: {METRIC} {statistics.mean(run.values[METRIC].values()):.4f}, {run.seconds:.0f} s\n")
    return found


def table(title: str, found: Mapping[str, Run]) -> Iterator[str]:
    """Markdown: means over tasks, a query's CPU time, and the difference to the row that it is compared with.

    Of the difference its 95 % interval by a bootstrap over tasks, and p by a paired test.
    """
    first = next(iter(found.values()))
    count = len(first.values[METRIC])
    yield f"| {title}, {count} | {' | '.join(SHOWN)} | Δ {METRIC} | 95 % | p | CPU ms |"
    yield f"|---|{'---:|' * (len(SHOWN) + 4)}"
    for name, run in found.items():
        means = " | ".join(f"{statistics.mean(run.values[metric].values()):.4f}" for metric in SHOWN)
        base = found.get(PROFILE_OF[name], first) if name != PROFILE_OF[name] else first
        compared = compare(base.values[METRIC], run.values[METRIC])
        gap = (
            " | | "
            if run is first
            else f"{compared.after - compared.before:+.4f} | {compared.low:+.4f} to {compared.high:+.4f} | {compared.p_value:.3f}"
        )
        yield f"| {name} | {means} | {gap} | {run.seconds / count * 1000:.0f} |"


def indexed(files: Sequence[Path], indexes: Path, suffix: str, tell: Callable[[str], object]) -> dict[Path, list[Task]]:
    """Index → the tasks about it, in order of the repositories' names."""
    found: dict[Path, list[Task]] = {}
    for task in sorted((t for file in files for t in read_tasks(file)), key=lambda t: t.repository):
        found.setdefault(indexes / f"{task.repository}{suffix}.db", []).append(task)
    for missing in [index for index in found if not index.is_file()]:
        tell(f"no {missing.name}: {len(found.pop(missing))} tasks are not asked\n")
    return found


def main() -> None:
    """Prints a table for the tasks and one for the commits; what is under way goes to stderr."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("indexes", type=Path, help="a folder of indexes")
    parser.add_argument("--tasks", type=Path, nargs="*", default=[], help="tasks as JSON Lines; scored by name")
    parser.add_argument("--commits", type=Path, nargs="*", default=[], help="the same, scored by name and file")
    parser.add_argument("--rows", default="", help="only these rows, by name, with commas between")
    options = parser.parse_args()
    wanted = [name.strip() for name in options.rows.split(",") if name.strip()]
    if unknown := sorted(set(wanted) - {row.name for row in ROWS}):
        parser.error(f"no row '{unknown[0]}'; there are: {', '.join(row.name for row in ROWS)}")
    rows = [row for row in ROWS if not wanted or row.name in wanted]
    for title, files, suffix, rule in (
        ("tasks", options.tasks, "", strict),
        ("commits", options.commits, "-commits", same_file),
    ):
        tasks = indexed(files, options.indexes, suffix, sys.stderr.write)
        if tasks:
            found = ablate(rows, tasks, rule, sys.stderr.write)
            print("\n".join(table(title, found)) + "\n", flush=True)


if __name__ == "__main__":
    main()

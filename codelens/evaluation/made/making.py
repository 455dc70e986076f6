"""A git repository → files of tasks, and the trees to ask them of: the story of `made`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from codelens.evaluation.made.commits import Changing, Chosen, Place, choose
from codelens.evaluation.made.concepts import concept_rows
from codelens.evaluation.made.documentation import documentation_rows, lay_bare
from codelens.evaluation.made.folder import clear
from codelens.evaluation.made.laying import drawn, lay
from codelens.evaluation.made.names import name_rows
from codelens.evaluation.made.reading import Reader
from codelens.evaluation.made.rows import commit_rows, long_rows, write_rows
from codelens.evaluation.made.topics import topic_rows
from codelens.evaluation.made.trees import read_tree
from codelens.nouns import dataclass
from codelens.runs import ProgressSink
from codelens.worktree.repository import Repository
from codelens.worktree.revisions import commit_id


@dataclass(frozen=True, slots=True)
class Wanted:
    """How much is to be made."""

    commits: int = 60
    docs: int = 40
    identifiers: int = 40
    topics: int = 40
    concepts: int = 40
    max_files: int = 3000
    """Of a tree. A larger one is cut to the files that answers lie in and a draw of the rest."""


@dataclass(frozen=True, slots=True)
class Made:
    """What was made: where the tree was taken, how many tasks of each kind, and why commits were left out."""

    base: str
    head: str
    files: int
    """Of the tree that an index would hold."""
    not_drawn: int
    """Files of the commit that are too large, or more than were wanted."""
    not_written: int
    """Files that this system cannot have."""
    tasks: tuple[tuple[str, int], ...]
    looked_at: int
    left_out: tuple[tuple[str, int], ...]
    """(reason, commits), most first."""


def make_tasks(
    repository: Repository,
    name: str,
    folder: Path,
    wanted: Wanted,
    head: str = "HEAD",
    progress: ProgressSink | None = None,
) -> Made:
    """Write the tree NAME-commits/ and what is asked of it (commits, tasks, names, topics: each in NAME-KIND.jsonl), the tree
    NAME-docs/ and what is asked of that (docs, concepts) to a folder, in place of those made before.

    Raises UsageError, CannotWrite, GitError and OSError.
    """
    last = commit_id(repository, head)
    clear(folder, name)
    reader = Reader(repository)
    chosen = choose(reader, last, wanted.commits, progress)
    needed = {path for task in chosen.tasks for path, _ in task.places}
    tree = folder / f"{name}-commits"
    files = reader.files(chosen.base)
    paths = drawn(files, needed, wanted.max_files)
    failed = lay(reader, chosen.base, paths, tree)
    texts = list(read_tree(tree, progress, len(paths)))
    there = {(text.path, unit.qualified_name) for text in texts for unit in text.answers}
    tasks, left_out = _findable(chosen, there)
    bare = lay_bare(texts, folder / f"{name}-docs")
    rows = {
        "commits": commit_rows(name, chosen.base, tasks),
        "tasks": long_rows(name, chosen.base, tasks),
        "docs": documentation_rows(name, bare, wanted.docs),
        "names": name_rows(name, texts, wanted.identifiers),
        "topics": topic_rows(name, texts, wanted.topics),
        "concepts": concept_rows(name, texts, bare, wanted.concepts),
    }
    for kind, found in rows.items():
        write_rows(folder / f"{name}-{kind}.jsonl", found)
    counts = tuple((kind, len(found)) for kind, found in rows.items())
    ordered = tuple(sorted(left_out.items(), key=lambda entry: (-entry[1], entry[0])))
    return Made(
        chosen.base, chosen.head, len(texts), len(files) - len(paths), failed, counts, chosen.looked_at, ordered
    )


def _findable(chosen: Chosen, there: set[Place]) -> tuple[list[Changing], Counter[str]]:
    """The tasks with those of their answers that an index of the tree holds."""
    left_out = Counter(chosen.left_out)
    tasks = []
    for one in chosen.tasks:
        if kept := tuple(place for place in one.places if place in there):
            tasks.append(Changing(one.message, kept))
        else:
            left_out["changes only what an index leaves out"] += 1
    return tasks, left_out


def told(name: str, made: Made) -> Iterator[str]:
    """Lines on what was made of which commit, and what was left out for which reason: nothing is dropped in silence."""
    yield f"{name}: {', '.join(f'{count} {kind}' for kind, count in made.tasks)}"
    yield f"{name}: the tree is that of {made.base[:12]}, {made.looked_at} commits before {made.head[:12]}: {made.files} files"
    if made.not_drawn or made.not_written:
        yield f"{name}: files left out: {made.not_drawn} too large or too many, {made.not_written} that cannot be written here"
    kept = made.looked_at - sum(count for _, count in made.left_out)
    reasons = ", ".join(f"{count} {why}" for why, count in made.left_out)
    yield f"{name}: {made.looked_at} commits looked at, {kept} kept; left out: {reasons or 'none'}"

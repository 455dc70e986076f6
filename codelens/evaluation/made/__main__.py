"""python -m codelens.evaluation.made REPO --out FOLDER: the tasks of one repository, and a line on what was made."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from codelens.evaluation.made.making import Made, Wanted, make_tasks
from codelens.worktree.plumbing import GitError
from codelens.worktree.repository import bare_repository_at, enclosing_repository


def main(arguments: list[str] | None = None) -> int:
    """0 where tasks were made, 2 where there is no history or the folder cannot be written."""
    parser = argparse.ArgumentParser(prog="python -m codelens.evaluation.made", description=__doc__)
    parser.add_argument("repo", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--name", default="")
    parser.add_argument("--head", default="HEAD")
    parser.add_argument("--commits", type=int, default=Wanted().commits)
    parser.add_argument("--docs", type=int, default=Wanted().docs)
    parser.add_argument("--identifiers", type=int, default=Wanted().identifiers)
    parser.add_argument("--max-files", type=int, default=Wanted().max_files)
    asked = parser.parse_args(arguments)
    folder = asked.repo.resolve()
    repository = bare_repository_at(folder) or enclosing_repository(folder)
    if repository is None:
        parser.error(f"no git repository: {asked.repo}")
    name = re.sub(r"[^\w.-]", "-", asked.name or folder.name.removesuffix(".git") or "tree")
    wanted = Wanted(asked.commits, asked.docs, asked.identifiers, asked.max_files)
    try:
        made = make_tasks(repository, name, asked.out, wanted, asked.head)
    except (GitError, OSError) as fault:
        parser.error(str(fault))
    sys.stderr.writelines(said(name, made))
    return 0


def said(name: str, made: Made) -> list[str]:
    """What was made and what was left out, a line each."""
    tasks = ", ".join(f"{count} {kind}" for kind, count in made.tasks)
    left_out = ", ".join(f"{count} {why}" for why, count in made.left_out)
    return [
        f"{name}: {tasks}; base {made.base}, {made.looked_at} commits before {made.head}, {made.files} files\n",
        f"{name}: of {made.looked_at} commits left out: {left_out or 'none'}\n",
    ]


if __name__ == "__main__":
    raise SystemExit(main())

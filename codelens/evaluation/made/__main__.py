"""python -m codelens.evaluation.made REPO --out FOLDER: `codelens eval make-tasks` for scripts, which tell it the same way."""

from __future__ import annotations

import argparse
import sys
from dataclasses import fields
from pathlib import Path

from codelens.errors import CodelensError
from codelens.evaluation.made.folder import name_meant, repository_meant
from codelens.evaluation.made.making import Wanted, make_tasks, told
from codelens.worktree.plumbing import GitError


def main(arguments: list[str] | None = None) -> int:
    """0 where tasks were made, 2 where there is no history or the folder cannot be written."""
    parser = argparse.ArgumentParser(prog="python -m codelens.evaluation.made", description=__doc__)
    parser.add_argument("repo", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--name", default="")
    parser.add_argument("--head", default="HEAD")
    for field in fields(Wanted):
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=int, default=field.default)
    asked = parser.parse_args(arguments)
    try:
        repository = repository_meant(asked.repo)
        name = name_meant(asked.name, repository)
        wanted = Wanted(**{field.name: getattr(asked, field.name) for field in fields(Wanted)})
        made = make_tasks(repository, name, asked.out.resolve(), wanted, asked.head)
    except (CodelensError, GitError, OSError) as fault:
        parser.error(str(fault))
    sys.stderr.writelines(f"{line}\n" for line in told(name, made))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

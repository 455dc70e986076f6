"""Installs a block in git's hooks that runs a command in the background after each change of HEAD. git never waits and never
sees a failure. Many changes within a second, as in a rebase, start one run: a folder next to HEAD marks it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from codelens.errors import UsageError
from codelens.files import make_folder, resolve_file, write_in_one_step
from codelens.model.fast_dataclass import dataclass
from codelens.worktree.repository import (
    Repository,
    expand_home,
    find_enclosing_repository,
    read_configuration,
    read_regular,
)

NAMES = ("post-checkout", "post-merge", "post-commit", "post-rewrite")
"""The hooks for a checkout or clone, a merge or pull, a commit, and a rebase or amend."""
BEGIN, END = "# >>> codelens >>>", "# <<< codelens <<<"
_SHELLS = ("sh", "bash", "dash", "ash", "ksh", "zsh")  # Shells that can run the block
_BLOCK = """\
{begin}
# Brings the index of codelens up to date, in the background. `codelens hooks remove` takes this out.
(
  codelens_soon="$(git rev-parse --git-dir)/codelens-soon" || exit 0
  if ! mkdir "$codelens_soon" 2>/dev/null; then
    # One is about to begin and will see this change too; what an hour ago was about to begin never did.
    [ -n "$(find "$codelens_soon" -prune -mmin +60 2>/dev/null)" ] || exit 0
  fi
  sleep 1
  rmdir "$codelens_soon" 2>/dev/null
  exec {command}
) </dev/null >/dev/null 2>&1 &
{end}
"""


@dataclass(frozen=True, slots=True)
class Hooks:
    """The folder of a repository's hooks."""

    repository: Repository
    folder: Path
    tops: tuple[Path, ...]  # The folder that no link of a hook may leave; empty if others may share the hooks

    def locate(self, name: str) -> Path:
        """Locate the file of a hook. Raises UnsafePath if links lead out of the repository, or to something special."""
        hook = self.folder / name
        resolve_file(hook, self.tops)
        return hook


def find_hooks(start: Path) -> Hooks:
    """Find the hooks that git runs in the work tree of `start`. Raises UsageError outside a repository."""
    repository = find_enclosing_repository(start)
    if repository is None:
        raise UsageError(f"no git repository in {start} or above it")
    settings = read_configuration(repository)
    folder = repository.common / "hooks"
    if chosen := settings.get("core.hookspath"):
        folder = repository.top / expand_home(chosen)  # a relative path starts at the top, where hooks run
    if ".." not in folder.parts and folder.is_relative_to(repository.top):
        return Hooks(repository, folder, (repository.top,))

    # The git folder of a linked worktree or a submodule names the work tree. One that does not may be that of another project,
    # which the file `.git` names.
    named = read_regular(repository.git_folder / "gitdir")
    owner = repository.common / settings.get("core.worktree", "")
    if named:
        owner = Path(os.fsdecode(named.strip())).parent
    around = repository.common.resolve()
    if around.name == ".git":
        around = around.parent
    names_top = owner.resolve() == repository.top
    if names_top and folder.resolve().is_relative_to(around):
        return Hooks(repository, folder, (around,))
    return Hooks(repository, folder, ())


def has_block(hook: Path) -> bool:
    """True if a hook contains the block."""
    return BEGIN in _read_text(hook)


def add_blocks(hooks: Hooks, command: Sequence[str]) -> None:
    """Add a block that runs a command to all hooks, or to none: UsageError if one is not a shell script or has been disabled."""
    block = _BLOCK.format(begin=BEGIN, end=END, command=shlex.join(command))
    files = [hooks.locate(name) for name in NAMES]
    texts = {file: _insert_block(file, block) for file in files}
    make_folder(hooks.folder)
    for file, text in texts.items():
        write_in_one_step(file, os.fsencode(text), is_executable=True)


def _insert_block(hook: Path, block: str) -> str:
    """Put the block at the start of the hook's text, because a hook may `exit` or `exec` anywhere; drop older blocks."""
    text = remove_block(_read_text(hook))
    if text and os.name != "nt" and not os.access(hook, os.X_OK):
        raise UsageError(f"{hook} is not executable, so git does not run it", f"`chmod +x {hook}`, or remove it")
    first, newline, rest = text.partition("\n")
    words = first.removeprefix("#!").split()
    if words and words[0].endswith("/env"):
        words = words[1:]
    if not text:
        first, newline = "#!/bin/sh", "\n"
    elif not first.startswith("#!"):
        first, newline, rest = "", "", text
    elif not words or Path(words[0]).name.removesuffix(".exe") not in _SHELLS:
        hint = "have it call `codelens hooks run` in the background"
        raise UsageError(f"{hook} is not a shell script: {first}", hint)
    return f"{first}{newline}{block}{rest}"


def cut_block(hook: Path) -> bool:
    """Remove the block, and the hook if nothing else is left. Returns whether the block was there."""
    text = _read_text(hook)
    if BEGIN not in text:
        return False
    rest = remove_block(text)
    if rest.strip() in ("", "#!/bin/sh"):
        hook.unlink()
    else:
        write_in_one_step(hook, os.fsencode(rest), is_executable=True)
    return True


def remove_block(text: str) -> str:
    """Remove the block from a hook's text. A block without an end was edited by the user and stays."""
    before, begin, rest = text.partition(BEGIN + "\n")
    _, end, after = rest.partition(END + "\n")
    return before + after if begin and end else text


def _read_text(hook: Path) -> str:
    """Read a hook's text, byte for byte; empty if it does not exist. Raises UsageError if it cannot be read."""
    try:
        return os.fsdecode(hook.read_bytes())
    except FileNotFoundError:
        return ""
    except OSError as fault:
        raise UsageError(f"{hook} cannot be read: {fault.strerror}") from None

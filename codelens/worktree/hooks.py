"""A block in git's hooks that has a command run in the background after each change of HEAD; the rest of a hook is its owner's.

git is never kept waiting and never told of a failure. Many changes in one second, as in a rebase, make one run: a folder beside
HEAD says that one is about to begin.
"""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from codelens.errors import CannotWrite, UsageError
from codelens.nouns import dataclass
from codelens.worktree.repository import Repository, configured, enclosing_repository, expanded

NAMES = ("post-checkout", "post-merge", "post-commit", "post-rewrite")
"""A switch or clone, a merge or pull, a commit, and a rebase or amendment, which calls the others for its steps only."""
BEGIN, END = "# >>> codelens >>>", "# <<< codelens <<<"
_SHELLS = ("sh", "bash", "dash", "ash", "ksh", "zsh")
"""Whose scripts the block can be part of."""
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
    """Where a repository's hooks are."""

    repository: Repository
    folder: Path
    is_shared: bool
    """The folder serves other repositories too: core.hooksPath leads out of this one."""


def hooks_of(start: Path) -> Hooks:
    """The hooks that git runs in the work tree that holds `start`. Raises UsageError where there is none."""
    repository = enclosing_repository(start.resolve())
    if repository is None:
        raise UsageError(f"no git repository in {start} or above it")
    chosen = configured(repository).get("core.hookspath")
    if not chosen:
        return Hooks(repository, repository.common / "hooks", is_shared=False)
    folder = repository.top / expanded(chosen)  # a relative one is meant from the top, where hooks run
    own = (repository.top.resolve(), repository.common.resolve())
    return Hooks(repository, folder, not any(folder.resolve().is_relative_to(place) for place in own))


def block_for(command: Sequence[str]) -> str:
    """The lines that run a command."""
    return _BLOCK.format(begin=BEGIN, end=END, command=shlex.join(command))


def is_installed(hook: Path) -> bool:
    """Whether a hook holds the block."""
    return BEGIN in _text(hook)


def install(folder: Path, block: str) -> None:
    """Put the block into all hooks, or into none: UsageError for one that is no shell script, or that its owner switched off."""
    texts = {folder / name: _with_block(folder / name, block) for name in NAMES}
    folder.mkdir(parents=True, exist_ok=True)
    for hook, text in texts.items():
        _write(hook, text)


def _with_block(hook: Path, block: str) -> str:
    """At its head, since a hook may end with `exit` or `exec` anywhere; in the place of an older block."""
    text = without_block(_text(hook))
    if text and os.name != "nt" and not os.access(hook, os.X_OK):
        raise UsageError(f"{hook} is not executable, so git does not run it", f"`chmod +x {hook}`, or remove it")
    first, newline, rest = text.partition("\n")
    if not text:
        first, newline = "#!/bin/sh", "\n"
    elif not first.startswith("#!"):
        first, newline, rest = "", "", text
    elif not _is_shell(first):
        raise UsageError(f"{hook} is no shell script: {first}", "have it call `codelens hooks run` in the background")
    return f"{first}{newline}{block}{rest}"


def remove(hook: Path) -> bool:
    """Take the block out; a hook that holds nothing else goes. Whether there was one."""
    text = _text(hook)
    if BEGIN not in text:
        return False
    rest = without_block(text)
    if rest.strip() in ("", "#!/bin/sh"):
        hook.unlink()
    else:
        _write(hook, rest)
    return True


def without_block(text: str) -> str:
    """What of a hook is its owner's. A block without an end is the owner's doing, and stays."""
    before, begin, rest = text.partition(BEGIN + "\n")
    _, end, after = rest.partition(END + "\n")
    return before + after if begin and end else text


def _is_shell(first: str) -> bool:
    words = first.removeprefix("#!").split()
    if words and words[0].endswith("/env"):
        words = words[1:]
    return bool(words) and Path(words[0]).name.removesuffix(".exe") in _SHELLS


def _text(hook: Path) -> str:
    """A hook's text, byte for byte; empty if there is none. Raises UsageError for what cannot be a script."""
    try:
        return os.fsdecode(hook.read_bytes())
    except FileNotFoundError:
        return ""
    except OSError as fault:
        raise UsageError(f"{hook} cannot be read: {fault.strerror}") from None


def _write(hook: Path, text: str) -> None:
    """In one step, so that git never runs half a hook; executable as before, and a new one for all who may read it.

    A hook that is a link stays one: what it leads to is written. Raises CannotWrite.
    """
    target = hook.resolve()
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o644
    made = target.with_name(f"{target.name}.codelens-{os.getpid()}")
    try:
        made.write_bytes(os.fsencode(text))
        made.chmod(mode | ((mode & 0o444) >> 2))
        made.replace(target)
    except OSError as fault:
        with suppress(OSError):
            made.unlink()
        raise CannotWrite(
            f"{target}: {fault.strerror or fault}", f"see that {target.parent} is yours, with room"
        ) from None

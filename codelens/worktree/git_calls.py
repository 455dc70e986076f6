"""How git is called: with which options and variables, and for how long.

A repository's configuration and attributes can make git run programs, read other files, print something else, or wait for ever.
Everything that prevents it is here, so that no caller can forget a part of it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from codelens.model.fast_dataclass import dataclass
from codelens.worktree.repository import GitError, Repository, TooSlow, is_special, read_settings

PIPE = subprocess.PIPE

_SETTINGS = (
    # Programs that git would run.
    "core.askPass=",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "diff.external=",
    "gc.auto=0",
    "gpg.program=false",
    "gpg.ssh.program=false",
    "gpg.x509.program=false",
    "log.showSignature=false",
    "maintenance.auto=false",
    # Files and repositories elsewhere that git would read.
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "diff.orderFile=/dev/null",
    "diff.submodule=short",
    "fetch.recurseSubmodules=false",
    "log.mailmap=false",
    "submodule.recurse=false",
    # The form of the output, and what a diff compares.
    "color.ui=false",
    "core.bigFileThreshold=10000000",  # Bytes; a larger file counts as binary, since a diff is held in memory
    "core.quotePath=true",
    "diff.indentHeuristic=true",
    "diff.mnemonicPrefix=false",
    "diff.noPrefix=false",
    "diff.relative=false",
    "diff.renameLimit=400",
    "diff.suppressBlankEmpty=false",
    "i18n.logOutputEncoding=UTF-8",
    "log.decorate=false",
    "log.follow=false",
    "log.showRoot=true",
)
"""Settings of every call. They override those of the repository and of the user. git accepts the name /dev/null on Windows, too."""
_LOCAL_SETTINGS = ("core.sshCommand=false", "credential.helper=")
"""Settings of calls without network. With it, the user's own programs reach a private repository."""

_DIFF_OPTIONS = (
    *("--no-ext-diff", "--no-textconv", "--submodule=short", "--ignore-submodules=none"),
    *("--no-color", "--no-relative", "--src-prefix=a/", "--dst-prefix=b/"),
    *("--diff-algorithm=myers", "--inter-hunk-context=0"),
)
_LOG_OPTIONS = ("--no-mailmap", "--no-show-signature", "--no-notes", "--no-decorate", "--encoding=UTF-8")
_FETCH_OPTIONS = ("--quiet", "--no-tags", "--no-recurse-submodules", "--no-auto-maintenance")

OPTIONS: dict[str, tuple[str, ...]] = {
    "cat-file": (),
    "config": (),
    "diff-index": _DIFF_OPTIONS,
    "diff-tree": _DIFF_OPTIONS,
    "fetch": _FETCH_OPTIONS,
    "init": ("--quiet", "--template="),
    "log": (*_LOG_OPTIONS, *_DIFF_OPTIONS),
    "ls-files": (),
    "ls-remote": ("--quiet",),
    "ls-tree": ("--full-tree",),
    "merge-base": (),
    "read-tree": (),
    "rev-list": (),
    "rev-parse": (),
    "update-ref": (),
}
"""Every command of git that codelens runs, with the options that it always gets, before those of the caller.

They are there for what `_SETTINGS` cannot override: drivers, submodules and remotes have names of their own."""

_VARIABLES = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}
_NETWORK_VARIABLES = {
    "GIT_ALLOW_PROTOCOL": "file:http:https:ssh",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
    "GIT_SSH_COMMAND": "ssh -oBatchMode=yes",
}


def build_command(command: str, arguments: Sequence[str], network: bool) -> list[str]:
    """Build git's command line. Raises KeyError for a command without a row in OPTIONS."""
    line = ["git", "--no-pager", "--no-replace-objects"]
    for setting in _SETTINGS if network else (*_SETTINGS, *_LOCAL_SETTINGS):
        line += ["-c", setting]
    return [*line, command, *OPTIONS[command], *arguments]


def build_variables(repository: Repository, network: bool) -> dict[str, str]:
    """Build the environment variables that a call adds to those of this process."""
    variables = _VARIABLES | _NETWORK_VARIABLES if network else _VARIABLES
    located = {
        "GIT_DIR": repository.git_folder,
        "GIT_WORK_TREE": repository.top,
        "GIT_INDEX_FILE": repository.git_folder / "index",
        "GIT_COMMON_DIR": repository.common,
        "GIT_OBJECT_DIRECTORY": repository.common / "objects",
    }
    if located.keys().isdisjoint(os.environ):
        return variables

    # Inside a hook, they name another repository.
    return variables | {name: str(path) for name, path in located.items()}


MAX_SECONDS = 120.0  # Time that git has for all calls of a run in one repository
MAX_IDLE_SECONDS = 4.0  # Time that git may sleep without doing anything
RENEWAL_SECONDS = 600.0  # A server, whose run never ends, asks git again after this time


@dataclass(slots=True)
class GitTime:
    """The time that is left for calls of git, and the reason that is given once it is over."""

    left: float
    fault: str = f"git took longer than {MAX_SECONDS:.0f} seconds in all"


def share_time(repository: Repository) -> GitTime:
    """Return the time that all calls in this repository share during a run. Raises GitError if it is over."""
    shared = _begin_time(repository, int(time.monotonic() // RENEWAL_SECONDS))
    if shared.left <= 0:
        raise GitError(shared.fault)
    return shared


@lru_cache(maxsize=1000)
def _begin_time(repository: Repository, period: int) -> GitTime:
    if special := find_special_file(repository):
        return GitTime(0.0, f"{special} is not a regular file, so git was not run")
    return GitTime(MAX_SECONDS)


renew_times = _begin_time.cache_clear  # Begins a run, in which git has its time again


def read_output(
    process: subprocess.Popen[bytes], given: bytes, seconds: float, shared: GitTime, may_sleep: bool
) -> tuple[bytes, bytes]:
    """Write `given` to git's stdin, and read both its streams to their ends. Ends git and its children if they take longer, or
    sleep, unless they may, waiting for something that may never happen. Raises GitError and TooSlow."""
    until = time.monotonic() + seconds
    rest: bytes | None = given
    before = b""
    try:
        while (left := until - time.monotonic()) > 0:
            try:
                return process.communicate(rest, timeout=min(left, MAX_IDLE_SECONDS))
            except subprocess.TimeoutExpired:
                rest = None

            activity = _read_activity(process.pid)
            if activity == before and b") S " in activity and not may_sleep:
                shared.left = 0.0
                shared.fault = f"git was stopped after {MAX_IDLE_SECONDS:.0f} seconds without activity"
                raise GitError(shared.fault)
            before = activity
        raise TooSlow(f"git took longer than {seconds:.0f} seconds")
    finally:
        shared.left -= seconds - (until - time.monotonic())
        if process.returncode is None:
            _end_group(process)


def _read_activity(pid: int) -> bytes:
    """Read a process's state and what it has done, such as CPU time and page faults; empty if the system does not say."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return b""


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End a process, and those that it has started."""
    with suppress(OSError):
        if os.name == "nt":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


_FOLDERS = ("info", "refs", "reftable", "objects/info", "objects/pack")


def find_special_file(repository: Repository) -> Path | None:
    """Find a file that git should not open, in the git folder without its loose objects, or among files that it includes."""
    listed = [repository.top / ".gitattributes"]
    settings = read_settings(repository.common / "config", repository)
    listed += [Path(value) for key, value in settings if key == "include.path"]
    for folder in (repository.git_folder, repository.common):
        listed += folder.glob("*")
        for name in _FOLDERS:
            listed += (folder / name).rglob("*")
    return next(filter(is_special, listed), None)

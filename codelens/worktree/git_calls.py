"""How git is called: with which options and variables, and for how long.

A repository's configuration and attributes can make git run programs, read other files, print something else, or wait for ever.
Everything that prevents it is here, so that no caller can forget a part of it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from codelens.worktree.repository import (
    GitError,
    Repository,
    find_enclosing_repository,
    is_special,
    list_included_files,
)

_NO_FILE = "/dev/null"  # git accepts this name on Windows, too

_SETTINGS = {
    # Programs that git would run.
    "core.askPass": "",
    "core.fsmonitor": "false",
    "core.hooksPath": _NO_FILE,
    "core.sshCommand": "false",
    "credential.helper": "",
    "diff.external": "",
    "gc.auto": "0",
    "gpg.program": "false",
    "gpg.ssh.program": "false",
    "gpg.x509.program": "false",
    "log.showSignature": "false",
    "maintenance.auto": "false",
    # Files and repositories elsewhere that git would read.
    "core.attributesFile": _NO_FILE,
    "core.excludesFile": _NO_FILE,
    "diff.orderFile": _NO_FILE,
    "diff.submodule": "short",
    "fetch.recurseSubmodules": "false",
    "log.mailmap": "false",
    "submodule.recurse": "false",
    # The form of the output, and what a diff compares.
    "color.ui": "false",
    "core.bigFileThreshold": "10000000",  # Bytes; a larger file counts as binary, since a diff is held in memory
    "core.quotePath": "true",
    "diff.indentHeuristic": "true",
    "diff.mnemonicPrefix": "false",
    "diff.noPrefix": "false",
    "diff.relative": "false",
    "diff.renameLimit": "400",
    "diff.suppressBlankEmpty": "false",
    "i18n.logOutputEncoding": "UTF-8",
    "log.decorate": "false",
    "log.follow": "false",
    "log.showRoot": "true",
}
"""Settings of every call. They override those of the repository and of the user."""

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
_NETWORK_SETTINGS = ("core.sshCommand", "credential.helper")
"""Settings left to the user's own programs that reach a private repository."""
_NETWORK_VARIABLES = {
    "GIT_ALLOW_PROTOCOL": "file:http:https:ssh",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
    "GIT_SSH_COMMAND": "ssh -oBatchMode=yes",
}


def build_command(command: str, arguments: Sequence[str], network: bool) -> list[str]:
    """Build git's command line. Raises KeyError for a command without a row in OPTIONS."""
    line = ["git", "--no-pager", "--no-replace-objects"]
    for key, value in _SETTINGS.items():
        if not (network and key in _NETWORK_SETTINGS):
            line += ["-c", f"{key}={value}"]
    return [*line, command, *OPTIONS[command], *arguments]


def build_variables(repository: Repository, network: bool) -> dict[str, str]:
    """Build the environment variables that a call adds to those of this process."""
    variables = dict(_VARIABLES)
    if network:
        variables |= _NETWORK_VARIABLES
    located = {
        "GIT_DIR": str(repository.git_folder),
        "GIT_WORK_TREE": str(repository.top),
        "GIT_INDEX_FILE": str(repository.git_folder / "index"),
        "GIT_COMMON_DIR": str(repository.common),
        "GIT_OBJECT_DIRECTORY": str(repository.common / "objects"),
    }
    if not located.keys().isdisjoint(os.environ):  # inside a hook, they name another repository
        variables |= located
    return variables


MAX_SECONDS = 120.0  # Time that git has for all calls of a run in one repository
MAX_IDLE_SECONDS = 5.0  # Time that git may wait without working
MAX_RUN_SECONDS = 300.0  # A server, whose run never ends, asks git again after this time
STEP_SECONDS = 0.5  # Time between two looks at a process


class GitTime:
    """The time that calls of git share, and why git is not asked any more, if it is not."""

    def __init__(self, seconds: float, may_wait: bool = False) -> None:
        """`may_wait` is for calls that wait for a network; any other that waits is ended."""
        self.fault = ""
        self._left = seconds
        self._may_wait = may_wait
        self._renewed_at = time.monotonic() + MAX_RUN_SECONDS

    def is_over(self) -> bool:
        return time.monotonic() > self._renewed_at

    def read_output(self, process: subprocess.Popen[bytes], seconds: float | None) -> tuple[bytes, bytes]:
        """Read both streams of git to their ends, within `seconds` and the shared time. Ends git and its children if it takes
        longer, or waits for something that may never happen. Raises GitError."""
        started = time.monotonic()
        limit = self._left if seconds is None else min(seconds, self._left)
        try:
            return self._read_to_end(process, started + limit)
        except subprocess.TimeoutExpired:
            text = f"git took longer than {limit:.0f} seconds and was ended"
            if limit == self._left:
                self.fault = text
            raise GitError(text) from None
        finally:
            self._left -= time.monotonic() - started
            if process.returncode is None:
                _end_group(process)

    def _read_to_end(self, process: subprocess.Popen[bytes], until: float) -> tuple[bytes, bytes]:
        before = b""
        idle_seconds = 0.0
        while True:
            try:
                return process.communicate(timeout=STEP_SECONDS)
            except subprocess.TimeoutExpired:
                if time.monotonic() > until:
                    raise

            activity = _read_activity(process.pid)
            idle_seconds = idle_seconds + STEP_SECONDS if activity and activity == before else 0.0
            before = activity
            if idle_seconds >= MAX_IDLE_SECONDS and not self._may_wait:
                self.fault = f"git waited for {MAX_IDLE_SECONDS:.0f} seconds without working and was ended"
                raise GitError(self.fault)


def _read_activity(pid: int) -> bytes:
    """Read how much CPU time a sleeping process has used; empty if it does not sleep, or if the system does not say."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return b""
    # A process that waits for a disk is in another state.
    return b" ".join(fields[11:13]) if fields[0] in (b"S", b"Z") else b""


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End a process, and those that it has started."""
    if os.name == "nt":
        process.kill()
    else:
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


_shared_times: dict[Path, GitTime] = {}  # By git folder


def share_time(repository: Repository) -> GitTime:
    """Return the time that all calls in this repository share during a run."""
    shared = _shared_times.get(repository.git_folder)
    if shared is None or shared.is_over():
        shared = GitTime(MAX_SECONDS)
        if special := find_special_file(repository):
            shared.fault = f"{special} is not a regular file: git is not asked"
        _shared_times[repository.git_folder] = shared
    return shared


def renew_times() -> None:
    """Begin a run, in which git has its time again."""
    _shared_times.clear()


def find_git_fault(root: Path) -> str:
    """Find the reason why git is not asked any more in a folder's repository; empty as long as it is."""
    repository = find_enclosing_repository(root)
    shared = _shared_times.get(repository.git_folder) if repository else None
    return shared.fault if shared else ""


_FOLDERS = ("info", "refs", "reftable", "objects/info", "objects/pack")


def find_special_file(repository: Repository) -> Path | None:
    """Find a file that git should not open: a pipe or device, where it might wait for ever, or a link out of the git folder,
    whose target it might quote in a message."""
    for path in (repository.top / ".gitattributes", *list_included_files(repository)):
        if is_special(path):
            return path

    for folder in dict.fromkeys((repository.git_folder, repository.common)):
        odd = [*_list_odd_files(folder, is_deep=False)]
        for name in _FOLDERS:
            odd += _list_odd_files(folder / name, is_deep=True)
        for path in odd:
            if is_special(path) or _leads_out(path, folder):
                return path
    return None


def _list_odd_files(folder: Path, is_deep: bool) -> Iterator[Path]:
    """List what is neither a file nor a folder itself."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if not entry.is_dir(follow_symlinks=False):
                if not entry.is_file(follow_symlinks=False):
                    yield Path(entry)
            elif is_deep:
                yield from _list_odd_files(Path(entry), is_deep)


def _leads_out(path: Path, folder: Path) -> bool:
    """True for a link to a file elsewhere that has another name. Tools that share git folders link files of the same name."""
    if path.is_dir():
        return False
    try:
        target = path.resolve()
        return target.name != path.name and not target.is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # a link to itself
        return True

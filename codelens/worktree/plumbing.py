"""The one way in which git is run: plumbing only, and so that nothing an indexed repository configures is executed.

Whoever clones a hostile repository and indexes it must be as safe as someone who lists its files.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import nullcontext

from codelens.worktree.repository import Repository

_DISARMED = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.sshCommand": "false",
    "core.askPass": "",
    "credential.helper": "",
    "diff.external": "",
    "gc.auto": "0",
    "gpg.program": "false",
    "gpg.ssh.program": "false",
    "gpg.x509.program": "false",
    "log.showSignature": "false",
    "maintenance.auto": "false",
}
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
}


class GitError(Exception):
    """git is not there, refuses (safe.directory) or failed; the message is one line for people."""


def run_git(repository: Repository, *arguments: str, seconds: float = 120.0, given: bytes = b"") -> bytes:
    """What a plumbing command prints when it runs in this repository and reads `given`. Raises GitError.

    No shell, no locks, no network, no prompt. A repository that belongs to someone else is refused, as git does; that
    check is not circumvented.
    """
    os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")  # else the import fails where git is not installed
    import git

    if not os.access(repository.top, os.X_OK):
        raise GitError(f"cannot enter {repository.top}")
    disarmed = [part for key, value in _DISARMED.items() for part in ("-c", f"{key}={value}")]
    try:
        with tempfile.TemporaryFile() if given else nullcontext() as stdin:
            if stdin:
                stdin.write(given)
                stdin.seek(0)
            answer = git.Git(repository.top).execute(
                ["git", "--no-pager", "--no-replace-objects", *disarmed, *arguments],
                istream=stdin,
                env=_environment(repository),
                shell=False,
                stdout_as_string=False,
                strip_newline_in_stdout=False,
                kill_after_timeout=None if os.name == "nt" else seconds,
            )
    except git.GitCommandNotFound:
        raise GitError("git is not installed") from None
    except (git.GitCommandError, OSError) as fault:
        raise GitError(_first_line(fault)) from None
    return answer if isinstance(answer, bytes) else b""


def _environment(repository: Repository) -> dict[str, str]:
    """Inside a hook, git's own variables name another repository; then this one is named instead."""
    named = {
        "GIT_DIR": repository.git_folder,
        "GIT_WORK_TREE": repository.top,
        "GIT_INDEX_FILE": repository.git_folder / "index",
        "GIT_COMMON_DIR": repository.common,
        "GIT_OBJECT_DIRECTORY": repository.common / "objects",
    }
    misled = any(name in os.environ for name in named)
    return _ENVIRONMENT | ({name: str(path) for name, path in named.items()} if misled else {})


def _first_line(fault: Exception) -> str:
    text = str(getattr(fault, "stderr", "") or fault).replace("stderr:", "").strip(" \n'")
    return text.splitlines()[0] if text else type(fault).__name__

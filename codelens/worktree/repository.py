"""git repositories: where their files are and how they are configured, read from files; and the only way to run git.

git runs plumbing commands only, in a way that executes nothing that an indexed repository configures: indexing a hostile clone
must be as safe as listing its files.
"""

from __future__ import annotations

import math
import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from codelens.model.fast_dataclass import dataclass

RULE_FILES = (".codelensignore", ".gitignore")  # Names of the files with ignore rules in each folder
NESTED_FILES = (".git", ".git/config", ".git/index", ".git/info/exclude")
LONGEST_RULES = 4_000_000  # Bytes of a configuration or ignore file. The largest ordinary one seen has 30 kB.
MAX_GIT_INDEX_BYTES = 200_000_000  # Bytes of git's list of tracked files; a file takes about a hundred

# The format of that list: Documentation/gitformat-index.txt of git
PATHS_ARE_WHOLE = (2, 3)  # Versions that store whole paths; version 4 omits common prefixes
_HEADER = 12
_FLAGS = 60  # Offset of an entry's flags, which its path follows
_IS_EXTENDED = 0x4000  # Two more bytes of flags
_LENGTH_MASK = 0xFFF  # The flags' bits for the path's length; longer paths have this one, too


@dataclass(frozen=True, slots=True)
class Repository:
    """A work tree with its git folder. `common` is the folder shared by linked worktrees; without these, the git folder."""

    top: Path
    git_folder: Path
    common: Path

    @property
    def is_linked(self) -> bool:
        """True for a linked worktree: `git worktree add` made it."""
        return self.common.resolve() != self.git_folder.resolve()


def open_repository(folder: Path) -> Repository | None:
    """Open the repository whose work tree starts at this folder. Like git, ignores an empty or broken `.git`."""
    git_folder = folder / ".git"
    if not git_folder.is_dir():
        raw = read_regular(git_folder)
        if raw is None or not raw.startswith(b"gitdir:"):
            return None
        git_folder = folder / os.fsdecode(raw.removeprefix(b"gitdir:").strip())
    if not os.path.lexists(git_folder / "HEAD"):
        return None
    shared = read_regular(git_folder / "commondir")
    common = git_folder / os.fsdecode(shared.strip()) if shared else git_folder
    return Repository(folder, git_folder, common) if (common / "objects").is_dir() else None


def open_bare_repository(folder: Path) -> Repository | None:
    """Open the repository whose git folder this is, with or without a work tree."""
    is_git = os.path.lexists(folder / "HEAD") and (folder / "objects").is_dir() and (folder / "refs").is_dir()
    return Repository(folder, folder, folder) if is_git else None


def find_enclosing_repository(start: Path) -> Repository | None:
    """Find the nearest repository that contains `start`. Its paths are absolute, without links."""
    start = start.resolve()
    return next(filter(None, map(open_repository, (start, *start.parents))), None)


def list_other_checkouts(repository: Repository) -> list[Path]:
    """List the tops of all other work trees of the same git folder: the main one, then the linked ones."""
    common = repository.common.resolve()
    entries = sorted((common / "worktrees").glob("*/gitdir"))
    linked = [(entry.parent / os.fsdecode(named.strip())).parent for entry in entries if (named := read_regular(entry))]
    is_bare = read_configuration(repository).get("core.bare") == "true"
    tops = linked if is_bare else [common.parent, *linked]
    others = [other for top in tops if (other := open_repository(top)) and other.common.resolve() == common]
    return [other.top for other in others if other.git_folder.resolve() != repository.git_folder.resolve()]


def read_regular(path: Path, follow: bool = True, limit: int = LONGEST_RULES) -> bytes | None:
    """Read a file; None unless it is a readable regular file (reading a pipe or device might never end)."""
    try:
        if not path.is_file() or (not follow and path.is_symlink()) or path.stat().st_size > limit:
            return None
        return path.read_bytes()
    except OSError:
        return None


def is_special(path: Path) -> bool:
    """True for a file of a git folder that nobody should open: a pipe or device, where reading might never end, or a link to
    a file with another name, which git might quote in a message. Tools that share git folders link files of the same name."""
    try:
        kind = stat.S_IFMT(path.stat().st_mode)
    except OSError:
        return False
    if kind in (stat.S_IFIFO, stat.S_IFCHR, stat.S_IFBLK):
        return True

    # Old versions of git made HEAD a link to the file of its branch.
    if kind != stat.S_IFREG or path.name == "HEAD" or not path.is_symlink():
        return False
    return path.resolve().name != path.name


def read_tracked_paths(repository: Repository) -> list[bytes] | None:
    """Read the paths in git's index, sorted by their bytes. None if only git can read it: another format, or a split or sparse
    index."""
    place = repository.git_folder / "index"
    raw = read_regular(place, limit=MAX_GIT_INDEX_BYTES)
    if raw is None:
        return None if os.path.lexists(place) else []
    if raw[:4] != b"DIRC" or len(raw) < _HEADER or int.from_bytes(raw[4:8], "big") not in PATHS_ARE_WHOLE:
        return None

    paths = []
    start = _HEADER
    for _ in range(int.from_bytes(raw[8:12], "big")):
        flags = int.from_bytes(raw[start + _FLAGS : start + _FLAGS + 2], "big")
        name = start + _FLAGS + (4 if flags & _IS_EXTENDED else 2)
        end = raw.find(b"\0", name)
        if min(end - name, _LENGTH_MASK) != flags & _LENGTH_MASK:  # hashes of another length, or damage
            return None
        paths.append(raw[name:end])
        start += (end - start) // 8 * 8 + 8  # one to eight zeros fill an entry up

    needs_git = any(raw.find(mark, start) >= 0 for mark in (b"link", b"sdir"))
    return None if needs_git else paths


def read_configuration(repository: Repository | None) -> dict[str, str]:
    """Read git's configuration of system, user and repository with includes: 'section.key' (lower case) → last value. Sections
    with a subsection are ignored, except includes and remotes: 'remote.NAME.key'."""
    variables = os.environ
    is_system_off = variables.get("GIT_CONFIG_NOSYSTEM", "").lower() in ("1", "true", "yes")
    files = [] if is_system_off else [Path(variables.get("GIT_CONFIG_SYSTEM", "/etc/gitconfig"))]
    own = [locate_user_folder() / "config", expand_home("~/.gitconfig")]
    files += [Path(variables["GIT_CONFIG_GLOBAL"])] if "GIT_CONFIG_GLOBAL" in variables else own
    files += [repository.common / "config"] if repository else []
    return {key: value for file in files for key, value in read_settings(file, repository)}


def locate_user_folder() -> Path:
    return expand_home(os.environ.get("XDG_CONFIG_HOME") or "~/.config") / "git"


def locate_exclude_files(root: Path, repository: Repository | None, configuration: Mapping[str, str]) -> list[Path]:
    """Locate the ignore files of the repository and the user, which need not exist, the strongest first."""
    own = [repository.common / "info" / "exclude"] if repository else []
    chosen = configuration.get("core.excludesfile")
    users = locate_user_folder() / "ignore" if chosen is None else expand_home(chosen)
    return [*own, root / users]


def list_rule_files(root: Path, folder: str) -> list[str]:
    """List the files that decide about the entries of a folder, relative to the root as the folder is: with ignore rules, and
    those of a repository that begins here, below the root."""
    names = RULE_FILES + NESTED_FILES if folder else RULE_FILES
    return [folder + name for name in names if os.path.lexists(f"{root}/{folder}{name}")]


def expand_home(written: str) -> Path:
    """Replace ~ or ~user at the start of a path by the home folder; unchanged if that does not exist."""
    try:
        return Path(written).expanduser()
    except RuntimeError:
        return Path(written)


_SECTION = re.compile(r"\s*\[\s*([\w.-]+)\s*(?:\"((?:\\.|[^\"\\])*)\")?\s*\]")
_ASSIGNMENT = re.compile(r"\s*([A-Za-z][\w-]*)\s*(?:=\s*(.*))?$")
_PART = re.compile(r'"((?:\\.|[^"\\])*)"|([#;].*)|([^"#;]+)')
_DEEPEST_INCLUDE = 10  # The same limit as in git


def read_settings(path: Path, repository: Repository | None, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield ('section.key', value) from a configuration file and the files that it includes. 'include.path' has the path of each
    included file, also under a condition that is not met."""
    raw = read_regular(path)
    if raw is None or depth > _DEEPEST_INCLUDE:
        return
    text = (
        raw.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape").replace("\\\r\n", "").replace("\\\n", "")
    )
    section, subsection = "", None
    for line in text.splitlines():
        if header := _SECTION.match(line):
            section, subsection = header[1].lower(), header[2]
            line = line[header.end() :]
        assigned = _ASSIGNMENT.match(line)
        if not assigned:
            continue
        key, value = f"{section}.{assigned[1].lower()}", "true"  # the value of a key without "="
        if assigned[2] is not None:  # without quotes and comment
            value = "".join(quoted or plain for quoted, _, plain in _PART.findall(assigned[2].strip())).rstrip()
            value = re.sub(r"\\(.)", lambda escape: {"n": "\n", "t": "\t"}.get(escape[1], escape[1]), value)
        if key in ("include.path", "includeif.path"):
            included = path.parent / expand_home(value)
            yield "include.path", str(included)
            if key == "include.path" or _is_condition_met(subsection or "", repository):
                yield from read_settings(included, repository, depth + 1)
        elif subsection is None:
            yield key, value
        elif section == "remote":
            yield f"remote.{subsection}.{assigned[1].lower()}", value


def _is_condition_met(condition: str, repository: Repository | None) -> bool:
    """True if an includeIf applies; only its gitdir forms are supported, others count as false."""
    kind, _, pattern = condition.partition(":")
    if not repository or kind not in ("gitdir", "gitdir/i"):
        return False
    from codelens.worktree.patterns import build_path_regex

    pattern = expand_home(pattern).as_posix() + ("/**" if pattern.endswith("/") else "")
    pattern = pattern if pattern.startswith("/") else "**/" + pattern
    flags = re.DOTALL | (re.IGNORECASE if kind == "gitdir/i" else 0)
    place = os.fsencode(repository.git_folder.resolve())
    return any(re.fullmatch(build_path_regex(os.fsencode(pattern)), way, flags) for way in (place[1:], place))


class GitError(Exception):
    """git is missing, refuses (safe.directory) or failed; the message is one line for people."""


class TooSlow(GitError):
    """git exceeded its time limit; trying again would not help."""


def run_git(
    repository: Repository,
    command: str,
    *arguments: str,
    seconds: float = math.inf,
    given: bytes = b"",
    network: bool = False,
) -> bytes:
    """Run a plumbing command in this repository with `given` on stdin, and read its output. Raises GitError and TooSlow.

    `worktree/git_calls.py` has the commands, with the options that each always gets. Uses no shell, locks or prompt, and no
    network unless `network` allows it. That is for repositories that codelens itself has just made: the user's own credential
    helpers and ssh serve there. Like git, refuses a repository of someone else.

    All calls of a run share their time. `seconds` limits this call further; with `network`, it is the only limit."""
    os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")  # else the import fails where git is not installed
    import git

    from codelens.worktree.git_calls import PIPE, GitTime, build_command, build_variables, read_output, share_time

    if not os.access(repository.top, os.X_OK):
        raise GitError(f"cannot enter {repository.top}")
    shared = GitTime(seconds) if network else share_time(repository)
    try:
        running = git.Git(repository.top).execute(
            build_command(command, arguments, network),
            istream=PIPE,
            env=build_variables(repository, network),
            shell=False,
            as_process=True,
            process_group=None if os.name == "nt" else 0,  # so that its children can be ended with it
        )
        assert running.proc is not None
        output, errors = read_output(running.proc, given, min(seconds, shared.left), shared, may_sleep=network)
    except git.GitCommandNotFound:
        raise GitError("git is not installed") from None
    except OSError as fault:
        raise GitError(str(fault)) from None
    if running.proc.returncode:
        message = errors.decode("utf-8", "replace").strip()
        raise GitError(message.splitlines()[0] if message else f"git {command} failed")
    return output

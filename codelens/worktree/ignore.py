"""Ignore rules: .codelensignore first, then git's rules in git's order.

The first group with a matching pattern decides, its last pattern first: .codelensignore from the entry's folder upwards, then
.gitignore up to the top of the repository, then .git/info/exclude, then core.excludesFile. An ignored folder is not entered,
except for files that git tracks. `git check-ignore` cannot apply .codelensignore, and runs a process.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections.abc import Collection, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from codelens.model.fast_dataclass import dataclass, replace
from codelens.worktree.files import escape_path
from codelens.worktree.patterns import Rule, read_rule
from codelens.worktree.repository import (
    RULE_FILES,
    GitError,
    Repository,
    find_enclosing_repository,
    locate_exclude_files,
    open_repository,
    read_configuration,
    read_regular,
    read_tracked_paths,
    run_git,
)


class _Patterns:
    """Rules for the last part of a path, or for all of it; quick to find that none matches, as with most paths."""

    def __init__(self, rules: Sequence[Rule], fold_case: bool) -> None:
        flags = re.DOTALL | (re.IGNORECASE if fold_case else 0)
        self._plain: dict[bytes, list[Rule]] = {}
        for rule in rules:
            if rule.plain:
                self._plain.setdefault(rule.plain.lower() if fold_case else rule.plain, []).append(rule)
        globs = [rule for rule in reversed(rules) if not rule.plain]
        self._globs = [(rule, re.compile(rule.regex, flags).fullmatch) for rule in globs]  # The last rule first
        # Half of all rules only require a suffix. These are quick to test at once, as are all others.
        self._endings = tuple(rule.ending.lower() if fold_case else rule.ending for rule in globs if rule.ending)
        union = b"|".join(b"(?:" + rule.regex + b")" for rule in globs if not rule.ending)
        self._any_other = re.compile(union, flags).fullmatch if union else None

    def find_last(self, text: bytes, is_folder: bool) -> Rule | None:
        """Find the last rule that matches this text; rules for folders match folders only."""
        last = None
        if (self._endings and text.endswith(self._endings)) or (self._any_other and self._any_other(text)):
            fitting = (rule for rule, matches in self._globs if (is_folder or not rule.folders_only) and matches(text))
            last = next(fitting, None)
        for rule in self._plain.get(text, ()):
            if (is_folder or not rule.folders_only) and (last is None or rule.line > last.line):
                last = rule
        return last


@dataclass(frozen=True, slots=True)
class RuleFile:
    """An ignore file with the folder that its patterns are relative to."""

    name: str
    lead: bytes  # The root's path below this file's folder, with a slash, if the file lies above the root
    cut: int  # Length of the folder's path below the root, with its slash
    fold_case: bool
    names: _Patterns
    paths: _Patterns

    def find_last_match(self, path: bytes, name: bytes, is_folder: bool) -> Rule | None:
        """Find the rule that decides about a path relative to the root: the last that matches, as in git."""
        if self.fold_case:
            path, name = path.lower(), name.lower()
        by_name = self.names.find_last(name, is_folder)
        by_path = self.paths.find_last(self.lead + path[self.cut :], is_folder)
        return by_path if by_path and (by_name is None or by_path.line > by_name.line) else by_name

    def describe_rule(self, rule: Rule) -> str:
        """Format a rule as FILE:LINE: pattern, like `git check-ignore -v`."""
        return f"{self.name}:{rule.line}: {rule.text.decode('utf-8', 'backslashreplace')}"


def read_rule_file(path: Path, root: Path, folder: str, fold_case: bool, follow: bool = False) -> RuleFile | None:
    """Read an ignore file; None if it has no rules. Its patterns start in `folder`, relative to the root: '', or a path ending
    in a slash, or '../' parts above the root. As in git, links are followed only outside the work tree (`follow`)."""
    raw = read_regular(path, follow) or b""
    lines = raw.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    rules = [rule for number, line in enumerate(lines, 1) if (rule := read_rule(line, number))]
    if not rules:
        return None
    lead, cut = _locate_root(root, folder)
    lead = lead.lower() if fold_case else lead
    names, paths = (_Patterns([r for r in rules if r.by_name is by_name], fold_case) for by_name in (True, False))
    is_near = path.name in (GIT, OWN) or path.is_relative_to(root)  # in the root or right above it
    name = escape_path((Path(os.path.relpath(path, root)) if is_near else path).as_posix())
    return RuleFile(name, lead, cut, fold_case, names, paths)


def _locate_root(root: Path, folder: str) -> tuple[bytes, int]:
    """Find (the root's path below a folder above it, with a slash; the length of the path of a folder below it)."""
    above = root.parts[-folder.count("../") :] if folder.startswith("../") else ()
    return (os.fsencode("/".join(above) + "/"), 0) if above else (b"", len(os.fsencode(folder)))


OWN, GIT = RULE_FILES


class TrackedFiles:
    """The files that git tracks. They are read at the first ignored path."""

    def __init__(self, repository: Repository, lead: bytes, cut: int) -> None:
        """`lead` is the root's path below the repository's top; `cut` the length of the top's path below the root."""
        self._repository, self._lead, self._cut = repository, lead, cut

    def holds(self, path: bytes) -> bool:
        """True if git tracks exactly this path: a file or a submodule."""
        wanted = self._lead + path[self._cut :]
        return self._find_first_from(wanted) == wanted

    def holds_below(self, path: bytes) -> bool:
        wanted = self._lead + path[self._cut :] + b"/"
        return self._find_first_from(wanted).startswith(wanted)

    def _find_first_from(self, wanted: bytes) -> bytes:
        """Find the first tracked path that does not sort before `wanted`; empty without one."""
        place = bisect_left(self._paths, wanted)
        return self._paths[place] if place < len(self._paths) else b""

    @cached_property
    def _paths(self) -> list[bytes]:
        paths = read_tracked_paths(self._repository)
        if paths is None:
            paths = []
            with suppress(GitError):  # `find_git_fault` reports it
                paths = run_git(self._repository, "ls-files", "-z", "--cached").split(b"\0")[:-1]
        return paths


@dataclass(frozen=True, slots=True)
class IgnoreVerdict:
    """The rules' decision about an entry. `source` is FILE:LINE: pattern."""

    ignored: bool
    source: str
    wanted: bool = False
    """True if a .codelensignore includes the entry by '!', which works for hidden and vendored entries, too."""
    holds_tracked: bool = False  # An ignored folder that contains tracked files: it is entered for those alone


@dataclass(frozen=True, slots=True)
class IgnoreScope:
    """The rule files that apply to the entries of a folder, the strongest first."""

    root: Path
    own: tuple[RuleFile, ...] = ()
    git: tuple[RuleFile, ...] = ()
    tracked: TrackedFiles | None = None
    inherited: str = ""  # The pattern that ignores this folder as a whole, although it contains tracked files
    fold_case: bool = False
    silent: bool = False  # --no-ignore: no rules are read

    def judge_entry(self, path: bytes, name: bytes, is_folder: bool) -> IgnoreVerdict | None:
        """Decide about an entry of this folder, whose `path` has no final slash; None if no rule matches."""
        for file in self.own:
            if rule := file.find_last_match(path, name, is_folder):
                return IgnoreVerdict(not rule.is_negated, file.describe_rule(rule), wanted=rule.is_negated)
        source = self.inherited
        for file in () if source else self.git:
            if rule := file.find_last_match(path, name, is_folder):
                source = "" if rule.is_negated else file.describe_rule(rule)
                break
        if not source or (self.tracked and self.tracked.holds(path)):
            return None
        holds_tracked = bool(is_folder and self.tracked and self.tracked.holds_below(path))
        return IgnoreVerdict(True, source, holds_tracked=holds_tracked)

    def enter_folder(self, folder: str, names: Collection[str], inherited: str = "") -> IgnoreScope:
        """Build the scope of a sub-folder (relative to the root, with a final slash) that has entries of these names."""
        if self.silent:
            return self
        scope = replace(self, inherited=inherited) if inherited != self.inherited else self
        if ".git" in names and folder and (repository := open_repository(self.root / folder)):
            scope = _enter_repository(scope, repository, folder)
        place = self.root / folder
        if OWN in names and (file := read_rule_file(place / OWN, self.root, folder, self.fold_case)):
            scope = replace(scope, own=(file, *scope.own))
        if GIT in names and not inherited and (file := read_rule_file(place / GIT, self.root, folder, self.fold_case)):
            scope = replace(scope, git=(file, *scope.git))
        return scope


def build_outermost_scope(root: Path, no_ignore: bool = False) -> IgnoreScope:
    """Build the rules that apply before the walk enters `root` (absolute): the user's, the repository's, those of folders above."""
    scope = IgnoreScope(root, silent=no_ignore)
    if no_ignore:
        return scope
    repository = find_enclosing_repository(root)
    above = len(root.relative_to(repository.top).parts) if repository else 0
    scope = _enter_repository(scope, repository, "../" * above)
    for steps in range(above, 0, -1):
        scope = scope.enter_folder("../" * steps, (OWN, GIT))
    return scope


def _enter_repository(scope: IgnoreScope, repository: Repository | None, folder: str) -> IgnoreScope:
    """Build the scope at a repository's top. From outside it inherits only .codelensignore files. It adds git's rules in
    .git/info/exclude and in the user's excludes file; without a repository, only the latter."""
    configuration = read_configuration(repository)
    fold_case = configuration.get("core.ignorecase", "false").lower() in ("true", "yes", "on", "1")
    places = locate_exclude_files(scope.root, repository, configuration)
    files = (read_rule_file(place, scope.root, folder, fold_case, follow=True) for place in places)
    scope = replace(scope, git=tuple(file for file in files if file))
    if repository is None:
        return scope
    tracked = TrackedFiles(repository, *_locate_root(scope.root, folder))
    return replace(scope, tracked=tracked, inherited="", fold_case=fold_case)


def find_git_fault(root: Path, asks: bool = True) -> str:
    """Find the reason why git cannot list its tracked files here, as one line; else empty. Without that list, a tracked file
    that matches an ignore pattern counts as ignored. Unless it `asks`, only faults of git in this run are found."""
    from codelens.worktree.git_calls import share_time

    repository = find_enclosing_repository(root)
    try:
        if repository:
            share_time(repository)
        if repository and asks and read_tracked_paths(repository) is None:
            run_git(repository, "rev-parse", "--git-dir")
    except GitError as fault:
        return str(fault)
    return ""

"""Which rules speak about the entries of a folder, and what they say: git's own order, with .codelensignore above it.

The first group with a matching pattern decides, its last pattern first: .codelensignore from the entry's folder up,
then .gitignore from there up to the top of the repository, then .git/info/exclude, then core.excludesFile. An ignored
folder is not entered, so nothing in it can be included again, except what git tracks. Outside any repository .gitignore
files count from the root downwards. The root itself is never judged: whoever names it wants it.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from codelens.worktree.plumbing import GitError, run_git
from codelens.worktree.repository import (
    Repository,
    configured,
    enclosing_repository,
    expanded,
    repository_at,
    user_folder,
)
from codelens.worktree.rulefile import RuleFile, read_rule_file

OWN = ".codelensignore"
GIT = ".gitignore"


@dataclass(slots=True)
class Tracked:
    """What git tracks although a pattern matches it. git is asked once, when the first ignored path turns up."""

    repository: Repository
    lead: bytes
    """The root's path below the top, with a slash, where the root lies below it."""
    cut: int
    """Length of the top's path below the root, with its slash."""
    fault: str = ""
    _files: frozenset[bytes] | None = None
    _folders: frozenset[bytes] = frozenset()

    def holds(self, path: bytes) -> bool:
        """Whether this very path is tracked: a file, or a submodule."""
        return self.lead + path[self.cut :] in self._listed()

    def holds_below(self, path: bytes) -> bool:
        """Whether a tracked file lies in this folder."""
        self._listed()
        return self.lead + path[self.cut :] in self._folders

    def _listed(self) -> frozenset[bytes]:
        if self._files is None:
            self._files = self._ask()
            self._folders = frozenset(
                os.fsencode(str(parent)) for path in self._files for parent in PurePosixPath(os.fsdecode(path)).parents
            )
        return self._files

    def _ask(self) -> frozenset[bytes]:
        if not (self.repository.git_folder / "index").exists():
            return frozenset()
        try:
            listed = run_git(self.repository, "ls-files", "-z", "--cached", "--ignored", "--exclude-standard")
        except GitError as fault:
            self.fault = str(fault)
            return frozenset()
        return frozenset(listed.split(b"\0")[:-1])


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the rules say about an entry. `source` is FILE:LINE: pattern."""

    ignored: bool
    source: str
    wanted: bool = False
    """A .codelensignore includes it by name with '!': that also brings in what is hidden or vendored."""
    holds_tracked: bool = False
    """An ignored folder with tracked files in it: to be entered, for those alone."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The rule files that speak about the entries of one folder, the strongest first."""

    root: Path
    own: tuple[RuleFile, ...] = ()
    git: tuple[RuleFile, ...] = ()
    tracked: Tracked | None = None
    inherited: str = ""
    """The pattern that ignores this folder as a whole, though tracked files lie in it."""
    fold_case: bool = False
    silent: bool = False
    """--no-ignore: no rule is read."""

    def judge(self, path: bytes, name: bytes, is_folder: bool) -> Verdict | None:
        """The verdict about an entry of this folder, None if no rule speaks. `path` is relative to the root, without a
        slash behind."""
        for file in self.own:
            if rule := file.last_match(path, name, is_folder):
                return Verdict(not rule.again, file.source(rule), wanted=rule.again)
        source = self.inherited or self._git_source(path, name, is_folder)
        if not source:
            return None
        if self.tracked and self.tracked.holds(path):
            return None
        return Verdict(True, source, holds_tracked=bool(is_folder and self.tracked and self.tracked.holds_below(path)))

    def _git_source(self, path: bytes, name: bytes, is_folder: bool) -> str:
        for file in self.git:
            if rule := file.last_match(path, name, is_folder):
                return "" if rule.again else file.source(rule)
        return ""

    def inside(self, folder: str, names: Collection[str], inherited: str = "") -> Scope:
        """The scope in a sub-folder (relative to the root, ending in a slash) that has entries of these names."""
        if self.silent:
            return self
        scope = replace(self, inherited=inherited) if inherited != self.inherited else self
        if ".git" in names and folder and (found := repository_at(self.root / folder)):
            scope = _fresh(scope, found, folder)
        if OWN in names and (file := self._read(folder, OWN)):
            scope = replace(scope, own=(file, *scope.own))
        if GIT in names and not inherited and (file := self._read(folder, GIT)):
            scope = replace(scope, git=(file, *scope.git))
        return scope

    def _read(self, folder: str, name: str) -> RuleFile | None:
        return read_rule_file(self.root / folder / name, self.root, folder, self.fold_case)


def outermost_scope(root: Path, no_ignore: bool = False) -> Scope:
    """What holds before the walk enters `root` (absolute): rules of the user, the repository, the folders above."""
    scope = Scope(root, silent=no_ignore)
    if no_ignore:
        return scope
    repository = enclosing_repository(root)
    if repository is None:
        return replace(scope, git=_excludes(root, None, "", configured(None)))
    above = len(root.relative_to(repository.top).parts)
    scope = _fresh(scope, repository, "../" * above)
    for steps in range(above, 0, -1):
        scope = scope.inside("../" * steps, (OWN, GIT))
    return scope


def _fresh(scope: Scope, repository: Repository, folder: str) -> Scope:
    """The scope at the top of a repository: of what holds outside it, only .codelensignore files go on."""
    configuration = configured(repository)
    fold_case = _folds_case(configuration)
    lead = os.fsencode(scope.root.relative_to(repository.top).as_posix() + "/") if folder.startswith("../") else b""
    tracked = Tracked(repository, lead, 0 if lead else len(os.fsencode(folder)))
    git = _excludes(scope.root, repository, folder, configuration)
    return replace(scope, git=git, tracked=tracked, inherited="", fold_case=fold_case)


def _folds_case(configuration: Mapping[str, str]) -> bool:
    return configuration.get("core.ignorecase", "false").lower() in ("true", "yes", "on", "1")


def _excludes(
    root: Path, repository: Repository | None, folder: str, configuration: dict[str, str]
) -> tuple[RuleFile, ...]:
    """.git/info/exclude and the user's own excludes, which git weighs in this order."""
    fold_case = _folds_case(configuration)
    chosen = configuration.get("core.excludesfile")
    user = expanded(chosen) if chosen is not None else user_folder() / "ignore"
    places = [repository.common / "info" / "exclude"] if repository else []
    found = (read_rule_file(place, root, folder, fold_case, follow=True) for place in (*places, root / user))
    return tuple(file for file in found if file)


def tracking_fault(root: Path) -> str:
    """Why git cannot say which files it tracks here, in one line; empty if it can or if this is no repository.

    Then a tracked file that matches an ignore pattern counts as ignored, which a caller should mention.
    """
    repository = enclosing_repository(root.resolve())
    if repository is None:
        return ""
    try:
        run_git(repository, "rev-parse", "--git-dir")
    except GitError as fault:
        return str(fault)
    return ""

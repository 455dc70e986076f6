"""Repositories that make git run a program: plain git proves each known way first, then every codelens command runs there.

A way that does not work with the plain git of this machine is reported and not counted.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tools.campaign import Campaign, Report, expect
from tools.program import Program, split_commands

HOOKS = (
    *("applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg"),
    *("commit-msg", "post-commit", "pre-rebase", "post-checkout", "post-merge", "pre-push", "pre-receive", "update"),
    *("proc-receive", "post-receive", "post-update", "reference-transaction", "push-to-checkout", "pre-auto-gc"),
    *("post-rewrite", "sendemail-validate", "fsmonitor-watchman", "post-index-change"),
)
SECRET = "secret_outside_of_the_root"  # A word of files outside the repository: no answer may hold it
COMMANDS = split_commands(
    "index; index --force; index --rebuild; index --dry-run; search --refresh one; search --require-fresh one; status;"
    "context --files a.py; context --pr HEAD~1..HEAD; context --staged; test-scope a.py; test-scope --pr HEAD~1...HEAD;"
    "test-scope --staged; snapshot diff HEAD~1; hooks status; hooks run; watch --until-eof; eval tune; model train --steps 1;"
    "eval make-tasks . --out ../tasks; cluster index ../fleet.jsonl --workers 1 --store ../store; why one; mcp"
)  # Commands that call git or read a work tree


@dataclass(frozen=True)
class Way:
    """A preparation of a repository that makes a git command run the marker."""

    name: str
    settings: Mapping[str, str] = field(default_factory=dict)
    """Settings in its .git/config; MARK stands for the marker's command, HOOKS and ROOT for folders."""
    files: Mapping[str, str] = field(default_factory=dict)
    proof: tuple[str, ...] = ("status",)  # Arguments of git, in a shell line after `git`
    variables: Mapping[str, str] = field(default_factory=dict)
    prepare: Callable[[Path, Path], None] | None = None  # (repository, marker's script)


def _hook(name: str) -> Callable[[Path, Path], None]:
    def prepare(root: Path, script: Path) -> None:
        hook = root / ".git/hooks" / name
        hook.parent.mkdir(exist_ok=True)
        shutil.copy2(script, hook)

    return prepare


def _bare_inside(root: Path, script: Path) -> None:
    """A repository without a work tree among the files, which git finds when it runs there."""
    bare = root / "inside"
    run_plain_git(root, "init", "-q", "--bare", str(bare))
    run_plain_git(bare, "config", "core.bare", "false")
    run_plain_git(bare, "config", "core.worktree", str(root))
    run_plain_git(bare, "config", "core.fsmonitor", str(script))


def _git_file(root: Path, script: Path) -> None:
    """`.git` is a file that names a git folder elsewhere in the tree."""
    (root / ".git").rename(root / "elsewhere")
    (root / ".git").write_text("gitdir: elsewhere\n")


def _config_worktree(root: Path, script: Path) -> None:
    run_plain_git(root, "config", "extensions.worktreeConfig", "true")
    run_plain_git(root, "config", "--worktree", "core.fsmonitor", str(script))


def _alternates(root: Path, script: Path) -> None:
    other = root.parent / f"{root.name}-other"
    run_plain_git(root.parent, "clone", "-q", "--bare", str(root), str(other))
    run_plain_git(other, "config", "core.fsmonitor", str(script))
    (root / ".git/objects/info/alternates").write_text(f"{other}/objects\n")
    run_plain_git(root, "config", "core.alternateRefsCommand", str(script))


def _lose_blob(root: Path, script: Path) -> None:
    """Remove an object, as in a partial clone, which would run a program to fetch it."""
    blob = run_plain_git(root, "rev-parse", "HEAD:a.py").strip()
    (root / ".git/objects" / blob[:2] / blob[2:]).unlink()


def _submodule(root: Path, script: Path) -> None:
    run_plain_git(
        root, "update-index", "--add", "--cacheinfo", f"160000,{run_plain_git(root, 'rev-parse', 'HEAD').strip()},s"
    )


def _ways() -> tuple[Way, ...]:
    """The known ways, by where git reads them."""
    attributes = {".gitattributes": "*.py filter=x diff=x merge=x\n"}
    included = {"extra.cfg": "[core]\n\tfsmonitor = MARK\n"}
    modules = {".gitmodules": '[submodule "s"]\n\tpath = s\n\turl = ./s\n'}
    submodule = {"submodule.s.url": "./s", "submodule.s.update": "!MARK"}
    external = {"protocol.ext.allow": "always"}
    partial_clone = {"extensions.partialClone": "origin", "remote.origin.promisor": "true", **external}
    partial_clone["remote.origin.url"] = "ext::MARK %S"
    signing, rewriting = (
        {"gpg.program": "MARK", "commit.gpgSign": "true"},
        {"url.ext::MARK.insteadOf": "x://", **external},
    )
    commit, http, ssh = ("commit", "-q", "--allow-empty", "-m", "x"), "http://127.0.0.1:1/x", "ssh://localhost/x"
    browser = {"browser.x.cmd": "MARK", "help.browser": "x"}
    trailer = {"trailer.x.key": "X", "trailer.x.command": "MARK", "trailer.x.ifmissing": "add"}
    counted = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": "MARK"}
    filtering = {"filter.x.clean": "MARK", "filter.x.required": "true"}
    return (
        Way("core.fsmonitor", {"core.fsmonitor": "MARK"}),
        Way("core.hooksPath", {"core.hooksPath": "HOOKS"}, proof=commit),
        Way("core.sshCommand", {"core.sshCommand": "MARK", "remote.origin.url": ssh}, proof=("fetch",)),
        Way("core.pager", {"core.pager": "MARK"}, proof=("-p", "log")),
        Way("pager.log", {"pager.log": "MARK"}, proof=("-p", "log")),
        Way("core.editor", {"core.editor": "MARK"}, proof=("commit", "--allow-empty")),
        Way("sequence.editor", {"sequence.editor": "MARK"}, proof=("rebase", "-i", "--root")),
        Way("core.askPass", {"core.askPass": "MARK", "remote.origin.url": http}, proof=("credential", "fill")),
        Way("diff.external", {"diff.external": "MARK"}, proof=("diff", "HEAD~1")),
        Way("diff.textconv", {"diff.x.textconv": "MARK"}, attributes, ("diff", "HEAD~1")),
        Way("diff.command", {"diff.x.command": "MARK"}, attributes, ("diff", "HEAD~1")),
        Way("blame textconv", {"diff.x.textconv": "MARK"}, attributes, ("blame", "a.py")),
        Way("log -p textconv", {"diff.x.textconv": "MARK"}, attributes, ("log", "-p")),
        Way("interactive.diffFilter", {"interactive.diffFilter": "MARK"}, proof=("add", "-p")),
        Way("filter.clean", {"filter.x.clean": "MARK"}, attributes, ("add", "a.py")),
        Way("filter.smudge", {"filter.x.smudge": "MARK"}, attributes, ("checkout", "HEAD", "--", "a.py")),
        Way("filter.process", {"filter.x.process": "MARK"}, attributes, ("add", "a.py")),
        Way("filter on status", filtering, attributes, ("status",), prepare=_touched),
        Way("merge.driver", {"merge.x.driver": "MARK"}, attributes, ("merge", "-q", "side")),
        Way("mergetool", {"mergetool.x.cmd": "MARK", "merge.tool": "x"}, proof=("mergetool",)),
        Way("difftool", {"difftool.x.cmd": "MARK", "diff.tool": "x"}, proof=("difftool", "-y", "HEAD~1")),
        Way("credential.helper", {"credential.helper": "!MARK"}, proof=("credential", "fill")),
        Way("gpg.program", signing, proof=commit),
        Way("gpg on log", {"gpg.program": "MARK", "log.showSignature": "true"}, proof=("log",), prepare=_signed),
        Way("alias", {"alias.mark": "!MARK"}, proof=("mark",)),
        Way("alias ls-files", {"alias.ls-files": "!MARK", "alias.mark": "!MARK"}, proof=("mark",)),
        Way("core.gitProxy", {"core.gitProxy": "MARK", "remote.origin.url": "git://localhost/x"}, proof=("fetch",)),
        Way("packObjectsHook", {"uploadpack.packObjectsHook": "MARK"}, proof=("clone", ".", "../cloned-NAME")),
        Way("trailer", trailer, proof=("interpret-trailers", "a.py")),
        Way("remote helper", {"remote.origin.url": "ext::MARK", **external}, proof=("fetch",)),
        Way("url.insteadOf", {"remote.origin.url": "x://y", **rewriting}, proof=("fetch",)),
        Way("remote.uploadpack", {"remote.origin.url": ".", "remote.origin.uploadpack": "MARK"}, proof=("fetch",)),
        Way("remote.vcs", {"remote.origin.vcs": "ext", "remote.origin.url": "MARK", **external}, proof=("fetch",)),
        Way("gc.recentObjectsHook", {"gc.recentObjectsHook": "MARK"}, proof=("gc", "-q", "--prune=now")),
        Way("tar.command", {"tar.x.command": "MARK"}, proof=("archive", "--format=x", "HEAD")),
        Way("man.cmd", {"man.x.cmd": "MARK", "man.viewer": "x"}, proof=("help", "-m", "log")),
        Way("browser.cmd", browser, proof=("web--browse", "--browser=x", "a.py")),
        Way("sendemail", {"sendemail.smtpServer": "MARK"}, proof=("send-email", "HEAD~1")),
        Way("include.path", {"include.path": "../extra.cfg"}, included),
        Way("includeIf", {"includeIf.gitdir:ROOT/.path": "../extra.cfg"}, included),
        Way("config.worktree", prepare=_config_worktree),
        Way("core.worktree", {"core.worktree": "..", "core.fsmonitor": "MARK"}),
        Way(".git file", {"core.fsmonitor": "MARK"}, prepare=_git_file),
        Way("bare inside", prepare=_bare_inside, proof=("-C", "inside", "status")),
        Way("alternateRefsCommand", prepare=_alternates, proof=("fetch", "-q", ".", "HEAD")),
        Way("promisor", partial_clone, prepare=_lose_blob, proof=("cat-file", "-p", "HEAD:a.py")),
        Way("submodule update", submodule, modules, ("submodule", "update"), prepare=_submodule),
        Way("GIT_EXTERNAL_DIFF", variables={"GIT_EXTERNAL_DIFF": "MARK"}, proof=("diff", "HEAD~1")),
        Way("GIT_PAGER", variables={"GIT_PAGER": "MARK"}, proof=("-p", "log")),
        Way("GIT_SSH_COMMAND", {"remote.origin.url": ssh}, proof=("fetch",), variables={"GIT_SSH_COMMAND": "MARK"}),
        Way("GIT_CONFIG_COUNT", variables=counted),
        Way("GIT_CONFIG_PARAMETERS", variables={"GIT_CONFIG_PARAMETERS": "'core.fsmonitor=MARK'"}),
        *(Way(f"hook {name}", prepare=_hook(name), proof=_hook_proof(name)) for name in HOOKS),
    )


def _hook_proof(name: str) -> tuple[str, ...]:
    """The simplest git command that runs this hook; `commit` by default."""
    pushing = ("push", "-q", ".", "HEAD:refs/heads/pushed")
    return {
        "post-checkout": ("checkout", "-q", "side"),
        "post-merge": ("merge", "-q", "side"),
        "pre-merge-commit": ("merge", "-q", "--no-ff", "side"),
        "pre-rebase": ("rebase", "-f", "HEAD~1"),
        "post-rewrite": ("commit", "-q", "--amend", "--allow-empty", "-m", "y"),
        "pre-auto-gc": ("-c", "gc.auto=1", "gc", "--auto"),
        **dict.fromkeys(("pre-push", "pre-receive", "update", "post-receive", "post-update"), pushing),
        "post-index-change": ("add", "a.py"),
    }.get(name, ("commit", "-q", "--allow-empty", "-m", "x"))


def _touched(root: Path, script: Path) -> None:
    os.utime(root / "a.py", (1, 1))


def _signed(root: Path, script: Path) -> None:
    signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n a\n -----END PGP SIGNATURE-----\n"
    tree, parent = (
        run_plain_git(root, "rev-parse", "HEAD^{tree}").strip(),
        run_plain_git(root, "rev-parse", "HEAD").strip(),
    )
    head = f"tree {tree}\nparent {parent}\nauthor a <a> 1 +0000\ncommitter a <a> 1 +0000\n"
    commit = run_plain_git(
        root, "hash-object", "-t", "commit", "-w", "--stdin", given=f"{head}{signature}\nsubject\n"
    ).strip()
    run_plain_git(root, "update-ref", "HEAD", commit)


def run_plain_git(root: Path, *arguments: str, given: str = "") -> str:
    env = set_variables(root)
    ran = subprocess.run(["git", *arguments], cwd=root, env=env, input=given, capture_output=True, text=True)
    expect(ran.returncode == 0, f"git {' '.join(arguments)}: {ran.stderr}")
    return ran.stdout


def set_variables(root: Path) -> dict[str, str]:
    who = {f"GIT_{role}_{part}": "a@b" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    here = {
        "PATH": os.environ["PATH"],
        "HOME": str(root.parent),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
    }
    return who | here | {"GIT_EDITOR_NOT": "", "TERM": "dumb"}


def make_repository(root: Path, way: Way, script: Path) -> dict[str, str]:
    """A repository with two commits and a branch, prepared; the variables that belong to it."""
    root.mkdir()
    run_plain_git(root, "init", "-q", "-b", "main")
    for number, branch in enumerate(("main", "main", "side", "main")):
        if number > 1:
            run_plain_git(root, "checkout", "-q", *(["-b"] if number == 2 else []), branch)
        text = f"def one_{number}():\n    return two({number})\n" + "# ...\n" * 9 * (number % 2)
        (root / "a.py").write_text(text)
        (root / "sub").mkdir(exist_ok=True)
        (root / "sub/b.py").write_text(f"def sub_{number}():\n    return one_{number}()\n")
        (root / "kept.log").write_text(f"{number}\n")
        run_plain_git(root, "add", "a.py", "sub", "kept.log")
        run_plain_git(root, "commit", "-q", "-m", f"Return two of {number} from the function")
    (root / ".gitignore").write_text("*.log\n")
    hooks = root / "hooks"

    def fill(text: str) -> str:
        return text.replace("MARK", str(script)).replace("HOOKS", str(hooks)).replace("ROOT", str(root))

    for name, content in way.files.items():
        (root / name).write_text(fill(content))
    for key, value in way.settings.items():
        if "HOOKS" in value:
            hooks.mkdir()
            for name in HOOKS:
                shutil.copy2(script, hooks / name)
        run_plain_git(root, "config", fill(key), fill(value))
    if way.prepare:
        way.prepare(root, script)
    return {key: fill(value) for key, value in way.variables.items()}


def run(count: int, seed: int, folder: Path, report: Report) -> None:
    """Try way number `seed` and those after it."""
    if sys.platform == "win32" or shutil.which("git") is None:
        report.note("skipped: needs git, and the marker is a shell script")
        return
    ways = _ways()
    for number in range(seed, seed + count):
        way = ways[(number - 1) % len(ways)]
        _attempt(folder / str(number), number, way, report)


def _attempt(folder: Path, number: int, way: Way, report: Report) -> None:
    folder.mkdir()
    mark, script = folder / "mark", folder / "script"
    script.write_text(f'#!/bin/sh\necho "$0 $@" >> {mark}\nexit 1\n')
    script.chmod(0o755)
    proven = folder / "proven"
    variables = make_repository(proven, way, script)
    mark.unlink(missing_ok=True)
    proof = [word.replace("NAME", way.name.replace(" ", "")) for word in way.proof]
    request = "protocol=http\nhost=127.0.0.1\n\n"
    with_these = set_variables(proven) | variables
    command = ["git", *proof]
    if "-p" in proof or proof[0] in ("log",):  # a pager runs only for a terminal
        command = ["script", "-qec", " ".join(command), "/dev/null"]
    if shutil.which(command[0]):
        subprocess.run(command, cwd=proven, env=with_these, input=request, capture_output=True, text=True, timeout=60)
    if not mark.exists():
        report.note(f"not provable here with plain git: {way.name}")
    with report.attempt(number):
        root = folder / "tree"
        variables = make_repository(root, way, script)
        mark.unlink(missing_ok=True)
        (folder / "fleet.jsonl").write_text('{"path": "tree"}\n{"path": "tree", "ref": "HEAD~1", "name": "before"}\n')
        program = Program(folder, variables)
        git_before = _files_of(root)
        for arguments in COMMANDS:
            program.run(*arguments, cwd=root)
            expect(
                not mark.exists(),
                f"{way.name}: codelens {' '.join(arguments)} ran {mark.read_text() if mark.exists() else ''}",
            )
        expect(_files_of(root) == git_before, f"{way.name}: the repository's git folder was changed")
        report.counts["proven" if mark.exists() else "no marker"] += 1


def _files_of(root: Path) -> dict[str, int]:
    """Size of each file of the git folder."""
    return {str(p): p.stat().st_size for p in sorted((root / ".git").rglob("*")) if p.is_file()}


CAMPAIGNS = (Campaign("git", run, len(_ways()), "ways in which a repository makes git run a program"),)

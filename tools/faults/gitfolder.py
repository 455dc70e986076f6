"""Git folders that hold git up, lead it elsewhere, or make it run a program in places that the campaign `git` does not try.

Every codelens command that calls git runs there. Each must end without git's help, run no program, leave the git folder and
everything outside the repository as it was, and print nothing from outside.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tools.campaign import Campaign, Report, expect
from tools.faults.gitconfig import COMMANDS, SECRET, Way, make_repository, run_plain_git, set_variables
from tools.program import Program, listed, unchanged

Prepare = Callable[[Path, Path], None]
"""(repository, marker's script) → None."""
PROOF_SECONDS = 3.0  # Seconds after which plain git counts as held up


def _make_pipe(place: str) -> Prepare:
    """Make a pipe in the place of a file."""

    def prepare(root: Path, script: Path) -> None:
        path = root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        os.mkfifo(path)

    return prepare


def _link(place: str, target: str) -> Prepare:
    """Make a link in the place of a file; OUTSIDE stands for a folder next to the repository."""

    def prepare(root: Path, script: Path) -> None:
        path = root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.symlink_to(target.replace("OUTSIDE", str(root.parent / "outside")))

    return prepare


def _configure_pipe(key: str, place: str = ".git/pipe") -> Prepare:
    """Name a pipe as the value of a setting."""

    def prepare(root: Path, script: Path) -> None:
        run_plain_git(root, "config", key, str(root / place))
        _make_pipe(place)(root, script)

    return prepare


def _link_to_pipe(root: Path, script: Path) -> None:
    os.mkfifo(root.parent / f"{root.name}-pipe")
    (root / ".git/packed-refs").symlink_to(root.parent / f"{root.name}-pipe")


def _include_by_include(root: Path, script: Path) -> None:
    (root / ".git/first").write_text("[include]\n\tpath = second\n")
    (root / ".git/second").write_text("[include]\n\tpath = pipe\n")
    run_plain_git(root, "config", "include.path", "first")
    _make_pipe(".git/pipe")(root, script)


def _lose_object(name: str) -> Prepare:
    """Replace an object by a pipe."""

    def prepare(root: Path, script: Path) -> None:
        identity = run_plain_git(root, "rev-parse", name).strip()
        _make_pipe(f".git/objects/{identity[:2]}/{identity[2:]}")(root, script)

    return prepare


def _borrow_pipe(root: Path, script: Path) -> None:
    """Borrow objects from a folder in which one is a pipe."""
    other = root.parent / f"{root.name}-objects"
    shutil.copytree(root / ".git/objects", other)
    identity = run_plain_git(root, "rev-parse", "HEAD").strip()
    (other / identity[:2] / identity[2:]).unlink()
    os.mkfifo(other / identity[:2] / identity[2:])
    (root / ".git/objects" / identity[:2] / identity[2:]).unlink()
    (root / ".git/objects/info/alternates").write_text(f"{other}\n")


def _pack(root: Path, script: Path) -> None:
    run_plain_git(root, "repack", "-qad")
    for index in (root / ".git/objects/pack").glob("*.idx"):
        index.unlink()
        os.mkfifo(index)


def _split_index(root: Path, script: Path) -> None:
    run_plain_git(root, "update-index", "--split-index")
    for shared in (root / ".git").glob("sharedindex.*"):
        shared.unlink()
        os.mkfifo(shared)


def _sparse_index(root: Path, script: Path) -> None:
    run_plain_git(root, "sparse-checkout", "set", "--cone", "--sparse-index", "sub")
    _lose_object("HEAD^{tree}")(root, script)


def _name_git_folder(root: Path, script: Path) -> None:
    """`.git` is a file; the git folder's HEAD is a pipe."""
    (root / ".git").rename(root / "elsewhere")
    (root / ".git").write_text("gitdir: elsewhere\n")
    _make_pipe("elsewhere/HEAD")(root, script)


def _nest(prepare: Prepare) -> Prepare:
    """Prepare a repository within the repository, which has ignored files of its own."""

    def prepare_nested(root: Path, script: Path) -> None:
        inner = root / "inner"
        inner.mkdir()
        run_plain_git(inner, "init", "-q", "-b", "main")
        (inner / ".gitignore").write_text("*.log\n")
        (inner / "a.py").write_text("def inner(): pass\n")
        (inner / "a.log").write_text("a\n")
        run_plain_git(inner, "add", "-f", ".")
        run_plain_git(inner, "commit", "-q", "-m", "Begin the inner repository")
        prepare(inner, script)

    return prepare_nested


def _set_monitor(root: Path, script: Path) -> None:
    run_plain_git(root, "config", "core.fsmonitor", str(script))


def _add_submodule(key: str, absorbed: bool) -> Prepare:
    """Add a submodule that changed in the last commit, and whose driver's setting is the marker."""

    def prepare(root: Path, script: Path) -> None:
        source = root if not absorbed else root.parent / f"{root.name}-source"
        inner = source / "module" if not absorbed else source
        inner.mkdir()
        run_plain_git(inner, "init", "-q", "-b", "main")
        for text in ("1", "2"):
            (inner / "b.py").write_text(f"def sub():\n    return {text}\n")
            (inner / ".gitattributes").write_text("*.py diff=x\n")
            run_plain_git(inner, "add", ".")
            run_plain_git(inner, "commit", "-q", "-m", f"Return {text} from the submodule")
        if absorbed:
            run_plain_git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "module")
        sub = root / "module"
        run_plain_git(sub, "config", key, str(script))
        for revision in ("main~1", "main"):
            run_plain_git(sub, "-c", "core.fsmonitor=false", "checkout", "-q", revision)
            identity = run_plain_git(sub, "rev-parse", "HEAD").strip()
            run_plain_git(root, "update-index", "--add", "--cacheinfo", f"160000,{identity},module")
            run_plain_git(root, "commit", "-q", "-m", "Move the submodule")
        run_plain_git(root, "config", "diff.submodule", "diff")

    return prepare


def _add_worktree(root: Path, script: Path) -> None:
    """Make the repository a linked worktree of another, whose configuration has the marker."""
    main = root.parent / f"{root.name}-main"
    root.rename(main)
    run_plain_git(main, "worktree", "add", "-q", "-f", str(root), "side")
    _set_monitor(main, script)


def _borrow_lines(root: Path, script: Path) -> None:
    _link(".git/objects/info/alternates", "OUTSIDE/kept.py")(root, script)


def _trace(root: Path, script: Path) -> None:
    for target in ("trace2.eventTarget", "trace2.normalTarget", "trace2.perfTarget"):
        run_plain_git(root, "config", target, str(root.parent / "outside" / target))


SPARSE = "pipe tree of a sparse index"
PIPES = (
    *("HEAD", "config", "config.worktree", "index", "packed-refs", "shallow", "commondir", "info/exclude"),
    *("info/attributes", "info/grafts", "info/sparse-checkout", "objects/info/alternates"),
    *("objects/info/commit-graph", "objects/info/commit-graphs/commit-graph-chain"),
    *("objects/pack/multi-pack-index", "refs/heads/main", "logs/HEAD", "FETCH_HEAD"),
)
TREE_PIPES = (".gitattributes", "sub/.gitattributes", ".gitignore", "sub/.gitignore", ".gitmodules", ".mailmap")
SETTINGS = (
    *("core.excludesFile", "core.attributesFile", "diff.orderFile", "mailmap.file", "blame.ignoreRevsFile"),
    *("include.path", "includeIf.onbranch:main.path", "includeIf.hasconfig:remote.*.url:x.path"),
    *("core.worktree", "commit.template"),
)
STATUS = ("status",)
PROOFS = {
    **dict.fromkeys(("index", "info/exclude", ".gitignore", "sub/.gitignore", "core.excludesFile"), STATUS),
    "FETCH_HEAD": ("log", "FETCH_HEAD"),
    "logs/HEAD": ("log", "-g"),
    "info/sparse-checkout": ("sparse-checkout", "list"),
    ".gitmodules": ("submodule", "init"),
    "blame.ignoreRevsFile": ("blame", "a.py"),
    "commit.template": ("commit", "--allow-empty"),
}
"""Arguments of plain git that show a pipe's effect, where `log -p` does not."""


def _list_ways() -> Iterator[tuple[str, Way]]:
    """List the ways, each with what plain git does: `waits`, `runs` the marker, or `reads` something outside."""
    log = ("log", "-p")
    for place in PIPES:
        settings = {"extensions.worktreeConfig": "true"} if place == "config.worktree" else {}
        proof = PROOFS.get(place, log)
        yield "waits", Way(f"pipe .git/{place}", settings, prepare=_make_pipe(f".git/{place}"), proof=proof)
    for place in TREE_PIPES:
        yield "waits", Way(f"pipe {place}", prepare=_make_pipe(place), proof=PROOFS.get(place, log))
    for key in SETTINGS:
        prepare = _configure_pipe(key, "sub/pipe" if key == "core.attributesFile" else ".git/pipe")
        yield "waits", Way(f"pipe {key}", prepare=prepare, proof=PROOFS.get(key, log))
    yield "waits", Way("pipe by two includes", prepare=_include_by_include, proof=log)
    yield "waits", Way("pipe behind a link", prepare=_link_to_pipe, proof=log)
    yield "waits", Way("pipe commit", prepare=_lose_object("HEAD"), proof=log)
    yield "waits", Way("pipe tree", prepare=_lose_object("HEAD^{tree}"), proof=log)
    yield "waits", Way("pipe blob", prepare=_lose_object("HEAD:a.py"), proof=log)
    yield "waits", Way("pipe in borrowed objects", prepare=_borrow_pipe, proof=log)
    yield "waits", Way("pipe index of a pack", prepare=_pack, proof=log)
    yield "waits", Way("pipe split index", prepare=_split_index)
    yield "waits", Way(SPARSE, prepare=_sparse_index)
    yield "waits", Way("pipe HEAD of a named git folder", prepare=_name_git_folder, proof=log)
    yield "waits", Way("pipe .git", prepare=_nest(_replace_git), proof=("-C", "inner", *log))
    for place in ("config", "index", "HEAD", "refs/heads/main"):
        prepare = _nest(_make_pipe(f".git/{place}"))
        yield "waits", Way(f"pipe {place} of a nested repository", prepare=prepare, proof=("-C", "inner", *log))
    for place in ("HEAD", "packed-refs", "config"):
        yield "waits", Way(f"endless .git/{place}", prepare=_link(f".git/{place}", "/dev/zero"), proof=log)

    driver = {"diff.x.textconv": "MARK"}
    with_submodule = ("log", "-p", "--ext-diff")
    for key in ("diff.x.textconv", "diff.x.command", "core.fsmonitor"):
        for absorbed in (True, False):
            name = f"{key} of a {'' if absorbed else 'nested '}submodule"
            proof = ("status",) if key == "core.fsmonitor" else with_submodule
            yield "runs", Way(name, prepare=_add_submodule(key, absorbed), proof=proof)
    yield "runs", Way("driver by info/attributes", driver, {".git/info/attributes": "*.py diff=x\n"}, log)
    yield "runs", Way("driver in a folder", driver, {"sub/.gitattributes": "b.py diff=x\n"}, log)
    yield "runs", Way("driver by a macro", driver, {".gitattributes": "[attr]m diff=x\n*.py m\n"}, log)
    named = {**driver, "core.attributesFile": "ROOT/named"}
    yield "runs", Way("driver by core.attributesFile", named, {"named": "*.py diff=x\n"}, log)
    cached = {**driver, "diff.x.cachetextconv": "true"}
    yield "runs", Way("driver with a cache", cached, {".gitattributes": "*.py diff=x\n"}, log)
    external = {"diff.x.command": "MARK"}
    yield "runs", Way("driver of log", external, {".gitattributes": "*.py diff=x\n"}, ("log", "-p", "--ext-diff"))
    files = {"extra.cfg": '[diff "x"]\n\ttextconv = MARK\n', ".gitattributes": "*.py diff=x\n"}
    for key in ("include.path", "includeIf.onbranch:main.path", "includeIf.hasconfig:remote.*.url:x.path"):
        yield "runs", Way(f"driver by {key}", {"remote.o.url": "x", key: "../extra.cfg"}, files, log)
    ssh = {"gpg.format": "ssh", "gpg.ssh.defaultKeyCommand": "MARK", "commit.gpgSign": "true"}
    yield "runs", Way("gpg.ssh.defaultKeyCommand", ssh, proof=("commit", "-q", "--allow-empty", "-m", "x"))
    yield "runs", Way("monitor of a nested repository", prepare=_nest(_set_monitor), proof=("-C", "inner", "status"))
    yield "runs", Way("monitor of the main worktree", prepare=_add_worktree)
    trailer = {"trailer.x.key": "X", "trailer.x.cmd": "MARK", "trailer.x.ifmissing": "add"}
    yield "runs", Way("trailer.cmd", trailer, proof=("interpret-trailers", "--trailer", "X: y", "a.py"))

    for place in (
        "packed-refs",
        "shallow",
        "info/grafts",
        "HEAD",
        "refs/heads/main",
        "info/exclude",
        "config",
        "index",
    ):
        yield "reads", Way(f"link .git/{place}", prepare=_link(f".git/{place}", "OUTSIDE/kept.py"), proof=log)
    yield "reads", Way("link alternates", prepare=_borrow_lines, proof=log)
    for place in (".mailmap", ".gitattributes", ".gitignore", ".gitmodules"):
        yield "reads", Way(f"link {place}", prepare=_link(place, "OUTSIDE/kept.py"), proof=log)
    outside = "ROOT/../outside/kept.py"
    for key in ("include.path", "core.attributesFile", "core.excludesFile", "diff.orderFile", "mailmap.file"):
        yield "reads", Way(f"outside {key}", {key: outside}, proof=log)
    yield "reads", Way("outside core.worktree", {"core.worktree": "ROOT/../outside"}, proof=log)
    yield "reads", Way("trace2 targets", prepare=_trace, proof=log)


def _replace_git(root: Path, script: Path) -> None:
    shutil.rmtree(root / ".git")
    os.mkfifo(root / ".git")


WAYS = tuple(_list_ways())


def run(count: int, seed: int, folder: Path, report: Report) -> None:
    """Try way number `seed` and those after it."""
    if sys.platform == "win32" or shutil.which("git") is None:
        report.note("skipped: needs git and pipes, and the marker is a shell script")
        return
    for number in range(seed, seed + count):
        effect, way = WAYS[(number - 1) % len(WAYS)]
        with report.attempt(number):
            try_way(folder / str(number), effect, way, report)


def try_way(
    folder: Path, effect: str, way: Way, report: Report, commands: Sequence[tuple[str, ...]] = COMMANDS
) -> None:
    """Prove a way with plain git, then run these codelens commands. Raises Failed."""
    mark, script, outside = folder / "mark", folder / "script", folder / "outside"
    outside.mkdir(parents=True)
    (outside / "kept.py").write_text(f"def {SECRET}(): pass\n")
    script.write_text(f'#!/bin/sh\necho "$0 $@" >> {mark}\nexit 1\n')
    script.chmod(0o755)

    proven = folder / "proven"
    make_repository(proven, way, script)
    mark.unlink(missing_ok=True)
    has_waited = _try_plain_git(proven, way)
    if (effect == "waits" and not has_waited) or (effect == "runs" and not mark.exists()):
        report.note(f"plain git {' '.join(way.proof)} is not affected here: {way.name}")
        report.counts["not proven"] += 1

    root = folder / "tree"
    variables = make_repository(root, way, script)
    (folder / "fleet.jsonl").write_text('{"path": "tree"}\n{"path": "tree", "ref": "HEAD~1", "name": "before"}\n')
    mark.unlink(missing_ok=True)
    program = Program(folder, variables)
    kept = {name: listed(folder / name) for name in ("tree/.git", "outside")}
    for arguments in commands:
        started = time.monotonic()
        ran = program.run(*arguments, cwd=root)
        seconds = round(time.monotonic() - started)
        key = "longest command, in seconds"
        report.counts[key] = max(report.counts[key], seconds)
        what = f"{way.name}: codelens {' '.join(arguments)}"
        expect(not mark.exists(), f"{what} ran {mark.read_text() if mark.exists() else ''}")
        output = ran.out.decode("utf-8", "replace") + ran.err
        expect(SECRET not in output, f"{what} printed from outside: {ran} {ran.out!r}")
        expect(arguments[0] != "index" or ran.code == 0, f"{what} did not succeed: {ran}")
        for name, before in kept.items():
            # git itself stores the trees of a sparse list of files when it reads the list.
            unchanged(before, folder / name, [root / ".git/objects"] if way.name == SPARSE else ())
    report.counts[effect] += 1


def _try_plain_git(root: Path, way: Way) -> bool:
    """Run git itself, in little memory; True if it was held up."""
    line = f"ulimit -v 1000000; exec git --no-pager {shlex.join(way.proof)}"
    env = set_variables(root)
    try:
        subprocess.run(["sh", "-c", line], cwd=root, env=env, capture_output=True, timeout=PROOF_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return True
    return False


CAMPAIGNS = (
    Campaign(
        "git-folder", run, len(WAYS), "pipes, links and drivers in git folders, which hold git up or lead it elsewhere"
    ),
)

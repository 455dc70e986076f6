"""Links, pipes, sockets and devices in place of all files that codelens writes or keeps.

Each way puts one thing into a repository, then the commands that touch it run there. They end, nothing outside the repository
changes, and they print nothing from outside.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tools.campaign import Campaign, Report, expect
from tools.program import Program, split_commands

SECRET = "treasure_of_others"  # A word of all files outside the repository, which no command may print
Plant = Callable[[Path, Path], None]
"""(place in the repository, folder outside) → None. Puts something at the place."""


@dataclass(frozen=True)
class Way:
    """Something that is put at a place of the repository, and the commands that touch the place."""

    place: str
    kind: str
    plant: Plant
    commands: tuple[tuple[str, ...], ...]
    is_indexed: bool = False  # Whether the repository has an index before
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.place}: {self.kind}"


def _link(target: str) -> Plant:
    """A link to a path below the folder outside."""

    def plant(place: Path, outside: Path) -> None:
        place.symlink_to(outside / target)

    return plant


def _link_near(target: str) -> Plant:
    """A link whose target is relative to the place."""

    def plant(place: Path, outside: Path) -> None:
        place.symlink_to(target)

    return plant


def _pipe(place: Path, outside: Path) -> None:
    os.mkfifo(place)


def _socket(place: Path, outside: Path) -> None:
    here = Path.cwd()
    os.chdir(place.parent)  # the path of a socket has at most 108 bytes
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(place.name)
    finally:
        os.chdir(here)


def _device(place: Path, outside: Path) -> None:
    place.symlink_to("/dev/zero")


def _folder(place: Path, outside: Path) -> None:
    place.mkdir()
    (place / "kept").write_text("kept\n")


FILE_KINDS: dict[str, Plant] = {
    "a link to a file": _link("kept.py"),
    "a dangling link": _link("new"),
    "a pipe": _pipe,
    "a socket": _socket,
    "a link to a device": _device,
    "a folder": _folder,
    "a link to itself": _link_near("loop"),
}
LINKS = ("a link to a file", "a dangling link")
FOLDER_KINDS: dict[str, Plant] = {
    "a link to a folder": _link("folder"),
    "a dangling link": _link("new"),
    "a link to what another project has": _link("project/.codelens"),
    "a pipe": _pipe,
    "a link to a device": _device,
}

INDEX = split_commands(
    "search treasure; index; search treasure --json; status; index --rebuild; index --trust; doctor --check; map;"
    "hooks run; index --force; search treasure -l; files kept; watch --until-eof; mcp; index --remove --yes; index"
)
BESIDE = split_commands(
    "search one; index; index --rebuild; search one; status; doctor --check full; index --remove --yes"
)
NOTES = split_commands("note list; note add 'It is one' --at a.py; note list; search treasure; index; search treasure")
RECORDS = split_commands(
    "search one; memory show; memory pin one; memory rate one 7; memory stats; memory export; memory forget --all --yes;"
    "graph traces spans.json; graph traces; search --profile knowing one; graph traces --forget"
)
HOOKS = split_commands("hooks status; hooks install; hooks install --shared; hooks status; hooks remove")
SETTINGS = split_commands("config; search one; index; files one; config --show-origin")
RULES = split_commands("index --dry-run; index; status --skipped; index --explain-path a.py; search one --refresh")
NAMED = split_commands(
    "index --db named; search --db named treasure; index --db named --rebuild; memory pin one --db named;"
    "eval tasks.jsonl --out named; hooks install --db named; index --db named --remove --yes"
)
BELOW = split_commands(
    "index --db named/index.db; search --db named/index.db treasure; eval tasks.jsonl --out named/run.json;"
    "eval make-tasks . --out named/tasks; index named; search treasure named; index named --rebuild"
)
CLUSTER = split_commands(
    "cluster index fleet.jsonl --store store --workers 1; cluster status --store store; cluster search --store store treasure"
)
FULL = split_commands("config; search one; search one --profile knowing; index")


def _install(agent: str) -> tuple[tuple[str, ...], ...]:
    return split_commands(
        f"install --list; install {agent} --project --print; install {agent} --project --yes;"
        f"install {agent} --project --yes; install {agent} --project --remove --yes"
    )


def _list_ways() -> Iterator[Way]:
    remembering = {"CODELENS_MEMORY": "1"}
    for kind, plant in FOLDER_KINDS.items():
        yield Way(".codelens", kind, plant, INDEX)
        yield Way(".codelens/notes", kind, plant, NOTES, is_indexed=True)
    to_index = _link("project/.codelens/index.db")
    yield Way(".codelens/index.db", "a link to another project's index", to_index, INDEX)
    for kind, plant in FILE_KINDS.items():
        yield Way(".codelens/index.db", kind, plant, INDEX)
        for name in (".lock", ".building"):
            yield Way(f".codelens/index.db{name}", kind, plant, BESIDE)
        yield Way(".codelens/memory.db", kind, plant, RECORDS, is_indexed=True, variables=remembering)
        yield Way(".codelens/notes/it-is-one.md", kind, plant, NOTES, is_indexed=True)
        yield Way(".codelens.toml", kind, plant, SETTINGS)
    for kind in (*LINKS, "a pipe", "a folder"):
        plant = FILE_KINDS[kind]
        for name in ("-wal", "-journal", "-shm", ".compacted"):
            yield Way(f".codelens/index.db{name}", kind, plant, BESIDE, is_indexed=True)
        yield Way(".codelens/traces.db", kind, plant, RECORDS, is_indexed=True)
        yield Way(".codelens/.gitignore", kind, plant, BESIDE)
        yield Way(".codelens/notes/it-is-one.md.part", kind, plant, NOTES)
        yield Way(".gitignore", kind, plant, RULES)
        yield Way(".codelensignore", kind, plant, RULES)
        yield Way("AGENTS.md", kind, plant, _install("cursor"))
        yield Way(".mcp.json", kind, plant, _install("claude-code"))
        yield Way(".mcp.json.codelens-backup", kind, plant, _install("claude-code"))
        yield Way(".git/hooks/post-commit", kind, plant, HOOKS)
        yield Way("named", kind, plant, NAMED)
        yield Way("aliases.toml", kind, plant, FULL, variables={"SETTING": "aliases"})
        yield Way("metadata.json", kind, plant, FULL, variables={"SETTING": "metadata"})
        yield Way("store/manifest.json", kind, plant, CLUSTER)
        yield Way("store/manifest.json.lock", kind, plant, CLUSTER)
    into_git = _link_near(".git/config")
    yield Way("AGENTS.md", "a link to git's configuration", into_git, _install("cursor"))
    yield Way("named", "a link to git's configuration", into_git, NAMED)
    for kind in ("a link to a folder", "a dangling link"):
        plant = FOLDER_KINDS[kind]
        yield Way(".cursor", kind, plant, _install("cursor"))
        yield Way(".github", kind, plant, _install("copilot"))
        yield Way(".codex", kind, plant, _install("codex"))
        yield Way(".git/hooks", kind, plant, HOOKS)
        yield Way("named", kind, plant, BELOW)
        yield Way("store", kind, plant, CLUSTER)
        yield Way("store/shards", kind, plant, CLUSTER)
    yield Way("named", "a link to another project", _link("project"), BELOW)
    yield Way(".git", "a link to another project's", _link("project/.git"), HOOKS)
    yield Way(".git", "a file that names another project's", _git_file, HOOKS)
    yield Way(".githooks", "a link to a folder", _link("folder"), HOOKS, variables={"SETTING": "core.hooksPath"})


def _git_file(place: Path, outside: Path) -> None:
    place.write_text(f"gitdir: {outside / 'project/.git'}\n")


WAYS = tuple(_list_ways())


def run(count: int, seed: int, folder: Path, report: Report) -> None:
    """Try way number `seed` and those after it."""
    if sys.platform == "win32" or shutil.which("git") is None:
        report.note("skipped: needs git, and plants pipes and links")
        return
    for number in range(seed, seed + count):
        way = WAYS[(number - 1) % len(WAYS)]
        with report.attempt(number):
            report.counts[way.kind] += 1
            try_way(folder / str(number), way)
        shutil.rmtree(folder / str(number), ignore_errors=True)


def try_way(folder: Path, way: Way) -> None:
    """Plant one thing, and run its commands. Raises Failed if one of them reaches outside."""
    root, outside, home = folder / "tree", folder / "outside", folder / "home"
    home.mkdir(parents=True)
    program = Program(home, {**way.variables, "CODELENS_NO_PAGER": "1"})
    _write_outside(outside, program)
    _write_tree(root)
    if way.is_indexed:
        program.run("index", "-q", cwd=root, codes=(0,))
    _plant(way, root, outside)
    before = digest(outside)
    for arguments in way.commands:
        ran = program.run(*arguments, cwd=root, codes=(*range(8), 130))
        changed = sorted(set(before.items()) ^ set(digest(outside).items()))
        expect(not changed, f"{way.name}: changed outside: {changed[:4]} by {ran}")
        output = ran.out.decode("utf-8", "replace") + ran.err
        expect(SECRET not in output, f"{way.name}: printed from outside: {ran} {ran.out[-900:]!r}")


def _write_outside(outside: Path, program: Program) -> None:
    """Write what must stay as it is: a folder, and another project of the same user with its index, hooks and notes."""
    project = outside / "project"
    (outside / "folder").mkdir(parents=True)
    (outside / "folder" / "kept.md").write_text(f"# Kept\n\nThe treasure: {SECRET}.\n")
    (outside / "kept.py").write_text(f"def treasure():\n    return {SECRET}\n")
    project.mkdir()
    (project / "kept.py").write_text(f"def treasure():\n    return {SECRET}\n")
    _git(project, "init", "-q")
    notes = project / ".codelens/notes"
    notes.mkdir(parents=True)
    (notes / "treasure.md").write_text(f"# Treasure\n\nIt is {SECRET}.\n")
    program.run("index", "-q", cwd=project, codes=(0,))
    program.run("hooks", "install", "-q", cwd=project, codes=(0,))


SPANS = (
    '{"resourceSpans": [{"scopeSpans": [{"spans": [{"endTimeUnixNano": "1700000000000000000", "attributes": ['
    '{"key": "code.function.name", "value": {"stringValue": "one"}}]}]}]}]}\n'
)
TASK = '{"id": "1", "repo": "tree", "query": "what one is", "relevant": [{"symbol": "one", "files": ["a.py"]}]}\n'


def _write_tree(root: Path) -> None:
    root.mkdir()
    (root / "a.py").write_text("def one():\n    return two()\n\ndef two(): return 1\n")
    (root / "lib").mkdir()
    (root / "lib" / "b.py").write_text("def three():\n    return 3\n")
    (root / "spans.json").write_text(SPANS)
    (root / "tasks.jsonl").write_text(TASK)
    (root / "fleet.jsonl").write_text('{"path": "lib"}\n')
    _git(root, "init", "-q")
    _git(root, "add", ".")
    _git(root, "-c", "user.name=Ann", "-c", "user.email=ann@example.org", "commit", "-qm", "Add one")


def _plant(way: Way, root: Path, outside: Path) -> None:
    place = root / way.place
    setting = way.variables.get("SETTING", "")
    if setting.startswith("core."):
        _git(root, "config", setting, way.place)
    elif setting:
        (root / ".codelens.toml").write_text(f'{setting} = "{way.place}"\n')
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    way.plant(place, outside)


def _git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True)


def digest(folder: Path) -> dict[str, str]:
    """Path → kind, mode and content of everything below a folder. Links are not followed."""
    states: dict[str, str] = {}
    for here, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = Path(here, name)
            status = path.lstat()
            content = b""
            if stat.S_ISLNK(status.st_mode):
                content = os.fsencode(path.readlink())
            elif stat.S_ISREG(status.st_mode):
                content = path.read_bytes()
            states[str(path)] = f"{status.st_mode:o} {hashlib.sha256(content).hexdigest()}"
    return states


CAMPAIGNS = (
    Campaign("links", run, len(WAYS), "links, pipes and devices in place of the files that codelens writes or keeps"),
)

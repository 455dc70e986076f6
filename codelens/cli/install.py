"""codelens install: add the MCP server to an agent's settings, and instructions for its model to the file that it reads.

The table agents.toml lists each agent's files.
"""

import difflib
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from codelens.cli.declare import argument, command, option
from codelens.cli.flags import CommonFlags
from codelens.cli.streams import inform, say, user_agrees, write
from codelens.config import USER_PLACES
from codelens.errors import UsageError, require_packages
from codelens.files import make_folder, read_file, write_in_one_step, write_private_file
from codelens.processes.python import build_codelens_command
from codelens.render.paths import quote_path
from codelens.text.entries import add_block, add_entry, find_entry, remove_block, remove_entry
from codelens.text.notation import parse_toml
from codelens.worktree.place import find_git_top

Row = Mapping[str, Any]


def _read_table() -> dict[str, Any]:
    return parse_toml(Path(__file__).with_name("agents.toml").read_text(encoding="utf-8"))


def list_agents() -> list[str]:
    """List the agents of the table."""
    return list(_read_table()["agents"])


class InstallFlags(CommonFlags):
    agent: str | None = argument("[AGENT]", "The agent; --list lists them", values=f"{__name__}:list_agents")
    project: bool = option("--project", "Write into this repository, for everyone who works on it")
    remove: bool = option("--remove", "Remove what was written")
    yes: bool = option("-y --yes", "Change the files without a question")
    show: bool = option("--print", "Print the entry and the instructions, and write nothing")
    listed: bool = option("--list", "List the agents, where each is configured, and its settings file")


class Edit(NamedTuple):
    """A file with its text before and after; None if the file does not exist."""

    path: Path
    before: str | None
    after: str | None


class Site(NamedTuple):
    """The files that an agent reads in one scope: the user's, or those of a project."""

    row: Row
    scope: str
    root: Path

    @property
    def tops(self) -> tuple[Path, ...]:
        """The folder that no link of a file may leave: the project; empty for the user's own files."""
        return (self.root,) if self.scope == "project" else ()

    def list_settings_files(self) -> list[Path]:
        """List the settings files that may name MCP servers; the first is the one to write."""
        return self._list_files(self.row[self.scope])

    def list_instruction_files(self) -> list[Path]:
        """List the files with instructions; the first is the one to write. Empty if the agent reads none."""
        return self._list_files(self.row.get(f"{self.scope}_text"))

    def _list_files(self, place: Row | None) -> list[Path]:
        if place is None:
            return []
        folder = next(path for name in place.get("folders", [""]) if (path := self._find_folder(name)))
        paths = [folder / Path(name).expanduser() for name in place["names"]]
        first = next((path for path in paths if path.is_file()), folder / place.get("new", place["names"][0]))
        return [first, *(path for path in paths if path != first)]

    def _find_folder(self, name: str) -> Path | None:
        """Find a folder; None if it is for another system or its variable is not set."""
        system, _, below = name.rpartition(":")
        first, _, rest = below.partition("/")
        if system not in ("", sys.platform):
            return None
        if first.startswith("$"):
            return Path(os.environ[first[1:]], rest) if os.environ.get(first[1:]) else None
        return self.root / Path(below).expanduser()

    def is_configured(self) -> bool:
        """True if a settings file has the entry."""
        with suppress(UsageError, ValueError):
            key = self.row["key"]
            return any(
                find_entry(_read_text(path, self.tops) or "", key, path.suffix == ".toml")
                for path in self.list_settings_files()
            )
        return False


@command(epilog="Exit: 0 done or nothing to do, 1 the answer was no, 2 error or --yes needed.")
def install(flags: InstallFlags) -> int:
    """Configure a coding agent to use codelens.

    Its settings get the MCP server, and the file that its model reads gets instructions. Shows the changes and asks
    first. Other entries and comments stay; a changed file is copied to FILE.codelens-backup.
    """
    table, cwd = _read_table(), Path.cwd()
    rows: dict[str, Row] = table["agents"]
    root, scope = find_git_top(cwd) or cwd, "project" if flags.project else "user"
    if flags.listed:
        for name, row in rows.items():
            sites = [Site(row, scope, root) for scope in ("user", "project")]
            where = ",".join(site.scope for site in sites if site.is_configured())
            write([f"{name}\t{where or '-'}\t{sites[0].list_settings_files()[0]}\n"])
        return 0
    if flags.agent not in rows:
        raise UsageError(f"no agent '{flags.agent}'" if flags.agent else "no agent", f"agents: {', '.join(rows)}")
    site = Site(rows[flags.agent], scope, root)
    entry, block = _make_entry(site.row, flags), table["block"]
    if flags.show:
        settings = site.list_settings_files()[0]
        write([f"# {quote_path(str(settings))}\n{add_entry('', site.row['key'], entry, settings.suffix == '.toml')}"])
        write(f"\n# {quote_path(str(path))}\n{add_block('', block)}" for path in site.list_instruction_files()[:1])
        return 0
    if not flags.remove:
        require_packages("mcp", "mcp")
    others = [Site(row, scope, root) for name, row in rows.items() if name != flags.agent] if flags.remove else None
    try:
        edits = list(_plan_edits(site, entry, block, others))
    except ValueError as fault:
        hint = f"nothing was changed; `codelens install {flags.agent} --print` shows what to paste"
        raise UsageError(str(fault), hint) from None
    return _apply_edits([edit for edit in edits if edit.before != edit.after], flags, site.row["title"])


def _apply_edits(edits: list[Edit], flags: InstallFlags, title: str) -> int:
    files = ", ".join(str(edit.path) for edit in edits)
    if edits and not flags.yes:
        for path, before, after in edits if sys.stdin.isatty() else ():
            texts = ((before or "").splitlines(), (after or "").splitlines())
            write(f"{line}\n" for line in difflib.unified_diff(*texts, str(path), str(path), lineterm=""))
        if not user_agrees(f"Change {files}?", f"change {files}"):
            say("nothing was changed")
            return 1
    for edit in edits:
        _write_edit(edit)
    inform(flags, f"changed {files}: restart {title}" if edits else f"{title}: nothing to change")
    return 0


def _write_edit(edit: Edit) -> None:
    """Back up the file, then replace it. If an earlier backup equals the new contents, delete it. Its links were checked when the
    edit was planned."""
    backup = _make_backup_path(edit.path)
    make_folder(edit.path.parent)
    if edit.after is None:
        edit.path.unlink()
    elif _read_text(backup) == edit.after:
        write_in_one_step(edit.path, edit.after.encode())
        backup.unlink()
    else:
        if edit.before is not None:
            write_private_file(backup, edit.before.encode())
            shutil.copymode(edit.path, backup)
        write_in_one_step(edit.path, edit.after.encode())


def _make_entry(row: Row, flags: InstallFlags) -> dict[str, Any]:
    """Make the entry with the server's command line. A project's entry omits what belongs to this machine and user."""
    program_path = shutil.which("codelens")
    named = "codelens" if flags.project else str(Path(program_path or "").absolute())
    program, *rest = [named] if program_path else build_codelens_command()
    arguments = [*rest, *row.get("arguments", ["mcp"]), *(["--db", str(flags.db.absolute())] if flags.db else [])]
    values: dict[str, Any] = {
        "{program}": program,
        "{arguments}": arguments,
        "{command}": [program, *arguments],
        "{environment}": {} if flags.project else _find_own_folders(),
    }
    entry = {
        name: values.get(value, value) if isinstance(value, str) else value for name, value in row["entry"].items()
    }
    return {name: value for name, value in entry.items() if value != {}}


def _find_own_folders() -> dict[str, str]:
    """Find the variables that name the user's folders, since agents start servers without the variables of a shell."""
    variables = {variable for variable, *_ in USER_PLACES.values()}
    return {name: os.environ[name] for name in sorted(variables) if Path(os.environ.get(name, "")).is_absolute()}


def _plan_edits(site: Site, entry: dict[str, Any], block: str, others: list[Site] | None) -> Iterator[Edit]:
    """Plan the edits that add the entry and the block; with `others`, those that remove them. Raises ValueError.

    The block stays as long as another configured agent reads the file.
    """
    removes = others is not None
    in_use = {path for other in others or () if other.is_configured() for path in other.list_instruction_files()}
    change_block: Callable[[str], str] = remove_block
    if not removes:
        change_block = partial(add_block, block=block)

    most = None if removes else 1  # the first is the one to write
    for path in site.list_settings_files()[:most]:
        where = {"key": site.row["key"], "is_toml": path.suffix == ".toml"}
        change = partial(remove_entry, **where) if removes else partial(add_entry, entry=entry, **where)
        yield _edit_file(path, change, site.tops)
    for path in site.list_instruction_files()[:most]:
        if path not in in_use:
            yield _edit_file(path, change_block, site.tops)


def _edit_file(path: Path, change: Callable[[str], str], tops: Sequence[Path]) -> Edit:
    """Plan the change of a file. A file that codelens created is deleted once it is empty."""
    before = _read_text(path, tops)
    _read_text(_make_backup_path(path), tops)  # raises an error while nothing is written yet
    try:
        after = change(before or "")
    except ValueError as fault:
        raise ValueError(f"{path} is left as it is: {fault}") from None
    is_gone = after.strip() in ("", "{}") and not (before is not None and _make_backup_path(path).exists())
    return Edit(path, before, None if is_gone and after != before else after)


def _make_backup_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.codelens-backup")


def _read_text(path: Path, tops: Sequence[Path] = ()) -> str | None:
    """Read the text of a file, with its line ends; None if it does not exist. Raises UsageError, also if a link leads out of one
    of the tops."""
    try:
        return read_file(path, tops).decode()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as fault:
        raise UsageError(f"{path} cannot be read: {getattr(fault, 'strerror', 'it is not UTF-8')}") from None

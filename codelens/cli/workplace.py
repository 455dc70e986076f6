"""The workplace of a command: the working directory, its index, and the settings that apply there.

Its classes are named tuples, because defining a dataclass takes 1.5 ms of each search.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from codelens.cli.declare import make_default_flags
from codelens.cli.flags import CommonFlags, FleetFlags
from codelens.cli.streams import inform, say
from codelens.config import LoadedSettings, Settings, SettingsLoader, load_settings
from codelens.errors import IndexCorrupt, IndexNotTrusted, NoIndex, SchemaTooNew, SettingsError, TargetError, UsageError
from codelens.files import resolve_below
from codelens.index import Index
from codelens.model.code import RepositoryInfo
from codelens.model.fast_dataclass import replace
from codelens.model.search import Notice
from codelens.render.paths import PathStyle
from codelens.render.visible import escape_text
from codelens.worktree.files import escape_path
from codelens.worktree.place import INDEX_FOLDER, choose_index_place, find_git_top, find_index, find_unfinished_index

if TYPE_CHECKING:
    from codelens.fleet.open import FleetPlace

T = TypeVar("T", bound=Any)


class Workplace(NamedTuple):
    """The working directory, the index file and the settings of one command."""

    cwd: Path
    index_path: Path  # Absolute; the file may not exist yet
    loaded: LoadedSettings
    fleet: FleetPlace | None = None  # The store of a fleet, instead of the index file
    settings_of: SettingsLoader | None = None

    @property
    def settings(self) -> Settings:
        """The values of the settings, without their origins."""
        return self.loaded.values

    @property
    def color(self) -> str:
        """auto, always or never. NO_COLOR and TERM=dumb override the settings, and a flag overrides all."""
        wanted = self.settings.color
        refused = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        return "never" if refused and self.loaded.origin["color"] != "flag" else wanted

    def add_notices(self, answer: T) -> T:
        """Add notices about ignored project settings to a JSON answer; text output has them on stderr."""
        ignored = tuple(Notice("settings", text) for text in self.loaded.ignored)
        return replace(answer, notices=(*ignored, *answer.notices)) if ignored else answer

    def make_path_style(self, repositories: Sequence[RepositoryInfo]) -> PathStyle:
        """Choose how text shows paths of these repositories."""
        return PathStyle(self.settings.path_style, str(self.cwd), repositories)

    def open(self) -> Index:
        """Open the index for reading; its `info` tells if the trees have changed. Raises NoIndex, IndexCorrupt or SchemaTooNew."""
        if self.fleet:
            return self.fleet.open(self.settings)
        return Index.reopen(self.index_path, self.settings, look=self.settings_of or True)


def find_working_folder() -> Path:
    """Find the working directory. Raises UsageError if it has been removed."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise UsageError("the working directory no longer exists", "change to a folder that exists") from None


def locate_index(start: Path) -> Path | None:
    """Find the nearest index upwards that covers a folder; None without one."""
    return find_index(start, _covers)


def choose_index(start: Path) -> Path:
    """Choose the path to which `codelens index` writes in a folder: that of `locate_index`, or the place for a new one."""
    return choose_index_place(start, _covers)


def _covers(index: Path, folder: Path) -> bool:
    from codelens.indexing.walk_rules import covers_folder  # only where repositories lie within others

    return covers_folder(index, folder)


def resolve_named_index(flags: CommonFlags) -> Path | None:
    """Make --db absolute. Raises UsageError for a folder."""
    if flags.db is None:
        return None
    if flags.db.is_dir():
        raise UsageError(f"--db {flags.db} is a folder", f"name a file, as --db {flags.db / 'index.db'}")
    return find_working_folder() / flags.db


OVERRIDING = ("color", "path_style", "memory", "metadata")
"""Flags of commands that read, each of which overrides the setting of the same name."""


def find_workplace(flags: CommonFlags, paths: Sequence[Path] = ()) -> Workplace:
    """Find the index that a command reads: --db, else the nearest upwards, else the first path's. Raises NoIndex."""
    overrides = {name: getattr(flags, name, None) for name in OVERRIDING}
    if isinstance(flags, FleetFlags):
        for name in ("refresh", "require_fresh"):
            if getattr(flags, name, None):
                flag = f"--{name.replace('_', '-')}"
                raise UsageError(f"{flag} is about one index", "`codelens cluster index` brings a fleet up to date")
        if not 0 < flags.timeout < 1e6:
            raise UsageError(f"--timeout must be above 0, not {flags.timeout:g}")
        place = find_fleet_workplace(flags, overrides)
        assert place.fleet
        fleet = place.fleet._replace(seconds=flags.timeout, require_complete=flags.require_complete)
        return place._replace(fleet=fleet)
    cwd = find_working_folder()
    index = resolve_named_index(flags) or locate_index(cwd) or (locate_index(cwd / paths[0]) if paths else None)
    if (index is None or not index.is_file()) and (building := find_unfinished_index(index or choose_index(cwd))):
        raise NoIndex(f"{building} was started but never finished", "`codelens index` finishes it")
    if index is None:
        around = find_index(cwd, lambda *_: True)
        raise NoIndex(f"{around} leaves {cwd} out" if around else f"no index in {cwd} or above it")
    loaded = load_settings_at(cwd, index, flags, overrides)

    def load_root_settings(root: Path) -> LoadedSettings:
        return loaded if root == cwd else load_settings_at(root, index, flags, overrides)

    return Workplace(cwd, index, loaded, settings_of=load_root_settings)


def find_fleet_workplace(flags: CommonFlags, overrides: Mapping[str, Any] | None = None) -> Workplace:
    """Find the store of a fleet that a flag names, else the one in the settings of the working directory. Memory is off for
    fleets. Raises UsageError."""
    if flags.db is not None:
        raise UsageError("--db is about one index", "a fleet is named with --store")
    cwd = find_working_folder()
    named = {"memory": False, "store": getattr(flags, "store", None)}
    settings = load_settings_at(cwd, None, flags, {**(overrides or {}), **named})
    if not (store := settings.values.store):
        raise UsageError("no store", "--store PLACE or the setting `store`: where `codelens cluster index` writes")
    url = store if "://" in store else str(cwd / store)
    from codelens.fleet.open import FleetPlace

    return Workplace(cwd, Path(url), settings, FleetPlace(url, getattr(flags, "scheduler", None) or ""))


def load_settings_at(
    cwd: Path, index: Path | None, flags: CommonFlags, overrides: Mapping[str, Any] | None = None
) -> LoadedSettings:
    """Load the settings. Their files are searched for upwards to the folder of the index, else to the top of the work tree.

    If the index belongs to another tree, only `cwd` itself is searched. --allow-network counts for every command that has it.
    """
    folder = index.parent if index else None
    here = cwd.resolve()
    stop = folder.parent if folder and folder.name == INDEX_FOLDER else find_git_top(cwd)
    above = stop if stop in (here, *here.parents) else here
    overrides = {"allow_network": getattr(flags, "allow_network", None) or None, **(overrides or {})}
    loaded = load_settings(here, above, overrides, use_files=not flags.no_config, check=_check_file)
    warned: set[str] = vars(flags).setdefault("_warned", set())  # each warning once, however many roots
    for text in loaded.ignored:
        if text not in warned:
            inform(flags, f"warning: {escape_text(text)}")
        warned.add(text)
    return loaded


def load_settings_here(flags: CommonFlags) -> LoadedSettings:
    """Load the settings that apply in the working directory, with their origins."""
    cwd = find_working_folder()
    return load_settings_at(cwd, resolve_named_index(flags) or locate_index(cwd), flags)


def _check_file(key: str, value: Any, source: str) -> None:
    """Check a file that a project's setting names, so that a faulty one is ignored and does not stop searches."""
    if not value or key not in ("aliases", "classes", "metadata", "weights"):
        return
    from codelens.query.facts import load_metadata
    from codelens.search.channels.equivalence import load_user_classes
    from codelens.search.lexicon import load_aliases
    from codelens.search.profiles import load_all_profiles

    readers: dict[str, Callable[[str], object]] = {"aliases": load_aliases, "classes": load_user_classes}
    readers |= {"metadata": load_metadata, "weights": load_all_profiles}
    try:
        readers[key](value)
    except SettingsError as fault:
        raise SettingsError(f"{source}: '{key}': {fault}") from None


def select_present_roots(roots: list[Path]) -> list[Path]:
    """Leave out missing roots: an unmounted drive must neither stop the update of other trees nor empty its own index."""
    gone = [root for root in roots if not root.is_dir()]
    if len(gone) == len(roots):
        raise UsageError(f"no such folder: {gone[0]}", "name the folder to index instead")
    for root in gone:
        say(f"note: {root} is gone; its files stay in the index until `codelens index --rebuild`")
    return [root for root in roots if root not in gone]


class Scope(NamedTuple):
    """The scope of a search: empty tuples mean everywhere."""

    repositories: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()


def resolve_scope(
    repositories: Sequence[RepositoryInfo], cwd: Path, arguments: Sequence[Path], whole: bool = False
) -> Scope:
    """Resolve PATH arguments, else the working directory, to repositories and paths below their roots.

    A folder above a root, or outside all of them, limits nothing when it is the working directory; a PATH that lies
    outside all roots is a UsageError.
    """
    if whole and not arguments:
        return Scope()
    places = [_find_root_around(repositories, cwd / path) for path in arguments or (cwd,)]
    for path, place in zip(arguments, places, strict=False):
        if place is None:
            hint = f"indexed: {', '.join(r.root for r in repositories)}"
            raise UsageError(f"{path} lies outside what is indexed", hint)
    located = [place for place in places if place is not None]
    names = {name for inside, _ in located for name in inside}
    everywhere = any(not below for _, below in located)
    every_name = names == {r.name for r in repositories} or not names
    return Scope(() if every_name else tuple(sorted(names)), () if everywhere else tuple(below for _, below in located))


def _find_root_around(repositories: Sequence[RepositoryInfo], path: Path) -> tuple[tuple[str, ...], str] | None:
    """Find the innermost root around a place on disk: (names of its repositories, path below the root); None outside all."""
    real = os.path.realpath(path)
    below_roots = [(r, _find_path_below(real, os.path.realpath(r.root))) for r in repositories]
    if holding := [(len(r.root), r.name, below) for r, below in below_roots if below is not None]:
        _, name, below = max(holding, key=itemgetter(0))
        return (name,), below
    inside = tuple(r.name for r in repositories if _find_path_below(os.path.realpath(r.root), real) is not None)
    return (inside, "") if inside else None


def _find_path_below(path: str, root: str) -> str | None:
    """Make `path` relative to `root`, with POSIX separators; empty for the root itself, None if it lies elsewhere."""
    if path == root:
        return ""
    prefix = root.rstrip(os.sep) + os.sep
    return escape_path(path.removeprefix(prefix).replace(os.sep, "/")) if path.startswith(prefix) else None


def locate_target(text: str, place: Workplace, index: Index) -> str:
    """Resolve a target: a path from the working directory if it is on the disk or in the index; else a name in the index.

    The bare name of a folder is taken as a symbol's name first.
    """
    path, colon, line = text.rpartition(":")
    if not (colon and line.isdigit()):
        path, colon, line = text, "", ""
    text = escape_path(text)  # as the index has names that are not UTF-8
    repositories = index.info().repositories
    absolute = os.path.normpath(place.cwd / path)
    if os.path.isdir(absolute) and os.sep not in path:  # noqa: PTH112 - a name of a thing may be no path at all
        return text
    if not os.path.lexists(absolute) and not any(_has_file(index, r.root, absolute) for r in repositories):
        return text
    real = os.path.realpath(absolute)
    for repository in sorted(repositories, key=lambda r: -len(r.root)):
        root = os.path.realpath(repository.root) + os.sep
        if real.startswith(root):
            below = real.removeprefix(root).replace(os.sep, "/")
            return escape_path(real if len(repositories) > 1 else below) + colon + line
    return text


def _has_file(index: Index, root: str, path: str) -> bool:
    """True if the index contains the file, though the disk may not."""
    below = path.removeprefix(root.rstrip(os.sep) + os.sep)
    try:
        return below != path and bool(index.symbols(escape_path(below.replace(os.sep, "/"))))
    except TargetError:
        return False


class Trees(NamedTuple):
    """The trees of a command: its workplace, their roots, and the settings that apply to each."""

    place: Workplace
    roots: list[Path]
    settings_of: SettingsLoader


def choose_trees(flags: CommonFlags, paths: Sequence[Path], overrides: Mapping[str, Any] | None = None) -> Trees:
    """Choose the named folders, else the trees of the existing index, else the top of the repository."""
    cwd = find_working_folder()
    named = [cwd / root for root in paths]
    for root in named:
        if not root.is_dir():
            raise UsageError(f"not a folder: {root}")
        resolve_below(root)
    index = resolve_named_index(flags) or choose_index(named[0] if len(named) == 1 else cwd)
    place = Workplace(cwd, index, load_settings_at(named[0] if named else cwd, index, flags, overrides))
    roots = named
    try:
        if not roots:
            with place.open() as opened:
                if strays := opened.find_stray_roots():
                    text = f"{strays[0]} holds nothing of what was indexed: the index was moved without its tree"
                    raise UsageError(text, "name the folder to index")
                roots = opened.roots()
                roots = select_present_roots(roots) if roots else []
    except (IndexCorrupt, SchemaTooNew) as fault:
        say(f"note: {fault}")
    except (IndexNotTrusted, NoIndex):  # the writer reports it, unless it replaces the index
        pass
    if not roots:
        roots = [index.parent.parent if index.parent.name == INDEX_FOLDER else find_git_top(cwd) or cwd]
    return Trees(place, roots, lambda root: load_settings_at(root, index, flags, overrides))


MOST_SYMBOLS = 200  # Most symbols that a shell offers


def list_symbol_names(db: Path | None, begun: str) -> list[str]:
    """List the symbol names that begin with a text; after `Class.`, its members. Raises NoIndex and other index errors."""
    flags = make_default_flags(CommonFlags)
    flags.db, flags.quiet = db, True
    with find_workplace(flags).open() as index:
        return index.complete_name(begun, MOST_SYMBOLS)

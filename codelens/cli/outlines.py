"""codelens symbols and map: the outline of one file, and the symbols that other files use most."""

from collections.abc import Iterator
from pathlib import Path

from codelens.cli.declare import argument, command, required
from codelens.cli.flags import OUTPUT, CommonFlags, JsonFlags
from codelens.cli.freshness import current_index
from codelens.cli.options import only_one
from codelens.cli.relations import PlaceFlags, files_meant, on_screen, open_place
from codelens.cli.streams import colored, say_notices, write, write_answer, write_record
from codelens.cli.workplace import Workplace, reading_place, scope_of
from codelens.errors import UsageError
from codelens.model.graph import RelationOptions, RepositoryMap
from codelens.model.request import SearchOptions


class SymbolsFlags(CommonFlags, JsonFlags):
    """The file, and the form of its outline."""

    file: Path = required("FILE", "The file, relative to the working directory or to its root")
    changes: bool = OUTPUT.option(
        False, "--changes", "Show when and by whom each was last changed, and by how many commits"
    )
    ctags: bool = OUTPUT.option(False, "--ctags", "Print lines for a tags file")


@command(epilog="Exit: 0 symbols, 1 none, 2 not indexed, 3 no index.")
def symbols(flags: SymbolsFlags) -> int:
    """List the symbols of a file."""
    from codelens.render.outline import changed_lines, ctags_lines, outline_lines, outline_record, symbols_of

    only_one(flags, ("changes", "ctags"))
    place = reading_place(flags)
    with current_index(place, flags) as index:
        path = _indexed_path(flags.file, place.cwd, index.info().repositories)
        units = index.symbols(path)
        last = index.last_changes(units) if flags.changes else None
    exit_code = 0 if symbols_of(units) else 1

    def lines() -> Iterator[str]:
        if last is not None:
            return changed_lines(units, last)
        return ctags_lines(units, str(flags.file)) if flags.ctags else outline_lines(units)

    write_answer(flags, lambda: outline_record(path, units, exit_code, last), lines)
    return exit_code


def _indexed_path(file: Path, cwd: Path, repositories: object) -> str:
    """The path below its root; as it was given, where it lies below none."""
    from codelens.worktree.files import shown_path

    try:
        scope = scope_of(repositories, cwd, [file])  # type: ignore[arg-type]
    except UsageError:
        return shown_path(file.as_posix())
    return shown_path(scope.paths[0]) if scope.paths and (cwd / file).exists() else shown_path(file.as_posix())


class MapFlags(PlaceFlags):
    """How much, and from where it is seen."""

    paths: list[Path] | None = argument(None, "[PATH]...", "Rank symbols by how much these files and folders use them")
    budget: int = OUTPUT.option(2000, "--budget N", "Token budget, counted as characters ÷ 4 [default: 2000]", least=1)


@command("map", epilog="Exit: 0 something on the map, 1 nothing, 2 usage error, 3 no index.")
def show_map(flags: MapFlags) -> int:
    """Show the symbols that other files use most. Prints signatures by file, within a token budget.

    Symbols are ranked by PageRank over calls, uses, type hints, imports and inheritance between files, without test files.
    """
    place = open_place(flags)
    with current_index(place, flags) as index:
        where = files_meant(flags, place, index, ())
        focus = None
        if flags.paths:
            scope = scope_of(index.info().repositories, place.cwd, flags.paths)
            focus = SearchOptions(paths=scope.paths, repositories=scope.repositories)
        result = index.graph.map(flags.budget, RelationOptions(where=where), focus)
    exit_code = 0 if result.files else 1
    if not flags.quiet:
        _show_map(place.with_notices(result), flags, place, exit_code)
        say_notices(result.notices)
    return exit_code


def _show_map(result: RepositoryMap, flags: MapFlags, place: Workplace, exit_code: int) -> None:
    from codelens.render import relations

    if flags.json:
        write_record(relations.map_record(result, exit_code))
    elif flags.dot:
        write(relations.map_dot(result))
    else:
        write(_map_text(result, flags, place), styled=on_screen(flags), paged=not flags.no_pager)


def _map_text(result: RepositoryMap, flags: MapFlags, place: Workplace) -> Iterator[str]:
    paths = place.path_style(result.index.repositories)
    if on_screen(flags):
        from codelens.render.relations_terminal import map_screen

        return map_screen(result, paths, colored(place.color, on_screen(flags)))
    from codelens.render.relations import map_lines

    return map_lines(result, paths)

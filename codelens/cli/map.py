"""codelens map: the symbols that everything leans on, in a budget of tokens."""

from collections.abc import Iterator
from pathlib import Path

from codelens.cli.declare import argument, declare, option
from codelens.cli.flags import OUTPUT
from codelens.cli.freshness import current_index
from codelens.cli.relations import PlaceFlags, files_meant, on_screen, open_place
from codelens.cli.streams import colored, say_notices, write, write_record
from codelens.cli.workplace import Workplace, scope_of
from codelens.errors import UsageError
from codelens.model.graph import RelationOptions, RepositoryMap
from codelens.model.search import SearchOptions
from codelens.render.paths import PathStyle


class MapFlags(PlaceFlags):
    """How much, and from where it is seen."""

    paths: list[Path] | None = argument(None, "Seen from these files and folders: what they lean on", "[PATH]...")
    budget: int = option(
        2000, "--budget", section=OUTPUT, metavar="N", help="Tokens, as characters ÷ 4 [default: 2000]"
    )


def map_command(flags: MapFlags) -> int:
    """Show the symbols that other files use most. With signatures, by file, within a budget of tokens.

    PageRank over calls, uses, type hints, imports and inheritance between files; files of tests are left out.
    """
    if flags.budget < 1:
        raise UsageError(f"--budget must be at least 1, not {flags.budget}")
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
        _show(place.with_notices(result), flags, place, exit_code)
        say_notices(result.notices)
    return exit_code


def _show(result: RepositoryMap, flags: MapFlags, place: Workplace, exit_code: int) -> None:
    from codelens.render import relations

    if flags.json:
        write_record(relations.map_record(result, exit_code))
    elif flags.dot:
        write(relations.map_dot(result))
    else:
        write(_text(result, flags, place), styled=on_screen(flags))


def _text(result: RepositoryMap, flags: MapFlags, place: Workplace) -> Iterator[str]:
    paths = PathStyle(place.settings.path_style, str(place.cwd), result.index.repositories)
    if on_screen(flags):
        from codelens.render.relations_terminal import map_screen

        return map_screen(result, paths, colored(place.color, on_screen(flags)))
    from codelens.render.relations import map_lines

    return map_lines(result, paths)


command = declare(
    "map", MapFlags, map_command, epilog="Exit: 0 something on the map, 1 nothing, 2 usage error, 3 no index."
)

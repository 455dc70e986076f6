"""codelens communities: which files or symbols belong together, by the graph."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

from codelens.cli.declare import argument, declare, option
from codelens.cli.flags import FILTERS, OUTPUT, JsonFlags
from codelens.cli.graph_flags import FileFlags, files_meant
from codelens.cli.graph_shown import say_notices
from codelens.cli.streams import say, write, write_json
from codelens.cli.workplace import reading_place
from codelens.errors import UsageError
from codelens.related import NAMING, Community, Named, RelationOptions
from codelens.render.paths import PathStyle
from codelens.render.visible import for_line


class CommunityFlags(FileFlags, JsonFlags):
    """Of what, and how much is told."""

    paths: Annotated[list[Path] | None, argument("Only these files and folders", "[PATH]...")] = None
    of: Annotated[str, option("--of", metavar="WHAT", help="files or symbols [default: files]")] = "files"
    resolution: Annotated[
        float, option("--resolution", metavar="X", help="More finds more and smaller ones [default: 1]")
    ] = 1.0
    least: Annotated[
        int, option("--least", section=FILTERS, metavar="N", help="Only those of N members or more [default: 2]")
    ] = 2
    members: Annotated[bool, option("--members", section=OUTPUT, help="All members, one a line")] = False
    limit: Annotated[
        int | None, option("-m", "--limit", section=OUTPUT, metavar="N", help="Show at most N [default: all]")
    ] = None
    path_style: Annotated[
        str | None,
        option("--path-style", section=OUTPUT, metavar="STYLE", help="Paths: cwd, root or absolute [default: cwd]"),
    ] = None


def communities(flags: CommunityFlags) -> int:
    """List which files or symbols belong together. Those with more links among them than with the rest, the largest first.

    Louvain's method over calls, uses, imports and inheritance; files of tests are left out. Named by their most central members.
    """
    _check(flags)
    place = reading_place(flags, {"path_style": flags.path_style})
    with place.open() as index:
        where = files_meant(flags, place, index, flags.paths or ())
        result = index.communities(flags.of, RelationOptions(where=where), flags.resolution)
        paths = PathStyle(place.settings.path_style, str(place.cwd), index.info().repositories)
    shown = [group for group in result.groups if len(group.members) >= flags.least][: flags.limit]
    exit_code = 0 if shown else 1
    if not flags.quiet:
        if flags.json:
            from codelens.render.records import to_json
            from codelens.render.relations import communities_record

            write_json([to_json(communities_record(place.with_notices(result), shown, exit_code))])
        else:
            write(_lines(shown, flags.members, paths))
        say_notices(result.notices)
        if flags.verbose:
            say(
                f"{len(result.groups)} communities, modularity {result.modularity:.3f}; {result.alone} {flags.of} are alone"
            )
    return exit_code


def _check(flags: CommunityFlags) -> None:
    if flags.of not in ("files", "symbols"):
        raise UsageError(f"--of is files or symbols, not {flags.of}")
    if not 0 < flags.resolution < 1000:
        raise UsageError(f"--resolution is above 0, not {flags.resolution:g}", "1 is usual; 2 finds smaller ones")
    for name, number in (("-m", flags.limit), ("--least", flags.least)):
        if number is not None and number < 1:
            raise UsageError(f"{name} is at least 1, not {number}")


def _lines(shown: Sequence[Community], members: bool, paths: PathStyle) -> Iterator[str]:
    """Number, how many members, the most central ones; or number and member."""
    for number, group in enumerate(shown, start=1):
        named = [for_line(_member(member.named, paths)) for member in group.members]
        if members:
            yield from (f"{number}\t{name}\n" for name in named)
        else:
            yield f"{number}\t{len(named)}\t{', '.join(named[:NAMING])}\n"


def _member(named: Named, paths: PathStyle) -> str:
    path = paths.of(named.root, named.os_path)
    return path if named.kind == "file" else f"{path}:{named.line}:{named.qualified_name}"


command = declare("communities", CommunityFlags, communities, epilog="Exit: 0 some, 1 none, 2 usage error, 3 no index.")

"""What the commands that ask the symbol graph share: their options, and what these become."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from codelens.cli.asked import languages_named
from codelens.cli.declare import option
from codelens.cli.flags import FILTERS, OUTPUT, ColorFlags, CommonFlags, Globs, JsonFlags, Types, TypesNot
from codelens.cli.workplace import Workplace, scope_of
from codelens.errors import UsageError
from codelens.index import Index
from codelens.model import SearchOptions
from codelens.related import RelationOptions
from codelens.relations import IMPLIED_KINDS, KINDS

TARGET = "PATH, PATH:LINE or a symbol's name"
EXIT = "Exit: 0 something found, 1 nothing, 2 no such target or an ambiguous one, 3 no index."


class FileFlags(CommonFlags):
    """Where to look."""

    types: Types = None
    types_not: TypesNot = None
    globs: Globs = None


class PlaceFlags(FileFlags, JsonFlags, ColorFlags):
    """Where to look, and the form of the answer."""

    dot: Annotated[bool, option("--dot", section=OUTPUT, help="A graph for Graphviz")] = False


class GraphFlags(PlaceFlags):
    """Which edges count."""

    jsonl: Annotated[
        bool, option("--jsonl", section=OUTPUT, help="One JSON object a relation, then one of type `end`")
    ] = False
    kinds: Annotated[
        str | None,
        option("--kinds", section=FILTERS, metavar="K,…", help="Only these kinds of edges, as calls,extends"),
    ] = None
    min_confidence: Annotated[
        float | None,
        option("--min-confidence", section=FILTERS, metavar="X", help="Only edges at least this sure, 0 to 1"),
    ] = None
    limit: Annotated[
        int | None, option("-m", "--limit", section=OUTPUT, metavar="N", help="Show at most N [default: all]")
    ] = None


class DepthFlags(GraphFlags):
    """How far to go."""

    depth: Annotated[int | None, option("--depth", section=FILTERS, metavar="N", help="Hops to follow")] = None


def relation_options(
    flags: GraphFlags, place: Workplace, index: Index, below: Sequence[Path], members: bool = False
) -> RelationOptions:
    """Raises UsageError for kinds that there are not, and for numbers that make no sense."""
    depth = flags.depth if isinstance(flags, DepthFlags) else None
    for name, number in (("-m", flags.limit), ("--depth", depth)):
        if number is not None and number < 1:
            raise UsageError(f"{name} is at least 1, not {number}")
    if flags.min_confidence is not None and not 0 <= flags.min_confidence <= 1:
        raise UsageError(f"--min-confidence is 0 to 1, not {flags.min_confidence}")
    return RelationOptions(
        kinds=kinds_named(flags.kinds or ""),
        min_confidence=flags.min_confidence,
        depth=depth,
        limit=flags.limit,
        members=members,
        where=files_meant(flags, place, index, below),
    )


def kinds_named(text: str) -> tuple[str, ...]:
    """The kinds of edges of a list with commas. Raises UsageError for one that there is not."""
    named = tuple(dict.fromkeys(filter(None, (k.strip() for k in text.split(",")))))
    known = (*KINDS, *(k for k in IMPLIED_KINDS if k not in KINDS))
    for kind in named:
        if kind not in known:
            raise UsageError(f"no kind of edge is called '{kind}'", f"kinds: {', '.join(known)}")
    return named


def files_meant(flags: FileFlags, place: Workplace, index: Index, below: Sequence[Path]) -> SearchOptions | None:
    """What -t, -T, -g and PATH leave; None where none is given: the graph is asked about the whole index."""
    if not (below or flags.types or flags.types_not or flags.globs):
        return None
    for path in below:
        if not path.exists():
            raise UsageError(f"no such file or folder: {path}")
    scope = scope_of(index.info().repositories, place.cwd, below, whole=True)
    return SearchOptions(
        languages=languages_named(flags.types or ()),
        languages_not=languages_named(flags.types_not or ()),
        globs=tuple(flags.globs or ()),
        paths=scope.paths,
        repositories=scope.repositories,
    )

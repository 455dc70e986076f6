"""The commands that ask the symbol graph about a target: refs, callers, callees, path, impact, hierarchy."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from codelens.cli.declare import SYMBOLS, argument, command, required
from codelens.cli.flags import FILTERS, GLOBS, OUTPUT, TYPES, TYPES_NOT, ColorFlags, CommonFlags, JsonFlags, Texts
from codelens.cli.freshness import current_index, is_behind
from codelens.cli.options import FILE_FILTERS, given_options, only_one
from codelens.cli.streams import colored, say, say_notices, write, write_json, write_record
from codelens.cli.workplace import Workplace, reading_place, scope_of, target_here
from codelens.errors import UsageError
from codelens.index import Index
from codelens.model.code import Freshness
from codelens.model.graph import IMPLIED_KINDS, KINDS, RelationAnswer, RelationOptions
from codelens.model.request import SearchOptions
from codelens.text.counts import quantity

TARGET = "PATH, PATH:LINE or a symbol's name"
EXIT = "Exit: 0 found, 1 nothing found, 2 unknown or ambiguous target, 3 no index."
EDGE_KINDS = FILTERS.option(
    None, "--kinds K,…", "Only these kinds of edges, such as calls,extends", values="codelens.model.graph:KINDS"
)
MIN_CONFIDENCE = FILTERS.option(
    None, "--min-confidence X", "Only edges with at least this confidence, 0 to 1", least=0, most=1
)
FORMAT = OUTPUT.option(None, "--format TEXT", "Template of a line: '{path}:{line} {source}'")
UNRESOLVED = OUTPUT.option(False, "--unresolved", "List the calls that could not be followed to a definition instead")
BELOW = argument(None, "[PATH]...", "Search only in these files and folders")


class FileFlags(CommonFlags):
    """Options: the scope."""

    languages: Texts = TYPES
    languages_not: Texts = TYPES_NOT
    globs: Texts = GLOBS


class PlaceFlags(FileFlags, JsonFlags, ColorFlags):
    """Options: the scope, and the form of the output."""

    dot: bool = OUTPUT.option(False, "--dot", "Print a graph for Graphviz")


class GraphFlags(PlaceFlags):
    """Which edges count."""

    jsonl: bool = OUTPUT.option(False, "--jsonl", "Print a JSON object per relation, then an `end`")
    kinds: str | None = EDGE_KINDS
    min_confidence: float | None = MIN_CONFIDENCE
    limit: int | None = OUTPUT.option(None, "-m --limit N", "Show at most N [default: all]", least=1)
    format: str | None = FORMAT


class RefsFlags(GraphFlags):
    """A name, and where to look for it."""

    unresolved: bool = UNRESOLVED
    sure: bool = FILTERS.option(False, "--sure", "Only resolved places")
    text: bool = FILTERS.option(False, "--text", "Include comments, strings and documents that contain the name")
    target: str = required("TARGET", f"{TARGET}, or a library's name such as json.dumps", values=SYMBOLS)
    paths: list[Path] | None = BELOW


class DepthFlags(GraphFlags):
    """How far to go, and whether over guesses."""

    by_name: bool = FILTERS.option(False, "--by-name", "Follow calls that match a definition only by name, too")
    depth: int | None = FILTERS.option(None, "--depth N", "Hops to follow", least=1)


class TargetFlags(DepthFlags):
    """The symbol to start from, and where to look."""

    unresolved: bool = UNRESOLVED
    target: str = required("TARGET", TARGET, values=SYMBOLS)
    paths: list[Path] | None = BELOW


class HierarchyFlags(TargetFlags):
    """A type, and whether to list overrides."""

    members: bool = OUTPUT.option(False, "--members", "Show which members override which")


class PathFlags(DepthFlags):
    """The two ends of a path, and the files it may go through."""

    first: str = required("FROM", f"The start: {TARGET}", values=SYMBOLS)
    second: str = required("TO", "The end", values=SYMBOLS)
    paths: list[Path] | None = argument(None, "[PATH]...", "Only paths through these files and folders")


@command(epilog=EXIT)
def refs(flags: RefsFlags) -> int:
    """List every place that names a symbol, most certain first.

    A place is resolved if scopes, imports or types lead to the symbol, likely if no other definition is in reach, and by
    name otherwise; a line on stderr counts them. A name without a definition, such as a field, is found by its
    declarations. For a file, lists references from other files to it or to anything in it.
    """
    return _ask("refs", flags, flags.target)


@command(epilog=EXIT)
def callers(flags: TargetFlags) -> int:
    """List the callers of a function as a tree.

    --depth adds their callers. Code that creates an instance of a class calls it. Calls to a method that the target
    overrides are listed and marked, because they may run the target.
    """
    return _ask("callers", flags, flags.target)


@command(epilog=EXIT)
def callees(flags: TargetFlags) -> int:
    """List what a function or class calls, as a tree.

    --depth adds what those call. Overrides of a called method are listed and marked, because they may run instead
    of it.
    """
    return _ask("callees", flags, flags.target)


@command(epilog=EXIT)
def impact(flags: TargetFlags) -> int:
    """List what a change may affect.

    Callers, subclasses, overrides and importers come nearest first, then tests. It follows 3 hops (--depth) over edges
    with a confidence of at least 0.5 (--min-confidence).
    """
    return _ask("impact", flags, flags.target)


@command(epilog=EXIT)
def hierarchy(flags: HierarchyFlags) -> int:
    """Show the bases of a type, and its subclasses and implementations."""
    return _ask("hierarchy", flags, flags.target)


@command(epilog=EXIT)
def path(flags: PathFlags) -> int:
    """Show a shortest path between two symbols.

    The path follows calls, uses, imports and inheritance, over up to 8 hops (--depth) and edges with a confidence of at
    least 0.5 (--min-confidence).
    """
    return _ask("path", flags, flags.first, flags.second)


def _ask(question: str, flags: GraphFlags, *targets: str) -> int:
    """Print the graph's answer to one question about targets; returns the exit code."""
    place = open_place(flags)
    with current_index(place, flags) as index:
        options = relation_options(flags, place, index)
        found = [target_here(target, place, index) for target in targets]
        result: RelationAnswer = getattr(index.graph, question)(*found, options)
        exit_code = 0 if result.relations else 1
        if not flags.quiet:
            show_related(result, flags, place, exit_code)
    return exit_code


def open_place(flags: PlaceFlags) -> Workplace:
    """The workplace, once it is clear that at most one output format was given."""
    only_one(flags, ("json", "jsonl", "dot", "format"))
    return reading_place(flags, {"color": flags.color, "path_style": flags.path_style})


def on_screen(flags: PlaceFlags) -> bool:
    """True if the output is formatted for a terminal."""
    return sys.stdout.isatty() or flags.pretty


def show_related(result: RelationAnswer, flags: GraphFlags, place: Workplace, exit_code: int) -> None:
    """Print an answer and its notices, or that there is nothing to print."""
    if not (result.relations or result.notices):
        say("note: nothing found; the index has no such edges, or filters leave them out")
    _show(place.with_notices(result), flags, place, exit_code)
    say_notices(result.notices)
    changed = sum(r.place.freshness is not Freshness.FRESH for r in result.relations)
    if changed and not is_behind(result.index):
        say(f"warning: {changed} of {quantity(len(result.relations), 'line')} in files that changed since indexing")


def _show(result: RelationAnswer, flags: GraphFlags, place: Workplace, exit_code: int) -> None:
    from codelens.render import relations

    if flags.jsonl:
        write_json(relations.related_jsonl(result, exit_code))
    elif flags.json:
        write_record(relations.related_record(result, exit_code))
    elif flags.dot:
        write(relations.related_dot(result))
    else:
        write(_text(result, flags, place), styled=on_screen(flags), paged=not flags.no_pager)


def _text(result: RelationAnswer, flags: GraphFlags, place: Workplace) -> Iterator[str]:
    paths = place.path_style(result.index.repositories)
    if flags.format is not None:
        from codelens.render.relations import related_format

        return related_format(result, paths, flags.format)
    if on_screen(flags):
        from codelens.render.relations_terminal import related_screen

        return related_screen(result, paths, colored(place.color, on_screen(flags)))
    from codelens.render.relations import related_lines

    return related_lines(result, paths)


OPTIONAL = ("depth", "members", "sure", "text", "unresolved")  # Fields of RelationOptions that some commands have


def relation_options(flags: GraphFlags, place: Workplace, index: Index) -> RelationOptions:
    """Raises UsageError for unknown kinds of edges."""
    return RelationOptions(
        kinds=kinds_named(flags.kinds or ""),
        min_confidence=0.0 if getattr(flags, "by_name", False) else flags.min_confidence,
        limit=flags.limit,
        where=files_meant(flags, place, index, getattr(flags, "paths", None) or ()),
        **{name: getattr(flags, name) for name in OPTIONAL if hasattr(flags, name)},
    )


def kinds_named(text: str) -> tuple[str, ...]:
    """The kinds of edges in a list with commas. Raises UsageError for an unknown one."""
    named = tuple(dict.fromkeys(filter(None, (k.strip() for k in text.split(",")))))
    known = (*KINDS, *(k for k in IMPLIED_KINDS if k not in KINDS))
    for kind in named:
        if kind not in known:
            raise UsageError(f"unknown kind of edge '{kind}'", f"kinds: {', '.join(known)}")
    return named


def files_meant(flags: FileFlags, place: Workplace, index: Index, below: Sequence[Path]) -> SearchOptions | None:
    """The files that -t, -T, -g and PATH select; None if none of them is given, for the whole index."""
    if not (below or flags.languages or flags.languages_not or flags.globs):
        return None
    for each in below:
        if not each.exists():
            raise UsageError(f"no such file or folder: {each}")
    scope = scope_of(index.info().repositories, place.cwd, below, whole=True)
    return SearchOptions(**given_options(flags, FILE_FILTERS), paths=scope.paths, repositories=scope.repositories)

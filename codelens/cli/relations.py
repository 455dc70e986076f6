"""Commands on a file's symbols and the symbol graph: symbols, map, refs, callers and the like, test-scope."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from codelens.cli.declare import SYMBOLS, argument, command, required_argument
from codelens.cli.flags import (
    FILTERS,
    GLOBS,
    OUTPUT,
    PATH_STYLE,
    TYPES,
    TYPES_NOT,
    ChangeFlags,
    ColorFlags,
    CommonFlags,
    JsonFlags,
    Paths,
    Texts,
)
from codelens.cli.freshness import is_behind, open_current_index
from codelens.cli.options import FILE_FILTERS, collect_given_options, find_only_flag, read_change
from codelens.cli.streams import (
    is_for_people,
    say,
    say_notices,
    wants_color,
    write,
    write_answer,
    write_json,
    write_record,
)
from codelens.cli.workplace import Workplace, locate_target, resolve_scope
from codelens.errors import UsageError
from codelens.index import Index
from codelens.model.code import Freshness
from codelens.model.graph import IMPLIED_KINDS, KINDS, RelationAnswer, RelationOptions
from codelens.model.request import SearchOptions
from codelens.text.counts import quantity

TARGET = "PATH, PATH:LINE or a symbol's name"
EXIT = "Exit: 0 found, 1 nothing found, 2 unknown or ambiguous target, 3 no index."
EDGE_KINDS = FILTERS(
    "--kinds K,…", "Only these kinds of edges, such as calls,extends", values="codelens.model.graph:KINDS"
)
MIN_CONFIDENCE = FILTERS("--min-confidence X", "Only edges with at least this confidence, 0 to 1", least=0, most=1)
UNRESOLVED = OUTPUT("--unresolved", "List the calls that could not be followed to a definition instead")
OUTPUT_FORMS = ("json", "jsonl", "dot", "format")
BELOW = argument("[PATH]...", "Search only in these files and folders")


class SymbolsFlags(CommonFlags, JsonFlags):
    file: Path = required_argument("FILE", "The file, relative to the working directory or to its root")
    changes: bool = OUTPUT("--changes", "Show when and by whom each was last changed, and by how many commits")
    ctags: bool = OUTPUT("--ctags", "Print lines for a tags file")


@command(epilog="Exit: 0 symbols, 1 none, 2 not indexed, 3 no index.")
def symbols(flags: SymbolsFlags) -> int:
    """List the symbols of a file."""
    from codelens.render import outline
    from codelens.worktree.files import escape_path

    find_only_flag(flags, ("changes", "ctags"))
    with open_current_index(flags) as (place, index):
        path = escape_path(flags.file.as_posix())
        with suppress(UsageError):  # a path outside all roots stays as it was given
            scope = resolve_scope(index.info().repositories, place.cwd, [flags.file])
            path = scope.paths[0] if scope.paths and (place.cwd / flags.file).exists() else path
        units = index.symbols(path)
        last = index.find_last_changes(units) if flags.changes else None
        for text in index.missing_parts:
            say(f"note: {text}")
    exit_code = 0 if outline.select_symbols(units) else 1

    def format_lines() -> Iterator[str]:
        if last is not None:
            return outline.format_outline_with_changes(units, last)
        return outline.format_ctags(units, str(flags.file)) if flags.ctags else outline.format_outline(units)

    write_answer(flags, lambda: outline.build_outline_record(path, units, exit_code, last), format_lines)
    return exit_code


class FileFlags(CommonFlags):
    languages: Texts = TYPES
    languages_not: Texts = TYPES_NOT
    globs: Texts = GLOBS


class PlaceFlags(FileFlags, JsonFlags, ColorFlags):
    dot: bool = OUTPUT("--dot", "Print a graph for Graphviz")


class MapFlags(PlaceFlags):
    paths: Paths = argument("[PATH]...", "Rank symbols by how much these files and folders use them")
    budget: int = OUTPUT("--budget N", "Token budget, counted as characters ÷ 4 [default: 2000]", default=2000, least=1)


@command("map", epilog="Exit: 0 something on the map, 1 nothing, 2 usage error, 3 no index.")
def show_map(flags: MapFlags) -> int:
    """Show the symbols that other files use most. Prints signatures by file, within a token budget.

    Symbols are ranked by PageRank over calls, uses, type hints, imports and inheritance between files, without test files.
    """
    from codelens.render import relations

    find_only_flag(flags, OUTPUT_FORMS)
    with open_current_index(flags) as (place, index):
        where = select_files(flags, place, index, ())
        focus = None
        if flags.paths:
            scope = resolve_scope(index.info().repositories, place.cwd, flags.paths)
            focus = SearchOptions(paths=scope.paths, repositories=scope.repositories)
        result = index.graph.map(flags.budget, RelationOptions(where=where), focus)
    exit_code = 0 if result.files else 1
    paths = place.make_path_style(result.index.repositories)
    if flags.quiet:
        return exit_code
    if flags.json:
        write_record(relations.build_map_record(place.add_notices(result), exit_code))
    elif flags.dot:
        write(relations.format_map_dot(result))
    elif is_for_people(flags):
        from codelens.render.relations_terminal import render_map

        write(render_map(result, paths, wants_color(place.color, True)), styled=True, paged=not flags.no_pager)
    else:
        write(relations.format_map(result, paths))
    say_notices(result.notices)
    return exit_code


class GraphFlags(PlaceFlags):
    jsonl: bool = OUTPUT("--jsonl", "Print a JSON object per relation, then an `end`")
    kinds: str | None = EDGE_KINDS
    min_confidence: float | None = MIN_CONFIDENCE
    limit: int | None = OUTPUT("-m --limit N", "Show at most N [default: all]", least=1)
    format: str | None = OUTPUT("--format TEXT", "Template of a line: '{path}:{line} {source}'")


class RefsFlags(GraphFlags):
    unresolved: bool = UNRESOLVED
    sure: bool = FILTERS("--sure", "Only resolved places")
    text: bool = FILTERS("--text", "Include comments, strings and documents that contain the name")
    target: str = required_argument("TARGET", f"{TARGET}, or a library's name such as json.dumps", values=SYMBOLS)
    paths: Paths = BELOW


class DepthFlags(GraphFlags):
    by_name: bool = FILTERS("--by-name", "Follow calls that match a definition only by name, too")
    depth: int | None = FILTERS("--depth N", "Hops to follow", least=1)


class TargetFlags(DepthFlags):
    unresolved: bool = UNRESOLVED
    target: str = required_argument("TARGET", TARGET, values=SYMBOLS)
    paths: Paths = BELOW


class HierarchyFlags(TargetFlags):
    members: bool = OUTPUT("--members", "Show which members override which")


class PathFlags(DepthFlags):
    first: str = required_argument("FROM", f"The start: {TARGET}", values=SYMBOLS)
    second: str = required_argument("TO", "The end", values=SYMBOLS)
    paths: Paths = argument("[PATH]...", "Only paths through these files and folders")


@command(epilog=EXIT)
def refs(flags: RefsFlags) -> int:
    """List every place that names a symbol, most certain first.

    A place is resolved if scopes, imports or types lead to the symbol, likely if no other definition is in reach, and by
    name otherwise; a line on stderr counts them. A name without a definition, such as a field, is found by its
    declarations. For a file, lists references from other files to it or to anything in it.
    """
    return _answer_question("refs", flags, flags.target)


@command(epilog=EXIT)
def callers(flags: TargetFlags) -> int:
    """List the callers of a function as a tree.

    --depth adds their callers. Code that creates an instance of a class calls it. Calls to a method that the target
    overrides are listed and marked, because they may run the target.
    """
    return _answer_question("callers", flags, flags.target)


@command(epilog=EXIT)
def callees(flags: TargetFlags) -> int:
    """List what a function or class calls, as a tree.

    --depth adds what those call. Overrides of a called method are listed and marked, because they may run instead
    of it.
    """
    return _answer_question("callees", flags, flags.target)


@command(epilog=EXIT)
def impact(flags: TargetFlags) -> int:
    """List what a change may affect.

    Callers, subclasses, overrides and importers come nearest first, then tests. It follows 3 hops (--depth) over edges
    with a confidence of at least 0.5 (--min-confidence).
    """
    return _answer_question("impact", flags, flags.target)


@command(epilog=EXIT)
def hierarchy(flags: HierarchyFlags) -> int:
    """Show the bases of a type, and its subclasses and implementations."""
    return _answer_question("hierarchy", flags, flags.target)


@command(epilog=EXIT)
def path(flags: PathFlags) -> int:
    """Show a shortest path between two symbols.

    The path follows calls, uses, imports and inheritance, over up to 8 hops (--depth) and edges with a confidence of at
    least 0.5 (--min-confidence).
    """
    return _answer_question("path", flags, flags.first, flags.second)


OPTIONAL = ("depth", "members", "sure", "text", "unresolved")  # Fields of RelationOptions that some commands have


def _answer_question(question: str, flags: GraphFlags, *targets: str) -> int:
    """Print the graph's answer to a question about targets; returns the exit code."""
    find_only_flag(flags, OUTPUT_FORMS)
    with open_current_index(flags) as (place, index):
        options = RelationOptions(
            kinds=parse_kinds(flags.kinds or ""),
            min_confidence=0.0 if getattr(flags, "by_name", False) else flags.min_confidence,
            limit=flags.limit,
            where=select_files(flags, place, index, getattr(flags, "paths", None) or ()),
            **{name: getattr(flags, name) for name in OPTIONAL if hasattr(flags, name)},
        )
        meant = [locate_target(target, place, index) for target in targets]
        result: RelationAnswer = getattr(index.graph, question)(*meant, options)
        exit_code = 0 if result.relations else 1
        if flags.quiet:
            return exit_code
        if not (result.relations or result.notices):
            say("note: nothing found; the index has no such edges, or filters leave them out")
        _show_relations(place.add_notices(result), flags, place, exit_code)
        say_notices(result.notices)
        changed = sum(r.place.freshness is not Freshness.FRESH for r in result.relations)
        if changed and not is_behind(result.index):
            say(f"warning: {changed} of {quantity(len(result.relations), 'line')} in files that changed since indexing")
    return exit_code


def _show_relations(result: RelationAnswer, flags: GraphFlags, place: Workplace, exit_code: int) -> None:
    from codelens.render import relations
    from codelens.render.records import to_jsonl

    paths, for_people = place.make_path_style(result.index.repositories), is_for_people(flags)
    if flags.jsonl:
        write_json(to_jsonl("relation", "relations", relations.build_answer_record(result, exit_code)))
    elif flags.json:
        write_record(relations.build_answer_record(result, exit_code))
    elif flags.dot:
        write(relations.format_dot(result))
    elif flags.format is not None:
        texts = relations.format_by_template(result, paths, flags.format)
        write(texts, styled=for_people, paged=not flags.no_pager)
    elif for_people:
        from codelens.render.relations_terminal import render_relations

        write(render_relations(result, paths, wants_color(place.color, True)), styled=True, paged=not flags.no_pager)
    else:
        write(relations.format_relations(result, paths))


def parse_kinds(text: str) -> tuple[str, ...]:
    """Parse the kinds of edges in a list with commas. Raises UsageError for an unknown one."""
    named = tuple(dict.fromkeys(filter(None, (k.strip() for k in text.split(",")))))
    known = (*KINDS, *(k for k in IMPLIED_KINDS if k not in KINDS))
    for kind in named:
        if kind not in known:
            raise UsageError(f"unknown kind of edge '{kind}'", f"kinds: {', '.join(known)}")
    return named


def select_files(flags: FileFlags, place: Workplace, index: Index, below: Sequence[Path]) -> SearchOptions | None:
    """Read which files -t, -T, -g and PATH select; None, for the whole index, if none of them is given."""
    if not (below or flags.languages or flags.languages_not or flags.globs):
        return None
    for each in below:
        if not each.exists():
            raise UsageError(f"no such file or folder: {each}")
    scope = resolve_scope(index.info().repositories, place.cwd, below, whole=True)
    filters = collect_given_options(flags, FILE_FILTERS)
    return SearchOptions(**filters, paths=scope.paths, repositories=scope.repositories)


class ScopeFlags(ChangeFlags, CommonFlags, JsonFlags):
    targets: Texts = argument("[TARGET]...", TARGET, values=SYMBOLS)
    depth: int | None = FILTERS("--depth N", "Hops to follow [default: 6]", least=1)
    min_confidence: float | None = FILTERS(
        "--min-confidence X", "Only edges with at least this confidence, 0 to 1 [default: 0.5]", least=0, most=1
    )
    format: str = OUTPUT(
        "--format HOW",
        "paths, pytest, or a template: '{path}:{line} {name}' [default: paths]",
        default="paths",
        values=("paths", "pytest"),
    )
    unresolved: bool = UNRESOLVED
    null: bool = OUTPUT("-0 --null", "Print a NUL byte after each line")
    path_style: str | None = PATH_STYLE


@command(epilog="Exit: 0 a test, 1 none, 2 usage error or no such target, 3 no index.")
def test_scope(flags: ScopeFlags) -> int:
    """List the tests that a change may reach. Prints each test file once, nearest first; with --format, each test.

    It follows 6 hops of calls, uses and inheritance with a confidence of at least 0.5. Lookups at run time are invisible to it:
    use the list to choose which tests to run first, not which to skip.
    """
    from codelens.render import relations

    find_only_flag(flags, ("targets", "pr", "diff", "staged"), {"targets": "targets"})
    if not (flags.targets or flags.pr or flags.diff or flags.staged):
        raise UsageError("nothing to find tests for", "name files or symbols, or give --pr, --diff or --staged")
    with open_current_index(flags) as (place, index):
        targets = [locate_target(target, place, index) for target in flags.targets or ()]
        request = read_change(flags, place.cwd) or targets
        if flags.unresolved:
            unresolved = index.graph.list_unresolved_calls(request, flags.depth, flags.min_confidence)
            if not flags.quiet:
                _show_unresolved(unresolved, flags, place)
            return 0 if unresolved.relations else 1
        result = index.graph.find_tests_reaching(request, flags.depth, flags.min_confidence)
        paths = place.make_path_style(index.info().repositories)
    exit_code = 0 if result.tests else 1
    if flags.quiet:
        return exit_code
    if flags.json:
        write_record(relations.build_reaching_record(place.add_notices(result), paths, exit_code))
    else:
        write(relations.format_reaching_tests(result, paths, flags.format, flags.null))
    say_notices(result.notices)
    if not result.touched:
        say("nothing is staged that the index holds" if flags.staged else "the change touches nothing in the index")
    elif not result.tests:
        say("no test in the index reaches this")
    if flags.verbose:
        touched = quantity(len(result.touched), "symbol or file", "symbols or files")
        say(f"{quantity(len(result.tests), 'test')} for {touched}")
    return exit_code


def _show_unresolved(result: RelationAnswer, flags: ScopeFlags, place: Workplace) -> None:
    from codelens.render import relations

    paths = place.make_path_style(result.index.repositories)
    if flags.json:
        write_record(relations.build_answer_record(place.add_notices(result), 0 if result.relations else 1))
    elif flags.format in relations.FORMS:
        write(relations.format_relations(result, paths))
    else:
        write(relations.format_by_template(result, paths, flags.format))
    say_notices(result.notices)

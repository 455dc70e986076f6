"""Flags that several commands share, each group a class to inherit from.

Those of a search are derived from the table of search options (`codelens.model.request`).
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from codelens.cli.complete import offering, symbols
from codelens.cli.declare import Section, argument, option
from codelens.config import CHOICES
from codelens.model import request
from codelens.model.request import OPTIONS

F = TypeVar("F")

RANKING = Section(request.RANKING)
FILTERS = Section(request.FILTERS)
OUTPUT = Section("Output")
QUERY = Section(request.QUERY)
LINES = Section(request.GREP)

Texts = list[str] | None

OFFERS: Any = {"like": symbols, "kinds": offering("codelens.query.nodes:KINDS", listed=True)}
"""Option → what shells offer for it, where that is not its words."""


def flag_of(name: str, **more: Any) -> Any:
    """The flag of a search option. Its default says that it was not given."""
    row = OPTIONS[name]
    default = False if _flag_type(name) is bool else None
    values = OFFERS.get(name, row.words or None)
    return option(default, *row.flags, help=row.help, section=row.section, metavar=row.metavar, values=values, **more)


def _flag_type(name: str) -> Any:
    row = OPTIONS[name]
    if row.type is bool:
        return bool | None if "/" in row.flags[0] else bool
    return list[str] | None if row.is_list else str | None if row.is_text else row.type | None


def with_options(first: str, last: str, after: str = "") -> Callable[[type[F]], type[F]]:
    """A decorator that adds the flags of the search options from `first` to `last` to a class, behind the flag `after`."""
    rows = [name for name, row in OPTIONS.items() if row.flags]
    names = rows[rows.index(first) : rows.index(last) + 1]

    def add_flags(flags: type[F]) -> type[F]:
        declared = flags.__annotations__
        place = [*declared].index(after) + 1 if after else 0
        derived = {name: _flag_type(name) for name in names}
        flags.__annotations__ = dict([*declared.items()][:place]) | derived | dict([*declared.items()][place:])
        for name in names:
            setattr(flags, name, flag_of(name))
        return flags

    return add_flags


class DerivedFlags:
    """Base of the classes with flags of search options."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

        def __setattr__(self, name: str, value: Any) -> None: ...


TYPES, TYPES_NOT, GLOBS, PROFILE = map(flag_of, ("languages", "languages_not", "globs", "profile"))
ROOT_SCOPE: Any = FILTERS.option(
    False, "--root-scope", help="Search the whole index, not only below the working directory"
)


class CommonFlags:
    """Options of every command."""

    db: Path | None = option(
        None, "--db", metavar="FILE", help="The index file [default: the nearest .codelens/index.db upwards]"
    )
    no_config: bool = option(False, "--no-config", help="Read no configuration files")
    quiet: bool = option(False, "-q", "--quiet", help="Print only errors; the exit code gives the answer")
    verbose: bool = option(False, "-v", "--verbose", help="Print more on stderr")
    debug: bool = option(False, "--debug", help="Show tracebacks")


FLEET = Section("Fleet")
STORE: Any = FLEET.option(
    None, "--store", metavar="PLACE", help="The fleet's store: a folder, or a URL such as s3://BUCKET/NAME"
)
SCHEDULER: Any = FLEET.option(
    None,
    "--scheduler",
    metavar="ADDRESS",
    help="Dask's scheduler, such as tcp://head:8786 [default: this machine only]",
)


class FleetFlags(CommonFlags):
    """A fleet's store in place of an index file, for commands that read."""

    store: str | None = STORE
    scheduler: str | None = SCHEDULER
    timeout: float = FLEET.option(
        30.0, "--timeout", metavar="SECONDS", help="How long a shard may take to answer [default: 30]"
    )
    require_complete: bool = FLEET.option(
        False, "--require-complete", help="Exit with 7 if a shard does not answer, instead of printing a note"
    )
    db: Path | None = option(None, "--db", hidden=True, help="Not for fleets")


PATH_STYLE: Any = OUTPUT.option(
    None,
    "--path-style",
    metavar="STYLE",
    values=CHOICES["path_style"],
    help="Paths: cwd, root or absolute [default: cwd]",
)


class JsonFlags:
    """For commands that can print an object."""

    json: bool = OUTPUT.option(False, "--json", help="Print one JSON object")


class ColorFlags:
    """How text for people looks."""

    color: str | None = OUTPUT.option(
        None, "--color", metavar="WHEN", values=CHOICES["color"], help="auto, always or never [default: auto]"
    )
    history: bool = option(False, "--history", help="Search the messages of past commits, and list the commits")
    pretty: bool = OUTPUT.option(
        False, "--pretty", help="Format as for a terminal, even in a pipe: `--pretty | less -R`"
    )
    path_style: str | None = PATH_STYLE
    no_pager: bool = OUTPUT.option(False, "--no-pager", help="Do not show long output in $PAGER")


ALLOW_NETWORK: Any = option(
    False, "--allow-network", help="Allow sending text to the model if the setting `model` is an address"
)


@with_options("languages", "meta", after="smart_case")
@with_options("word", "strict_query", after="smart_case")
@with_options("like", "snippet_language", after="query_files")
class QueryFlags(DerivedFlags):
    """The query and where it runs."""

    allow_network: bool = ALLOW_NETWORK
    queries: Texts = QUERY.option(
        None,
        "-e",
        "--regexp",
        metavar="QUERY",
        help="A query, instead of the first argument; repeatable: a hit needs to match only one",
    )
    query_files: Texts = QUERY.option(
        None, "-f", "--file", metavar="FILE", help="Read queries from a file, one per line; `-` is stdin"
    )
    ignore_case: bool = QUERY.option(False, "-i", "--ignore-case", help="Ignore case")
    case_sensitive: bool = QUERY.option(False, "-s", "--case-sensitive", help="Match case")
    smart_case: bool = QUERY.option(False, "-S", "--smart-case", hidden=True, help="The default")
    metadata: str | None = FILTERS.option(
        None,
        "--metadata",
        metavar="FILE",
        help="A JSON or CSV file of metadata (stars, ratings, categories …) for paths and repositories",
    )
    root_scope: bool = ROOT_SCOPE


BRIEF_QUERY = (
    "queries",
    "ignore_case",
    "word",
    "literal",
    "regex",
    "languages",
    "languages_not",
    "kinds",
    "globs",
    "root_scope",
)
"""Fields of QueryFlags that brief help lists."""


@with_options("mode", "min_score")
class ScoreFlags(DerivedFlags):
    """Options that decide scores, and so which candidates there are."""


NOW: Any = option(
    None,
    "--now",
    metavar="TIME",
    help="The current time, such as 2025-01-31T12:00 or unix seconds [default: now]",
)


@with_options("memory", "now")
class MemoryFlags(DerivedFlags):
    """Options of memory: whether it is used and extended, and the current time."""


@with_options("limit", "reverse")
class RankingFlags(MemoryFlags, ScoreFlags, QueryFlags):
    """Options that decide which hits there are, and their order."""


CHANGE = Section("For a change")


class ChangeFlags:
    """A change: of commits, of a diff, or what is staged."""

    pr: str | None = CHANGE.option(None, "--pr", metavar="BASE..HEAD", help="The change between two commits")
    diff: str | None = CHANGE.option(None, "--diff", metavar="FILE", help="The change in a unified diff; `-` is stdin")
    staged: bool = CHANGE.option(False, "--staged", help="The change that is staged in git")


class ProgressFlags:
    """For commands that may take long."""

    progress: str = option(
        "auto",
        "--progress",
        metavar="HOW",
        values=("auto", "json", "none"),
        help="auto, json (one object a line on stderr) or none [default: auto]",
    )


FRESHNESS = Section("Freshness")


@with_options("invert", "context_before", after="only_matching")
class LineFlags(DerivedFlags):
    """Options that ask for matching lines, and how lines look; as in grep and ripgrep."""

    files: bool = LINES.option(False, "-l", "--files-with-matches", help="Print only the paths of files that match")
    files_without: bool = LINES.option(
        False, "-L", "--files-without-match", help="Print only the paths of files that do not match"
    )
    count: bool = LINES.option(
        False, "-c", "--count", help="Print the number of matching lines per file; with -o, of matches"
    )
    only_matching: bool = LINES.option(False, "-o", "--only-matching", help="Print only the matching parts")
    context: int | None = LINES.option(None, "-C", "--context", metavar="N", help="Show N lines around")
    line_number: bool | None = LINES.option(
        None,
        "-n/-N",
        "--line-number/--no-line-number",
        help="path:line:text, or path:text [default: path:line:column:text]",
    )
    column: bool | None = LINES.option(None, "--column/--no-column", help="Print the column, or leave it out")
    list_files: bool = LINES.option(
        False, "--files", help="List the paths of all indexed files; every argument is a PATH"
    )
    no_filename: bool = LINES.option(False, "-I", "--no-filename", help="Print lines without their path")
    heading: bool | None = LINES.option(
        None, "--heading/--no-heading", help="Print each path once above its lines, or on each line"
    )
    longest: int | None = LINES.option(
        None, "-M", "--max-columns", metavar="N", help="Omit the text of lines longer than N bytes"
    )
    null: bool = LINES.option(False, "-0", "--null", help="Print a NUL byte after each path")
    recursive: bool = LINES.option(False, "-r", "-R", "--recursive", hidden=True, help="The default")
    with_filename: bool = LINES.option(False, "-H", "--with-filename", hidden=True, help="The default")


class SearchFlags(LineFlags, ProgressFlags, CommonFlags, JsonFlags, ColorFlags, RankingFlags):
    """Options of `search` besides the shared groups: where to look, what to print and in which form, how fresh it must be."""

    query: str | None = argument(None, "What to look for; `-` reads it from stdin", "[QUERY]", values=symbols)
    paths: list[Path] | None = argument(None, "Search only in these files and folders", "[PATH]...")
    verbose: bool = option(False, "--verbose", help="Print more on stderr")
    pretty: bool = OUTPUT.option(
        False, "-p", "--pretty", help="Format as for a terminal, even in a pipe: `--pretty | less -R`"
    )
    type_list: bool = FILTERS.option(False, "--type-list", help="List the languages that -t knows")
    jsonl: bool = OUTPUT.option(False, "--jsonl", help="Print one JSON object per hit, then one of type `end`")
    contributions: bool = OUTPUT.option(
        False, "--contributions", help="Add all parts of each score to --json and --jsonl"
    )
    vimgrep: bool = OUTPUT.option(False, "--vimgrep", help="Print path:line:column:text, for editors")
    csv: bool = OUTPUT.option(False, "--csv", help="Print comma-separated values with a header")
    tsv: bool = OUTPUT.option(False, "--tsv", help="Print tab-separated values with a header")
    sarif: bool = OUTPUT.option(False, "--sarif", help="Print SARIF 2.1.0")
    markdown: bool = OUTPUT.option(False, "--markdown", help="Print Markdown")
    format: str | None = OUTPUT.option(
        None, "--format", metavar="TEXT", help="Template for each hit: '{path}:{start_line} {name}'"
    )
    hyperlink_format: str | None = OUTPUT.option(
        None,
        "--hyperlink-format",
        metavar="URL",
        help="Link paths on a terminal: file, vscode, or a URL with {path} {line}",
    )
    stats: bool = OUTPUT.option(False, "--stats", help="Print how long each step took, and its share")
    require_fresh: bool = FRESHNESS.option(
        False, "--require-fresh", help="Exit with 4 if any file changed since it was indexed"
    )
    open: int | None = OUTPUT.option(None, "--open", metavar="N", help="Open hit N in your editor, at its line")
    refresh: bool = FRESHNESS.option(False, "--refresh", help="Update the index first")

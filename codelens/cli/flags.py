"""Flags that several commands share, each group a class to inherit from.

Those of a search are derived from the table of search options (`codelens.model.request`).
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from codelens.cli.declare import SYMBOLS, Parameter, Section, argument, option
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

OFFERS: Any = {"like": SYMBOLS, "kinds": "codelens.query.nodes:KINDS"}
"""Option → the place of what shells offer for it, where that is not its words."""


def flag_of(name: str) -> Any:
    """The flag of a search option. Its default says that it was not given."""
    row = OPTIONS[name]
    return Parameter(
        default=False if _flag_type(name) is bool else None,
        names=row.flags,
        metavar=row.metavar,
        help=row.help,
        section=row.section,
        values=OFFERS.get(name, row.words or None),
        has_commas=name == "kinds",
        choices=() if isinstance(row.words, str) else row.words,
        least=row.least,
        most=row.most,
    )


def _flag_type(name: str) -> Any:
    row = OPTIONS[name]
    if row.type is bool:
        return bool | None if "/" in row.flags[0] else bool
    return list[str] | None if row.is_list else str | None if row.is_text else row.type | None


def options_of(section: str, *left_out: str) -> list[str]:
    """The search options below a heading of help, in order."""
    return [name for name, row in OPTIONS.items() if row.section == section and name not in left_out]


def with_options(names: Sequence[str], after: str = "") -> Callable[[type[F]], type[F]]:
    """A decorator that adds the flags of these search options to a class, behind the flag `after`."""

    def add_flags(flags: type[F]) -> type[F]:
        declared = flags.__annotations__
        place = [*declared].index(after) + 1 if after else 0
        derived = {name: _flag_type(name) for name in names}
        flags.__annotations__ = dict([*declared.items()][:place]) | derived | dict([*declared.items()][place:])
        for name in names:
            setattr(flags, name, flag_of(name))
        return flags

    return add_flags


OF_LIKENESS, OF_MEMORY = ("like", "snippet_language"), ("memory", "now")
OF_LIMITS = ("limit", "offset", "sort", "reverse")
"""Search options with a class or a place of their own; all others follow from their section."""


class DerivedFlags:
    """Base of the classes with flags of search options."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

        def __setattr__(self, name: str, value: Any) -> None: ...


TYPES, TYPES_NOT, GLOBS, PROFILE = map(flag_of, ("languages", "languages_not", "globs", "profile"))
ROOT_SCOPE: Any = FILTERS.option(False, "--root-scope", "Search the whole index, not only below the working directory")


class CommonFlags:
    """Options of every command."""

    db: Path | None = option(None, "--db FILE", "The index file [default: the nearest .codelens/index.db upwards]")
    no_config: bool = option(False, "--no-config", "Read no configuration files")
    quiet: bool = option(False, "-q --quiet", "Print only errors; the exit code gives the answer")
    verbose: bool = option(False, "-v --verbose", "Print more on stderr")
    debug: bool = option(False, "--debug", "Show tracebacks")


FLEET = Section("Fleet")
STORE: Any = FLEET.option(None, "--store PLACE", "The fleet's store: a folder, or a URL such as s3://BUCKET/NAME")
SCHEDULER: Any = FLEET.option(
    None, "--scheduler ADDRESS", "Dask's scheduler, such as tcp://head:8786 [default: this machine only]"
)


class FleetFlags(CommonFlags):
    """A fleet's store in place of an index file, for commands that read."""

    store: str | None = STORE
    scheduler: str | None = SCHEDULER
    timeout: float = FLEET.option(30.0, "--timeout SECONDS", "How long a shard may take to answer [default: 30]")
    require_complete: bool = FLEET.option(
        False, "--require-complete", "Exit with 7 if a shard does not answer, instead of printing a note"
    )
    db: Path | None = option(None, "--db", "Not for fleets", is_hidden=True)


PATH_STYLE: Any = OUTPUT.option(
    None, "--path-style STYLE", "Paths: cwd, root or absolute [default: cwd]", values=CHOICES["path_style"]
)


class JsonFlags:
    """For commands that can print an object."""

    json: bool = OUTPUT.option(False, "--json", "Print one JSON object")


class ListFlags(CommonFlags, JsonFlags):
    """Options of a command that lists things."""


class ColorFlags:
    """How text for people looks."""

    color: str | None = OUTPUT.option(
        None, "--color WHEN", "auto, always or never [default: auto]", values=CHOICES["color"]
    )
    history: bool = option(False, "--history", "Search the messages of past commits, and list the commits")
    pretty: bool = OUTPUT.option(False, "--pretty", "Format as for a terminal, even in a pipe: `--pretty | less -R`")
    path_style: str | None = PATH_STYLE
    no_pager: bool = OUTPUT.option(False, "--no-pager", "Do not show long output in $PAGER")


ALLOW_NETWORK: Any = option(
    False, "--allow-network", "Allow sending text to the model if the setting `model` is an address"
)


@with_options(options_of(request.FILTERS), after="smart_case")
@with_options(options_of(request.QUERY, *OF_LIKENESS), after="smart_case")
@with_options(OF_LIKENESS, after="query_files")
class QueryFlags(DerivedFlags):
    """The query and where it runs."""

    allow_network: bool = ALLOW_NETWORK
    queries: Texts = QUERY.option(
        None, "-e --regexp QUERY", "A query, instead of the first argument; repeatable: a hit needs to match only one"
    )
    query_files: Texts = QUERY.option(None, "-f --file FILE", "Read queries from a file, one per line; `-` is stdin")
    ignore_case: bool = QUERY.option(False, "-i --ignore-case", "Ignore case")
    case_sensitive: bool = QUERY.option(False, "-s --case-sensitive", "Match case")
    smart_case: bool = QUERY.option(False, "-S --smart-case", "The default", is_hidden=True)
    metadata: str | None = FILTERS.option(
        None,
        "--metadata FILE",
        "A JSON or CSV file of metadata (stars, ratings, categories …) for paths and repositories",
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


@with_options(options_of(request.RANKING, *OF_MEMORY, *OF_LIMITS))
class ScoreFlags(DerivedFlags):
    """Options that decide scores, and so which candidates there are."""


NOW: Any = option(None, "--now TIME", "The current time, such as 2025-01-31T12:00 or unix seconds [default: now]")


@with_options(OF_MEMORY)
class MemoryFlags(DerivedFlags):
    """Options of memory: whether it is used and extended, and the current time."""


@with_options(OF_LIMITS)
class RankingFlags(MemoryFlags, ScoreFlags, QueryFlags):
    """Options that decide which hits there are, and their order."""


CHANGE = Section("For a change")


class ChangeFlags:
    """A change: of commits, of a diff, or what is staged."""

    pr: str | None = CHANGE.option(None, "--pr BASE..HEAD", "The change between two commits")
    diff: str | None = CHANGE.option(None, "--diff FILE", "The change in a unified diff; `-` is stdin")
    staged: bool = CHANGE.option(False, "--staged", "The change that is staged in git")


class ProgressFlags:
    """For commands that may take long."""

    progress: str = option(
        "auto",
        "--progress HOW",
        "auto, json (one object a line on stderr) or none [default: auto]",
        choices=("auto", "json", "none"),
    )


FRESHNESS = Section("Freshness")


@with_options(options_of(request.GREP), after="only_matching")
class LineFlags(DerivedFlags):
    """Options that ask for matching lines, and how lines look; as in grep and ripgrep."""

    files: bool = LINES.option(False, "-l --files-with-matches", "Print only the paths of files that match")
    files_without: bool = LINES.option(
        False, "-L --files-without-match", "Print only the paths of files that do not match"
    )
    count: bool = LINES.option(False, "-c --count", "Print the number of matching lines per file; with -o, of matches")
    only_matching: bool = LINES.option(False, "-o --only-matching", "Print only the matching parts")
    context: int | None = LINES.option(None, "-C --context N", "Show N lines around", least=0)
    line_number: bool | None = LINES.option(
        None, "-n/-N --line-number/--no-line-number", "path:line:text, or path:text [default: path:line:column:text]"
    )
    column: bool | None = LINES.option(None, "--column/--no-column", "Print the column, or leave it out")
    list_files: bool = LINES.option(False, "--files", "List the paths of all indexed files; every argument is a PATH")
    no_filename: bool = LINES.option(False, "-I --no-filename", "Print lines without their path")
    heading: bool | None = LINES.option(
        None, "--heading/--no-heading", "Print each path once above its lines, or on each line"
    )
    longest: int | None = LINES.option(None, "-M --max-columns N", "Omit the text of lines longer than N bytes")
    null: bool = LINES.option(False, "-0 --null", "Print a NUL byte after each path")
    recursive: bool = LINES.option(False, "-r -R --recursive", "The default", is_hidden=True)
    with_filename: bool = LINES.option(False, "-H --with-filename", "The default", is_hidden=True)


class SearchFlags(LineFlags, ProgressFlags, CommonFlags, JsonFlags, ColorFlags, RankingFlags):
    """Options of `search` besides the shared groups: where to look, what to print and in which form, how fresh it must be."""

    query: str | None = argument(None, "[QUERY]", "What to look for; `-` reads it from stdin", values=SYMBOLS)
    paths: list[Path] | None = argument(None, "[PATH]...", "Search only in these files and folders")
    verbose: bool = option(False, "--verbose", "Print more on stderr")
    pretty: bool = OUTPUT.option(False, "-p --pretty", "Format as for a terminal, even in a pipe: `--pretty | less -R`")
    type_list: bool = FILTERS.option(False, "--type-list", "List the languages that -t knows")
    jsonl: bool = OUTPUT.option(False, "--jsonl", "Print one JSON object per hit, then one of type `end`")
    contributions: bool = OUTPUT.option(False, "--contributions", "Add all parts of each score to --json and --jsonl")
    vimgrep: bool = OUTPUT.option(False, "--vimgrep", "Print path:line:column:text, for editors")
    csv: bool = OUTPUT.option(False, "--csv", "Print comma-separated values with a header")
    tsv: bool = OUTPUT.option(False, "--tsv", "Print tab-separated values with a header")
    sarif: bool = OUTPUT.option(False, "--sarif", "Print SARIF 2.1.0")
    markdown: bool = OUTPUT.option(False, "--markdown", "Print Markdown")
    format: str | None = OUTPUT.option(None, "--format TEXT", "Template for each hit: '{path}:{start_line} {name}'")
    hyperlink_format: str | None = OUTPUT.option(
        None, "--hyperlink-format URL", "Link paths on a terminal: file, vscode, or a URL with {path} {line}"
    )
    stats: bool = OUTPUT.option(False, "--stats", "Print how long each step took, and its share")
    require_fresh: bool = FRESHNESS.option(
        False, "--require-fresh", "Exit with 4 if any file changed since it was indexed"
    )
    open: int | None = OUTPUT.option(None, "--open N", "Open hit N in your editor, at its line")
    refresh: bool = FRESHNESS.option(False, "--refresh", "Update the index first")

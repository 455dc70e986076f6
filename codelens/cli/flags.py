"""Flags that several commands share; each group is a class to inherit from.

Flags of a search are derived from the table of search options (`codelens.model.request`).
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from codelens.cli.declare import SYMBOLS, Parameter, Section, argument, option
from codelens.config import CHOICES
from codelens.model import request
from codelens.model.request import OPTIONS

F = TypeVar("F")

FILTERS = Section(request.FILTERS)
OUTPUT = Section("Output")
QUERY = Section(request.QUERY)
LINES = Section(request.GREP)

Texts = list[str] | None
Paths = list[Path] | None

OFFERS: Any = {"like": SYMBOLS, "kinds": "codelens.query.nodes:KINDS"}
"""Search option → MODULE:NAME of the values that shells offer for it, if these are not its words."""


def derive_flag(name: str) -> Any:
    """Make the flag of a search option."""
    row = OPTIONS[name]
    return Parameter(
        *(row.flags, row.metavar, row.help, row.section),
        values=OFFERS.get(name, row.words or None),
        has_commas=name == "kinds",
        choices=() if isinstance(row.words, str) else row.words,
        least=row.least,
        most=row.most,
    )


def _derive_type(name: str) -> Any:
    row = OPTIONS[name]
    if row.type is bool:
        return bool | None if "/" in row.flags[0] else bool
    return list[str] | None if row.is_list else str | None if row.is_text else row.type | None


def list_options(section: str, *left_out: str) -> list[str]:
    """List the search options below a heading of help, in order, without those in `left_out`."""
    return [name for name, row in OPTIONS.items() if row.section == section and name not in left_out]


def add_options(names: Sequence[str], after: str = "") -> Callable[[type[F]], type[F]]:
    """Decorator: add the flags of these search options to a class, after the flag `after`."""

    def add_flags(flags: type[F]) -> type[F]:
        declared = flags.__annotations__
        place = [*declared].index(after) + 1 if after else 0
        derived = {name: _derive_type(name) for name in names}
        flags.__annotations__ = dict([*declared.items()][:place]) | derived | dict([*declared.items()][place:])
        for name in names:
            setattr(flags, name, derive_flag(name))
        return flags

    return add_flags


OF_LIKENESS, OF_MEMORY = ("like", "snippet_language"), ("memory", "now")
OF_LIMITS = ("limit", "offset", "sort", "reverse")
"""Search options that a class of flags takes by name; all others are taken by section."""


class DerivedFlags:
    """Base of classes with flags that are derived from search options."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

        def __setattr__(self, name: str, value: Any) -> None: ...


TYPES, TYPES_NOT, GLOBS, PROFILE = map(derive_flag, ("languages", "languages_not", "globs", "profile"))
ROOT_SCOPE: Any = FILTERS("--root-scope", "Search the whole index, not only below the working directory")


class CommonFlags:
    """Options of every command."""

    db: Path | None = option("--db FILE", "The index file [default: the nearest .codelens/index.db upwards]")
    no_config: bool = option("--no-config", "Read no configuration files")
    quiet: bool = option("-q --quiet", "Print only errors; the exit code gives the answer")
    verbose: bool = option("-v --verbose", "Print more on stderr")
    debug: bool = option("--debug", "Show tracebacks")


FLEET = Section("Fleet")
STORE: Any = FLEET("--store PLACE", "The fleet's store: a folder, or a URL such as s3://BUCKET/NAME")
SCHEDULER: Any = FLEET("--scheduler ADDRESS", "Dask's scheduler, such as tcp://head:8786 [default: this machine only]")


class FleetFlags(CommonFlags):
    """A fleet's store in place of an index file, for commands that read."""

    store: str | None = STORE
    scheduler: str | None = SCHEDULER
    timeout: float = FLEET("--timeout SECONDS", "How long a shard may take to answer [default: 30]", default=30.0)
    require_complete: bool = FLEET(
        "--require-complete", "Exit with 7 if a shard does not answer, instead of printing a note"
    )
    db: Path | None = option("--db", "Not for fleets", is_hidden=True)


PATH_STYLE: Any = OUTPUT(
    "--path-style STYLE", "Paths: cwd, root or absolute [default: cwd]", values=CHOICES["path_style"]
)


class JsonFlags:
    json: bool = OUTPUT("--json", "Print one JSON object")


class ListFlags(CommonFlags, JsonFlags):
    """Options of a command that lists things."""


class ColorFlags:
    color: str | None = OUTPUT("--color WHEN", "auto, always or never [default: auto]", values=CHOICES["color"])
    history: bool = option("--history", "Search the messages of past commits, and list the commits")
    pretty: bool = OUTPUT("--pretty", "Format as for a terminal, even in a pipe: `--pretty | less -R`")
    path_style: str | None = PATH_STYLE
    no_pager: bool = OUTPUT("--no-pager", "Do not show long output in $PAGER")


ALLOW_NETWORK: Any = option("--allow-network", "Allow sending text to the model if the setting `model` is an address")


@add_options(list_options(request.FILTERS), after="smart_case")
@add_options(list_options(request.QUERY, *OF_LIKENESS), after="smart_case")
@add_options(OF_LIKENESS, after="query_files")
class QueryFlags(DerivedFlags):
    """The query and where it runs."""

    allow_network: bool = ALLOW_NETWORK
    queries: Texts = QUERY(
        "-e --regexp QUERY", "A query, instead of the first argument; repeatable: a hit needs to match only one"
    )
    query_files: Texts = QUERY("-f --file FILE", "Read queries from a file, one per line; `-` is stdin")
    ignore_case: bool = QUERY("-i --ignore-case", "Ignore case")
    case_sensitive: bool = QUERY("-s --case-sensitive", "Match case")
    smart_case: bool = QUERY("-S --smart-case", "The default", is_hidden=True)
    metadata: str | None = FILTERS(
        "--metadata FILE", "A JSON or CSV file of metadata (stars, ratings, categories …) for paths and repositories"
    )
    root_scope: bool = ROOT_SCOPE


BRIEF_QUERY = (
    *("queries", "ignore_case", "word", "literal", "regex", "languages", "languages_not", "kinds", "globs"),
    "root_scope",
)  # Fields of QueryFlags that brief help lists


@add_options(list_options(request.RANKING, *OF_MEMORY, *OF_LIMITS))
class ScoreFlags(DerivedFlags):
    """Options that decide scores, and so which candidates there are."""


NOW: Any = option("--now TIME", "The current time, such as 2025-01-31T12:00 or unix seconds [default: now]")


@add_options(OF_MEMORY)
class MemoryFlags(DerivedFlags):
    """Options of memory: whether it is used and extended, and the current time."""


@add_options(OF_LIMITS)
class RankingFlags(MemoryFlags, ScoreFlags, QueryFlags):
    """Options that decide which hits there are, and their order."""


CHANGE = Section("For a change")


class ChangeFlags:
    """A change: of commits, of a diff, or what is staged."""

    pr: str | None = CHANGE("--pr BASE..HEAD", "The change between two commits")
    diff: str | None = CHANGE("--diff FILE", "The change in a unified diff; `-` is stdin")
    staged: bool = CHANGE("--staged", "The change that is staged in git")


class ProgressFlags:
    progress: str = option(
        "--progress HOW",
        "auto, json (one object a line on stderr) or none [default: auto]",
        default="auto",
        choices=("auto", "json", "none"),
    )


FRESHNESS = Section("Freshness")


@add_options(list_options(request.GREP), after="only_matching")
class LineFlags(DerivedFlags):
    """Options that ask for matching lines, and how lines look; as in grep and ripgrep."""

    files: bool = LINES("-l --files-with-matches", "Print only the paths of files that match")
    files_without: bool = LINES("-L --files-without-match", "Print only the paths of files that do not match")
    count: bool = LINES("-c --count", "Print the number of matching lines per file; with -o, of matches")
    only_matching: bool = LINES("-o --only-matching", "Print only the matching parts")
    context: int | None = LINES("-C --context N", "Show N lines around", least=0)
    line_number: bool | None = LINES(
        "-n/-N --line-number/--no-line-number", "path:line:text, or path:text [default: path:line:column:text]"
    )
    column: bool | None = LINES("--column/--no-column", "Print the column, or leave it out")
    list_files: bool = LINES("--files", "List the paths of all indexed files; every argument is a PATH")
    no_filename: bool = LINES("-I --no-filename", "Print lines without their path")
    heading: bool | None = LINES("--heading/--no-heading", "Print each path once above its lines, or on each line")
    longest: int | None = LINES("-M --max-columns N", "Omit the text of lines longer than N bytes")
    null: bool = LINES("-0 --null", "Print a NUL byte after each path")
    recursive: bool = LINES("-r -R --recursive", "The default", is_hidden=True)
    with_filename: bool = LINES("-H --with-filename", "The default", is_hidden=True)


class SearchFlags(LineFlags, ProgressFlags, CommonFlags, JsonFlags, ColorFlags, RankingFlags):
    query: str | None = argument("[QUERY]", "What to look for; `-` reads it from stdin", values=SYMBOLS)
    paths: Paths = argument("[PATH]...", "Search only in these files and folders")
    verbose: bool = option("--verbose", "Print more on stderr")
    pretty: bool = OUTPUT("-p --pretty", "Format as for a terminal, even in a pipe: `--pretty | less -R`")
    type_list: bool = FILTERS("--type-list", "List the languages that -t knows")
    jsonl: bool = OUTPUT("--jsonl", "Print one JSON object per hit, then one of type `end`")
    contributions: bool = OUTPUT("--contributions", "Add all parts of each score to --json and --jsonl")
    vimgrep: bool = OUTPUT("--vimgrep", "Print path:line:column:text, for editors")
    csv: bool = OUTPUT("--csv", "Print comma-separated values with a header")
    tsv: bool = OUTPUT("--tsv", "Print tab-separated values with a header")
    sarif: bool = OUTPUT("--sarif", "Print SARIF 2.1.0")
    markdown: bool = OUTPUT("--markdown", "Print Markdown")
    format: str | None = OUTPUT("--format TEXT", "Template for each hit: '{path}:{start_line} {name}'")
    hyperlink_format: str | None = OUTPUT(
        "--hyperlink-format URL", "Link paths on a terminal: file, vscode, or a URL with {path} {line}"
    )
    stats: bool = OUTPUT("--stats", "Print how long each step took, and its share")
    require_fresh: bool = FRESHNESS("--require-fresh", "Exit with 4 if any file changed since it was indexed")
    open: int | None = OUTPUT("--open N", "Open hit N in your editor, at its line")
    refresh: bool = FRESHNESS("--refresh", "Update the index first")

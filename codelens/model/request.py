"""The options of a search, declared once: each field of `SearchOptions` is a row of a table.

A row has the option's type and default, its spelling and help on the command line, its help in HTTP and MCP if they offer
it, and the searches that it applies to. The flags of the command line, the fields of HTTP's requests, the arguments of MCP's tools,
the checks of numbers and the commands that `why` suggests are derived from `OPTIONS`: a new row needs nothing else but the
code that reads it.
"""

from collections.abc import Mapping
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple, TypeVar

from codelens.model.fast_dataclass import FieldRule, field, frozen_dataclass

T = TypeVar("T")

QUERY, FILTERS, RANKING, GREP = "Query", "Filters", "Ranking", "Lines, as in grep"  # Sections of help
UNITS, FILES, LINES = "units", "files", "lines"  # The things that a search can find
LANGUAGES = "codelens.lang.registry:languages"


class ServerOption(NamedTuple):
    """An option in a server's interface. Its bounds may be narrower, because a server has many clients."""

    help: str
    name: str = ""  # Empty if it is the name of the field
    least: float | None = None  # Bounds of a number, included
    most: float | None = None  # For a text, its maximum length
    default: Any = ...  # Ellipsis if it is the default of the option


class Option(NamedTuple):
    """An option of a search: one row of the table."""

    default: Any
    flags: tuple[str, ...] = ()  # Spellings on the command line; empty if that does not offer it
    metavar: str | None = None
    section: str = ""
    help: str = ""
    words: str | tuple[str, ...] = ()
    """The allowed words, or `module:NAME` of a collection or function that has them, which the search checks."""
    least: float | None = None  # Bounds of a number, included
    most: float | None = None
    is_text: bool = False  # True if the command line takes a text and converts it
    applies: tuple[str, ...] = (UNITS, FILES, LINES)
    http: ServerOption | None = None  # None if HTTP does not offer it; `mcp` likewise
    mcp: ServerOption | None = None
    type: Any = None

    @property
    def spelling(self) -> str:
        """The long spelling on the command line."""
        return next((flag.partition("/")[0] for flag in self.flags if flag.startswith("--")), "")

    @property
    def is_list(self) -> bool:
        """True if the option takes any number of values."""
        return bool(self.type == tuple[str, ...])


OPTIONS: dict[str, Option] = {}  # Field of SearchOptions → its row, in the order of the fields


def make_option(default: Any, usage: str = "", section: str = "", **row: Any) -> Any:
    """Make an option. `usage` has its flags, the name of their value, two spaces and the help: `-m --limit N  Show …`."""
    spelling, _, help = usage.partition("  ")
    *flags, metavar = spelling.split() if spelling else [""]
    if metavar.startswith("-"):
        flags, metavar = [*flags, metavar], ""
    offers = {name: ServerOption(row[name]) for name in ("http", "mcp") if isinstance(row.get(name), str)}
    return Option(default, tuple(flags), metavar or None, section, help, **row | offers)


query_option, filter_option = partial(make_option, section=QUERY), partial(make_option, section=FILTERS)
ranking_option = partial(make_option, section=RANKING, applies=(UNITS, FILES))
unit_option = partial(make_option, section=RANKING, applies=(UNITS,))
order_option, line_option = partial(make_option, section=RANKING), partial(make_option, section=GREP)


def collect_rows(options: type[T]) -> type[T]:
    """Collect the options that a class declares in OPTIONS, and replace them in the class by their defaults."""
    for name, kind in options.__annotations__.items():
        if isinstance(row := vars(options)[name], Option):
            setattr(options, name, row.default)
            default = {} if isinstance(row.default, FieldRule) else row.default
            OPTIONS[name] = row._replace(type=kind, default=default)
    return options


def read_words(option: Option) -> tuple[str, ...]:
    """Return the words that an option allows; empty if it allows any."""
    if not isinstance(option.words, str):
        return option.words
    module, _, name = option.words.partition(":")
    words: Any = getattr(import_module(module), name)
    return tuple(words() if callable(words) else words)


@frozen_dataclass
@collect_rows
class SearchOptions:
    """Options of one search. Pools have a fixed size, so `limit` and `offset` never change a score."""

    like: str = query_option(
        "",
        "--like TARGET  Find code similar to PATH:LINE, PATH or a symbol, by vector and names; `-` is code on stdin. "
        "It replaces QUERY; give filters with -e",
        applies=(UNITS,),
    )  # With `like`, only the conditions of the query count
    snippet: str = ""  # The code on stdin, for `--like -`
    snippet_language: str = query_option(
        "", "--lang LANG  The language of the code on stdin [default: detected]", words=LANGUAGES
    )
    word: bool = query_option(False, "-w --word-regexp  Match whole words only", http="Match whole words only")
    literal: bool = query_option(
        False,
        "-F --fixed-strings  Take the query literally, without filters and operators",
        http="Take the query literally: no filters, no operators",
    )
    regex: bool = query_option(
        False, "-P -E --regex  Read the query as a regular expression", http="The query is a regular expression"
    )
    case: str = query_option(
        "auto",
        "--case HOW  yes, no or auto: match case if the query has capitals [default: auto]",
        words=("auto", "yes", "no"),
        http="Whether upper case in the query matters",
    )
    prefix: bool = query_option(
        False,
        "--prefix  Match words by their beginning, as if each were written WORD*",
        http="Each word stands for all that begin so",
    )
    strict_query: bool = query_option(
        False,
        "--strict-query  Fail on a syntax error in the query instead of reading it as text",
        http=ServerOption("Refuse a query with a fault instead of reading it as text", name="strict"),
    )
    mode: str = ranking_option(
        "hybrid",
        "--mode MODE  hybrid, keyword, vector, exact or fuzzy [default: hybrid]",
        words="codelens.config:MODES",
        http=ServerOption("Set of channels", default=None),
        mcp="Which channels take part; hybrid is all",
    )
    weights: Mapping[str, float] = ranking_option(
        field(default_factory=dict),
        "--weights C=W,…  Weights of channels, as exact=2,fuzzy=1,vector=0.5",
        is_text=True,
        http=ServerOption("Weights of channels, as exact=2,fuzzy=1,vector=0.5", default=""),
    )  # Channel → weight, which replaces the profile's weight
    rrf_k: int | None = ranking_option(
        None,
        "--rrf-k K  The constant k of reciprocal rank fusion [default: 60]",
        least=1,
        http=ServerOption("The constant of reciprocal rank fusion", least=1, most=10_000),
    )
    fusion: str = ranking_option(
        "rrf",
        "--fusion HOW  How to fuse channels: rrf (by rank), weighted or minmax (by score)",
        words="codelens.search.fuse:FUSIONS",
        http="How the channels are joined",
    )
    profile: str = ranking_option(
        "codelens",
        "--profile NAME  Ranking profile: codelens, likeness, rrf, knowing, knowing-base, graph-memory, codexlens or "
        "marketplace [default: codelens; with --like likeness]",
        words="codelens.config:load_weights",
        http=ServerOption("The score's formula", default=""),
        mcp="The formula of scores; graph-memory, knowing and marketplace are those systems'",
    )
    intent: str = unit_option(
        "",
        "--intent KIND  Kind of query: identifier, path, regex, change, task or question [default: detected]",
        words="codelens.search.intent:INTENTS",
        http="What kind of query it is; empty to tell it from its words",
    )
    expand: str = unit_option(
        "",
        "--expand HOW  How to expand results over the symbol graph: none, walk or bfs [default: the profile's]",
        words="codelens.search.profiles:EXPANSIONS",
        http="How an answer spreads over the symbol graph",
    )
    depth: int | None = unit_option(
        None,
        "--depth N  Hops to expand [default: 1]",
        least=0,
        http=ServerOption("Most hops of it", least=0, most=10),
        mcp=ServerOption("Most hops along edges, from the best hits to their neighbours", least=0, most=8),
    )
    decay: float | None = unit_option(
        None,
        "--decay X  Share of a score that a hop keeps [default: by kind of edge]",
        least=0,
        most=1,
        mcp="Share of a score that each hop keeps; left out, .7 to .95 by the kind of edge",
    )
    rerank: bool = unit_option(
        False, "--rerank  Order the best 50 hits by the similarity of their embedding to the query"
    )
    min_score: float | None = ranking_option(
        None,
        "--min-score X  Only hits with at least this confidence, 0 to 1 (a share of the best score if hits have none)",
        least=0,
        most=1,
        http=ServerOption(
            "Leave out hits of less confidence than this, or of a lower share of the best score where hits have none",
            least=0,
            most=1,
        ),
        mcp=ServerOption(
            "Least confidence of a hit; with a profile other than codelens its least share of the best score"
        ),
    )
    languages: tuple[str, ...] = filter_option(
        (),
        "-t --type LANG  Only this language: py, ts, go …; repeatable",
        words=LANGUAGES,
        http=ServerOption("Only these languages: py, ts, go …", name="lang"),
        mcp=ServerOption("Only these languages: py, ts, go …", most=40),
    )
    languages_not: tuple[str, ...] = filter_option(
        (),
        "-T --type-not LANG  Not this language; repeatable",
        words=LANGUAGES,
        http=ServerOption("Not these languages", name="lang_not"),
    )
    kinds: tuple[str, ...] = filter_option(
        (),
        "--kind KIND  Only this kind: doc, code, or a value of `kind:` such as class; repeatable, or separated by commas",
        words="codelens.query.nodes:KINDS",
        http="Only these kinds: function, class, doc, code, note, task, skill …",
        mcp=ServerOption("Only these kinds: function, class, method, doc (documents) …", most=40),
    )
    files_only: bool = filter_option(
        False,
        "--files-only  Find files by path, names, imports and meaning",
        http="Rank whole files, by name, by what they define and import, by meaning",
    )
    globs: tuple[str, ...] = filter_option(
        (),
        "-g --glob GLOB  Only matching paths; '!GLOB' excludes; the last match wins",
        http=ServerOption("Only paths that fit; `!GLOB` excludes; the last that fits wins", name="glob"),
    )
    paths: tuple[str, ...] = make_option(
        (),
        http=ServerOption("Only below these paths, relative to a repository's root", name="below"),
        mcp=ServerOption("Only below these files and folders, relative to the root", most=1000),
    )  # Relative to a repository's root; empty for everywhere
    repositories: tuple[str, ...] = make_option(
        (), http=ServerOption("Only these repositories, by their names in the index", name="repository")
    )
    meta: tuple[str, ...] = filter_option(
        (),
        "--meta NAME=VALUE  Only files with this metadata: category=cli, 'stars>=100'; repeatable",
        http="Only files of which the metadata says so: category=cli, stars>=100",
    )
    memory: bool = ranking_option(
        False, "--memory/--no-memory  Use and update the memory of past results [default: the setting `memory`]"
    )
    now: int | None = order_option(
        None,
        "--now TIME  The current time, such as 2025-01-31T12:00 or unix seconds [default: now; for git history, the time of the "
        "indexed commit]",
        is_text=True,
    )  # The current time in unix seconds; None for the default
    limit: int = order_option(
        20,
        "-m --limit N  Show at most N hits [default: 20; 10 on a terminal; all lines]",
        least=1,
        http=ServerOption("At most this many hits", least=1, most=100),
    )
    offset: int = order_option(
        0,
        "--offset N  Skip the first N hits",
        least=0,
        http=ServerOption("Leave out the first hits", least=0, most=10_000),
    )
    sort: str = order_option(
        "score",
        "--sort BY  score, path or modified [default: score; path for lines]",
        words=("score", "path", "modified"),
        http="The order of the hits",
    )
    reverse: bool = order_option(False, "--reverse  Reverse the order", http="Turn the order round")
    invert: bool = line_option(False, "-v --invert-match  Print the lines that do not match", applies=(LINES,))
    whole_line: bool = line_option(False, "-x --line-regexp  Match whole lines only", applies=(LINES,))
    context_after: int = line_option(
        0,
        "-A --after-context N  Show N lines after",
        least=0,
        http=ServerOption("Lines shown after a hit", name="after", least=0, most=50),
    )
    context_before: int = line_option(
        0,
        "-B --before-context N  Show N lines before",
        least=0,
        http=ServerOption("Lines shown before a hit", name="before", least=0, most=50),
    )
    snippet_lines: int = 3
    """Number of lines shown without context options: the line to jump to and the unit's most relevant lines."""
    reasons: bool = True
    """False leaves most contributions out of the hits; writing their reasons takes a sixth of a search."""

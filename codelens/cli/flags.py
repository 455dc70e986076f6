"""Flags that several commands share, each group a class to inherit from."""

from pathlib import Path
from typing import Any

from codelens.cli.complete import offering, symbols
from codelens.cli.declare import argument, option
from codelens.config import CHOICES

RANKING = "Ranking"
FILTERS = "Filters"
OUTPUT = "Output"
QUERY = "Query"
LINES = "Lines, as in grep"

Texts = list[str] | None

LANGUAGES = "codelens.lang.registry:languages"  # The place of their names, for `values`
TYPES: Any = option(
    None,
    "-t",
    "--type",
    section=FILTERS,
    metavar="LANG",
    values=LANGUAGES,
    help="Only this language: py, ts, go …; repeatable",
)
TYPES_NOT: Any = option(
    None, "-T", "--type-not", section=FILTERS, metavar="LANG", values=LANGUAGES, help="Not this language; repeatable"
)
KINDS: Any = option(
    None,
    "--kind",
    section=FILTERS,
    metavar="KIND",
    values=offering("codelens.query.nodes:KINDS", listed=True),
    help="Only this kind: doc, code, or a value of `kind:` such as class; repeatable, or separated by commas",
)
GLOBS: Any = option(
    None,
    "-g",
    "--glob",
    section=FILTERS,
    metavar="GLOB",
    help="Only matching paths; '!GLOB' excludes; the last match wins",
)
ROOT_SCOPE: Any = option(
    False, "--root-scope", section=FILTERS, help="Search the whole index, not only below the working directory"
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


FLEET = "Fleet"
STORE: Any = option(
    None,
    "--store",
    section=FLEET,
    metavar="PLACE",
    help="The fleet's store: a folder, or a URL such as s3://BUCKET/NAME",
)
SCHEDULER: Any = option(
    None,
    "--scheduler",
    section=FLEET,
    metavar="ADDRESS",
    help="Dask's scheduler, such as tcp://head:8786 [default: this machine only]",
)


class FleetFlags(CommonFlags):
    """A fleet's store in place of an index file, for commands that read."""

    store: str | None = STORE
    scheduler: str | None = SCHEDULER
    timeout: float = option(
        30.0, "--timeout", section=FLEET, metavar="SECONDS", help="How long a shard may take to answer [default: 30]"
    )
    require_complete: bool = option(
        False,
        "--require-complete",
        section=FLEET,
        help="Exit with 7 if a shard does not answer, instead of printing a note",
    )
    db: Path | None = option(None, "--db", hidden=True, help="Not for fleets")


class JsonFlags:
    """For commands that can print an object."""

    json: bool = option(False, "--json", section=OUTPUT, help="Print one JSON object")


class ColorFlags:
    """How text for people looks."""

    color: str | None = option(
        None,
        "--color",
        section=OUTPUT,
        metavar="WHEN",
        values=CHOICES["color"],
        help="auto, always or never [default: auto]",
    )
    pretty: bool = option(
        False, "--pretty", section=OUTPUT, help="Format as for a terminal, even in a pipe: `--pretty | less -R`"
    )
    path_style: str | None = option(
        None,
        "--path-style",
        section=OUTPUT,
        metavar="STYLE",
        values=CHOICES["path_style"],
        help="Paths in text: cwd, root or absolute [default: cwd]",
    )
    no_pager: bool = option(False, "--no-pager", section=OUTPUT, help="Do not show long output in $PAGER")


ALLOW_NETWORK: Any = option(
    False, "--allow-network", help="Allow sending text to the model if the setting `model` is an address"
)


class QueryFlags:
    """The query and where it runs."""

    allow_network: bool = ALLOW_NETWORK
    queries: Texts = option(
        None,
        "-e",
        "--regexp",
        section=QUERY,
        metavar="QUERY",
        help="A query, instead of the first argument; repeatable: a hit needs to match only one",
    )
    query_files: Texts = option(
        None, "-f", "--file", section=QUERY, metavar="FILE", help="Read queries from a file, one per line; `-` is stdin"
    )
    like: str | None = option(
        None,
        "--like",
        section=QUERY,
        metavar="TARGET",
        values=symbols,
        help="Find code similar to PATH:LINE, PATH or a symbol, by vector and names; `-` is code on stdin. "
        "It replaces QUERY; give filters with -e",
    )
    lang: str | None = option(
        None,
        "--lang",
        section=QUERY,
        metavar="LANG",
        values=LANGUAGES,
        help="The language of the code on stdin [default: detected]",
    )
    ignore_case: bool = option(False, "-i", "--ignore-case", section=QUERY, help="Ignore case")
    case_sensitive: bool = option(False, "-s", "--case-sensitive", section=QUERY, help="Match case")
    smart_case: bool = option(False, "-S", "--smart-case", section=QUERY, hidden=True, help="The default")
    word: bool = option(False, "-w", "--word-regexp", section=QUERY, help="Match whole words only")
    literal: bool = option(
        False, "-F", "--fixed-strings", section=QUERY, help="Take the query literally, without filters and operators"
    )
    regex: bool = option(False, "-P", "-E", "--regex", section=QUERY, help="Read the query as a regular expression")
    case: str | None = option(
        None,
        "--case",
        section=QUERY,
        metavar="HOW",
        values="codelens.query.nodes:CASES",
        help="yes, no or auto: match case if the query has capitals [default: auto]",
    )
    prefix: bool = option(
        False, "--prefix", section=QUERY, help="Match words by their beginning, as if each were written WORD*"
    )
    strict_query: bool = option(
        False, "--strict-query", section=QUERY, help="Fail on a syntax error in the query instead of reading it as text"
    )
    types: Texts = TYPES
    types_not: Texts = TYPES_NOT
    kinds: Texts = KINDS
    files_only: bool = option(
        False, "--files-only", section=FILTERS, help="Find files by path, names, imports and meaning"
    )
    globs: Texts = GLOBS
    meta: Texts = option(
        None,
        "--meta",
        section=FILTERS,
        metavar="NAME=VALUE",
        help="Only files with this metadata: category=cli, 'stars>=100'; repeatable",
    )
    metadata: str | None = option(
        None,
        "--metadata",
        section=FILTERS,
        metavar="FILE",
        help="A JSON or CSV file of metadata (stars, ratings, categories …) for paths and repositories",
    )
    root_scope: bool = ROOT_SCOPE


PROFILE = option(
    None,
    "--profile",
    section=RANKING,
    metavar="NAME",
    values="codelens.config:load_weights",
    help="Ranking profile: codelens, likeness, rrf, knowing, knowing-base, graph-memory, codexlens or marketplace "
    "[default: codelens; with --like likeness]",
)


class ScoreFlags:
    """Options that decide scores, and so which candidates there are."""

    mode: str | None = option(
        None,
        "--mode",
        section=RANKING,
        metavar="MODE",
        values=CHOICES["mode"],
        help="hybrid, keyword, vector, exact or fuzzy [default: hybrid]",
    )
    weights: str | None = option(
        None, "--weights", section=RANKING, metavar="C=W,…", help="Weights of channels, as exact=2,fuzzy=1,vector=0.5"
    )
    rrf_k: int | None = option(
        None, "--rrf-k", section=RANKING, metavar="K", help="The constant k of reciprocal rank fusion [default: 60]"
    )
    fusion: str = option(
        "rrf",
        "--fusion",
        section=RANKING,
        metavar="HOW",
        values="codelens.search.fuse:FUSIONS",
        help="How to fuse channels: rrf (by rank), weighted or minmax (by score)",
    )
    profile: str | None = PROFILE
    intent: str | None = option(
        None,
        "--intent",
        section=RANKING,
        metavar="KIND",
        values="codelens.search.intent:INTENTS",
        help="Kind of query: identifier, path, regex, change, task or question [default: detected]",
    )
    expand: str | None = option(
        None,
        "--expand",
        section=RANKING,
        metavar="HOW",
        values="codelens.search.profiles:EXPANSIONS",
        help="How to expand results over the symbol graph: none, walk or bfs [default: the profile's]",
    )
    depth: int | None = option(None, "--depth", section=RANKING, metavar="N", help="Hops to expand [default: 1]")
    decay: float | None = option(
        None,
        "--decay",
        section=RANKING,
        metavar="X",
        help="Share of a score that a hop keeps [default: by kind of edge]",
    )
    rerank: bool = option(
        False,
        "--rerank",
        section=RANKING,
        help="Order the best 50 hits by the similarity of their embedding to the query",
    )
    min_score: float | None = option(
        None,
        "--min-score",
        section=RANKING,
        metavar="X",
        help="Only hits with at least this confidence, 0 to 1 (a share of the best score if hits have none)",
    )


NOW: Any = option(
    None,
    "--now",
    metavar="TIME",
    help="The current time, such as 2025-01-31T12:00 or unix seconds [default: now]",
)


class MemoryFlags:
    """Options of memory: whether it is used and extended, and the current time."""

    memory: bool | None = option(
        None,
        "--memory/--no-memory",
        section=RANKING,
        help="Use and update the memory of past results [default: the setting `memory`]",
    )
    now: str | None = option(
        None,
        "--now",
        section=RANKING,
        metavar="TIME",
        help="The current time, such as 2025-01-31T12:00 or unix seconds [default: now; for git history, the time of the "
        "indexed commit]",
    )


class RankingFlags(MemoryFlags, ScoreFlags, QueryFlags):
    """Options that decide which hits there are, and their order."""

    limit: int | None = option(
        None,
        "-m",
        "--limit",
        section=RANKING,
        metavar="N",
        help="Show at most N hits [default: 20; 10 on a terminal; all lines]",
    )
    offset: int = option(0, "--offset", section=RANKING, metavar="N", help="Skip the first N hits")
    sort: str | None = option(
        None,
        "--sort",
        section=RANKING,
        metavar="BY",
        values=("score", "path", "modified"),
        help="score, path or modified [default: score; path for lines]",
    )
    reverse: bool = option(False, "--reverse", section=RANKING, help="Reverse the order")


CHANGE = "For a change"


class ChangeFlags:
    """A change: of commits, of a diff, or what is staged."""

    pr: str | None = option(None, "--pr", section=CHANGE, metavar="BASE..HEAD", help="The change between two commits")
    diff: str | None = option(
        None, "--diff", section=CHANGE, metavar="FILE", help="The change in a unified diff; `-` is stdin"
    )
    staged: bool = option(False, "--staged", section=CHANGE, help="The change that is staged in git")


class ProgressFlags:
    """For commands that may take long."""

    progress: str = option(
        "auto",
        "--progress",
        metavar="HOW",
        values=("auto", "json", "none"),
        help="auto, json (one object a line on stderr) or none [default: auto]",
    )


FRESHNESS = "Freshness"


class LineFlags:
    """Options that ask for matching lines, and how lines look; as in grep and ripgrep."""

    files: bool = option(
        False, "-l", "--files-with-matches", section=LINES, help="Print only the paths of files that match"
    )
    files_without: bool = option(
        False, "-L", "--files-without-match", section=LINES, help="Print only the paths of files that do not match"
    )
    count: bool = option(
        False, "-c", "--count", section=LINES, help="Print the number of matching lines per file; with -o, of matches"
    )
    only_matching: bool = option(False, "-o", "--only-matching", section=LINES, help="Print only the matching parts")
    invert: bool = option(False, "-v", "--invert-match", section=LINES, help="Print the lines that do not match")
    whole_line: bool = option(False, "-x", "--line-regexp", section=LINES, help="Match whole lines only")
    after: int | None = option(None, "-A", "--after-context", section=LINES, metavar="N", help="Show N lines after")
    before: int | None = option(None, "-B", "--before-context", section=LINES, metavar="N", help="Show N lines before")
    context: int | None = option(None, "-C", "--context", section=LINES, metavar="N", help="Show N lines around")
    line_number: bool | None = option(
        None,
        "-n/-N",
        "--line-number/--no-line-number",
        section=LINES,
        help="path:line:text, or path:text [default: path:line:column:text]",
    )
    column: bool | None = option(None, "--column/--no-column", section=LINES, help="Print the column, or leave it out")
    list_files: bool = option(
        False, "--files", section=LINES, help="List the paths of all indexed files; every argument is a PATH"
    )
    no_filename: bool = option(False, "-I", "--no-filename", section=LINES, help="Print lines without their path")
    heading: bool | None = option(
        None, "--heading/--no-heading", section=LINES, help="Print each path once above its lines, or on each line"
    )
    longest: int | None = option(
        None, "-M", "--max-columns", section=LINES, metavar="N", help="Omit the text of lines longer than N bytes"
    )
    null: bool = option(False, "-0", "--null", section=LINES, help="Print a NUL byte after each path")
    recursive: bool = option(False, "-r", "-R", "--recursive", section=LINES, hidden=True, help="The default")
    with_filename: bool = option(False, "-H", "--with-filename", section=LINES, hidden=True, help="The default")


class SearchFlags(LineFlags, ProgressFlags, CommonFlags, JsonFlags, ColorFlags, RankingFlags):
    """Options of `search` besides the shared groups: where to look, what to print and in which form, how fresh it must be."""

    query: str | None = argument(None, "What to look for; `-` reads it from stdin", "[QUERY]", values=symbols)
    paths: list[Path] | None = argument(None, "Search only in these files and folders", "[PATH]...")
    verbose: bool = option(False, "--verbose", help="Print more on stderr")
    pretty: bool = option(
        False, "-p", "--pretty", section=OUTPUT, help="Format as for a terminal, even in a pipe: `--pretty | less -R`"
    )
    type_list: bool = option(False, "--type-list", section=FILTERS, help="List the languages that -t knows")
    jsonl: bool = option(False, "--jsonl", section=OUTPUT, help="Print one JSON object per hit, then one of type `end`")
    contributions: bool = option(
        False, "--contributions", section=OUTPUT, help="Add all parts of each score to --json and --jsonl"
    )
    vimgrep: bool = option(False, "--vimgrep", section=OUTPUT, help="Print path:line:column:text, for editors")
    csv: bool = option(False, "--csv", section=OUTPUT, help="Print comma-separated values with a header")
    tsv: bool = option(False, "--tsv", section=OUTPUT, help="Print tab-separated values with a header")
    sarif: bool = option(False, "--sarif", section=OUTPUT, help="Print SARIF 2.1.0")
    markdown: bool = option(False, "--markdown", section=OUTPUT, help="Print Markdown")
    format: str | None = option(
        None, "--format", section=OUTPUT, metavar="TEXT", help="Template for each hit: '{path}:{start_line} {name}'"
    )
    hyperlink_format: str | None = option(
        None,
        "--hyperlink-format",
        section=OUTPUT,
        metavar="URL",
        help="Link paths on a terminal: file, vscode, or a URL with {path} {line}",
    )
    stats: bool = option(False, "--stats", section=OUTPUT, help="Print how long each step took, and its share")
    require_fresh: bool = option(
        False, "--require-fresh", section=FRESHNESS, help="Exit with 4 if any file changed since it was indexed"
    )
    open: int | None = option(
        None, "--open", section=OUTPUT, metavar="N", help="Open hit N in your editor, at its line"
    )
    refresh: bool = option(False, "--refresh", section=FRESHNESS, help="Update the index first")

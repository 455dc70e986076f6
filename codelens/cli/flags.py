"""Flags that several commands share, each group a class to inherit from."""

from pathlib import Path
from typing import Any

from codelens.cli.complete import offering, symbols
from codelens.cli.declare import Section, argument, option
from codelens.config import CHOICES

RANKING = Section("Ranking")
FILTERS = Section("Filters")
OUTPUT = Section("Output")
QUERY = Section("Query")
LINES = Section("Lines, as in grep")

Texts = list[str] | None

LANGUAGES = "codelens.lang.registry:languages"  # The place of their names, for `values`
TYPES: Any = FILTERS.option(
    None, "-t", "--type", metavar="LANG", values=LANGUAGES, help="Only this language: py, ts, go …; repeatable"
)
TYPES_NOT: Any = FILTERS.option(
    None, "-T", "--type-not", metavar="LANG", values=LANGUAGES, help="Not this language; repeatable"
)
KINDS: Any = FILTERS.option(
    None,
    "--kind",
    metavar="KIND",
    values=offering("codelens.query.nodes:KINDS", listed=True),
    help="Only this kind: doc, code, or a value of `kind:` such as class; repeatable, or separated by commas",
)
GLOBS: Any = FILTERS.option(
    None, "-g", "--glob", metavar="GLOB", help="Only matching paths; '!GLOB' excludes; the last match wins"
)
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


class QueryFlags:
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
    like: str | None = QUERY.option(
        None,
        "--like",
        metavar="TARGET",
        values=symbols,
        help="Find code similar to PATH:LINE, PATH or a symbol, by vector and names; `-` is code on stdin. "
        "It replaces QUERY; give filters with -e",
    )
    lang: str | None = QUERY.option(
        None, "--lang", metavar="LANG", values=LANGUAGES, help="The language of the code on stdin [default: detected]"
    )
    ignore_case: bool = QUERY.option(False, "-i", "--ignore-case", help="Ignore case")
    case_sensitive: bool = QUERY.option(False, "-s", "--case-sensitive", help="Match case")
    smart_case: bool = QUERY.option(False, "-S", "--smart-case", hidden=True, help="The default")
    word: bool = QUERY.option(False, "-w", "--word-regexp", help="Match whole words only")
    literal: bool = QUERY.option(
        False, "-F", "--fixed-strings", help="Take the query literally, without filters and operators"
    )
    regex: bool = QUERY.option(False, "-P", "-E", "--regex", help="Read the query as a regular expression")
    case: str | None = QUERY.option(
        None,
        "--case",
        metavar="HOW",
        values="codelens.query.nodes:CASES",
        help="yes, no or auto: match case if the query has capitals [default: auto]",
    )
    prefix: bool = QUERY.option(False, "--prefix", help="Match words by their beginning, as if each were written WORD*")
    strict_query: bool = QUERY.option(
        False, "--strict-query", help="Fail on a syntax error in the query instead of reading it as text"
    )
    types: Texts = TYPES
    types_not: Texts = TYPES_NOT
    kinds: Texts = KINDS
    files_only: bool = FILTERS.option(False, "--files-only", help="Find files by path, names, imports and meaning")
    globs: Texts = GLOBS
    meta: Texts = FILTERS.option(
        None,
        "--meta",
        metavar="NAME=VALUE",
        help="Only files with this metadata: category=cli, 'stars>=100'; repeatable",
    )
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
    "types",
    "types_not",
    "kinds",
    "globs",
    "root_scope",
)
"""Fields of QueryFlags that brief help lists."""

PROFILE = RANKING.option(
    None,
    "--profile",
    metavar="NAME",
    values="codelens.config:load_weights",
    help="Ranking profile: codelens, likeness, rrf, knowing, knowing-base, graph-memory, codexlens or marketplace "
    "[default: codelens; with --like likeness]",
)


class ScoreFlags:
    """Options that decide scores, and so which candidates there are."""

    mode: str | None = RANKING.option(
        None,
        "--mode",
        metavar="MODE",
        values=CHOICES["mode"],
        help="hybrid, keyword, vector, exact or fuzzy [default: hybrid]",
    )
    weights: str | None = RANKING.option(
        None, "--weights", metavar="C=W,…", help="Weights of channels, as exact=2,fuzzy=1,vector=0.5"
    )
    rrf_k: int | None = RANKING.option(
        None, "--rrf-k", metavar="K", help="The constant k of reciprocal rank fusion [default: 60]"
    )
    fusion: str = RANKING.option(
        "rrf",
        "--fusion",
        metavar="HOW",
        values="codelens.search.fuse:FUSIONS",
        help="How to fuse channels: rrf (by rank), weighted or minmax (by score)",
    )
    profile: str | None = PROFILE
    intent: str | None = RANKING.option(
        None,
        "--intent",
        metavar="KIND",
        values="codelens.search.intent:INTENTS",
        help="Kind of query: identifier, path, regex, change, task or question [default: detected]",
    )
    expand: str | None = RANKING.option(
        None,
        "--expand",
        metavar="HOW",
        values="codelens.search.profiles:EXPANSIONS",
        help="How to expand results over the symbol graph: none, walk or bfs [default: the profile's]",
    )
    depth: int | None = RANKING.option(None, "--depth", metavar="N", help="Hops to expand [default: 1]")
    decay: float | None = RANKING.option(
        None, "--decay", metavar="X", help="Share of a score that a hop keeps [default: by kind of edge]"
    )
    rerank: bool = RANKING.option(
        False, "--rerank", help="Order the best 50 hits by the similarity of their embedding to the query"
    )
    min_score: float | None = RANKING.option(
        None,
        "--min-score",
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

    memory: bool | None = RANKING.option(
        None, "--memory/--no-memory", help="Use and update the memory of past results [default: the setting `memory`]"
    )
    now: str | None = RANKING.option(
        None,
        "--now",
        metavar="TIME",
        help="The current time, such as 2025-01-31T12:00 or unix seconds [default: now; for git history, the time of the "
        "indexed commit]",
    )


class RankingFlags(MemoryFlags, ScoreFlags, QueryFlags):
    """Options that decide which hits there are, and their order."""

    limit: int | None = RANKING.option(
        None, "-m", "--limit", metavar="N", help="Show at most N hits [default: 20; 10 on a terminal; all lines]"
    )
    offset: int = RANKING.option(0, "--offset", metavar="N", help="Skip the first N hits")
    sort: str | None = RANKING.option(
        None,
        "--sort",
        metavar="BY",
        values=("score", "path", "modified"),
        help="score, path or modified [default: score; path for lines]",
    )
    reverse: bool = RANKING.option(False, "--reverse", help="Reverse the order")


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


class LineFlags:
    """Options that ask for matching lines, and how lines look; as in grep and ripgrep."""

    files: bool = LINES.option(False, "-l", "--files-with-matches", help="Print only the paths of files that match")
    files_without: bool = LINES.option(
        False, "-L", "--files-without-match", help="Print only the paths of files that do not match"
    )
    count: bool = LINES.option(
        False, "-c", "--count", help="Print the number of matching lines per file; with -o, of matches"
    )
    only_matching: bool = LINES.option(False, "-o", "--only-matching", help="Print only the matching parts")
    invert: bool = LINES.option(False, "-v", "--invert-match", help="Print the lines that do not match")
    whole_line: bool = LINES.option(False, "-x", "--line-regexp", help="Match whole lines only")
    after: int | None = LINES.option(None, "-A", "--after-context", metavar="N", help="Show N lines after")
    before: int | None = LINES.option(None, "-B", "--before-context", metavar="N", help="Show N lines before")
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

"""Flags that several commands share, each group a class to inherit from; cli.md is their contract."""

from pathlib import Path
from typing import Annotated

from codelens.cli.declare import option

RANKING = "Ranking"
FILTERS = "Filters"
OUTPUT = "Output"
QUERY = "Query"

Texts = list[str] | None

Types = Annotated[
    Texts,
    option("-t", "--type", section=FILTERS, metavar="LANG", help="Only this language: py, ts, go …; repeatable"),
]
TypesNot = Annotated[
    Texts, option("-T", "--type-not", section=FILTERS, metavar="LANG", help="Not this language; repeatable")
]
Kinds = Annotated[
    Texts,
    option(
        "--kind",
        section=FILTERS,
        metavar="KIND",
        help="Only this kind: doc, code, or one of `kind:`, as class; repeatable, or several with commas",
    ),
]
Globs = Annotated[
    Texts,
    option(
        "-g",
        "--glob",
        section=FILTERS,
        metavar="GLOB",
        help="Only paths that fit; '!GLOB' excludes; the last that fits wins",
    ),
]
RootScope = Annotated[
    bool,
    option("--root-scope", section=FILTERS, help="Search the whole index, not only below the working directory"),
]


class CommonFlags:
    """What every command takes."""

    db: Annotated[
        Path | None,
        option("--db", metavar="FILE", help="The index file [default: the nearest .codelens/index.db upwards]"),
    ] = None
    no_config: Annotated[bool, option("--no-config", help="Read no configuration files")] = False
    quiet: Annotated[bool, option("-q", "--quiet", help="Print nothing but errors; the exit code is the answer")] = (
        False
    )
    verbose: Annotated[bool, option("-v", "--verbose", help="Say more on stderr")] = False
    debug: Annotated[bool, option("--debug", help="Show tracebacks")] = False


class JsonFlags:
    """For commands that can print an object."""

    json: Annotated[bool, option("--json", section=OUTPUT, help="One JSON object on stdout")] = False


class ColorFlags:
    """How text for people looks."""

    color: Annotated[
        str | None, option("--color", section=OUTPUT, metavar="WHEN", help="auto, always or never [default: auto]")
    ] = None
    pretty: Annotated[
        bool, option("--pretty", section=OUTPUT, help="As on a terminal, in a pipe too: `--pretty | less -R`")
    ] = False
    path_style: Annotated[
        str | None,
        option(
            "--path-style", section=OUTPUT, metavar="STYLE", help="Paths in text: cwd, root or absolute [default: cwd]"
        ),
    ] = None


AllowNetwork = Annotated[
    bool, option("--allow-network", help="Send texts to the model, where the setting `model` is an address")
]


class QueryFlags:
    """What is asked, and where."""

    allow_network: AllowNetwork = False
    queries: Annotated[
        Texts,
        option(
            "-e",
            section=QUERY,
            metavar="QUERY",
            help="A query in place of the first argument; repeatable: any of them may fit",
        ),
    ] = None
    query_files: Annotated[
        Texts, option("-f", section=QUERY, metavar="FILE", help="Queries from a file, one a line; `-` is stdin")
    ] = None
    like: Annotated[
        str | None,
        option(
            "--like",
            section=QUERY,
            metavar="TARGET",
            help="What resembles PATH:LINE, PATH or a symbol, by vector and names; `-` is code on stdin. "
            "It stands for QUERY; conditions go behind -e",
        ),
    ] = None
    lang: Annotated[
        str | None,
        option("--lang", section=QUERY, metavar="LANG", help="The language of the code on stdin [default: guessed]"),
    ] = None
    ignore_case: Annotated[bool, option("-i", "--ignore-case", section=QUERY, help="Letter case does not matter")] = (
        False
    )
    word: Annotated[bool, option("-w", "--word-regexp", section=QUERY, help="Match whole words only")] = False
    literal: Annotated[
        bool, option("-F", "--fixed-strings", section=QUERY, help="Take the query literally: no filters, no operators")
    ] = False
    regex: Annotated[bool, option("--regex", section=QUERY, help="The query is a regular expression")] = False
    case: Annotated[
        str | None,
        option(
            "--case",
            section=QUERY,
            metavar="HOW",
            help="yes, no or auto: upper case in the query matters [default: auto]",
        ),
    ] = None
    prefix: Annotated[
        bool, option("--prefix", section=QUERY, help="Each word is the beginning of words, as if it were written WORD*")
    ] = False
    strict_query: Annotated[
        bool, option("--strict-query", section=QUERY, help="Refuse a query with a fault instead of reading it as text")
    ] = False
    types: Types = None
    types_not: TypesNot = None
    kinds: Kinds = None
    files_only: Annotated[
        bool, option("--files-only", section=FILTERS, help="Find files, by path, names, imports and meaning")
    ] = False
    globs: Globs = None
    meta: Annotated[
        Texts,
        option(
            "--meta",
            section=FILTERS,
            metavar="NAME=VALUE",
            help="Only files of which the metadata says so: category=cli, 'stars>=100'; repeatable",
        ),
    ] = None
    metadata: Annotated[
        str | None,
        option(
            "--metadata",
            section=FILTERS,
            metavar="FILE",
            help="JSON or CSV of stars, ratings, installs, categories … of paths and repositories",
        ),
    ] = None
    root_scope: RootScope = False


class ScoreFlags:
    """What decides scores, and so which candidates there are."""

    mode: Annotated[
        str | None,
        option(
            "--mode", section=RANKING, metavar="MODE", help="hybrid, keyword, vector, exact or fuzzy [default: hybrid]"
        ),
    ] = None
    weights: Annotated[
        str | None,
        option(
            "--weights", section=RANKING, metavar="C=W,…", help="Weights of channels, as exact=2,fuzzy=1,vector=0.5"
        ),
    ] = None
    rrf_k: Annotated[
        int | None,
        option("--rrf-k", section=RANKING, metavar="K", help="The constant of reciprocal rank fusion [default: 60]"),
    ] = None
    fusion: Annotated[
        str,
        option(
            "--fusion",
            section=RANKING,
            metavar="HOW",
            help="How channels are joined: rrf (by ranks), weighted or minmax (by scores)",
        ),
    ] = "rrf"
    profile: Annotated[
        str | None,
        option(
            "--profile",
            section=RANKING,
            metavar="NAME",
            help="The score's formula: codelens, likeness, rrf, knowing, knowing-base, graph-memory or marketplace "
            "[default: codelens; with --like likeness]",
        ),
    ] = None
    intent: Annotated[
        str | None,
        option(
            "--intent",
            section=RANKING,
            metavar="KIND",
            help="What kind of query it is: identifier, path, regex, change, task or question [default: told from its words]",
        ),
    ] = None
    expand: Annotated[
        str | None,
        option(
            "--expand",
            section=RANKING,
            metavar="HOW",
            help="Over the symbol graph: none, walk or bfs (breadth first) [default: the profile's own]",
        ),
    ] = None
    depth: Annotated[
        int | None, option("--depth", section=RANKING, metavar="N", help="Hops of the expansion [default: 1]")
    ] = None
    decay: Annotated[
        float | None,
        option("--decay", section=RANKING, metavar="X", help="What a hop keeps of a score [default: by kind of edge]"),
    ] = None
    rerank: Annotated[
        bool,
        option("--rerank", section=RANKING, help="Order the 50 best by how near their embedding is to the query's"),
    ] = False
    min_score: Annotated[
        float | None,
        option(
            "--min-score",
            section=RANKING,
            metavar="X",
            help="Only hits with at least this share of the best score, 0 to 1",
        ),
    ] = None


Now = Annotated[
    str | None,
    option(
        "--now",
        metavar="TIME",
        help="What counts as the present, as 2025-01-31T12:00 or unix seconds [default: the clock's]",
    ),
]


class MemoryFlags:
    """Whether what was recorded of results counts and more is recorded, and when it is."""

    memory: Annotated[
        bool | None,
        option(
            "--memory/--no-memory",
            section=RANKING,
            help="Use and record what is remembered of results, or neither [default: the setting `memory`]",
        ),
    ] = None
    now: Annotated[
        str | None,
        option(
            "--now",
            section=RANKING,
            metavar="TIME",
            help="What counts as the present, as 2025-01-31T12:00 or unix seconds [default: the clock's, "
            "of git's history the indexed commit]",
        ),
    ] = None


class RankingFlags(MemoryFlags, ScoreFlags, QueryFlags):
    """What decides which hits there are, and their order."""

    limit: Annotated[
        int | None, option("-m", "--limit", section=RANKING, metavar="N", help="Show at most N hits [default: 20]")
    ] = None
    offset: Annotated[int, option("--offset", section=RANKING, metavar="N", help="Leave the first N hits out")] = 0
    sort: Annotated[
        str, option("--sort", section=RANKING, metavar="BY", help="score, path or modified [default: score]")
    ] = "score"
    reverse: Annotated[bool, option("--reverse", section=RANKING, help="The other way round")] = False


class ProgressFlags:
    """For commands that may take long."""

    progress: Annotated[
        str,
        option("--progress", metavar="HOW", help="auto, json (one object a line on stderr) or none [default: auto]"),
    ] = "auto"

"""Every option of `codelens search`; cli.md is their contract."""

from pathlib import Path
from typing import Annotated

from codelens.cli.declare import argument, option
from codelens.cli.flags import (
    FILTERS,
    OUTPUT,
    ColorFlags,
    CommonFlags,
    JsonFlags,
    ProgressFlags,
    RankingFlags,
)

FRESHNESS = "Freshness"


class SearchFlags(ProgressFlags, CommonFlags, JsonFlags, ColorFlags, RankingFlags):
    """What `search` takes beside the shared groups: where to look, what to print and in which form, how fresh it must be."""

    query: Annotated[str | None, argument("What to look for; `-` reads it from stdin", "[QUERY]")] = None
    paths: Annotated[list[Path] | None, argument("Only below these files and folders", "[PATH]...")] = None
    type_list: Annotated[bool, option("--type-list", section=FILTERS, help="List the languages that -t knows")] = False
    files: Annotated[
        bool, option("-l", "--files-with-matches", section=OUTPUT, help="Only the paths of files with a hit")
    ] = False
    files_without: Annotated[
        bool, option("-L", "--files-without-match", section=OUTPUT, help="Only the paths of files without a hit")
    ] = False
    count: Annotated[
        bool, option("-c", "--count", section=OUTPUT, help="The number of hits of each file that has one")
    ] = False
    after: Annotated[
        int | None, option("-A", "--after-context", section=OUTPUT, metavar="N", help="Show N lines after")
    ] = None
    before: Annotated[
        int | None, option("-B", "--before-context", section=OUTPUT, metavar="N", help="Show N lines before")
    ] = None
    context: Annotated[
        int | None, option("-C", "--context", section=OUTPUT, metavar="N", help="Show N lines around")
    ] = None
    line_number: Annotated[bool, option("-n/-N", section=OUTPUT, help="Line numbers, or none [default: -n]")] = True
    only_matching: Annotated[
        bool, option("-o", "--only-matching", section=OUTPUT, help="Only the parts that match")
    ] = False
    null: Annotated[bool, option("-0", "--null", section=OUTPUT, help="A NUL byte after each path")] = False
    jsonl: Annotated[bool, option("--jsonl", section=OUTPUT, help="One JSON object a hit, then one of type `end`")] = (
        False
    )
    vimgrep: Annotated[bool, option("--vimgrep", section=OUTPUT, help="path:line:column:text, for editors")] = False
    csv: Annotated[bool, option("--csv", section=OUTPUT, help="Comma-separated values with a head line")] = False
    tsv: Annotated[bool, option("--tsv", section=OUTPUT, help="Tab-separated values with a head line")] = False
    sarif: Annotated[bool, option("--sarif", section=OUTPUT, help="SARIF 2.1.0")] = False
    markdown: Annotated[bool, option("--markdown", section=OUTPUT, help="Markdown")] = False
    format: Annotated[
        str | None,
        option("--format", section=OUTPUT, metavar="TEXT", help="A line of your own: '{path}:{start_line} {name}'"),
    ] = None
    hyperlink_format: Annotated[
        str | None,
        option(
            "--hyperlink-format",
            section=OUTPUT,
            metavar="URL",
            help="Link paths on a terminal: file, vscode, or a URL with {path} {line}",
        ),
    ] = None
    stats: Annotated[bool, option("--stats", section=OUTPUT, help="Say how long each part took")] = False
    require_fresh: Annotated[
        bool, option("--require-fresh", section=FRESHNESS, help="Fail with 4 if any file changed since it was indexed")
    ] = False
    refresh: Annotated[bool, option("--refresh", section=FRESHNESS, help="Bring the index up to date first")] = False

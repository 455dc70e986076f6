"""codelens search: one question to the index, one renderer for the answer."""

import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from codelens.cli.declare import declare
from codelens.cli.flags import SearchFlags
from codelens.cli.options import (
    EVERYTHING,
    QueryText,
    all_queries,
    joined_query,
    likeness,
    only_one,
    ranking_settings,
    search_options,
    without_query,
)
from codelens.cli.streams import colored, say, write, write_json
from codelens.cli.workplace import Scope, Workplace, present_roots, reading_place, scope_of
from codelens.errors import StaleIndex, UsageError
from codelens.index import Index
from codelens.model.code import Freshness
from codelens.model.search import NOTHING_ASKED, Hit, SearchOptions, SearchResult
from codelens.render.paths import PathStyle

FORMATS = ("json", "jsonl", "vimgrep", "csv", "tsv", "sarif", "markdown", "format", "files", "files_without", "count")
OPTIONS = {"files": "-l", "files_without": "-L", "count": "-c"}
ABOUT_FILES = ("files", "files_without", "count")
"""Formats that show no hits, so that none of theirs can be opened or judged by its number."""
JSON_FORMATS = ("json", "jsonl", "sarif")


class SearchView(NamedTuple):
    """How to show an answer. `format` names a renderer; `text` is for people, or lines for a pipe."""

    format: str
    template: str
    paths: PathStyle
    null: bool
    line_numbers: bool
    only_matching: bool
    context: bool
    terminal: bool
    color: bool
    hyperlinks: str
    stats: Mapping[str, float] | None

    @property
    def styled(self) -> bool:
        """The renderer writes control sequences of its own, and has made those of the files visible."""
        return self.format == "text" and self.terminal and not self.only_matching and not self.null


def search(flags: SearchFlags) -> int:
    """Search the index. Words, names and prose rank; filters such as `lang:py path:src -is:test` narrow down."""
    if flags.type_list:
        write(_type_list())
        return 0
    started = time.perf_counter()
    chosen = only_one(flags, FORMATS, OPTIONS) or "text"
    positional, paths = _query_and_paths(flags)
    query = joined_query(all_queries(positional, flags), flags)
    place = reading_place(flags, ranking_settings(flags))
    if flags.refresh:
        _refresh(place, flags)
    with place.open() as index:
        if flags.require_fresh:
            _require_fresh(index)
        scope = scope_of(index.info().repositories, place.cwd, paths, flags.root_scope)
        options = _options(flags, place, scope, query, likeness(flags, place, index), chosen)
        result = index.search(query.text, options)
        files = index.files(options) if chosen == "files_without" else []
        if flags.open is not None:
            _open(index, result, flags.open)
            return 0
        try:
            hits = _show(result, files, _view(flags, chosen, place, result, started), place, flags)
        finally:  # also after `codelens search x | head -1`
            if options.memory and chosen not in ABOUT_FILES:
                _record(index, result, "" if query.literal or query.regex else query.text)
    if not query.text.strip() and flags.like is None and not flags.quiet:
        say("note: the query is empty")
    _say_about(result, flags)
    return 2 if result.failed else 0 if hits else 1


def _options(
    flags: SearchFlags, place: Workplace, scope: Scope, query: QueryText, like: tuple[str, str, str], chosen: str
) -> SearchOptions:
    """The options of the search, and of the lines that it shows."""
    both = flags.context if flags.context is not None else place.settings.context_lines
    options = replace(
        search_options(flags, place.settings, scope, query, like),
        context_before=both if flags.before is None else flags.before,
        context_after=both if flags.after is None else flags.after,
    )
    if chosen in ABOUT_FILES and flags.limit is None:
        options = replace(options, limit=EVERYTHING)
    return replace(options, snippet_lines=EVERYTHING) if flags.only_matching else options


def _open(index: Index, result: SearchResult, number: int) -> None:
    """Open a hit in the editor; where memory is on, count a use of it."""
    from codelens.cli.editor import open_at_line
    from codelens.render.paths import real_path

    if not 1 <= number <= len(result.hits):
        raise UsageError(f"--open {number}: there are {len(result.hits)} hits")
    hit = result.hits[number - 1]
    file = Path(hit.root) / real_path(hit)
    if not file.is_file():
        raise UsageError(f"{file} is gone", "run `codelens index`, then search again")
    open_at_line(file, hit.line)
    if result.options.memory:
        _record(index, result, "")
        index.memory.notebook(now=result.options.now).opened(number)


def _query_and_paths(flags: SearchFlags) -> tuple[str | None, list[Path]]:
    """With -e, -f or --like the first argument is a PATH, as with grep."""
    paths = list(flags.paths or ())
    positional, hint = flags.query, "put quotes around a query of several words"
    if without_query(flags) and positional is not None:
        paths, positional = [Path(positional), *paths], None
        hint = "with -e, -f or --like every argument is a PATH"
    for path in paths:
        if not path.exists():
            raise UsageError(f"no such file or folder: {path}", hint)
    return positional, paths


def _refresh(place: Workplace, flags: SearchFlags) -> None:
    from codelens.cli.progress import watcher

    with place.open() as index:
        roots = present_roots(index.roots())
    with watcher(flags.progress, flags.quiet) as progress:
        Index.build(place.index_path, roots, place.settings, progress=progress, as_indexed=True)


def _require_fresh(index: Index) -> None:
    for repository in index.status(check=True).repositories:
        if repository.gone:
            raise StaleIndex(f"{repository.root} is gone", "mount it, or `codelens index --rebuild` without it")
        if changes := repository.changes:
            counts = f"{len(changes.new)} new, {len(changes.changed)} changed, {len(changes.deleted)} deleted"
            raise StaleIndex(f"{repository.root} has changed since it was indexed: {counts}")


def _view(flags: SearchFlags, chosen: str, place: Workplace, result: SearchResult, started: float) -> SearchView:
    terminal = sys.stdout.isatty() or flags.pretty
    return SearchView(
        format=chosen,
        template=flags.format or "",
        paths=PathStyle(place.settings.path_style, str(place.cwd), result.index.repositories),
        null=flags.null,
        line_numbers=flags.line_number,
        only_matching=flags.only_matching,
        context=bool(result.options.context_before or result.options.context_after),
        terminal=terminal,
        color=colored(place.color, terminal),
        hyperlinks=flags.hyperlink_format or place.settings.hyperlink_format,
        stats=dict(result.trace.seconds) | {"total": time.perf_counter() - started} if flags.stats else None,
    )


def _show(
    result: SearchResult, files: list[tuple[str, str]], view: SearchView, place: Workplace, flags: SearchFlags
) -> bool:
    """Write the result; returns whether there was anything to write."""
    found, texts = render_result(place.with_notices(result), view, files)
    if not flags.quiet:
        if view.format in JSON_FORMATS:
            write_json(texts)
        else:
            write(texts, styled=view.styled)
    return found


def _record(index: Index, result: SearchResult, words: str) -> None:
    from codelens.cli.memory import record

    found = [(hit.rank, hit.unit, hit.line) for hit in result.hits]
    record(index, result.query, found, result.options.now, words)


def _say_about(result: SearchResult, flags: SearchFlags) -> None:
    if flags.quiet:
        return
    for notice in result.notices:
        say(f"{'error' if notice.code == NOTHING_ASKED else 'note'}: {notice.text}")
    old = [hit for hit in result.hits if hit.freshness is not Freshness.FRESH]
    if old:
        say(f"warning: {len(old)} of {len(result.hits)} hits are of files that changed since they were indexed")
    if flags.stats and not (flags.json or flags.jsonl):
        say(", ".join(f"{name} {seconds * 1000:.1f} ms" for name, seconds in sorted(result.trace.seconds.items())))
    if flags.verbose:
        say(f"{result.total} candidates from {', '.join(result.channels)} in {result.index.path}")


def _type_list() -> Iterator[str]:
    from codelens.lang.registry import languages

    for language in sorted(languages().values(), key=lambda row: row.name):
        patterns = [*(f"*.{e}" for e in language.extensions), *language.filenames]
        names = ", ".join([language.name, *language.aliases])
        yield f"{names}: {', '.join(patterns)}\n"


BRIEF = (
    *(
        "queries",
        "like",
        "ignore_case",
        "word",
        "literal",
        "regex",
        "types",
        "types_not",
        "kinds",
        "globs",
        "root_scope",
    ),
    *("limit", "mode", "files", "count", "only_matching", "context", "json", "format", "refresh"),
)
command = declare(
    "search", SearchFlags, search, brief=BRIEF, epilog="Exit: 0 hits, 1 none, 2 error, 3 no index, 4 not fresh."
)


def search_files(flags: SearchFlags) -> int:
    """Find files. By name and path, by what they define and import, and by meaning: the same as `search --files-only`.

    One hit is one file; the output flags apply to files.
    """
    flags.files_only = True
    return search(flags)


files = declare(
    "files", SearchFlags, search_files, brief=BRIEF, epilog="Exit: 0 files, 1 none, 2 error, 3 no index, 4 not fresh."
)


def render_result(
    result: SearchResult, view: SearchView, files: Iterable[tuple[str, str]] = ()
) -> tuple[bool, Iterator[str]]:
    """(whether there is a result, the texts to write). `files`: (root, path) of all in scope, for -L."""
    if view.format in ABOUT_FILES or view.only_matching:
        result = _matching_only(result)
    if view.format == "files_without":
        return _files_without(result, view, files)
    found = bool(result.hits)
    return found, _texts(result, view, 2 if result.failed else 0 if found else 1)


def _files_without(
    result: SearchResult, view: SearchView, files: Iterable[tuple[str, str]]
) -> tuple[bool, Iterator[str]]:
    from codelens.render.paths import real_path

    hit = {(hit.root, real_path(hit)) for hit in result.hits}
    paths = view.paths.raw() if view.null else view.paths
    rest = [paths.of(*file) for file in files if file not in hit]
    return bool(rest), (path + ("\0" if view.null else "\n") for path in rest)


def _matching_only(result: SearchResult) -> SearchResult:
    """Without what merely lies near: found by vectors alone, and nothing in it is what was asked for."""
    if result.options.mode == "vector" or result.every_hit_matches:
        return result
    return replace(
        result, hits=tuple(hit for hit in result.hits if set(hit.channels) != {"vector"} or _is_matched(hit))
    )


def _is_matched(hit: Hit) -> bool:
    return any(line.matches for line in hit.snippet)


def _texts(result: SearchResult, view: SearchView, exit_code: int) -> Iterator[str]:
    match view.format:
        case "json" | "jsonl":
            from codelens.render import records

            render_records = records.render_json if view.format == "json" else records.render_jsonl
            return render_records(result, exit_code, view.stats)
        case "csv" | "tsv" | "format":
            return _rows(result, view)
        case "sarif":
            from codelens.render.formats import render_sarif

            return render_sarif(result, exit_code)
        case "markdown":
            from codelens.render.formats import render_markdown

            return render_markdown(result, view.paths)
    return _people(result, view) if view.styled else _lines(result, view)


def _rows(result: SearchResult, view: SearchView) -> Iterator[str]:
    from codelens.render import formats as tables

    if view.format == "format":
        return tables.render_format(result, view.paths, view.template)
    return (tables.render_csv if view.format == "csv" else tables.render_tsv)(result, view.paths)


def _lines(result: SearchResult, view: SearchView) -> Iterator[str]:
    from codelens.render import formats

    if view.format == "files":
        return formats.render_paths(result.hits, view.paths, view.null)
    if view.format == "count":
        return formats.render_counts(result.hits, view.paths, view.null)
    if view.format == "vimgrep":
        return formats.render_vimgrep(result, view.paths)
    lines = formats.PlainView(view.paths, view.null, view.line_numbers, view.only_matching, view.context, view.color)
    return formats.render_plain(result, lines)


def _people(result: SearchResult, view: SearchView) -> Iterator[str]:
    from codelens.render.terminal import TerminalView, render_terminal

    return render_terminal(result, TerminalView(view.paths, view.color, view.hyperlinks, view.line_numbers))

"""codelens search: search the index, and print the answer in one of the formats."""

import codecs
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from codelens.cli.declare import collect_parameters, command, option
from codelens.cli.flags import BRIEF_QUERY, ColorFlags, CommonFlags, JsonFlags, ProgressFlags, SearchFlags
from codelens.cli.freshness import build_first_index, is_behind, open_current_index, refresh_index, require_fresh
from codelens.cli.lines import build_output_options, search_lines, wants_lines
from codelens.cli.options import (
    EVERYTHING,
    QueryText,
    build_search_options,
    find_only_flag,
    has_query_option,
    read_likeness,
    read_query,
)
from codelens.cli.streams import is_for_people, say, write, write_json, write_record
from codelens.cli.workplace import Workplace, find_workplace, load_settings_at, resolve_scope
from codelens.errors import NoIndex, UsageError
from codelens.index import Index
from codelens.model.code import Freshness, Skip, SkipReason
from codelens.model.fast_dataclass import replace
from codelens.model.request import SearchOptions
from codelens.model.search import INCOMPLETE, NOTHING_ASKED, WEAK, SearchResult
from codelens.query.nodes import Filter, Pattern, Query, find_positive_leaves, list_leaves
from codelens.render.lines import OutputOptions
from codelens.render.paths import PathStyle, restore_path
from codelens.text.counts import quantity

FORMATS = ("json", "jsonl", "vimgrep", "csv", "tsv", "sarif", "markdown", "format", "files", "files_without", "count")
OPTIONS = {"files": "-l", "files_without": "-L", "count": "-c"}
ON_SCREEN, WEAK_ON_SCREEN = 10, 3  # Default number of hits on a terminal, for a usual and for a weak answer
ABOUT_FILES = ("files", "files_without", "count")  # Formats without hits that could be opened or judged by number
LINE_FORMATS = ("text", "vimgrep", *ABOUT_FILES)  # Formats that show lines without their units


BRIEF = (
    *(*BRIEF_QUERY, "like", "limit", "mode", "files", "count", "only_matching", "invert", "line_number", "context"),
    *("json", "format", "refresh"),
)


@command(brief=BRIEF, epilog="Exit: 0 hits, 1 none, 2 error, 3 no index, 4 not fresh.")
def search(flags: SearchFlags) -> int:
    """Search the index. Words, names and prose are ranked; filters such as `lang:py path:src -is:test` narrow the results.

    -F, --regex and a "phrase" print every line that contains the text exactly. So do grep's flags with one word; with several
    words they apply to the ranked hits.
    """
    if flags.type_list:
        return _list_types()
    started = time.perf_counter()
    chosen = find_only_flag(flags, FORMATS, OPTIONS) or "text"
    if flags.contributions and chosen not in ("json", "jsonl"):
        raise UsageError("--contributions adds fields to JSON", "add --json or --jsonl, or ask `codelens why`")
    positional, named = flags.query, list(flags.paths or ())
    if (has_query_option(flags) or flags.list_files) and positional is not None:  # then QUERY is a PATH too
        named, positional = [Path(positional), *named], None
    text = QueryText() if flags.list_files else read_query(positional, flags)
    with open_current_index(flags, _find_place(flags, named)) as (place, index):
        if flags.require_fresh:
            require_fresh(index)
        paths = [_resolve_path(path, index, place, flags) for path in named]
        scope = resolve_scope(index.info().repositories, place.cwd, paths, flags.root_scope)
        options = build_search_options(flags, place.settings, scope, text, read_likeness(flags, place, index))
        query = index.parse(text.text, options)
        if flags.history:
            return _list_commits(index, query, options, flags, place)
        if flags.list_files:
            return _list_files(index, options, flags, place)
        lines = wants_lines(flags, query)
        screen = chosen == "text" and flags.heading is not False
        screen = screen and bool(flags.heading or is_for_people(flags))  # Hits are printed below headings
        options = replace(options, **_choose_extent(flags, place, query, lines, screen))
        output = build_output_options(flags, place, index, options)
        if lines and chosen in LINE_FORMATS and flags.open is None:
            code = search_lines(flags, index, query, options, output)
            if flags.stats:
                say(_format_seconds({"total": time.perf_counter() - started}))
            if code == 1 and not flags.quiet:
                _explain_unindexed(index, paths or [place.cwd], place, flags)
            return code
        result = (index.search_lines if lines else index.search)(query, options)
        if screen and result.weak and flags.limit is None:
            result = replace(result, hits=result.hits[:WEAK_ON_SCREEN])
        if flags.open is not None:
            _open_hit(index, result, flags.open)
            return 0
        stats = _collect_seconds(result, started) if flags.stats else None
        try:
            form = "screen" if screen and not (flags.null or flags.only_matching) else chosen
            is_found, texts = _render_result(index, place.add_notices(result), form, output, stats)
            _write_texts(texts, form, flags)
        finally:  # also after `codelens search x | head -1`
            if options.memory and chosen not in ABOUT_FILES and not lines:
                _record_answer(index, result, "" if options.literal or options.regex else query.text)
    _print_remarks(query, result, flags, screen)
    if stats and not (flags.json or flags.jsonl):
        say(_format_seconds(stats))
    if not is_found and not flags.quiet:
        _explain_unindexed(index, paths or [place.cwd], place, flags)
    return 2 if result.failed else 0 if is_found else 1


def _list_types() -> int:
    """Print the languages with their aliases and file patterns; returns the exit code."""
    from codelens.lang.registry import languages

    for row in sorted(languages().values(), key=lambda row: row.name):
        patterns = [*(f"*.{e}" for e in row.extensions), *row.filenames]
        write([f"{', '.join([row.name, *row.aliases])}: {', '.join(patterns)}\n"])
    return 0


def _find_place(flags: SearchFlags, named: Sequence[Path]) -> Workplace:
    """Find the index to search. At a terminal the first search in a tree builds it."""
    try:
        place = find_workplace(flags, named)
    except NoIndex:
        if not build_first_index(flags):
            raise
        place = find_workplace(flags, named)
    if flags.refresh:
        refresh_index(place, flags.progress, flags.quiet)
    return place


def _choose_extent(flags: SearchFlags, place: Workplace, query: Query, lines: bool, screen: bool) -> dict[str, Any]:
    """Choose the search options that decide how much of an answer is shown."""
    both = flags.context if flags.context is not None else place.settings.context_lines
    values: dict[str, Any] = {
        "context_before": both if flags.context_before is None else flags.context_before,
        "context_after": both if flags.context_after is None else flags.context_after,
        "reasons": screen or flags.contributions,
    }
    if flags.limit is not None:
        return values
    about_files = flags.files or flags.files_without or flags.count
    if lines or (about_files and not query.is_question):
        return values | {"limit": EVERYTHING}
    return values | ({"limit": ON_SCREEN} if screen and place.loaded.origin["limit"] == "default" else {})


def _list_commits(index: Index, query: Query, options: SearchOptions, flags: SearchFlags, place: Workplace) -> int:
    """List the past commits whose messages have words of the query, best first."""
    allowed = {"query", "history", "limit", "offset", "no_pager", "refresh", "require_fresh"}
    allowed.update(*map(collect_parameters, (ProgressFlags, CommonFlags, JsonFlags, ColorFlags)))
    parameters = collect_parameters(SearchFlags)
    others = [n for n, declared in parameters.items() if n not in allowed and getattr(flags, n) != declared.default]
    if others or place.fleet:
        other = parameters[others[0]].names if others else ("fleets",)
        what = other[-1].partition("/")[0] if other else "PATH"
        raise UsageError(f"--history cannot be combined with {what}", "it searches all commits of an index by words")
    node = query.node
    leaves = [*list_leaves(node)]
    if [*find_positive_leaves(node)] != leaves or any(isinstance(leaf, Filter | Pattern) for leaf in leaves):
        raise UsageError("--history takes words alone", "leave out filters, patterns and words after a minus")
    from codelens.render.outline import build_commits_record, format_commit

    commits, total = index.rank_commits(query.text, options.limit, options.offset)
    several = len(index.info().repositories) > 1
    if flags.json:
        write_record(build_commits_record(commits, total, index.info()))
    else:
        texts = [format_commit(commit, name if several else "") for _, name, commit in commits]
        write(texts, paged=not flags.no_pager)
    if not query.text.strip() and not flags.quiet:
        say("note: the query is empty")
    elif not (flags.quiet or total or index.has_messages()):
        say("note: the index has no messages of commits; `codelens doctor` and the setting `history` say why")
    return 0 if commits else 1


def _list_files(index: Index, options: SearchOptions, flags: SearchFlags, place: Workplace) -> int:
    """List the paths of all indexed files in scope."""
    if other := next((name for name in FORMATS if name not in ("json", "files") and getattr(flags, name)), ""):
        hint = "--json prints its fields, -0 ends paths by NUL"
        raise UsageError(f"a list of files has no --{other.replace('_', '-')}", hint)
    if flags.json:
        from codelens.render.outline import build_files_record

        listed = index.list_files(options)
        shown = listed if flags.limit is None else listed[: options.limit]
        write_record(build_files_record(shown, len(listed), index.info()))
        return 0 if shown else 1
    paths = PathStyle(place.settings.path_style, str(place.cwd), index.info().repositories, quoted=not flags.null)
    lines = [paths.format_path(*file) + ("\0" if flags.null else "\n") for file in index.files(options)]
    write(lines if flags.limit is None else lines[: options.limit], paged=not flags.no_pager)
    return 0 if lines else 1


def _open_hit(index: Index, result: SearchResult, number: int) -> None:
    """Open a hit in the editor; if memory is on, record its use."""
    from codelens.cli.editor import open_at_line

    if not 1 <= number <= len(result.hits):
        raise UsageError(f"--open {number}: the answer has {quantity(len(result.hits), 'hit')}")
    hit = result.hits[number - 1]
    file = Path(hit.root) / restore_path(hit)
    if not file.is_file():
        raise UsageError(f"{file} is gone", "run `codelens index`, then search again")
    open_at_line(file, hit.line)
    if result.options.memory:
        _record_answer(index, result, "")
        index.open_notebook(now=result.options.now).open_hit(number)


def _resolve_path(path: Path, index: Index, place: Workplace, flags: SearchFlags) -> Path:
    """Resolve a PATH from the working directory if it is on the disk or in the index; else from the root of a tree."""
    roots = [Path(row.root) for row in index.info().repositories]
    places = [place.cwd / path, *(root / path for root in roots)]
    if existing := next((at for at in places if at.exists()), None):
        return path if existing == places[0] else existing
    indexed = {Path(root, file) for root, file in index.files(SearchOptions())}  # perhaps deleted since
    indexed.update([folder for file in indexed for folder in file.parents])
    if known := next((at for at in places if at in indexed), None):
        return known
    hint = "put quotes around a query of several words"
    if flags.list_files:
        hint = f"--files takes folders alone; `codelens files {path}` finds files by name"
    elif flags.recursive:  # an option that takes other arguments in ripgrep
        hint = "-r searches folders, as in grep, and replaces nothing: codelens search … | sed 's/OLD/NEW/'"
    elif flags.regex:
        with suppress(LookupError, ValueError):
            codecs.lookup(flags.query or "")
            hint = "-E reads the query as a pattern, as in grep; a file's encoding is detected when it is indexed"
    raise UsageError(f"no such file or folder: {path}", hint)


def _explain_unindexed(index: Index, paths: Sequence[Path], place: Workplace, flags: SearchFlags) -> None:
    """Explain why nothing is found below a folder that the index leaves out."""
    if place.fleet:
        return
    from codelens.indexing.status import explain_file
    from codelens.render.reports import format_skip

    index_path, roots = place.index_path, [Path(os.path.realpath(row.root)) for row in index.info().repositories]
    for path in paths:
        real = Path(os.path.realpath(path))
        root = max((r for r in roots if real.is_relative_to(r)), key=lambda r: len(r.parts), default=None)
        if root is None or real == root:
            continue
        below = real.relative_to(root).as_posix()
        skip = explain_file(index_path, root.resolve(), below, lambda r: load_settings_at(r, index_path, flags))
        if isinstance(skip, Skip):
            remedy = "; `codelens index --hidden` takes it in" if skip.reason is SkipReason.HIDDEN else ""
            say(f"note: {path} is not indexed: {format_skip(skip)}{remedy}")


def _collect_seconds(result: SearchResult, started: float) -> Mapping[str, float]:
    """Collect the seconds of each step, beginning with opening the index and checking the tree, and their total."""
    steps, total = result.trace.seconds, time.perf_counter() - started
    return {**({"open": total - sum(steps.values())} if steps else {}), **steps, "total": total}


def _format_seconds(stats: Mapping[str, float]) -> str:
    """Format the steps in order, each with its share of the total."""
    total = stats["total"] or 1.0
    return ", ".join(f"{step} {seconds * 1000:.1f} ms ({seconds / total:.0%})" for step, seconds in stats.items())


def _render_result(
    index: Index, result: SearchResult, form: str, output: OutputOptions, stats: Mapping[str, float] | None
) -> tuple[bool, Iterator[str]]:
    """Render a result: (True if there is something to write, the texts)."""
    if form == "files_without":
        hits = {(hit.root, restore_path(hit)) for hit in result.hits}
        rest = [output.path_style.format_path(*file) for file in index.files(result.options) if file not in hits]
        return bool(rest), (path + ("\0" if output.null else "\n") for path in rest)
    if form in ("json", "jsonl"):
        from codelens.render import records

        record = records.build_search_record(result, result.exit_code, stats)
        texts = records.to_jsonl("hit", "results", record) if form == "jsonl" else iter([records.to_json(record)])
        return bool(result.hits), texts
    if form == "screen":
        from codelens.render.terminal import render_terminal

        return bool(result.hits), render_terminal(result, output)
    from codelens.render.formats import RENDERERS

    return bool(result.hits), RENDERERS[form](result, output)


def _write_texts(texts: Iterator[str], form: str, flags: SearchFlags) -> None:
    if form in ("json", "jsonl", "sarif"):
        write_json(texts)
    else:
        write(texts, styled=form == "screen", paged=not flags.no_pager)


def _record_answer(index: Index, result: SearchResult, words: str) -> None:
    from codelens.cli.memory import record_answer

    hits = [(hit.rank, hit.unit, hit.line) for hit in result.hits]
    record_answer(index, result.query, hits, result.options.now, result.notices, words)


def _print_remarks(query: Query, result: SearchResult, flags: SearchFlags, screen: bool) -> None:
    """Print to stderr what a reader of the hits should know: notices, changed files, how many were left out."""
    if flags.quiet:
        return
    if not query.text.strip() and flags.like is None:
        say("note: the query is empty")
    for notice in result.notices:
        if screen and result.hits and notice.code == WEAK:
            continue  # printed above the hits
        kind = {NOTHING_ASKED: "error", INCOMPLETE: "error", WEAK: "weak"}.get(notice.code, "note")
        say(f"{kind}: {notice.text}")
    old = [hit for hit in result.hits if hit.freshness is not Freshness.FRESH]
    if old and not is_behind(result.index):
        say(f"warning: {len(old)} of {quantity(len(result.hits), 'hit')} in files that changed since they were indexed")
    shown_below = sys.stdout.isatty() and flags.heading is not False and not any(getattr(flags, f) for f in FORMATS)
    if result.left_out and sys.stderr.isatty() and not shown_below:
        say(f"note: {len(result.hits)} of {quantity(result.total, 'hit')}; -m N shows more")
    if flags.verbose:
        say(f"{quantity(result.total, 'candidate')} from {', '.join(result.channels)} in {result.index.path}")


class FilesFlags(SearchFlags):
    """Options of `search` without those about lines, which are known only to be refused by name."""

    only_matching: bool = option("-o --only-matching", "Not for files", is_hidden=True)
    invert: bool = option("-v --invert-match", "Not for files", is_hidden=True)
    whole_line: bool = option("-x --line-regexp", "Not for files", is_hidden=True)
    files_only: bool = option("--files-only", "The default", default=True, is_hidden=True)


FILES_BRIEF = {*BRIEF} - {"only_matching", "invert"}
_GLOB = re.compile(r"(?=.*[*?])[^\s/:\"'()][^\s:\"'()]*")


@command("files", brief=FILES_BRIEF, epilog="Exit: 0 files, 1 none, 2 error, 3 no index, 4 not fresh.")
def search_files(flags: FilesFlags) -> int:
    """Find files by path, contents and meaning.

    Ranks by names and words of the path, by what a file defines and imports, and by meaning. One hit is one file. Without a
    query it lists all indexed files. The same as `search --files-only`.
    """
    flags.files_only = True
    if flags.query and not (flags.regex or flags.literal) and _GLOB.fullmatch(flags.query):
        flags.globs, flags.query = [*(flags.globs or ()), flags.query], None
    flags.list_files = flags.query is None and not has_query_option(flags)
    return search.run(flags)

"""codelens search: one question to the index, one renderer for the answer."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

from codelens.cli.asked import all_queries, joined_query, likeness, search_options, without_query
from codelens.cli.declare import declare
from codelens.cli.search_flags import SearchFlags
from codelens.cli.streams import colored, say, write, write_json
from codelens.cli.workplace import Workplace, present_roots, reading_place, scope_of
from codelens.errors import StaleIndex, UsageError
from codelens.index import Index
from codelens.model import NOTHING_ASKED, Freshness, SearchResult
from codelens.render.paths import PathStyle

FORMATS = ("json", "jsonl", "vimgrep", "csv", "tsv", "sarif", "markdown", "format", "files", "files_without", "count")
OPTIONS = {"files": "-l", "files_without": "-L", "count": "-c"}
ABOUT_FILES = ("files", "files_without", "count")
"""Formats that show no hits, so that none of theirs can be opened or judged by its number."""
JSON_FORMATS = ("json", "jsonl", "sarif")


def search(flags: SearchFlags) -> int:
    """Search the index. Words, names and prose rank; filters such as `lang:py path:src -is:test` narrow down."""
    if flags.type_list:
        write(_type_list())
        return 0
    started = time.perf_counter()
    chosen = _chosen_format(flags)
    positional, paths = _query_and_paths(flags)
    query, literal, regex = joined_query(all_queries(positional, flags), flags)
    settings = {
        "color": flags.color,
        "path_style": flags.path_style,
        "allow_network": flags.allow_network or None,
        "memory": flags.memory,
        "metadata": flags.metadata,
    }
    place = reading_place(flags, settings)
    if flags.refresh:
        _refresh(place, flags)
    with place.open() as index:
        if flags.require_fresh:
            _require_fresh(index)
        scope = scope_of(index.info().repositories, place.cwd, paths, flags.root_scope)
        before, after = _context(flags, place)
        options = search_options(
            flags,
            place.settings,
            scope,
            literal=literal,
            regex=regex,
            like=likeness(flags, place, index),
            everything=chosen in ABOUT_FILES,
            before=before,
            after=after,
            every_line=flags.only_matching,
        )
        result = index.search(query, options)
        files = index.files(options) if chosen == "files_without" else []
        try:
            hits = _shown(flags, chosen, place, result, files, started)
        finally:  # also where the reader has seen enough: `codelens search x | head -1`
            if options.memory and chosen not in ABOUT_FILES:
                _record(index, result, "" if literal or regex else query)
    if not query.strip() and flags.like is None and not flags.quiet:
        say("note: the query is empty")
    _say_about(result, flags)
    return 2 if result.failed else 0 if hits else 1


def _chosen_format(flags: SearchFlags) -> str:
    chosen = [name for name in FORMATS if getattr(flags, name) not in (False, None)]
    if len(chosen) > 1:
        names = [OPTIONS.get(name, f"--{name}") for name in chosen]
        raise UsageError(f"{names[0]} and {names[1]} cannot both be had")
    return chosen[0] if chosen else "text"


def _query_and_paths(flags: SearchFlags) -> tuple[str | None, list[Path]]:
    """With -e, -f or --like the first argument is a PATH, as with grep."""
    paths = list(flags.paths or ())
    positional, hint = flags.query, "a query of several words wants quotes around it"
    if without_query(flags) and positional is not None:
        paths, positional = [Path(positional), *paths], None
        hint = "with -e, -f or --like every argument is a PATH"
    for path in paths:
        if not path.exists():
            raise UsageError(f"no such file or folder: {path}", hint)
    return positional, paths


def _context(flags: SearchFlags, place: Workplace) -> tuple[int, int]:
    both = flags.context if flags.context is not None else place.settings.context_lines
    return (flags.before if flags.before is not None else both), (flags.after if flags.after is not None else both)


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


def _shown(
    flags: SearchFlags,
    chosen: str,
    place: Workplace,
    result: SearchResult,
    files: list[tuple[str, str]],
    started: float,
) -> bool:
    """Write the answer; whether there was any."""
    from codelens.cli.shown import Shown, render

    seconds = dict(result.trace.seconds) | {"total": time.perf_counter() - started} if flags.stats else None
    shown = Shown(
        format=chosen,
        template=flags.format or "",
        paths=PathStyle(place.settings.path_style, str(place.cwd), result.index.repositories),
        null=flags.null,
        line_numbers=flags.line_number,
        only_matching=flags.only_matching,
        context=bool(result.options.context_before or result.options.context_after),
        terminal=sys.stdout.isatty() or flags.pretty,
        color=colored(place.color, sys.stdout.isatty() or flags.pretty),
        hyperlinks=flags.hyperlink_format or place.settings.hyperlink_format,
        stats=seconds,
    )
    found, texts = render(place.with_notices(result), shown, files)
    if not flags.quiet:
        if chosen in JSON_FORMATS:
            write_json(texts)
        else:
            write(texts, styled=shown.styled)
    return found


def _record(index: Index, result: SearchResult, words: str) -> None:
    from codelens.cli.recorded import record

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


command = declare("search", SearchFlags, search, epilog="Exit: 0 hits, 1 none, 2 error, 3 no index, 4 not fresh.")

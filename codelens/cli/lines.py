"""The answer of `search` where the query or its flags ask for matching lines: complete, in the order of paths, as grep's."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from itertools import chain, islice

from codelens.cli.flags import SearchFlags
from codelens.cli.freshness import is_behind
from codelens.cli.options import EVERYTHING
from codelens.cli.streams import colored, say, terminal_width, write
from codelens.cli.workplace import Workplace
from codelens.errors import UsageError
from codelens.index import Index
from codelens.model.code import Freshness
from codelens.model.fast_dataclass import replace
from codelens.model.request import LINES, OPTIONS, SearchOptions
from codelens.model.search import FileLines
from codelens.query.nodes import Query
from codelens.render.lines import OutputOptions

OF_HITS = ("files", "files_without", "count", "only_matching")
"""Flags about lines that can also speak of hits: their files, the other files, the hits of each file, the parts that match."""
ONLY_LINES = (*OF_HITS, "invert", "whole_line")  # Flags that mean nothing where places are ranked
ASKING = (*ONLY_LINES, "word", "line_number", "context_after", "context_before", "context")
"""Flags that ask for lines, unless an option that does not apply to lines is given too."""
SPECIAL = set(".*+?[](){}|^$\\")  # Characters of patterns, which a query without --regex takes as they are


def wants_lines(flags: SearchFlags, query: Query) -> bool:
    """True if the answer is lines. Raises UsageError for flags that contradict each other."""
    asked = [name for name in ASKING if getattr(flags, name) not in (None, False)]
    alone = [name for name in asked if name in ONLY_LINES]
    if flags.like is not None or flags.files_only:
        if wrong := [name for name in alone if name in ("only_matching", "invert", "whole_line")]:
            flag = _short_flag(wrong[0])
            what = "--like" if flags.like is not None else "a search for files"
            raise UsageError(f"{flag} is about matching lines, and {what} has none", f"leave {flag} out")
        return False
    ranked, question = _ranking_option(flags), query.is_question
    of_hits = question and set(alone) <= {*OF_HITS}
    if alone and ranked and not of_hits:
        raise UsageError(
            f"{_short_flag(alone[0])} is about matching lines, which {ranked} does not rank",
            "for the paths of ranked hits: --format '{path}'",
        )
    exact = query.asks_for_lines
    if flags.whole_line and not exact and len(query.text.split()) > 1:
        raise UsageError("-x matches whole lines, and this query has several words", "quote them, or add -F or --regex")
    answers = exact and not ranked
    if flags.invert and not answers and (question or asked == ["invert"]):
        raise UsageError(
            "-v excludes matching lines, but words alone are ranked",
            "add -F for lines; a query excludes a word as in 'cache -test'; --verbose says more on stderr",
        )
    return answers or (bool(asked) and not ranked and not of_hits)


def _short_flag(name: str) -> str:
    return str(getattr(SearchFlags, name).names[0])


def _ranking_option(flags: SearchFlags) -> str:
    """The spelling of an option that was given and only applies to ranked places; else an empty text."""
    for name, row in OPTIONS.items():
        if LINES not in row.applies and getattr(flags, name) not in (None, False):
            return row.spelling
    return "--sort score" if flags.sort == "score" else ""


def search_lines(flags: SearchFlags, index: Index, query: Query, options: SearchOptions, output: OutputOptions) -> int:
    """Print the matching lines, the files that have any, or how many; returns the exit code."""
    every_match = flags.only_matching or flags.vimgrep or output.color
    about_files = flags.files or flags.files_without or flags.count
    taken = slice(options.offset, options.offset + options.limit) if about_files else slice(None)
    options = replace(options, offset=0, limit=EVERYTHING) if about_files else options
    with index.lines(query, options, every_match) as search:
        noted = _CountedFiles(search.without() if flags.files_without else search.files())
        texts = _format_files(flags, islice(noted, taken.start, taken.stop), output)
        if flags.quiet:
            return 0 if any(texts) else 1
        first = next(texts, None)
        if first is not None:
            styled = _with_headings(flags) and is_on_screen(flags)
            write(chain([first], texts), styled=styled, paged=not flags.no_pager)
        for notice in search.notices:
            say(f"note: {notice.text}")
    if noted.stale and not flags.files_without and not is_behind(index.info()):
        say(f"warning: {noted.stale} of {noted.seen} files changed since they were indexed")
    if first is None and not (flags.invert or options.literal or options.regex) and SPECIAL & set(query.text):
        say(f"note: no line contains exactly '{query.text}'; --regex reads it as a pattern")
    return 1 if first is None else 0


class _CountedFiles:
    """An iterator over files with matching lines that counts them, and those that are not fresh."""

    def __init__(self, files: Iterable[FileLines]) -> None:
        self._files = files
        self.seen = self.stale = 0

    def __iter__(self) -> Iterator[FileLines]:
        for file in self._files:
            self.seen += 1
            self.stale += file.freshness is not Freshness.FRESH
            yield file


def is_on_screen(flags: SearchFlags) -> bool:
    """True if people read the output: on a terminal, or as if there were one."""
    return sys.stdout.isatty() or flags.pretty


def is_screen(flags: SearchFlags) -> bool:
    """True if hits stand below headings, as on a terminal."""
    return is_on_screen(flags) if flags.heading is None else flags.heading


def _with_headings(flags: SearchFlags) -> bool:
    """True if each path stands once above its lines: on a terminal, unless the flags are for programs."""
    plain = (
        *(flags.files, flags.files_without, flags.count, flags.only_matching, flags.vimgrep, flags.null),
        flags.no_filename,
    )
    return flags.heading if flags.heading is not None else is_on_screen(flags) and not any(plain)


def output_options(flags: SearchFlags, place: Workplace, index: Index, options: SearchOptions) -> OutputOptions:
    """How hits and lines are written."""
    return OutputOptions(
        paths=place.path_style(index.info().repositories),
        template=flags.format or "",
        null=flags.null,
        names=not flags.no_filename,
        line_numbers=flags.line_number is not False,
        columns=flags.column if flags.column is not None else flags.line_number is None,
        longest=flags.longest or 0,
        context=bool(options.context_before or options.context_after),
        only_matching=flags.only_matching,
        inverted=flags.invert,
        color=colored(place.color, is_on_screen(flags)),
        hyperlinks=flags.hyperlink_format or place.settings.hyperlink_format,
        width=terminal_width(),
    )


def _format_files(flags: SearchFlags, files: Iterator[FileLines], output: OutputOptions) -> Iterator[str]:
    if _with_headings(flags) and not (flags.files or flags.files_without or flags.count or flags.vimgrep):
        from codelens.render.terminal import screen_lines

        return screen_lines(files, output)
    from codelens.render import lines

    if flags.files or flags.files_without:
        return lines.format_paths(files, output)
    if flags.count:
        return lines.format_counts(files, output)
    return lines.format_vimgrep(files, output) if flags.vimgrep else lines.format_lines(files, output)

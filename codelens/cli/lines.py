"""Searches that ask for matching lines, by query or flags: the answer is complete and in order of paths, as grep's."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, islice

from codelens.cli.flags import SearchFlags
from codelens.cli.freshness import is_behind
from codelens.cli.options import EVERYTHING
from codelens.cli.streams import is_for_people, say, say_notices, wants_color, write
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
"""Flags about lines that also apply to hits: files with hits, files without, the number per file, the matching parts."""
ONLY_LINES = (*OF_HITS, "invert", "whole_line")  # Flags that do not apply to ranked places
ASKING = (*ONLY_LINES, "word", "line_number", "context_after", "context_before", "context")
"""Flags that ask for lines, unless there is also an option that does not apply to lines."""
SPECIAL = set(".*+?[](){}|^$\\")  # Special characters of patterns; literal in a query without --regex


def wants_lines(flags: SearchFlags, query: Query) -> bool:
    """True if the answer consists of lines. Raises UsageError for flags that contradict each other."""

    def is_given(name: str) -> bool:
        return getattr(flags, name) not in (None, False)

    asked = list(filter(is_given, ASKING))
    alone = [name for name in asked if name in ONLY_LINES]
    spelling = {name: str(getattr(SearchFlags, name).names[0]) for name in alone}
    if flags.like is not None or flags.files_only:
        if wrong := [spelling[name] for name in alone if name in ("only_matching", "invert", "whole_line")]:
            what = "--like" if flags.like is not None else "a search for files"
            raise UsageError(f"{wrong[0]} is about matching lines, and {what} has none", f"leave {wrong[0]} out")
        return False
    # Options that apply to ranked places alone
    ranked = [row.spelling for name, row in OPTIONS.items() if LINES not in row.applies and is_given(name)]
    ranked += ["--sort score"] * (flags.sort == "score")
    of_hits = query.is_question and set(alone) <= {*OF_HITS}
    if alone and ranked and not of_hits:
        text = f"{spelling[alone[0]]} is about matching lines, which {ranked[0]} does not rank"
        raise UsageError(text, "for the paths of ranked hits: --format '{path}'")
    if flags.whole_line and not query.asks_for_lines and len(query.text.split()) > 1:
        raise UsageError("-x matches whole lines, and this query has several words", "quote them, or add -F or --regex")
    answers = query.asks_for_lines and not ranked
    if flags.invert and not answers and (query.is_question or asked == ["invert"]):
        hint = "add -F for lines; a query excludes a word as in 'cache -test'; --verbose says more on stderr"
        raise UsageError("-v excludes matching lines, but words alone are ranked", hint)
    return answers or (bool(asked) and not ranked and not of_hits)


def search_lines(flags: SearchFlags, index: Index, query: Query, options: SearchOptions, output: OutputOptions) -> int:
    """Print the matching lines, the files that contain any, or their number; returns the exit code."""
    counts: Counter[bool] = Counter()  # True → number of fresh files, False → of changed ones

    def count_fresh(files: Iterable[FileLines]) -> Iterator[FileLines]:
        for file in files:
            counts[file.freshness is Freshness.FRESH] += 1
            yield file

    every_match = flags.only_matching or flags.vimgrep or output.color
    about_files = flags.files or flags.files_without or flags.count
    taken = slice(options.offset, options.offset + options.limit) if about_files else slice(None)
    options = replace(options, offset=0, limit=EVERYTHING) if about_files else options
    with index.lines(query, options, every_match) as search:
        counted = count_fresh(search.find_files_without() if flags.files_without else search.find_files())
        texts = _format_files(flags, islice(counted, taken.start, taken.stop), output)
        if flags.quiet:
            return 0 if any(texts) else 1
        first = next(texts, None)
        if first is not None:
            styled = _has_headings(flags) and is_for_people(flags)
            write(chain([first], texts), styled=styled, paged=not flags.no_pager)
        say_notices(search.notices)
    if counts[False] and not flags.files_without and not is_behind(index.info()):
        say(f"warning: {counts[False]} of {counts.total()} files changed since they were indexed")
    if first is None and not (flags.invert or options.literal or options.regex) and SPECIAL & set(query.text):
        say(f"note: no line contains exactly '{query.text}'; --regex reads it as a pattern")
    return 1 if first is None else 0


def _has_headings(flags: SearchFlags) -> bool:
    """True if each path is printed once, above its lines: on a terminal, unless the flags are for programs."""
    plain = ("files", "files_without", "count", "only_matching", "vimgrep", "null", "no_filename")
    if flags.heading is not None:
        return flags.heading
    return is_for_people(flags) and not any(getattr(flags, name) for name in plain)


def build_output_options(flags: SearchFlags, place: Workplace, index: Index, options: SearchOptions) -> OutputOptions:
    """Choose how hits and lines are printed."""
    width = 0
    if sys.stdout.isatty():
        from shutil import get_terminal_size

        width = get_terminal_size().columns
    return OutputOptions(
        paths=place.make_path_style(index.info().repositories),
        template=flags.format or "",
        null=flags.null,
        names=not flags.no_filename,
        line_numbers=flags.line_number is not False,
        columns=flags.column if flags.column is not None else flags.line_number is None,
        longest=flags.longest or 0,
        context=bool(options.context_before or options.context_after),
        only_matching=flags.only_matching,
        inverted=flags.invert,
        color=wants_color(place.color, is_for_people(flags)),
        hyperlinks=flags.hyperlink_format or place.settings.hyperlink_format,
        width=width,
    )


def _format_files(flags: SearchFlags, files: Iterator[FileLines], output: OutputOptions) -> Iterator[str]:
    """Choose the form of output by the flags, and format the files with their matching lines."""
    if _has_headings(flags) and not (flags.files or flags.files_without or flags.count or flags.vimgrep):
        from codelens.render.terminal import render_matched_lines

        return render_matched_lines(files, output)
    from codelens.render import lines

    if flags.files or flags.files_without:
        return lines.format_paths(files, output)
    if flags.count:
        return lines.format_counts(files, output)
    return lines.format_vimgrep(files, output) if flags.vimgrep else lines.format_lines(files, output)

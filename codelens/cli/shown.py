"""The renderer that the flags of `search` ask for.

-l, -L, -c and -o are about what matches, as with grep: a hit of the vector channel alone that holds no match is merely near,
unless the query demands what every hit satisfies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from codelens.model import Hit, SearchResult
from codelens.render.paths import PathStyle


class Shown(NamedTuple):
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


GREP_FORMATS = ("files", "files_without", "count")


def render(result: SearchResult, shown: Shown, files: Iterable[tuple[str, str]] = ()) -> tuple[bool, Iterator[str]]:
    """(whether there is a result, the texts to write). `files`: (root, path) of all in scope, for -L."""
    if shown.format in GREP_FORMATS or shown.only_matching:
        result = _matching_only(result)
    if shown.format == "files_without":
        return _files_without(result, shown, files)
    found = bool(result.hits)
    return found, _texts(result, shown, 2 if result.failed else 0 if found else 1)


def _files_without(result: SearchResult, shown: Shown, files: Iterable[tuple[str, str]]) -> tuple[bool, Iterator[str]]:
    from codelens.render.paths import real_path

    hit = {(hit.root, real_path(hit)) for hit in result.hits}
    paths = shown.paths.raw() if shown.null else shown.paths
    rest = [paths.of(*file) for file in files if file not in hit]
    return bool(rest), (path + ("\0" if shown.null else "\n") for path in rest)


def _matching_only(result: SearchResult) -> SearchResult:
    """Without what merely lies near: found by vectors alone, and nothing in it is what was asked for."""
    if result.options.mode == "vector" or result.every_hit_matches:
        return result
    return replace(
        result, hits=tuple(hit for hit in result.hits if set(hit.channels) != {"vector"} or _is_matched(hit))
    )


def _is_matched(hit: Hit) -> bool:
    return any(line.matches for line in hit.snippet)


def _texts(result: SearchResult, shown: Shown, exit_code: int) -> Iterator[str]:
    match shown.format:
        case "json" | "jsonl":
            from codelens.render import records

            render_records = records.render_json if shown.format == "json" else records.render_jsonl
            return render_records(result, exit_code, shown.stats)
        case "csv" | "tsv" | "format":
            return _rows(result, shown)
        case "sarif":
            from codelens.render.sarif import render_sarif

            return render_sarif(result, exit_code)
        case "markdown":
            from codelens.render.markdown import render_markdown

            return render_markdown(result, shown.paths)
    return _people(result, shown) if shown.styled else _lines(result, shown)


def _rows(result: SearchResult, shown: Shown) -> Iterator[str]:
    from codelens.render import tables

    if shown.format == "format":
        return tables.render_format(result, shown.paths, shown.template)
    return (tables.render_csv if shown.format == "csv" else tables.render_tsv)(result, shown.paths)


def _lines(result: SearchResult, shown: Shown) -> Iterator[str]:
    from codelens.render import plain

    if shown.format == "files":
        return plain.render_paths(result.hits, shown.paths, shown.null)
    if shown.format == "count":
        return plain.render_counts(result.hits, shown.paths, shown.null)
    if shown.format == "vimgrep":
        return plain.render_vimgrep(result, shown.paths)
    view = plain.PlainView(shown.paths, shown.null, shown.line_numbers, shown.only_matching, shown.context, shown.color)
    return plain.render_plain(result, view)


def _people(result: SearchResult, shown: Shown) -> Iterator[str]:
    from codelens.render.terminal import TerminalView, render_terminal

    return render_terminal(result, TerminalView(shown.paths, shown.color, shown.hyperlinks, shown.line_numbers))

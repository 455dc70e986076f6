"""A search result → lines for a pipe: path:line:column:text, one hit a line, as grep and ripgrep write them.

One decision to question: a hit shows one line, the place to jump to; -A, -B and -C add the lines around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from codelens.model import Hit, SearchResult, SnippetLine
from codelens.render.paths import PathStyle
from codelens.render.visible import for_line
from codelens.text.lines import column_utf8


class PlainView(NamedTuple):
    """What the flags of grep ask for."""

    paths: PathStyle
    null: bool = False
    """A NUL byte after each path instead of a colon or a line break."""
    line_numbers: bool = True
    only_matching: bool = False
    context: bool = False
    color: bool = False


PATH, PLACE, MATCH = "35", "32", "1;31"
"""SGR codes, as grep and ripgrep colour these parts."""


def render_plain(result: SearchResult, view: PlainView) -> Iterator[str]:
    """Each text with its line break."""
    if view.only_matching:
        known: set[tuple[str, str, int, int]] = set()
        for hit in result.hits:
            yield from _matched_parts(hit, view, known)
        return
    for i, hit in enumerate(result.hits):
        if view.context:
            yield from (["--\n"] if i else [])
            yield from _with_context(hit, view)
        else:
            yield _line(hit, view, hit.line, hit.column, _text_of_place(hit, view))


def render_vimgrep(result: SearchResult, paths: PathStyle) -> Iterator[str]:
    """path:line:column:text, whatever the other flags say: what `:cexpr` reads."""
    yield from render_plain(result, PlainView(paths))


def render_paths(hits: Iterable[Hit], paths: PathStyle, null: bool) -> Iterator[str]:
    """-l: each file once, in the order of its best hit."""
    paths = paths.raw() if null else paths
    seen = dict.fromkeys(paths.of_hit(hit) for hit in hits)
    yield from (path + ("\0" if null else "\n") for path in seen)


def render_counts(hits: Iterable[Hit], paths: PathStyle, null: bool) -> Iterator[str]:
    """-c: path:hits of each file that has one."""
    paths = paths.raw() if null else paths
    counts: dict[str, int] = {}
    for hit in hits:
        path = paths.of_hit(hit)
        counts[path] = counts.get(path, 0) + 1
    yield from (f"{path}{_after_path(null)}{count}\n" for path, count in counts.items())


def line_text(hit: Hit) -> str:
    """The text of the line that a hit points at; its signature where the snippet does not hold that line."""
    shown = next((line.text for line in hit.snippet if line.number == hit.line), None)
    if shown is None:
        shown = next(iter(hit.unit.signature.splitlines()), hit.unit.qualified_name)
    return for_line(shown.rstrip("\r\n"))


def _text_of_place(hit: Hit, view: PlainView) -> str:
    return next((_text(line, view) for line in hit.snippet if line.number == hit.line), line_text(hit))


def _text(line: SnippetLine, view: PlainView) -> str:
    """A line with its matched parts in colour, unless something in it had to be made visible."""
    text = line.text.rstrip("\r\n")
    if not view.color or for_line(text) != text:
        return for_line(text)
    parts, at = [], 0
    for start, end in line.matches:  # in order of their starts; a phrase and its words overlap
        start = max(start, at)
        parts += [text[at:start], _in(MATCH, text[start:end], view)]
        at = max(at, end)
    return "".join([*parts, text[at:]])


def _in(code: str, text: str, view: PlainView) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if view.color and text else text


def _after_path(null: bool, mark: str = ":") -> str:
    return "\0" if null else mark


def _line(hit: Hit, view: PlainView, number: int, column: int | None, text: str, mark: str = ":") -> str:
    numbers = [number] if column is None else [number, column]
    paths = view.paths.raw() if view.null else view.paths
    place = "".join(_in(PLACE, str(n), view) + mark for n in numbers) if view.line_numbers else ""
    return f"{_in(PATH, paths.of_hit(hit), view)}{_after_path(view.null, mark)}{place}{text}\n"


def _with_context(hit: Hit, view: PlainView) -> Iterator[str]:
    for line in hit.snippet:
        text = _text(line, view)
        if line.number == hit.line:
            yield _line(hit, view, line.number, hit.column, text)
        else:
            yield _line(hit, view, line.number, None, text, "-")


def _matched_parts(hit: Hit, view: PlainView, known: set[tuple[str, str, int, int]]) -> Iterator[str]:
    """-o: each matched part once, though units lie in units; the name where a hit was found by nearness alone."""
    parts = [(line, start, end) for line in hit.snippet for start, end in line.matches]
    for line, start, end in parts:
        place = (hit.root, hit.unit.path, line.number, start)
        if place in known:
            continue
        known.add(place)
        yield _line(hit, view, line.number, column_utf8(line.text, start), for_line(line.text[start:end]))
    if not parts:
        yield _line(hit, view, hit.unit.name_line, hit.unit.name_column, for_line(hit.unit.name))

"""Writes a search result for a pipe: path:line:column:text, one hit a line, as grep and ripgrep do; also other formats.

One decision to question: a hit shows one line, the place to jump to; -A, -B and -C add the lines around it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from codelens import __version__
from codelens.errors import UsageError
from codelens.model.search import Hit, SearchResult, SnippetLine
from codelens.render.lines import OMITTED, PATH, PLACE, OutputOptions, color_ranges, color_text, is_short_enough
from codelens.render.paths import PathStyle, quote_path, restore_path
from codelens.render.visible import choose_fence, escape_breaks, escape_text, format_code_span
from codelens.text.lines import count_utf8_column

if TYPE_CHECKING:
    from codelens.render.records import Record


def render_plain(result: SearchResult, output: OutputOptions) -> Iterator[str]:
    """Write one line for each hit, as grep does; with -A, -B and -C also the lines around it."""
    for i, hit in enumerate(result.hits):
        at_hit = [line for line in hit.snippet if line.number == hit.line]
        if output.only_matching:  # in the hit's line, or in its other lines if nothing in that one matches
            for line in [line for line in at_hit if line.matches] or hit.snippet:
                for start, end in line.matches:
                    part = SnippetLine(line.number, line.text[start:end], ((0, end - start),))
                    column = count_utf8_column(line.text, start)
                    yield _format_line(hit, output, line.number, column, _format_text(part, output))
        elif output.context:
            yield from (["--\n"] if i else [])
            for line in hit.snippet:
                text, is_hit = _format_text(line, output), line.number == hit.line
                mark = ":" if is_hit else "-"
                yield _format_line(hit, output, line.number, hit.column if is_hit else None, text, mark)
        else:
            text = _format_text(at_hit[0], output) if at_hit else find_line_text(hit)
            yield _format_line(hit, output, hit.line, hit.column, text)


def render_vimgrep(result: SearchResult, output: OutputOptions) -> Iterator[str]:
    """Write path:line:column:text, the form that Vim's `:cexpr` reads, whatever the other flags are."""
    return render_plain(result, OutputOptions(output.paths))


def render_paths(result: SearchResult, output: OutputOptions) -> Iterator[str]:
    """Write each file once, in the order of its best hit (-l)."""
    paths = dict.fromkeys(output.path_style.format_hit_path(hit) for hit in result.hits)
    return (path + ("\0" if output.null else "\n") for path in paths)


def render_counts(result: SearchResult, output: OutputOptions) -> Iterator[str]:
    """Write path:number of hits for each file that has a hit (-c)."""
    counts = Counter(output.path_style.format_hit_path(hit) for hit in result.hits)
    mark = "\0" if output.null else ":"
    return (f"{path}{mark}{count}\n" for path, count in counts.items())


def find_line_text(hit: Hit) -> str:
    """Find the text of the line that a hit points at; its signature if the snippet does not contain that line."""
    text = next((line.text for line in hit.snippet if line.number == hit.line), None)
    if text is None:
        text = next(iter(hit.unit.signature.splitlines()), hit.unit.qualified_name)
    return escape_breaks(text.rstrip("\r\n"))


def _format_text(line: SnippetLine, output: OutputOptions) -> str:
    """Write a line, with its matches in colour unless it contains escapes; a line that is too long is left out with a note."""
    text = line.text.rstrip("\r\n")
    if not is_short_enough(text, output.longest):
        return OMITTED.format("matching")
    shown = escape_breaks(text)
    return color_ranges(text, line.matches) if output.color and shown == text else shown


def _format_line(hit: Hit, output: OutputOptions, number: int, column: int | None, text: str, mark: str = ":") -> str:
    numbers = [number, *([column] if column is not None and output.columns else [])]
    place = "".join(color_text(PLACE, str(n), output.color) + mark for n in numbers) if output.line_numbers else ""
    path = color_text(PATH, output.path_style.format_hit_path(hit), output.color) + ("\0" if output.null else mark)
    return f"{path if output.names else ''}{place}{text}\n"


T = TypeVar("T")
Field = Callable[[T, PathStyle], object]

_PIECE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|\\([tn0r\\])|[{}]")
_ESCAPES = {"t": "\t", "n": "\n", "0": "\0", "r": "\r", "\\": "\\"}


def parse_template(template: str, fields: Mapping[str, Field[T]]) -> Callable[[T, PathStyle], str]:
    """Compile a template to a function that fills it. It may contain `{name}` for names of `fields`, but no format specs.

    `{{` and `}}` are braces; \\t, \\n, \\r, \\0 and \\\\ are what they are in Python. Raises UsageError.
    """
    pieces: list[str | Field[T]] = []
    end = 0
    for match in _PIECE.finditer(template):
        pieces.append(template[end : match.start()])
        end = match.end()
        if match[0] in ("{{", "}}"):
            pieces.append(match[0][0])
        elif match[2]:
            pieces.append(_ESCAPES[match[2]])
        elif match[1] in fields:
            field = fields[match[1]]
            pieces.append(field if match[1] in _WRITTEN_FIELDS else partial(_escape_field, field))
        else:
            what = f"unknown field {match[0]}" if match[1] is not None else f"a single '{match[0]}'"
            raise UsageError(f"--format: {what}", f"fields: {', '.join(fields)}; write {{{{ and }}}} for braces")
    pieces.append(template[end:])
    raw = any("\0" in piece for piece in pieces if isinstance(piece, str))  # the reader splits names at NUL bytes

    def fill(item: T, paths: PathStyle) -> str:
        paths = paths.drop_quotes() if raw else paths
        return "".join(p if isinstance(p, str) else str(p(item, paths)) for p in pieces)

    return fill


_WRITTEN_FIELDS = frozenset({"path", "root", "pytest", "text"})
"""Fields that are already as they must be: paths are quoted, or keep their bytes before a NUL byte; lines are as in the file."""


def _escape_field(field: Field[T], item: T, paths: PathStyle) -> str:
    return escape_text(str(field(item, paths)))


def read_attributes(names: str) -> dict[str, Field[Any]]:
    """Make the fields that are attributes of an item; the field of `unit.kind` is named kind."""
    return {name.rpartition(".")[2]: partial(_read_attribute, attrgetter(name)) for name in names.split()}


def _read_attribute(read: Callable[[Any], object], item: Any, _: PathStyle) -> object:
    return read(item)


def end_with_break(text: str) -> str:
    """Add a line break to a filled template, unless it ends in \\n or \\0."""
    return text if text.endswith(("\n", "\0")) else text + "\n"


COLUMNS = (
    *("rank", "score", "path", "line", "column", "start_line", "end_line", "kind", "language"),
    *("name", "qualified_name", "repository", "freshness", "signature"),
)

FIELDS: Mapping[str, Field[Hit]] = {
    **read_attributes("rank score"),
    "path": lambda hit, paths: paths.format_hit_path(hit),
    "root": lambda hit, paths: quote_path(hit.root) if paths.quoted else hit.root,
    **read_attributes("unit.repository line column column_utf16 unit.start_line unit.end_line"),
    "start_byte": lambda hit, _: hit.unit.span.start,
    "end_byte": lambda hit, _: hit.unit.span.end,
    **read_attributes("unit.kind unit.language unit.name unit.qualified_name freshness"),
    "signature": lambda hit, _: " ".join(hit.unit.signature.split()),
    "doc": lambda hit, _: " ".join(hit.unit.doc.split()),
    "text": lambda hit, _: find_line_text(hit),
    "channels": lambda hit, _: " ".join(f"{c}:{r}" for c, r in sorted(hit.channels.items())),
}
"""The fields that `{…}` in --format may name; the columns of CSV and TSV are some of them."""


def render_csv(result: SearchResult, output: OutputOptions) -> Iterator[str]:
    """Write a table by RFC 4180, with a head line and Unix line ends."""
    for row in _list_table_rows(result, output.paths):
        quoted = ('"' + text.replace('"', '""') + '"' if re.search(r'[",\r\n]', text) else text for text in row)
        yield ",".join(quoted) + "\n"


def render_tsv(result: SearchResult, output: OutputOptions) -> Iterator[str]:
    """Write a table with tabs. Inside a cell, tabs and line breaks are \\t, \\n, \\r; a backslash before them is doubled."""
    escapes = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})
    for row in _list_table_rows(result, output.paths):
        yield "\t".join(text.translate(escapes) for text in row) + "\n"


def _list_table_rows(result: SearchResult, paths: PathStyle) -> Iterator[list[str]]:
    yield list(COLUMNS)
    for hit in result.hits:
        cells = [(name, str(FIELDS[name](hit, paths))) for name in COLUMNS]
        yield [text if name == "path" else escape_text(text) for name, text in cells]


def render_format(result: SearchResult, output: OutputOptions) -> Iterator[str]:
    """Fill the template for each hit, with a line break after it unless it ends in \\n or \\0. Raises UsageError."""
    fill = parse_template(output.template, FIELDS)
    for hit in result.hits:
        yield end_with_break(fill(hit, output.paths))


def render_markdown(result: SearchResult, output: OutputOptions) -> Iterator[str]:
    """Write a heading with the query and the counts, then a section for each hit; gaps in its snippet are marked."""
    yield f"## {format_code_span(result.query)}: {len(result.hits)} of {result.total}\n"
    for hit in result.hits:
        place = format_code_span(f"{output.paths.format_hit_path(hit)}:{hit.line}")
        yield f"\n### {hit.rank}. {format_code_span(hit.unit.qualified_name)} · {hit.unit.kind} · {place}\n\n"
        fence = choose_fence("".join(escape_text(line.text) for line in hit.snippet))
        yield f"{fence}{hit.unit.language}\n"
        before = None
        for line in hit.snippet:
            if before is not None and line.number > before + 1:
                yield "…\n"
            yield escape_text(line.text.rstrip("\r\n")) + "\n"
            before = line.number
        yield fence + "\n"


_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_RULE = "codelens/hit"


def render_sarif(result: SearchResult, output: OutputOptions) -> Iterator[str]:
    """Write a SARIF log with one run; hits are results of level `note`, in the order of their rank."""
    roots = {r.name: r.root for r in result.index.repositories}
    rule = {"id": _RULE, "shortDescription": {"text": "A place that a search found"}}
    run = {
        "tool": {"driver": {"name": "codelens", "version": __version__, "rules": [rule]}},
        "invocations": [{"executionSuccessful": not result.failed, "exitCode": result.exit_code}],
        "originalUriBaseIds": {name: {"uri": Path(root).as_uri() + "/"} for name, root in sorted(roots.items())},
        "columnKind": "utf16CodeUnits",
        "results": [_build_sarif_result(hit, result.query) for hit in result.hits],
    }
    from codelens.render.records import to_json  # other formats need not import it

    yield to_json({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1)


def _build_sarif_result(hit: Hit, query: str) -> Record:
    from urllib.parse import quote

    uri = quote(restore_path(hit).encode("utf-8", "surrogateescape"))
    unit = hit.unit
    physical = {
        "artifactLocation": {"uri": uri, "uriBaseId": unit.repository},
        "region": {"startLine": hit.line, "startColumn": hit.column_utf16},
        "contextRegion": {"startLine": unit.start_line, "endLine": max(unit.start_line, unit.end_line)},
    }
    logical = {"fullyQualifiedName": unit.qualified_name, "kind": unit.kind}
    return {
        "ruleId": _RULE,
        "ruleIndex": 0,
        "level": "note",
        "rank": 100.0 / hit.rank,
        "message": {"text": f"{unit.kind} {unit.qualified_name} answers '{query}'"},
        "locations": [{"physicalLocation": physical, "logicalLocations": [logical]}],
        "properties": {"score": hit.score, "rank": hit.rank, "freshness": str(hit.freshness)},
    }


RENDERERS: Mapping[str, Callable[[SearchResult, OutputOptions], Iterator[str]]] = {
    "text": render_plain,
    "vimgrep": render_vimgrep,
    "files": render_paths,
    "count": render_counts,
    "csv": render_csv,
    "tsv": render_tsv,
    "format": render_format,
    "markdown": render_markdown,
    "sarif": render_sarif,
}
"""Format → the function that writes it."""

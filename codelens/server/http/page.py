"""The web page: each address sends a request to the API's endpoints and renders the answer with a template.

So the page shows only what the API also offers. It consists of links and one form, and works without JavaScript.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Sequence
from functools import cache, lru_cache, partial
from importlib.resources import files
from itertools import pairwise
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from pygments.lexer import Lexer
from pygments.lexers import find_lexer_class_by_name, find_lexer_class_for_filename
from pygments.token import Comment, Generic, Keyword, Literal, Name, Number, Operator, _TokenType
from pygments.util import ClassNotFound
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from codelens.model.search import Contribution
from codelens.render.records import MOST_REPOSITORIES, Record
from codelens.render.visible import escape_text
from codelens.render.why import find_first_reason
from codelens.server.http.answers import DEFAULT_LIMIT, ENDPOINTS
from codelens.server.http.desk import QueryDesk
from codelens.server.http.faults import Fault
from codelens.server.http.gate import VISIBLE
from codelens.server.http.links import SourceLinks, fill_in_line
from codelens.server.http.openapi import read_parameters


def build_address(place: str, /, **parameters: Any) -> str:
    """Build a URL path with parameters. Lists become repeated parameters, and empty values are left out."""
    given = {name: value for name, value in parameters.items() if value not in (None, "", [], 0, False)}
    return f"{place}?{urlencode(given, doseq=True, errors='replace')}" if given else place


class Parameters(dict[str, Any]):
    """The parameters of a URL; missing ones are empty texts."""

    def __missing__(self, name: str) -> str:
        return ""


@cache
def _load_templates() -> Environment:
    rules: dict[str, Any] = {
        "autoescape": True,
        "undefined": StrictUndefined,
        "trim_blocks": True,
        "lstrip_blocks": True,
    }
    environment = Environment(loader=PackageLoader("codelens.server.http"), **rules)
    environment.filters |= {"shown": escape_text, "at": fill_in_line}
    environment.globals.update(address=build_address, version=compute_static_version())
    return environment


@cache
def compute_static_version() -> str:
    """Compute a name that changes with the static files, so that browsers may cache them."""
    return hashlib.sha256(b"".join(_read_static(name) for name in STATIC)).hexdigest()[:12]


def render_page(template: str, **values: Any) -> str:
    """Render a template to a page, or to a part of one."""
    values = {"title": "codelens"} | values | {"fields": Parameters(values.get("fields", {}))}
    text = _load_templates().get_template(template).render(values)
    return text.encode("utf-8", "replace").decode()


def compute_bars(contributions: Sequence[Record]) -> list[Record]:
    """Add `start` and `width` of a bar to each contribution, in percent of the width; negative bars lie left of zero."""
    amounts = [0.0, *(c["amount"] for c in contributions)]
    zero, whole = -min(amounts), max(amounts) - min(amounts)
    scale = 100 / whole if whole else 0.0
    return [
        {
            **c,
            "start": round(scale * (zero + min(0.0, c["amount"])), 2),
            "width": round(max(0.4, scale * abs(c["amount"])), 2),  # tiny amounts stay visible
        }
        for c in contributions
    ]


def compute_family_bars(families: Sequence[Record]) -> list[Record]:
    """Compute a bar for each family, with its strongest reasons in one text."""
    return compute_bars([{**f, "source": f["family"], "reason": "; ".join(f["reasons"])} for f in families])


def find_reason(hit: Record) -> str:
    """Find the first reason of a hit, as `why` gives it."""
    return find_first_reason([Contribution(**part) for part in hit["contributions"]], hit["channels"])


LONGEST_TEXT, LONGEST_LINE = 300_000, 2_000
"""Most characters of a text, and of a line, that is highlighted: some lexers are slow on odd texts."""
CLASSES = {
    "b": (Name.Builtin, Name.Constant),
    "c": (Comment,),
    "d": (Name.Decorator,),
    "f": (Name.Function, Name.Attribute),
    "k": (Keyword, Name.Tag, Operator.Word, Generic.Heading, Generic.Subheading),
    "n": (Number,),
    "s": (Literal,),
    "t": (Name.Class, Name.Namespace, Name.Exception),
}
"""Class in page.css → token types. The first one that contains a token's type applies: numbers are literals, too."""

Marks = Sequence[tuple[int, int]]


def highlight_each_line(lines: Sequence[str], path: str, language: str, marks: Sequence[Marks] = ()) -> list[Markup]:
    """Render each line as HTML. `marks` holds for each line half-open character ranges to mark."""
    plain = [line.replace("\r", "␍").replace("\n", "␊") for line in lines]
    styled = zip(plain, _find_styles(plain, path, language), marks or [()] * len(lines), strict=True)
    return [_highlight_line(text, styles, line_marks) for text, styles, line_marks in styled]


Styles = list[tuple[int, int, str]]  # (start, end, CSS class) of half-open ranges of a line


def _find_styles(lines: Sequence[str], path: str, language: str) -> list[Styles]:
    styles: list[Styles] = [[] for _ in lines]
    text = "\n".join(lines) + "\n"
    lexer = _find_lexer(path.rpartition("/")[2], language)
    if lexer is None or len(text) > LONGEST_TEXT or any(len(line) > LONGEST_LINE for line in lines):
        return styles
    number, start = 0, 0
    for at, kind, value in lexer.get_tokens_unprocessed(text):
        name = _find_style_class(kind)
        for part in value.splitlines(keepends=True) if "\n" in value else [value]:
            while number < len(lines) and at > start + len(lines[number]):
                start += len(lines[number]) + 1
                number += 1
            if number < len(lines) and name:
                end = min(at + len(part), start + len(lines[number]))
                if end > at:
                    styles[number].append((at - start, end - start, name))
            at += len(part)
    return styles


@lru_cache(maxsize=256)
def _find_lexer(filename: str, language: str) -> Lexer | None:
    """Find a lexer by the language's name, else by the file's name; None if neither is known."""
    for find, name in ((find_lexer_class_by_name, language), (find_lexer_class_for_filename, filename)):
        try:
            if name and (kind := find(name)) is not None:
                return kind(stripnl=False, ensurenl=False)
        except ClassNotFound:
            continue
    return None


@lru_cache(maxsize=1024)
def _find_style_class(kind: _TokenType) -> str:
    return next((name for name, families in CLASSES.items() if any(kind in family for family in families)), "")


def _highlight_line(text: str, styles: Styles, marks: Marks) -> Markup:
    ranges = [*((start, end) for start, end, _ in styles), *marks]
    ends = {0, len(text), *(min(place, len(text)) for both in ranges for place in both)}
    out, style = [], iter(styles)
    current = next(style, None)
    for start, end in pairwise(sorted(ends)):
        while current is not None and current[1] <= start:
            current = next(style, None)
        piece = escape(escape_text(text[start:end]))
        if current is not None and current[0] <= start:
            piece = Markup('<span class="{}">{}</span>').format(current[2], piece)
        if any(first <= start and end <= last for first, last in marks):
            piece = Markup("<mark>{}</mark>").format(piece)
        out.append(piece)
    return Markup("").join(out)


STATIC = {"page.css": "text/css", "page.js": "text/javascript"}


def list_page_routes(desk: QueryDesk, is_local: bool) -> list[BaseRoute]:
    """List the routes for browsers. `is_local` tells that only browsers on this machine reach them."""
    pages = _PageRoutes(desk, is_local)
    return [
        Route("/", pages.show_search),
        Route("/why", partial(pages.show_why, "why.html")),
        Route("/why/panel", partial(pages.show_why, "account.html")),
        Route("/name", partial(pages.show_name, "name.html")),
        Route("/name/panel", partial(pages.show_name, "uses.html")),
        Route("/file", pages.show_file),
        Route("/files", pages.show_files),
        Route("/help", pages.show_help),
        Route("/static/{name}", _send_static),
    ]


class _PageRoutes:
    def __init__(self, desk: QueryDesk, is_local: bool) -> None:
        self._desk = desk
        self._is_local = is_local
        self._choices: tuple[object, Record] = None, {}

    async def _ask(self, name: str, parameters: QueryParams) -> Record:
        endpoint = ENDPOINTS[name]
        body, _ = await self._desk.ask(endpoint, read_parameters(parameters, endpoint.request_model))
        return dict(await asyncio.to_thread(json.loads, body))

    async def _render(self, template: str, **values: Any) -> Response:
        """Render a template in a thread, because highlighting a long file takes a second."""
        links = SourceLinks.from_settings(self._desk.settings, self._is_local)
        values |= {"code": highlight_lines, "target": format_target, "links": links}
        return HTMLResponse(await asyncio.to_thread(render_page, template, **values))

    async def _list_filters(self, snapshot: str) -> Record:
        """List the repositories and languages to choose from, read once for each state of the index."""
        key = snapshot, VISIBLE.get()
        if self._choices[0] != key:
            rows = (await self._ask("status", QueryParams()))["repositories"]
            languages = sorted({language for row in rows for language in row["languages"]})
            repositories = [row["name"] for row in rows[:MOST_REPOSITORIES]]
            self._choices = key, {"repositories": repositories, "languages": languages}
        return self._choices[1]

    async def show_search(self, request: Request) -> Response:
        """Show the search form, and the results below it."""
        fields = _list_link_fields(request.query_params)
        if not str(fields.get("q", "")).strip():
            status = await self._ask("status", QueryParams())
            return await self._render("start.html", status=status, most=MOST_REPOSITORIES)
        asked = QueryParams([*_select_api_parameters(request.query_params).multi_items(), ("contributions", "true")])
        answer = await self._ask("search", asked)
        values = {"found": answer, "fields": fields, "title": f"{fields['q']} – codelens"}
        values["roots"] = {row["name"]: row["root"] for row in answer["index"]["repositories"]}
        values["filters"] = await self._list_filters(answer["index"]["snapshot"])
        return await self._render("search.html", page_offsets=compute_page_offsets, reason=find_reason, **values)

    async def show_why(self, template: str, request: Request) -> Response:
        """Explain a rank, by template as a part for the panel, or as a whole page for browsers without JavaScript."""
        why = await self._ask("why", _select_api_parameters(request.query_params))
        fields = {k: v for k, v in _list_link_fields(request.query_params).items() if k != "target"}
        return await self._render(template, why=why, fields=fields, bars=compute_bars, family_bars=compute_family_bars)

    async def show_name(self, template: str, request: Request) -> Response:
        """Show definition, callers and references of a name, by template as a part or as a whole page."""
        target = QueryParams({"target": request.query_params.get("target", "")})
        questions = [self._ask(name, target) for name in ("refs", "callers")]
        uses, calls = await asyncio.gather(*questions, return_exceptions=True)
        if isinstance(uses, BaseException):
            raise uses
        callers = calls if isinstance(calls, dict) else {"relations": [], "total": 0}  # not exactly one definition
        title = f"{uses['targets'][0]['name']} – codelens"
        return await self._render(template, uses=uses, callers=callers, line=highlight_use, title=title)

    async def show_file(self, request: Request) -> Response:
        """Show a file with its outline. `only` is the repository that the search was restricted to."""
        fields = _list_link_fields(request.query_params)
        back = {k: v for k, v in fields.items() if k not in ("path", "only")} | {"repository": fields.get("only", "")}
        given = [(k, v) for k, v in request.query_params.multi_items() if k in ("path", "repository")]
        answer = await self._ask("file", QueryParams(given))
        return await self._render("file.html", file=answer, fields=back, title=f"{answer['path']} – codelens")

    async def show_files(self, request: Request) -> Response:
        answer = await self._ask("files", _select_api_parameters(request.query_params))
        return await self._render("files.html", found=answer, fields=_list_link_fields(request.query_params))

    async def show_help(self, request: Request) -> Response:
        return await self._render("help.html")


PANELS = ("at", "why")  # Parameters of the target in the panel, which page.js fills
_OF_THE_PAGE = (*PANELS, "only", "within")


def _select_api_parameters(parameters: QueryParams) -> QueryParams:
    """Select the parameters for the API: without the page's own and empty ones. `within` (path part or glob) becomes globs."""
    within = parameters.get("within", "").strip().strip("/")
    is_glob = any(mark in within for mark in "*?[")
    globs = [within] if is_glob else [f"**/*{within}*", f"**/*{within}*/**"] if within else []
    given = [(k, v) for k, v in parameters.multi_items() if v and k not in _OF_THE_PAGE]
    return QueryParams([*given, *(("glob", glob) for glob in globs)])


def _list_link_fields(parameters: QueryParams) -> dict[str, Any]:
    """List the parameters that have a value, for links that change one of them."""
    names = [name for name in parameters if parameters[name] and name not in PANELS]
    return {name: values if len(values := parameters.getlist(name)) > 1 else values[0] for name in names}


def highlight_use(use: Record, name: str) -> Any:
    """Render the source line of a relation as HTML, without indentation, with the name marked at its column."""
    text = use["text"].rstrip("\r\n")
    indent = len(text) - len(text.lstrip())
    start = use["column_utf16"] - 1
    marks = [(start - indent, start - indent + len(name))] if text.startswith(name, start) else []
    return highlight_each_line([text[indent:]], use["path"], use["source"]["language"], [marks])[0]


def highlight_lines(lines: list[str] | list[Record], path: str, language: str) -> list[tuple[int, Any]]:
    """Render the lines of a file or of a hit's snippet; returns (number, HTML) pairs."""
    if not lines or isinstance(lines[0], str):
        return list(enumerate(highlight_each_line([str(line) for line in lines], path, language), start=1))
    rows = [line for line in lines if isinstance(line, dict)]
    html = highlight_each_line([row["text"] for row in rows], path, language, [row["matches"] for row in rows])
    return [(row["line"], text) for row, text in zip(rows, html, strict=True)]


def format_target(hit: Record, several: bool) -> str:
    """Write a hit as PATH:LINE, the target that `why` takes; with `several` repositories, its repository's name comes first."""
    before = f"{hit['repository']}/" if several else ""
    return f"{before}{hit['path']}:{hit['start_line']}"


def compute_page_offsets(answer: Record, fields: dict[str, Any]) -> tuple[int | None, int | None]:
    """Compute the offsets of the previous and the next page; None for a page that does not exist."""
    numbers = {name: int(text) for name, text in fields.items() if re.fullmatch("[0-9]+", str(text))}
    offset, limit = numbers.get("offset", 0), numbers.get("limit", DEFAULT_LIMIT)
    before = max(0, offset - limit) if offset else None
    after = offset + limit if offset + len(answer["results"]) < answer["total"] else None
    return before, after


async def _send_static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in STATIC:
        raise Fault(404, "not found", "/ is the page")
    is_versioned = request.url.query == f"v={compute_static_version()}"
    headers = {"Cache-Control": "max-age=31536000, immutable" if is_versioned else "no-cache"}
    return Response(_read_static(name), media_type=STATIC[name], headers=headers)


def _read_static(name: str) -> bytes:
    return (files("codelens.server.http") / "static" / name).read_bytes()

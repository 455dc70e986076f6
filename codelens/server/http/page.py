"""The page: each address asks the API's own question and puts the object that answers it into a template.

So the page shows nothing that a program could not ask for, and needs no JavaScript: links and one form.
"""

from __future__ import annotations

import asyncio
import json
from importlib.resources import files
from typing import Any

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from codelens.render.records import Record
from codelens.server.http.answers import ENDPOINTS
from codelens.server.http.desk import Desk
from codelens.server.http.faults import Fault, Refused
from codelens.server.http.highlight import code_lines
from codelens.server.http.markup import page
from codelens.server.http.pictures import bars
from codelens.server.http.reading import from_parameters

STATIC = {"page.css": "text/css", "page.js": "text/javascript"}
_PAGES_OF_HITS = 20


def page_routes(desk: Desk) -> list[BaseRoute]:
    """What a browser asks for."""
    pages = _Pages(desk)
    return [
        Route("/", pages.search),
        Route("/why", pages.why),
        Route("/why/panel", pages.why_panel),
        Route("/file", pages.file),
        Route("/files", pages.files),
        Route("/help", pages.help),
        Route("/static/{name}", _static),
    ]


class _Pages:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def _asked(self, name: str, parameters: QueryParams) -> Record:
        endpoint = ENDPOINTS[name]
        answer = await self._desk.ask(endpoint, from_parameters(parameters, endpoint.asked))
        return dict(await asyncio.to_thread(json.loads, answer.body))

    async def search(self, request: Request) -> Response:
        """The form, and below it what was found."""
        asked = _fields(request.query_params)
        if not str(asked.get("q", "")).strip():
            status = await self._asked("status", QueryParams())
            return await _html("start.html", status=status)
        found = await self._asked("search", QueryParams([*request.query_params.multi_items()]))
        return await _html("search.html", found=found, asked=asked, title=f"{asked['q']} – codelens", paging=paging)

    async def why(self, request: Request) -> Response:
        """The account as a page of its own, for whoever has no JavaScript or wants a link to it."""
        return await self._why(request, "why.html")

    async def why_panel(self, request: Request) -> Response:
        """The account alone, to be put beside the hits."""
        return await self._why(request, "account.html")

    async def _why(self, request: Request, template: str) -> Response:
        why = await self._asked("why", request.query_params)
        asked = {k: v for k, v in _fields(request.query_params).items() if k != "target"}
        return await _html(template, why=why, asked=asked, bars=bars)

    async def file(self, request: Request) -> Response:
        """A file with its outline."""
        asked = _fields(request.query_params)
        back = {k: v for k, v in asked.items() if k not in ("path", "repository")}
        only = [(k, v) for k, v in request.query_params.multi_items() if k in ("path", "repository")]
        found = await self._asked("file", QueryParams(only))
        return await _html("file.html", file=found, asked=back, title=f"{found['path']} – codelens")

    async def files(self, request: Request) -> Response:
        """A list of files."""
        found = await self._asked("files", request.query_params)
        return await _html("files.html", found=found, asked=_fields(request.query_params))

    async def help(self, request: Request) -> Response:
        """Keys, and the language of queries."""
        return await _html("help.html")


def _fields(parameters: QueryParams) -> dict[str, Any]:
    """What was asked, to be asked again with a change."""
    return {name: values if len(values := parameters.getlist(name)) > 1 else values[0] for name in parameters}


async def _html(template: str, **values: Any) -> Response:
    """Off the event loop: a long file takes a second to colour."""
    return HTMLResponse(await asyncio.to_thread(page, template, code=shown_lines, target=target_of, **values))


def shown_lines(lines: list[str] | list[Record], path: str, language: str) -> list[tuple[int, Any]]:
    """(number, HTML) of the lines of a file, or of those that a hit shows."""
    if not lines or isinstance(lines[0], str):
        return list(enumerate(code_lines([str(line) for line in lines], path, language), start=1))
    rows = [line for line in lines if isinstance(line, dict)]
    html = code_lines([row["text"] for row in rows], path, language, [row["matches"] for row in rows])
    return [(row["line"], text) for row, text in zip(rows, html, strict=True)]


def target_of(hit: Record, several: bool) -> str:
    """PATH:LINE, as `why` takes it; where there are several repositories, with the name of its own before it."""
    before = f"{hit['repository']}/" if several else ""
    return f"{before}{hit['path']}:{hit['start_line']}"


def paging(found: Record, asked: dict[str, Any]) -> tuple[int | None, int | None]:
    """Offsets of the page before and of the one after; None where there is none."""
    offset, limit = _number(asked.get("offset"), 0), _number(asked.get("limit"), _PAGES_OF_HITS)
    before = max(0, offset - limit) if offset else None
    after = offset + limit if offset + len(found["results"]) < found["total"] else None
    return before, after


def _number(text: Any, otherwise: int) -> int:
    return int(text) if isinstance(text, str) and text.isascii() and text.isdigit() else otherwise


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in STATIC:
        raise Refused(Fault(404, "not found", "/ is the page"))
    body = (files("codelens.server.http") / "static" / name).read_bytes()
    return Response(body, media_type=STATIC[name], headers={"Cache-Control": "no-cache"})

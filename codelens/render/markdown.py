"""A search result → Markdown for issues, reviews and chats: a heading and a fenced snippet a hit."""

from __future__ import annotations

import re
from collections.abc import Iterator

from codelens.model import Hit, SearchResult
from codelens.render.paths import PathStyle
from codelens.render.visible import for_line, for_terminal


def render_markdown(result: SearchResult, paths: PathStyle) -> Iterator[str]:
    """A heading with the query and the counts, then one section a hit."""
    yield f"## {_code(result.query)}: {len(result.hits)} of {result.total}\n"
    for hit in result.hits:
        yield f"\n### {hit.rank}. {_code(hit.unit.qualified_name)} · {hit.unit.kind} · {_code(_place(hit, paths))}\n\n"
        yield from _snippet(hit)


def _place(hit: Hit, paths: PathStyle) -> str:
    return f"{paths.of_hit(hit)}:{hit.line}"


def _snippet(hit: Hit) -> Iterator[str]:
    """A fence longer than any run of backticks inside, as CommonMark wants it; a gap is shown as one."""
    text = "".join(for_terminal(line.text) for line in hit.snippet)
    fence = "`" * (max((2, *(len(run) for run in re.findall(r"`+", text)))) + 1)
    yield f"{fence}{hit.unit.language}\n"
    before = None
    for line in hit.snippet:
        if before is not None and line.number > before + 1:
            yield "…\n"
        yield for_terminal(line.text.rstrip("\r\n")) + "\n"
        before = line.number
    yield fence + "\n"


def _code(text: str) -> str:
    """A code span, which takes any text: the fence grows with the backticks inside."""
    shown = for_line(for_terminal(text)) or " "
    ticks = "`" * (max((len(run) for run in re.findall(r"`+", shown)), default=0) + 1)
    pad = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{ticks}{pad}{shown}{pad}{ticks}"

"""A subset of Markdown to HTML that is safe to show."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from urllib.parse import quote, urlsplit

SAFE_SCHEMES = frozenset({"http", "https", "mailto"})

_LINK = re.compile(r"\[([^\]\[]+)\]\(([^)\s]+)\)")
_WIKI_LINK = re.compile(r"\[\[([^\]\[]+)\]\]")
_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"`([^`]+)`"), r"<code>\1</code>"),
    (re.compile(r"\*\*([^*]+)\*\*"), r"<strong>\1</strong>"),
    (re.compile(r"\*([^*]+)\*"), r"<em>\1</em>"),
)


def render_markdown(text: str, note_exists: Callable[[str], bool]) -> str:
    """Turn the text of a note into HTML. Everything is escaped first, so no tag of the author survives."""
    blocks = [block for block in re.split(r"\n\s*\n", text.strip()) if block]
    return "\n".join(_render_block(block, note_exists) for block in blocks)


def _render_block(block: str, note_exists: Callable[[str], bool]) -> str:
    if heading := re.match(r"(#{1,4})\s+(.+)", block):
        level = len(heading[1])
        return f"<h{level}>{_render_inline(heading[2], note_exists)}</h{level}>"
    if all(line.startswith("- ") for line in block.splitlines()):
        items = "".join(f"<li>{_render_inline(line[2:], note_exists)}</li>" for line in block.splitlines())
        return f"<ul>{items}</ul>"
    return f"<p>{_render_inline(block, note_exists)}</p>"


def _render_inline(text: str, note_exists: Callable[[str], bool]) -> str:
    escaped = html.escape(text)
    for pattern, replacement in _RULES:
        escaped = pattern.sub(replacement, escaped)
    escaped = _WIKI_LINK.sub(lambda m: _note_link(m[1], note_exists), escaped)
    return _LINK.sub(lambda m: _external_link(m[1], m[2]), escaped)


def _note_link(title: str, note_exists: Callable[[str], bool]) -> str:
    target = quote(html.unescape(title))
    css = "note" if note_exists(html.unescape(title)) else "missing"
    return f'<a class="{css}" href="/note/{target}">{title}</a>'


def _external_link(label: str, url: str) -> str:
    """A link, or its text where the scheme could run a script."""
    if urlsplit(html.unescape(url)).scheme.lower() not in SAFE_SCHEMES:
        return f"{label} ({url})"
    return f'<a rel="noopener nofollow" href="{url}">{label}</a>'

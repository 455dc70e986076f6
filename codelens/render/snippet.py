"""Lines of a hit → styled text: the language's colours, the matched parts marked, control characters made visible.

Escaping changes lengths, so marks are moved to where their characters ended up.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.style import Style
from rich.text import Text

from codelens.model import SnippetLine
from codelens.render.visible import for_terminal

MATCH = Style(bold=True, color="red")
LEXERS = {"csharp": "c#", "tsx": "tsx", "text": ""}
"""Our names of languages → Pygments', where they differ; an empty name is no highlighting."""


def snippet_text(line: SnippetLine, language: str, color: bool) -> Text:
    """One line without its line break."""
    raw = line.text.rstrip("\r\n")
    text = _highlighted(for_terminal(raw), language) if color else Text(for_terminal(raw))
    for start, end in shifted(raw, line.matches):
        text.stylize(MATCH, start, end)
    return text


def shifted(raw: str, matches: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges of the raw text as ranges of the text that for_terminal makes of it."""
    return [(len(for_terminal(raw[:start])), len(for_terminal(raw[:end]))) for start, end in matches]


def _highlighted(text: str, language: str) -> Text:
    """With the colours of its language; a language that Pygments does not know stays plain."""
    from rich.syntax import Syntax

    lexer = LEXERS.get(language, language)
    if not lexer:
        return Text(text)
    styled = Syntax("", lexer, theme="ansi_dark", background_color="default").highlight(text)
    styled.rstrip()
    indent = len(text) - len(text.lstrip("\n"))
    return styled if styled.plain == text.rstrip() and not indent else Text(text)

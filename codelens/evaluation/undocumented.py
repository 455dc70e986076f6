"""A source file → the same file without its documentation, and who was documented by what sentence.

What is taken out keeps its line ends, so that all else stays in its line: comments above definitions are blanked, doc
strings emptied. A definition of which the sentence can still be read somewhere afterwards is no question.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from codelens.derived import DecodedText, Unit
from codelens.indexing.extract import definitions
from codelens.lang.comments import clean_comment
from codelens.text.lines import TextMap
from codelens.training.mining import ASKED_KINDS
from codelens.training.phrases import sentence

_DOC_STRING = re.compile(r"([rRuUbBfF]{0,2})(\"\"\"|'''|\"|')(?:\\.|(?!\2).)*\2", re.DOTALL)
_NOT_A_LINE_END = re.compile(r"[^\n\r]")
_MARKS_ALONE = re.compile(r"/\*+!?|\**\*/|\*+|//+!?|#+|--+")
_ANNOTATION = re.compile(r"\s*(?:@\w|\[|#\[)")


def undocumented(text: str, language: str) -> tuple[str, dict[int, str]]:
    """(the text without documentation, line of a definition's name → the first sentence of what documented it)."""
    before = TextMap(DecodedText(text, "utf-8", 1.0, 0))
    units = [unit for unit in definitions(before, language) if unit.doc]
    bare = blanked(before, units)
    return bare, dict(questions(units, bare, language))


def questions(units: Sequence[Unit], bare: str, language: str) -> Iterator[tuple[int, str]]:
    """(line of the name, sentence) of those documented `units` of a text that stand in its `bare` form without their docs."""
    after = {unit.name_line: unit for unit in definitions(TextMap(DecodedText(bare, "utf-8", 1.0, 0)), language)}
    lowered = bare.lower()
    for unit in units:
        left = after.get(unit.name_line)
        if unit.local or unit.kind not in ASKED_KINDS or left is None or left.name != unit.name or left.doc:
            continue
        asked = sentence(unit.doc, unit.name)
        if asked and asked.lower() not in lowered:
            yield unit.name_line, asked


def blanked(text: TextMap, units: Sequence[Unit]) -> str:
    """The text without the documentation of these definitions, each of which has one."""
    lines = text.utf8.decode("utf-8").split("\n")
    for unit in units:
        wanted = set(filter(None, map(str.strip, unit.doc.split("\n"))))
        first = text.line_column(unit.span.start)[0] - 1
        _blank_above(lines, first, wanted)
        last = min(text.line_column(max(unit.span.start, unit.span.end - 1))[0], first + 400)
        inside = "\n".join(lines[first:last])
        found = _DOC_STRING.search(inside)
        if (
            found
            and (body := clean_comment([found[0]]))
            and set(filter(None, map(str.strip, body.split("\n")))) <= wanted
        ):
            kept = (
                found[1]
                + found[2]
                + _NOT_A_LINE_END.sub("", found[0][len(found[1]) + len(found[2]) : -len(found[2])])
                + found[2]
            )
            lines[first:last] = (inside[: found.start()] + kept + inside[found.end() :]).split("\n")
    return "\n".join(lines)


def _blank_above(lines: list[str], first: int, wanted: set[str]) -> None:
    """Blank the comment lines above line `first`, annotations between them excepted."""
    for at in range(first - 1, -1, -1):
        line = lines[at].strip()
        said = clean_comment([line.removesuffix("*/")]).strip()
        if not line:
            return
        if said in wanted or _MARKS_ALONE.fullmatch(line) or (said != line and any(said in one for one in wanted)):
            lines[at] = ""
        elif not _ANNOTATION.match(line):
            return

"""A context pack → Markdown, XML, JSON or a line a symbol.

Text of files is made visible: no control character and no half of a surrogate pair remains, so what is written has as
many characters as what was counted, on a terminal and in a pipe.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape

from codelens.model.code import UnitRow
from codelens.model.context import Cut, Entry, Form, Pack, PackLayout
from codelens.render.paths import PathStyle
from codelens.render.records import SCHEMA, Record, index_record, notice_record, to_json, unit_record
from codelens.render.visible import for_line, for_terminal

FORMATS = ("markdown", "xml", "json", "compact")


def layout_of(format: str, paths: PathStyle) -> PackLayout:
    """The layout of that name, one of FORMATS."""
    kinds: Mapping[str, type[_Layout]] = {"markdown": Markdown, "xml": Xml, "json": Json, "compact": Compact}
    return kinds[format](paths)


def visible_text(text: str) -> str:
    """Several lines, each without what a terminal would obey; a carriage return before a line feed is dropped."""
    return "\n".join(for_terminal(line.removesuffix("\r")) for line in text.split("\n"))


def one_line(text: str) -> str:
    """Text that stays on its line, runs of blanks as one."""
    return for_line(for_terminal(" ".join(text.split())))


class _Layout:
    """Base of the layouts: how paths and omissions are written."""

    forms = frozenset(Form)

    def __init__(self, paths: PathStyle) -> None:
        self.paths = paths.raw()  # one_line sees to what is in them
        self.name = f"{type(self).__name__} {paths.style} {paths.cwd}"

    def path(self, root: str, unit: UnitRow) -> str:
        """The path in the style that was asked for."""
        return one_line(self.paths.of(root, unit.path))

    def place(self, root: str, unit: UnitRow) -> str:
        """Path and line of the name."""
        return f"{self.path(root, unit)}:{unit.name_line or unit.start_line}"

    def summary(self, pack: Pack) -> str:
        """How much is here of how much, and who counted."""
        total = len(pack.entries) + pack.covered + pack.cut_total
        covered = f" ({pack.covered} more within them)" if pack.covered else ""
        return (
            f"{len(pack.entries)} of {total} symbols{covered}, {pack.tokens} of {pack.budget} tokens by {pack.counter}"
        )

    def price(self, cut: Cut) -> str:
        """Why something was left out, in numbers."""
        return f"{cut.tokens} tokens, density {cut.density:.3g}"

    def piece(self, entry: Entry) -> str:
        """One entry."""
        raise NotImplementedError

    def whole(self, pack: Pack) -> str:
        """The complete text."""
        raise NotImplementedError


class Markdown(_Layout):
    """A heading and a fenced block a symbol."""

    def piece(self, entry: Entry) -> str:
        """The fence is longer than any run of backticks inside, as CommonMark wants it."""
        unit, text = entry.unit, visible_text(entry.text)
        lines = f"{self.path(entry.root, unit)}:{unit.start_line}-{unit.end_line}"
        head = [_span(unit.qualified_name), unit.kind, _span(lines), *([entry.relation] if entry.relation else [])]
        fence = "`" * max(3, _longest_ticks(text) + 1)
        doc = f"{visible_text(entry.doc)}\n\n" if entry.doc else ""
        return f"\n## {' · '.join(head)}\n\n{doc}{fence}{unit.language}\n{text}\n{fence}\n"

    def whole(self, pack: Pack) -> str:
        """A heading with the counts, the entries, the list of what was cut."""
        cut = "".join(f"- {_span(c.unit.qualified_name)} · {_span(self.place(c.root, c.unit))} · {self.price(c)}\n"
                      for c in pack.cut)  # fmt: skip
        head = f"\n## Left out: {pack.cut_total}\n\n" if pack.cut else ""
        return f"# {self.summary(pack)}\n{''.join(map(self.piece, pack.entries))}{head}{cut}"


class Xml(_Layout):
    """Elements; of XML 1.0, which cannot hold control characters, also escaped."""

    def piece(self, entry: Entry) -> str:
        """One `symbol` element."""
        unit = entry.unit
        values = {
            "path": self.path(entry.root, unit),
            "lines": f"{unit.start_line}-{unit.end_line}",
            "kind": unit.kind,
            "name": unit.qualified_name,
            "language": unit.language,
            "form": str(entry.form),
            "score": f"{entry.score:.6g}",
            **({"relation": entry.relation} if entry.relation else {}),
        }
        doc = f"<doc>{_xml(visible_text(entry.doc))}</doc>\n" if entry.doc else ""
        return f"<symbol{_attributes(values)}>\n{doc}<code>{_xml(visible_text(entry.text))}</code>\n</symbol>\n"

    def whole(self, pack: Pack) -> str:
        """One `context` element."""
        values = {
            "for": pack.source,
            "tokens": str(pack.tokens),
            "budget": str(pack.budget),
            "counter": pack.counter,
            "symbols": str(len(pack.entries)),
            "covered": str(pack.covered),
            "cut": str(pack.cut_total),
        }
        rows = "".join(f"<cut{_attributes(self._cut(c))}/>\n" for c in pack.cut)
        return f"<context{_attributes(values)}>\n{''.join(map(self.piece, pack.entries))}{rows}</context>\n"

    def _cut(self, cut: Cut) -> Mapping[str, str]:
        return {
            "place": self.place(cut.root, cut.unit),
            "name": cut.unit.qualified_name,
            "tokens": str(cut.tokens),
            "density": f"{cut.density:.3g}",
        }


class Json(_Layout):
    """One object, of the schema's definition `context`. Paths are relative to the repository's root."""

    def __init__(self, paths: PathStyle) -> None:
        super().__init__(paths)
        self.name = "Json"

    def piece(self, entry: Entry) -> str:
        """One element of `results`, with the comma before the next."""
        return to_json(self._entry(entry, 1))[:-1] + ", "

    def whole(self, pack: Pack) -> str:
        """The object in one line."""
        record: Record = {
            "schema": SCHEMA,
            "source": pack.source,
            "tokens": pack.tokens,
            "budget": pack.budget,
            "counter": pack.counter,
            "exponent": pack.exponent,
            "results": [self._entry(entry, rank) for rank, entry in enumerate(pack.entries, start=1)],
            "covered": pack.covered,
            "cut": [self._cut(c) for c in pack.cut],
            "cut_total": pack.cut_total,
            "notices": [notice_record(n) for n in pack.notices],
            "index": index_record(pack.index),
            "exit_code": pack.exit_code,
        }
        return to_json(record)

    def _entry(self, entry: Entry, rank: int) -> Record:
        return unit_record(entry.unit) | {
            "repository": entry.unit.repository,
            "rank": rank,
            "score": entry.score,
            "density": float(f"{entry.density:.3g}"),
            "tokens": entry.tokens,
            "form": str(entry.form),
            "relation": entry.relation,
            "freshness": str(entry.freshness),
            "doc": entry.doc,
            "text": entry.text,
        }

    def _cut(self, cut: Cut) -> Record:
        unit = cut.unit
        return {
            "qualified_name": unit.qualified_name,
            "kind": unit.kind,
            "repository": unit.repository,
            "path": unit.path,
            "line": unit.name_line or unit.start_line,
            "score": cut.score,
            "tokens": cut.tokens,
            "density": float(f"{cut.density:.3g}"),
        }


class Compact(_Layout):
    """path:line kind name signature, a line a symbol; lines that begin with # say the rest."""

    forms = frozenset({Form.SIGNATURE})

    def piece(self, entry: Entry) -> str:
        """One line."""
        unit = entry.unit
        return one_line(f"{self.place(entry.root, unit)} {unit.kind} {unit.qualified_name} {entry.text}") + "\n"

    def whole(self, pack: Pack) -> str:
        """Counts, entries, what was cut."""
        cut = "".join(one_line(f"# cut {self.place(c.root, c.unit)} {c.unit.qualified_name}: {self.price(c)}") + "\n"
                      for c in pack.cut)  # fmt: skip
        return f"# {self.summary(pack)}\n{''.join(map(self.piece, pack.entries))}{cut}"


def _span(text: str) -> str:
    """A code span, which takes any text: the fence grows with the backticks inside."""
    text_line = one_line(text) or " "
    ticks = "`" * (_longest_ticks(text_line) + 1)
    pad = " " if text_line.startswith("`") or text_line.endswith("`") else ""
    return f"{ticks}{pad}{text_line}{pad}{ticks}"


def _longest_ticks(text: str) -> int:
    return max((len(run) for run in re.findall(r"`+", text)), default=0)


def _xml(text: str, quote: bool = False) -> str:
    """Text of an element, with `quote` of an attribute; the two code points that XML has no room for become visible."""
    return escape(re.sub("[\ufffe\uffff]", lambda found: f"\\u{ord(found[0]):04x}", text), quote)


def _attributes(values: Mapping[str, str]) -> str:
    return "".join(f' {key}="{_xml(one_line(value), quote=True)}"' for key, value in values.items())

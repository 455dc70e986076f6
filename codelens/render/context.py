"""Writes a context pack as Markdown, XML, JSON or a line for each symbol.

Control characters and halves of surrogate pairs in texts of files are escaped, so that the output has as many characters as
were counted for the budget, on a terminal and in a pipe.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape

from codelens.model.code import UnitRow
from codelens.model.context import Entry, Form, Pack, PackLayout
from codelens.render.paths import PathStyle
from codelens.render.records import SCHEMA, Record, build_ending, build_unit_record, pick_fields, to_json
from codelens.render.visible import choose_fence, escape_text, format_code_span
from codelens.text.counts import quantity

FORMATS = ("markdown", "xml", "json", "compact")
NEXT_PART = "codelens context --more {}"
NEXT_OF_FLEET = "codelens cluster context --more {}"


def make_layout(format: str, paths: PathStyle, next_part: str = NEXT_PART) -> PackLayout:
    """Make the layout of that name, one of FORMATS. `next_part` tells how to ask for the next part, with {} for its token."""
    layouts: tuple[type[Markdown | Xml | Json | Compact], ...] = (Markdown, Xml, Json, Compact)
    return layouts[FORMATS.index(format)](paths, next_part)


def escape_lines(text: str) -> str:
    """Escape control characters in each line of a text; a carriage return before a line feed is dropped."""
    return "\n".join(escape_text(line.removesuffix("\r")) for line in text.split("\n"))


def join_lines(text: str) -> str:
    """Write a text on one escaped line, with runs of blanks as one space."""
    return escape_text(" ".join(text.split()))


class _Layout:
    """Base of the layouts: writes paths, headings and the summary."""

    forms = frozenset(Form)

    def __init__(self, paths: PathStyle, next_part: str) -> None:
        self.paths = paths.drop_quotes()  # join_lines escapes paths instead
        self.next_part = next_part
        self.name = f"{type(self).__name__} {paths.style} {paths.cwd} {next_part}"

    def format_path(self, root: str, unit: UnitRow) -> str:
        return join_lines(self.paths.format_path(root, unit.path))

    def format_summary(self, pack: Pack) -> str:
        """Write how many symbols and tokens the pack holds, and which counter was used."""
        total = len(pack.entries) + pack.covered + pack.cut_total
        covered = f" ({pack.covered} more within them)" if pack.covered else ""
        sent = f" after {pack.sent}" if pack.sent else ""
        symbols = f"{len(pack.entries)} of {quantity(total, 'symbol')}{covered}{sent}"
        return f"{symbols}, {pack.tokens} of {pack.budget} tokens by {pack.counter}"

    def format_heading(self, entry: Entry) -> str:
        """Return an empty text, because each entry names its file."""
        return ""


class Markdown(_Layout):
    """A heading and a fenced block for each body; one list of all signatures, by file."""

    def format_heading(self, entry: Entry) -> str:
        """Write the line with a file's path, above its signatures."""
        return f"{self.format_path(entry.root, entry.unit)}\n"

    def format_entry(self, entry: Entry) -> str:
        """Write a signature as a line, a body as a fenced block."""
        unit, text = entry.unit, escape_lines(entry.text)
        relation = f" · {entry.relation}" if entry.relation else ""
        if entry.form is Form.SIGNATURE:
            container = f"{unit.container}: " if unit.container and unit.container not in text else ""
            return f"  {unit.start_line} {container}{join_lines(text)}{relation}\n"
        lines = f"{self.format_path(entry.root, unit)}:{unit.start_line}-{unit.end_line}"
        place, name = join_lines(lines), join_lines(unit.qualified_name)
        head = f"{format_code_span(name)} · {unit.kind} · {format_code_span(place)}{relation}"
        fence = choose_fence(text)
        doc = f"{escape_lines(entry.doc)}\n\n" if entry.doc else ""
        return f"\n## {head}\n\n{doc}{fence}{unit.language}\n{text}\n{fence}\n"

    def format_pack(self, pack: Pack) -> str:
        """Write a heading with the counts, the bodies, the signatures of each file, and how to get the next part."""
        bodies = "".join(self.format_entry(e) for e in pack.entries if e.form is Form.BODY)
        files: dict[str, str] = {}
        for entry in (e for e in pack.entries if e.form is Form.SIGNATURE):
            heading = self.format_heading(entry)
            files[heading] = files.get(heading, "") + self.format_entry(entry)
        lines = "".join(heading + signatures for heading, signatures in files.items())
        fence = choose_fence(lines)
        listed = f"\n## Signatures\n\n{fence}\n{lines}{fence}\n" if lines else ""
        more = f"\nNext part: {format_code_span(join_lines(self.next_part.format(pack.more)))}\n" if pack.more else ""
        return f"# {self.format_summary(pack)}\n{bodies}{listed}{more}"


class Xml(_Layout):
    """XML 1.0 elements. Control characters are written as escapes, because XML 1.0 cannot hold them."""

    def format_entry(self, entry: Entry) -> str:
        unit = entry.unit
        values = {
            "path": self.format_path(entry.root, unit),
            "lines": f"{unit.start_line}-{unit.end_line}",
            "kind": unit.kind,
            "name": unit.qualified_name,
            "form": str(entry.form),
            **({"relation": entry.relation} if entry.relation else {}),
        }
        if entry.form is Form.SIGNATURE:
            return f"<symbol{_format_attributes(values)}>{_escape_xml(join_lines(entry.text))}</symbol>\n"
        values |= {"language": unit.language, "score": f"{entry.score:.6g}"}
        doc = f"<doc>{_escape_xml(escape_lines(entry.doc))}</doc>\n" if entry.doc else ""
        return f"<symbol{_format_attributes(values)}>\n{doc}<code>{_escape_xml(escape_lines(entry.text))}</code>\n</symbol>\n"

    def format_pack(self, pack: Pack) -> str:
        values = {"for": pack.source, **pick_fields(pack, "tokens budget counter"), "symbols": len(pack.entries)}
        values |= {"covered": pack.covered, "cut": pack.cut_total, "sent": pack.sent}
        more = f"<next{_format_attributes({'token': pack.more})}/>\n" if pack.more else ""
        entries = "".join(map(self.format_entry, pack.entries))
        return f"<context{_format_attributes(values)}>\n{entries}{more}</context>\n"


OF_BODIES = frozenset({"language", "start_byte", "end_byte", "tokens", "freshness", "doc"})  # Not in signatures


class Json(_Layout):
    """One JSON object, as `context` in the schema defines it. Paths are relative to the repository's root."""

    def __init__(self, paths: PathStyle, next_part: str) -> None:
        super().__init__(paths, next_part)
        self.name = "Json"

    def format_entry(self, entry: Entry) -> str:
        """Write one element of `results`, followed by a comma."""
        return to_json(self._build_entry(entry, 1))[:-1] + ", "

    def format_pack(self, pack: Pack) -> str:
        record: Record = {
            "schema": SCHEMA,
            **pick_fields(pack, "source tokens budget counter"),
            "results": [self._build_entry(entry, rank) for rank, entry in enumerate(pack.entries, start=1)],
            **pick_fields(pack, "covered cut_total sent"),
            **build_ending(pack, pack.exit_code),
            "more": pack.more,
        }
        return to_json(record)

    def _build_entry(self, entry: Entry, rank: int) -> Record:
        """Build an entry's JSON object. Entries that show only a signature omit the fields about code, so that more fit."""
        record = build_unit_record(entry.unit) | {"repository": entry.unit.repository, "rank": rank}
        record |= pick_fields(entry, "score tokens form relation freshness doc text")
        if entry.form is Form.SIGNATURE:
            record = {name: value for name, value in record.items() if name not in OF_BODIES}
            record |= {"score": float(f"{entry.score:.4g}")}
        return {name: value for name, value in record.items() if value != ""}


class Compact(_Layout):
    """A line `path:line kind name signature` for each symbol; lines that begin with # hold everything else."""

    forms = frozenset({Form.SIGNATURE})

    def format_entry(self, entry: Entry) -> str:
        unit = entry.unit
        place = f"{self.format_path(entry.root, unit)}:{unit.name_line or unit.start_line}"
        return join_lines(f"{place} {unit.kind} {unit.qualified_name} {entry.text}") + "\n"

    def format_pack(self, pack: Pack) -> str:
        more = f"# next part: {self.next_part.format(pack.more)}\n" if pack.more else ""
        return f"# {self.format_summary(pack)}\n{''.join(map(self.format_entry, pack.entries))}{more}"


def _escape_xml(text: str, quote: bool = False) -> str:
    """Escape an element's text, or with `quote` an attribute's value; U+FFFE and U+FFFF, which XML forbids, become visible."""
    return escape(re.sub("[\ufffe\uffff]", lambda found: f"\\u{ord(found[0]):04x}", text), quote)


def _format_attributes(values: Mapping[str, object]) -> str:
    return "".join(f' {key}="{_escape_xml(join_lines(str(value)), quote=True)}"' for key, value in values.items())

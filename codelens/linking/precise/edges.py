"""Edges of provenance `precise`: from the indexes of language servers.

Where an index knows a use, its answer replaces the linker's own: a wrong guess goes, and an edge that syntax found as well gets
the higher tier. A repository with such indexes is linked as a whole after any change in it or in them, because the meaning of a
name in an index depends on many files; otherwise an update would differ from a fresh index.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from codelens.linking.catalog import Catalog
from codelens.linking.facts import FUNCTIONS, Definition, LinkFacts
from codelens.linking.precise.indexes import PreciseIndexes
from codelens.linking.references import FoundEdge, Meaning
from codelens.model.code import CHUNK_KINDS, TYPE_KINDS, DocumentId, Span, UnitId
from codelens.model.extraction import DecodedText, Import, Reference
from codelens.model.graph import EDGE_OF
from codelens.store.store import Store
from codelens.store.texts import DocumentText
from codelens.text.lines import Enclosing, TextMap


def find_meanings(known: PreciseIndexes, catalog: Catalog, facts: LinkFacts) -> dict[int, Meaning]:
    """Place in the file's own bytes → meaning of the name there, for all names that the indexes know; in order of place.

    Indexes err: of 102,572 uses in scip-python's of Django 3,971 lead to a definition with another name (`CharField` to
    `DateTimeField`), and equal names in different functions lead to all of them. Such uses are left out.
    """
    document = DocumentId(facts.file.id)
    uses = known.uses(document)
    if not uses:
        return {}
    raw = known.text(document)
    text = TextMap(DecodedText(raw.text, raw.encoding, 1.0, raw.bom))
    starts = [*text.line_starts, len(text.utf8) + 1]
    aliases = {imported.alias for imported in facts.imports}
    meanings: dict[int, Meaning] = {}
    for line, column, unit in uses:
        if line >= len(starts) or (utf8_place := starts[line - 1] + column - 1) >= starts[line]:
            continue
        definition = catalog.facts(known.documents_of[unit]).by_id[unit]
        place = text.to_original(utf8_place)
        outer = definition
        while outer.local and outer.parent is not None:
            outer = outer.parent
        # A local definition is visible only within its function.
        is_visible = outer is definition or (definition.facts is facts and outer.start <= place < outer.end)
        word = _WORD.match(text.utf8[utf8_place : utf8_place + _LONGEST_NAME].decode("utf-8", "ignore"))
        if is_visible and word and (word[1] in aliases or _may_mean(word[1], definition)):
            meanings.setdefault(place, Meaning(line, [])).definitions.append(definition)
    return meanings


def _may_mean(word: str, definition: Definition) -> bool:
    """True for a definition's name, and for its type's name if it is a constructor. Any word may mean an operator."""
    language, name = definition.facts.file.language, definition.name.lstrip("@$#")
    if not word or word == name or not name.isidentifier():
        return True
    parent = definition.parent.name if definition.parent else ""
    return name in (*language.constructors, parent) and word in (parent, *language.self_names, *language.super_names)


_WORD = re.compile(r"[@$#]*(\w*)")
_LONGEST_NAME = 400  # Bytes of a name that are compared
_LONGEST_IMPORT = 4000  # Bytes from an import's module to a name in the statement


def find_other_edges(
    meanings: Mapping[int, Meaning], facts: LinkFacts, references: Sequence[Reference], known: PreciseIndexes
) -> Iterator[FoundEdge]:
    """Edges of known names that no pattern of the grammar captures as a use: names in imports, and names in other places."""
    captured = {reference.start for reference in references if reference.kind in EDGE_OF}
    imports: dict[str, list[Import]] = {}
    for imported in facts.imports:
        imports.setdefault(imported.name, []).append(imported)
    units = [unit for unit in facts.definitions if unit.kind not in CHUNK_KINDS]
    around = Enclosing([(unit.start, unit.end) for unit in units])
    for place, (line, definitions) in meanings.items():
        if place in captured:
            continue
        number = around.at(place)
        inside = units[number] if number is not None else None
        text = known.text(DocumentId(facts.file.id))
        for definition in definitions:
            statements = (i.line for i in imports.get(definition.name, ()) if _belongs_to_import(text, i.start, place))
            if statement := next(statements, 0):
                yield FoundEdge(None, "imports", definition, statement, "precise")
            elif definition is not inside:
                yield FoundEdge(inside.place if inside else None, "references", definition, line, "precise")


def _belongs_to_import(text: DocumentText, start: int, place: int) -> bool:
    """True if the import whose module is at `start` goes on to a place: to the end of the line, or of the brackets."""
    if not 0 <= place - start <= _LONGEST_IMPORT:
        return False
    between = text.slice(Span(start, place))
    return "\n" not in between or (any(b in between for b in "({") and not any(b in between for b in ")}"))


def store_implementations(store: Store, catalog: Catalog, known: PreciseIndexes) -> None:
    """Store `implements` and `overrides` edges from the relations in the indexes.

    They replace the edges that the linker derived for the same pair. A base that a type names already has its edge.
    """
    rows = store.units.rows(source for source, _ in known.implementations)
    for pair in sorted(known.implementations):
        source, target = (catalog.facts(known.documents_of[unit]).by_id[unit] for unit in pair)
        if source.kind in TYPE_KINDS and target.kind in TYPE_KINDS:
            kind = "implements"
            named = store.edges.outgoing([source.id], ["extends", "implements"])
            if any(edge.target == target.id and edge.line for edge in named):
                continue
        elif source.kind in FUNCTIONS and target.kind in FUNCTIONS:
            kind = "overrides"
        else:
            continue
        store.edges.remove([(source.id, kind, target.id, 0)])
        store.edges.add([(source.id, kind, target.id, rows[UnitId(source.id)].name_line, "precise")])

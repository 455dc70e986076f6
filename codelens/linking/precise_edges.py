"""What the indexes of language servers know of a document's names → its edges of provenance `precise`.

Where an index knows a use, the linker takes its word in place of its own: a wrong guess goes, and what syntax found as well is
raised. A repository with such indexes is linked as a whole whenever anything in it or in them changed. Which of an index's
words hold follows from many files at once, so only that makes an update the same as a fresh index.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from codelens.derived import DecodedText, Reference
from codelens.linking.carried import Known
from codelens.linking.catalog import Catalog
from codelens.linking.facts import FUNCTIONS, Definition, DocumentFacts
from codelens.linking.resolve import EDGE_OF, Found, Meaning, Target
from codelens.model import CHUNK_KINDS, TYPE_KINDS, DocumentId, Span, UnitId
from codelens.store.store import Store
from codelens.text.lines import TextMap


def meant_in(known: Known, catalog: Catalog, facts: DocumentFacts) -> dict[int, Meaning]:
    """Place of each name that the indexes know in a document, in the file's own bytes → what it means; in order of place.

    Indexes err: of 102,572 uses in scip-python's of Django 3,971 lead to a thing of another name (`CharField` to
    `DateTimeField`), and equal names in different functions to all of them. Such words do not count.
    """
    document = DocumentId(facts.file.id)
    uses = known.uses(document)
    if not uses:
        return {}
    raw = known.text(document)
    text = TextMap(DecodedText(raw.text, raw.encoding, 1.0, raw.bom))
    starts = [*text.line_starts, len(text.utf8) + 1]
    aliases = {one.alias for one in facts.imports}
    found: dict[int, Meaning] = {}
    for line, column, target in uses:
        if line >= len(starts) or (place := starts[line - 1] + column - 1) >= starts[line]:
            continue
        holder, unit = known.units[target]
        definition = catalog.facts(holder).by_id[unit]
        word = _word(text.utf8, place)
        own = text.to_original(place)
        if (word in aliases or _bears(word, definition)) and _sees(facts, own, definition):
            found.setdefault(own, Meaning(line, [])).definitions.append(definition)
    return found


_WORD = re.compile(r"[@$#]*(\w*)")
_LONGEST_NAME = 400
"""Bytes. Longer ones are looked at so far."""
_LONGEST_IMPORT = 4000
"""Bytes of an import statement up to a name in it. Chosen."""


def _word(utf8: bytes, place: int) -> str:
    found = _WORD.match(utf8[place : place + _LONGEST_NAME].decode("utf-8", "ignore"))
    return found[1] if found else ""


def _bears(word: str, definition: Definition) -> bool:
    """Whether a thing goes by a word: its own name, or for a constructor that of its type. Operators go by none."""
    language, name = definition.facts.file.language, definition.name.lstrip("@$#")
    if not word or word == name or not name.isidentifier():
        return True
    made = definition.parent.name if definition.parent else ""
    return name in (*language.constructors, made) and word in (made, *language.self_names, *language.super_names)


def _sees(facts: DocumentFacts, place: int, definition: Definition) -> bool:
    """Whether a place may name a thing: what is defined in a function, only within it."""
    outer = definition
    while outer.local and outer.parent is not None:
        outer = outer.parent
    return outer is definition or (definition.facts is facts and outer.start <= place < outer.end)


def beyond_references(
    meant: Mapping[int, Meaning], facts: DocumentFacts, references: Sequence[Reference], known: Known
) -> Iterator[Found]:
    """Edges of the names that no pattern of the grammar takes for a use: they are imported there, or only named."""
    taken = {reference.start for reference in references if reference.kind in EDGE_OF}
    left = [place for place in meant if place not in taken]
    imports = _Imports(facts, known) if left else None
    for place, inside in zip(left, _around(facts, left), strict=True):
        line, definitions = meant[place]
        for definition in definitions:
            if imports and (statement := imports.line_of(place, definition)):
                yield Found(None, "imports", Target(definition), statement, "precise")
            elif definition is not inside:
                unit = inside.place if inside else None
                yield Found(unit, "references", Target(definition), line, "precise")


def relate(store: Store, catalog: Catalog, known: Known) -> None:
    """Store which types implement and which members override which others, by the word of the indexes.

    What syntax concluded of the same two gives way; a base that a type names has its edge from there.
    """
    rows = store.units.rows(known.units[source][1] for source, _ in known.relations)
    for pair in sorted(set(known.relations)):
        source, target = (catalog.facts(document).by_id[unit] for document, unit in map(known.units.__getitem__, pair))
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


def _around(facts: DocumentFacts, places: Sequence[int]) -> Iterator[Definition | None]:
    """The innermost unit around each of these places, which ascend."""
    units = [unit for unit in facts.definitions if unit.kind not in CHUNK_KINDS]
    opened: list[Definition] = []
    following = 0
    for place in places:
        while following < len(units) and units[following].start <= place:
            opened.append(units[following])
            following += 1
        while opened and opened[-1].end <= place:
            opened.pop()
        yield opened[-1] if opened else None


class _Imports:
    """The imports of a document by what they bring."""

    def __init__(self, facts: DocumentFacts, known: Known) -> None:
        self._text = known.text(DocumentId(facts.file.id))
        self._named = {name: [i for i in facts.imports if i.name == name] for name in {i.name for i in facts.imports}}

    def line_of(self, place: int, definition: Definition) -> int:
        """The line of the import statement that names a definition at a place; 0 if there is none.

        An import is stored with the place of its module, from which a statement goes on in its line, or within brackets.
        """
        for one in self._named.get(definition.name, ()):
            if 0 <= place - one.start <= _LONGEST_IMPORT:
                between = self._text.slice(Span(one.start, place))
                if "\n" not in between or (set("({") & set(between) and not set(")}") & set(between)):
                    return one.line
        return 0

"""Find every place that names a definition, and how sure it is that the definition is meant.

The text index shows which files have the name. Their tokens are read again from the snapshot and judged one by one, so the list is
complete by construction; stored edges only add lines on which the definition has another name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from codelens.graph.certainty import A_LOCAL, ANOTHER, SEVERAL, TIER_OF_CERTAINTY, CertaintyJudge, Target
from codelens.graph.meanings import FIELD, PARAMETER, NameReader, TokenMeaning, find_resolver, read_text
from codelens.graph.targets import ResolvedTarget
from codelens.graph.view import GraphView, find_overridden, find_overriding, read_incoming
from codelens.lang.registry import NO_LANGUAGE, find_family, is_prose, languages
from codelens.lang.tokens import NameToken, Role, SizedCache, find_tokens
from codelens.linking.catalog import Catalog
from codelens.linking.references import Resolver
from codelens.model.code import CHUNK_KINDS, TYPE_KINDS, DocumentId, RepositoryId, UnitId, UnitRow
from codelens.model.fast_dataclass import replace
from codelens.model.graph import (
    EDGE_OF,
    LIKELY,
    ONLY_BY_NAME,
    RESOLVED,
    SURE,
    TIERS,
    Edge,
    NamedNode,
    Node,
    Relation,
    make_document_node,
)
from codelens.store.documents import DocumentRow
from codelens.store.postings import build_trigram_query
from codelens.store.targets import SAME_NAME, is_same_thing
from codelens.text.lines import TextMap

MOST_READ = 2000  # Limit of files whose tokens are read; further ones are counted and not listed
SMALLEST = 4_000  # Bytes of a file above which functions without the name are not parsed
MOST_KEPT = 8_000_000  # Bytes of tokens and texts kept for later questions
LARGEST = 2_000_000  # Bytes of a file above which its tokens are not read; such files are counted
KIND_OF_ROLE = {Role.CALL: "calls", Role.IMPORT: "imports", Role.TYPE: "type_hint_of", Role.TEXT: "documents"}
"""Role of a name → kind of edge that a place with this role gets; `references` for other roles."""
OUTSIDE_CODE = "comments, strings and documents"


class NamedPlace(NamedTuple):
    """A token that names, or may name, the target. Offsets count bytes of the file."""

    document: DocumentRow
    line: int
    column: int
    start: int
    end: int
    role: str
    kind: str  # Kind of edge for this place
    certainty: str
    unit: Node  # The enclosing definition, or the document
    bare: bool = True  # False after a dot


TokensRead = tuple[list[NameToken], TextMap | None, bool]
"""(tokens of a name in a document, its text if it has any, True if the grammar could read all of it)."""
_token_cache = SizedCache[TokensRead](MOST_KEPT)


class PlaceFinder:
    """A finder of one target's places. `excluded` counts tokens with another meaning, `unread` the files left out."""

    def __init__(self, view: GraphView, target: Target, with_text: bool = False) -> None:
        self.view, self.target, self._with_text = view, target, with_text
        self.excluded = Counter[str]()
        self.unread = 0
        self._is_late = False
        self.partly_parsed = 0
        self.steps = 0  # Tokens read, plus questions that the linker answered for them
        self.documents = set[DocumentId]()  # Files that contain the name
        self.declared: list[tuple[DocumentRow, str, int, int]] = []
        """(file, type, start, line) of each declaration or certain use of a field of this name."""

    def find_places(self) -> list[NamedPlace]:
        """Find the places that mean, or may mean, the target, by path and position."""
        places = [place for names in self.read_documents() for place in self._judge_tokens(names)]
        if self.target.kind == FIELD:
            places = list(self._filter_by_field_languages(places))
        self.excluded.update(place.certainty for place in places if place.certainty in (ANOTHER, A_LOCAL))
        return [place for place in places if place.certainty not in (ANOTHER, A_LOCAL)]

    def read_documents(self) -> Iterator[NameReader]:
        """Read each document that contains the name, with its tokens, in order of path."""
        resolvers: dict[RepositoryId, Resolver] = {} if (kept := self.view.store.resolvers) is None else kept
        documents = self._find_documents()
        for number, document in enumerate(documents):
            if number == MOST_READ or self.view.store.budget.is_over():
                self.unread += len(documents) - number
                self._is_late = number < MOST_READ
                break
            resolver = find_resolver(self.view.store, document.repository, resolvers)
            tokens, text = self._read_tokens(document, resolver.catalog)
            if text is not None and tokens:
                before = resolver.values.steps
                yield NameReader(resolver, document, text, self.target.name, tokens)
                self.steps += len(tokens) + resolver.values.steps - before

    def read_arguments(self, function: UnitRow) -> Iterator[tuple[NameReader, TokenMeaning]]:
        """Find the tokens that name, or may name, the target as a keyword argument in a call of a function."""
        for names in self.read_documents():
            for token in names.tokens if not is_prose(names.document.language) else ():
                if token.bare and token.role not in (Role.IMPORT, Role.TEXT):
                    meaning = names.read_meaning(token)
                    if not meaning.is_known or meaning.key == (PARAMETER, function.id, self.target.name):
                        yield names, meaning

    def _find_documents(self) -> list[DocumentRow]:
        """Find the files in the view that may contain the name: by trigrams, or all files if it is too short for them."""
        view, store, name = self.view, self.view.store, self.target.name
        allowed = None
        if store.read_features().fuzzy and (expression := build_trigram_query(name)):
            allowed = set(store.postings.find_documents(expression))
        return [row for row in view.list_documents(allowed) if view.has_document(row.id)]

    def _read_tokens(self, document: DocumentRow, catalog: Catalog) -> tuple[list[NameToken], TextMap | None]:
        """Read the tokens of the name in a file, and the file's text; no tokens if the file cannot name the target."""
        row = languages().get(document.language, NO_LANGUAGE)
        is_code = bool(row.grammar) and not row.prose
        if is_code and self.target.kin not in ("", row.kin):
            return [], None
        if document.stamp.size > LARGEST:
            self.unread += 1
            return [], None
        key = (document.content_hash, document.encoding, document.language, self.target.name)
        parse = partial(self._parse_tokens, document, catalog, is_code)
        tokens, text, is_complete = _token_cache.find_or_make(key, parse)
        self.partly_parsed += not is_complete
        if tokens:
            self.documents.add(document.id)
        if not self._with_text:
            code = [token for token in tokens if token.role != Role.TEXT]
            self.excluded[OUTSIDE_CODE] += len(tokens) - len(code)
            tokens = code
        return tokens, text

    def _parse_tokens(self, document: DocumentRow, catalog: Catalog, is_code: bool) -> tuple[TokensRead, int]:
        """Parse the tokens of the name in a file; returns also their size in memory. The text is kept only if it has the name."""
        text, name = read_text(document, self.view.store), self.target.name
        functions = list[tuple[int, int]]()
        if is_code and document.stamp.size > SMALLEST and name.encode() in text.utf8:
            definitions = (d for d in catalog.read_facts(document.id).definitions if d.kind in ("function", "method"))
            functions = [(text.to_utf8(d.start), text.to_utf8(d.end)) for d in definitions]
        tokens, is_complete = find_tokens(text.utf8, document.language, name, functions)
        size = 400 * (len(tokens) + 1) + (2 * len(text.utf8) if tokens else 0)
        return (tokens, text if tokens else None, is_complete), size

    def _judge_tokens(self, names: NameReader) -> Iterator[NamedPlace]:
        """Judge the tokens of a document; yields a place for each token, even if it does not mean the target."""
        judge, text, document = CertaintyJudge(self.target, names), names.text, names.document
        closures = list(_find_closures(self.target, names))
        for token in names.tokens:
            meaning = names.read_meaning(token)
            reference, role = meaning.reference, token.role
            if (definition := names.defined.get(reference.start)) is not None:
                if definition.id == self.target.start:
                    continue
                role, certainty = judge.judge_definition(definition, token)
            else:
                certainty = judge.judge_token(meaning)
            if token.bare and role in _LEXICAL and closures and not any(a <= token.start < b for a, b in closures):
                certainty = ANOTHER
            if self.target.fields and certainty == SURE:
                is_declared = role == Role.DECLARATION and definition is None
                owner = meaning.field_holder if role != Role.KEY and not is_declared else None
                if is_declared or owner is not None:
                    holder = owner.name if owner is not None else token.holder
                    self.declared.append((document, holder, reference.start, reference.line))
            kind = EDGE_OF.get(reference.kind, "") if names.is_stored(reference) else ""
            unit = names.facts.definitions[reference.unit].id if reference.unit is not None else None
            yield NamedPlace(
                *(document, *text.find_line_column(token.start), reference.start, text.to_original(token.end), role),
                *(kind or KIND_OF_ROLE.get(role, "references"), certainty),
                *(Node(unit) if unit is not None else make_document_node(document.id), token.bare),
            )

    def _filter_by_field_languages(self, places: Sequence[NamedPlace]) -> Iterator[NamedPlace]:
        holders = {(find_family(document.language), holder) for document, holder, *_ in self.declared}
        kins = {kin for kin, _ in holders}
        for place in places:
            if find_family(place.document.language) in kins or place.role == Role.NAME:
                is_code = not place.bare and place.role not in (Role.NAME, Role.TEXT)
                is_likely = is_code and place.certainty == ONLY_BY_NAME and len(holders) == 1
                yield place._replace(certainty=LIKELY) if is_likely else place

    def name_fields(self) -> list[NamedNode]:
        """List the fields of this name as nodes, each at its first declaration."""
        fields, name = dict[tuple[object, str], NamedNode](), self.target.name
        for document, holder, start, line in self.declared:
            fields[document.repository, holder] = fields.get((document.repository, holder)) or replace(
                self.view.name_node(make_document_node(document.id)),
                kind="field",
                name=name,
                qualified_name=f"{holder}.{name}" if holder else name,
                line=line,
                start_byte=start,
                end_byte=start + len(name.encode()),
            )
        return list(fields.values())

    def summarize(self, listed: Sequence[Relation]) -> str:
        """Describe in one sentence how sure the listed places are, and how many are not listed."""
        counts = Counter(relation.certainty for relation in listed)
        parts = [f"{counts[SURE]} resolved, {counts[LIKELY]} likely, {counts[ONLY_BY_NAME]} by name only"]
        if elsewhere := self.excluded[OUTSIDE_CODE]:
            parts.append(f"{elsewhere} in {OUTSIDE_CODE}; --text lists them too")
        if others := self.excluded[ANOTHER] + self.excluded[A_LOCAL]:
            parts.append(f"{others} mean something else of that name")
        if self.partly_parsed:
            parts.append(f"{self.partly_parsed} file{'s' * (self.partly_parsed != 1)} could be parsed only in part")
        if self.unread:
            files = f"{self.unread} file{'s' * (self.unread != 1)} not read"
            parts.append(f"{files}, since the time is spent (setting query_seconds)" if self._is_late else files)
        return "; ".join(parts)


_LEXICAL = (Role.CALL, Role.TYPE, Role.WRITE, "read", "argument")
"""Roles of bare names that are looked up in enclosing functions."""


def _find_closures(target: Target, names: NameReader) -> Iterator[tuple[int, int]]:
    """Find the scope of each of the target's definitions: (start, end) of the function around it, or of the whole text."""
    text = names.text
    for token in names.tokens:
        definition = names.defined.get(text.to_original(token.start))
        if definition is not None and definition.id in target.units:
            first, last = text.to_utf8(definition.start), text.to_utf8(definition.end)
            outer = (span for span in token.functions if span[0] < first or last < span[1])
            yield next(outer, (0, len(text.utf8)))


def find_nearby_places(view: GraphView, document: DocumentRow, name: str, line: int) -> list[NamedPlace]:
    """Find the places of a name in the outermost function around a line that has it, or in the whole file."""
    if document.stamp.size > LARGEST:
        return []
    text = read_text(document, view.store)
    tokens, _ = find_tokens(text.utf8, document.language, name)
    places = [(token, *text.find_line_column(token.start)) for token in tokens]
    around = next((token.functions[-1:] for token, at, _ in places if at == line), ())
    node = make_document_node(document.id)
    return [
        NamedPlace(
            *(document, at, column, text.to_original(token.start), text.to_original(token.end), token.role),
            *(KIND_OF_ROLE.get(token.role, "references"), ONLY_BY_NAME, node, token.bare),
        )
        for token, at, column in places
        if all(start <= token.start < end for start, end in around)
    ]


def find_named_unit(view: GraphView, start: ResolvedTarget) -> UnitRow | None:
    """Find the row of a target that is a single, named definition."""
    unit = view.find_unit(start.nodes[0]) if len(start.nodes) == 1 else None
    return unit if unit is not None and unit.kind not in CHUNK_KINDS and unit.name.isprintable() else None


def find_unstored_edges(view: GraphView, start: ResolvedTarget) -> Iterator[Edge]:
    """Find edges, as sure as the view asks, from places that name a target without a stored edge, such as indirect calls."""
    unit = find_named_unit(view, start)
    if unit is None:
        return
    node = start.nodes[0]
    edges = read_incoming(view.store, [node])
    stored = {(owner.id, e.line) for e in edges if (owner := view.find_document_of(e.source))}
    finder = PlaceFinder(view, make_target(view, [unit]))
    places = finder.find_places()
    view.unread += finder.unread
    for place in places:
        tier = TIERS[TIER_OF_CERTAINTY[place.certainty]]
        is_use = place.role not in (Role.DEFINITION, Role.DECLARATION) and (place.document.id, place.line) not in stored
        if tier.confidence < max(view.least, RESOLVED) or not is_use:
            continue
        in_test = place.kind == "calls" and view.is_test(place.unit) and not view.is_test(node)
        kind = "tests" if in_test else place.kind
        yield Edge(place.unit, kind, node, place.line, tier.provenance, tier.confidence)


def make_target(view: GraphView, units: Sequence[UnitRow], fields: bool = False) -> Target:
    """Make the target for definitions of one name; with `fields`, include the fields of that name."""
    store, first = view.store, units[0]
    kins = {find_family(unit.language) for unit in units}
    named = store.units.read_rows([UnitId(u) for u, *_ in store.units.find_namesakes(first.name)]).values()
    code = [other for other in named if not is_prose(other.language) and find_family(other.language) in kins]
    alike = ((u, unit) for u in code for unit in units if u.qualified_name == unit.qualified_name)
    same = {u.id for u, unit in alike if _are_one_thing(u, unit)}
    same |= {unit.id for unit in (code if len(units) >= SAME_NAME else units)}
    nodes = [Node(u) for u in same]
    above = set[Node]().union(*find_overridden(view, nodes).values())
    family = above.union(*find_overriding(view, [*nodes, *above]).values())
    others = [u for u in code if u.id not in same and Node(u.id) not in family]
    namesakes = sum(not any(_are_type_and_constructor(u, unit) for unit in units) for u in others)
    holders = {unit.container.rpartition(".")[2] if unit.container and not unit.local else "" for unit in units}
    holder = holders.pop() if len(holders) == 1 else SEVERAL
    kin, start = kins.pop() if len(kins) == 1 else "", first.id if len(units) == 1 else 0
    ids, kind = (frozenset(same), frozenset(family - same)), first.kind
    return Target(first.name, kin, start, *ids, kind, holder, namesakes, fields)


def _are_one_thing(first: UnitRow, second: UnitRow) -> bool:
    """True if two units are one thing by `is_same_thing`, overloads in one file, or parts of a type in several files."""
    if is_same_thing(first, second) or is_same_thing(second, first):
        return True
    if first.document == second.document:
        gap = max(first.start_line, second.start_line) - min(first.end_line, second.end_line)
        return bool(first.container) or find_family(first.language) != "ecmascript" or gap <= MOST_BETWEEN
    is_open = first.kind == second.kind and first.kind in (*TYPE_KINDS, "module")
    return is_open and bool(languages()[first.language].open_types)


MOST_BETWEEN = 2
"""Most lines between overloads of a script's function. Tests define unrelated functions of one name in closures."""


def _are_type_and_constructor(unit: UnitRow, other: UnitRow) -> bool:
    holders = (unit.container.rpartition(".")[2], other.container.rpartition(".")[2])
    return unit.name == other.name and unit.name in holders

"""Find the definitions, references and imports of a text with its language's query.

Everything specific to a language is in its query file and its row of languages.toml. The captures:

    @definition.KIND   a whole definition; @definition alone widens one that another pattern names (decorators, templates)
    @name              its name (default: the node's field `name`); where several patterns name it, the first in the
                       file gives the kind and the head
    @body              its body (default: the node's field `body`)
    @container         enclosing name that the definition itself says (a Go receiver, C++ `Foo::`)
    @doc               a doc string inside the definition (comments before it are found without a capture)
    @decorator         a decorator or annotation inside it
    @scope             a region that encloses definitions without being one (a Rust impl), with its @name; functions in
                       it are methods, but in @scope.namespace they stay functions
    @namespace         the package or namespace of the whole file
    @reference.KIND    a used name, with @receiver before its dot; of LITERAL_KINDS the text of a string, of which
                       codelens/lang/matches.py takes the name (@receiver then is the verb, where one is written)
    @binding.name    a variable, parameter or field, with what the same match says of it: @binding.type (declared), @binding.value
                     (assigned) or @binding.element (run over); alone it only hides an outer name
    @binding.declarator   in place of the name where it lies under fields `declarator` (C's pointers and dimensions)
    @binding.member  a parameter's name that is a member of the type around as well
    @binding.return  the declared result of the function around it; @binding.result what a return statement
                     gives, @binding.yield what a generator does
    @closure         an unnamed function: its return values are not results of the function around it
    @prototype       parameters without a body: their names are bound nowhere
    @import.module, @import.name, @import.alias    one imported name a match; `(#set! import.name "default")` gives a part that
                       the text does not say
    @import.prefix     a path that goes before the module of every import inside its parent (Rust `a::{b, c}`)

`(#touch? @a @b)` is true if @b begins at the byte where @a ends. A @reference.use, .type or .field is dropped for a
stronger kind at the same place, and for the name of a definition (a name that only @definition captures
is not a symbol, but a type parameter). Do not use `#not-any-of?`: py-tree-sitter 0.26 lets all pass (`#not-match?` works).

A function inside a type is a method, whatever the grammar calls it; inside a function it is local. All offsets in
this module count UTF-8 bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import Any

import tree_sitter

from codelens.lang.comments import clean_comment, find_doc_before, strip_tags
from codelens.lang.matches import CaptureCollector, DefinitionDraft, decode_node, find_name_part, is_set, strip_name
from codelens.lang.parser import load_grammar
from codelens.lang.protobuf import RULES as PROTOBUF
from codelens.lang.protobuf import read_protobuf
from codelens.lang.registry import Language, languages
from codelens.model.code import MAX_SIGNATURE, PARTLY, TYPE_KINDS, Span
from codelens.model.extraction import LITERAL_KINDS, Binding, Extraction, Reference, Unit
from codelens.model.fast_dataclass import dataclass
from codelens.text.lines import SpanFinder

MAX_DOC = 4000  # Characters; of 3,800 doc comments that were measured, three are longer
_ENDLESS = 1 << 62  # An end beyond that of any file, for the outermost region


@dataclass(slots=True)
class _OpenRegion:
    """A region that contains the current place of the sweep."""

    start: int
    end: int
    path: str = ""
    unit: int | None = None
    kind: str = ""
    local: bool = False


def nest_definitions(gathered: CaptureCollector) -> tuple[list[Unit], list[tuple[int, int]]]:
    """Turn drafts into ordered units, each with its container and parent, in one sweep with a stack; returns (units, spans)."""
    language = gathered.language
    units: list[Unit] = []
    spans: list[tuple[int, int]] = []
    stack: list[_OpenRegion] = [_OpenRegion(-1, _ENDLESS)]
    for draft in sorted([d for d in gathered.drafts.values() if d.kind] + gathered.scopes, key=DefinitionDraft.order):
        outer = draft.outer
        span = start, end = outer.start_byte, outer.end_byte
        while stack[-1].end <= start or (stack[-1].start, stack[-1].end) == span:  # names of one statement are siblings
            stack.pop()
        top = stack[-1]
        name = strip_name(decode_node(draft.name), language) if draft.name else ""
        local = top.local or top.kind in ("function", "method", "property")
        ancestor = outer.parent if language.functions else None
        # An unnamed function may lie between the definition and the unit around it.
        while ancestor is not None and ancestor.end_byte < top.end and not local:
            local, ancestor = ancestor.type in language.functions, ancestor.parent
        if not draft.kind:
            stack.append(_OpenRegion(start, end, _join_names(top.path, name), top.unit, draft.region, local))
            continue
        if draft.kind in ("variable", "constant"):
            last = outer.child(outer.child_count - 1) if outer.child_count else None
            if local or (last is not None and last.is_missing):
                continue  # where the parser inserted the end of a variable, it is a macro before something else
        if not name:
            continue
        container = _join_names(top.path, draft.container)
        is_method = top.kind in TYPE_KINDS or top.kind == "scope" or bool(draft.container)
        kind = "method" if draft.kind == "function" and is_method else draft.kind
        # Content of a wrapper without a name (an IIFE, describe(() => …)) has no container.
        units.append(_make_unit(draft, kind, name, top, local and top.unit is not None, gathered))
        spans.append(span)
        stack.append(_OpenRegion(start, end, _join_names(container, name), len(units) - 1, kind, local))
    return units, spans


def _join_names(path: str, name: str) -> str:
    name = name.replace("::", ".").strip(".")
    return f"{path}.{name}" if path and name else path or name


def _make_unit(
    draft: DefinitionDraft, kind: str, name: str, top: _OpenRegion, local: bool, gathered: CaptureCollector
) -> Unit:
    language, utf8 = gathered.language, gathered.utf8
    body = draft.body or draft.inner.child_by_field_name("body")
    before, attributes = find_doc_before(draft.outer, language, gathered.claimed)
    inside = draft.doc or [d for d in [gathered.docs.get(draft.inner.start_byte)] if d]
    doc = clean_comment([decode_node(d) for d in inside] or before)
    doc = strip_tags(doc) if language.tagged_docs else doc
    decorators = map(decode_node, sorted(draft.decorators, key=attrgetter("start_byte")))
    lines = dict.fromkeys(_cut_first_line(text.lstrip("@")) for text in decorators)
    place = draft.name or draft.outer
    start, row, _ = _find_first_word(draft.outer, utf8)
    name_start, name_row, name_column = _find_first_word(place, utf8)
    end, (end_row, end_column) = draft.outer.end_byte, draft.outer.end_point
    return Unit(
        kind=kind,
        name=name,
        container=_join_names(top.path, draft.container),
        parent=top.unit,
        span=Span(start, end),
        name_span=Span(name_start, place.end_byte),
        body_start=body.start_byte if body else end,
        start_line=row + 1,
        end_line=end_row + 1 if end_column or end_row == draft.outer.start_point[0] else end_row,
        name_line=name_row + 1,
        name_column=name_column + 1,
        signature=_read_signature(draft, body, language, utf8),
        doc=doc[:MAX_DOC],
        decorators=(*attributes, *lines),
        local=local,
    )


def _find_first_word(node: tree_sitter.Node, utf8: bytes) -> tuple[int, int, int]:
    """Find (byte, row, column) of a node's first non-blank byte: some grammars include the blanks before a name in it."""
    row, column = node.start_point
    if not utf8[node.start_byte : node.start_byte + 1].isspace():
        return node.start_byte, row, column
    text = utf8[node.start_byte : node.end_byte]
    blanks = len(text) - len(text.lstrip())
    if lines := text.count(b"\n", 0, blanks):
        return node.start_byte + blanks, row + lines, blanks - 1 - text.rfind(b"\n", 0, blanks)
    return node.start_byte + blanks, row, column + blanks


def _read_signature(draft: DefinitionDraft, body: tree_sitter.Node | None, language: Language, utf8: bytes) -> str:
    """Read a definition's text before its body, or its first line, on one line without comments and annotations."""
    node = draft.inner
    end = body.start_byte if body and body.start_byte > node.start_byte else node.end_byte
    aside = [child for child in node.children if child.type in language.comments | language.attributes]
    head, at = b"", node.start_byte
    for part in sorted(aside + draft.decorators, key=lambda part: part.start_byte):
        if at <= part.start_byte and part.end_byte <= end:
            head += utf8[at : part.start_byte]
            at = part.end_byte
    head += utf8[at:end]
    text = head.decode("utf-8", "replace")
    text = text.rstrip().rstrip(";") if end < node.end_byte else _cut_first_line(text)
    if draft.name and end <= draft.name.start_byte:
        text += " " + decode_node(draft.name)  # typedef struct { … } Name
    return " ".join(text.split())[:MAX_SIGNATURE].rstrip("{=;\\ ")


def _cut_first_line(text: str) -> str:
    return text.strip().split("\n", 1)[0].rstrip()


_STRENGTH = {"use": 0, "type": 1, "field": 1, "endpoint": 1, "env": 3}
"""Kind of reference → strength: at each place, only the strongest counts. Other kinds have strength 2, a definition's name 3."""
_GOES_ON = (b"$", b"#", b"{", b"\\")
"""Bytes after a literal's text that show that the literal continues: interpolation and escapes of all languages."""


def extract_captures(utf8: bytes, language: str, definitions_only: bool = False) -> Extraction:
    """Extract everything that the query of `language` finds. Raises GrammarMissing. A bad grammar may hang or abort the process."""
    grammar = load_grammar(language, definitions_only)
    tree = grammar.parse(utf8)
    gathered = CaptureCollector(languages()[language], grammar.query, utf8)

    def evaluate_touch(predicate: str, args: list[Any], pattern_index: int, captures: dict[str, list[Any]]) -> bool:
        """Evaluate `#touch?`, the only predicate that tree-sitter does not know."""
        before, after = (captures[capture][0] for capture, _ in args)
        return predicate == "touch?" and before.end_byte == after.start_byte

    for pattern, captures in tree_sitter.QueryCursor(grammar.query).matches(tree.root_node, evaluate_touch):
        gathered.add_match(pattern, captures)
    units, spans = nest_definitions(gathered)
    references = tuple(_list_references(gathered, spans))
    return Extraction(
        namespace=gathered.namespace,
        units=tuple(units),
        references=references,
        imports=gathered.place_imports(),
        fault=PARTLY if tree.root_node.has_error else "",
        bindings=tuple(_list_bindings(gathered, units, spans, references)),
    )


def _list_references(gathered: CaptureCollector, spans: list[tuple[int, int]]) -> Iterable[Reference]:
    """List references in order, each with the innermost unit around it."""
    captured, language, utf8 = gathered.references, gathered.language, gathered.utf8
    strongest = {start: 3 for start, end in gathered.drafts if end >= 0}
    for start, kind in captured:
        strongest[start] = max(strongest.get(start, 0), _STRENGTH.get(kind, 2))
    around = SpanFinder(spans)
    at_start = {start: unit for unit, (start, _) in reversed([*enumerate(spans)])} if language.attributes else {}
    line, counted = 1, 0
    for (start, kind), (node, receiver) in sorted(captured.items(), key=itemgetter(0)):
        end = node.end_byte
        if _STRENGTH.get(kind, 2) < strongest[start] or start == end:
            continue  # a stronger pattern matches here, or the parser inserted the name
        name, place = utf8[start:end].decode("utf-8", "replace"), start
        if kind in LITERAL_KINDS:
            part = find_name_part(kind, name, is_whole=utf8[end : end + 1] not in _GOES_ON)
            if part is None or (kind == "env" and is_set(utf8, start, end)):
                continue
            place, name = start + len(name[: part[0]].encode()), name[part[0] : part[1]]
            receiver = strip_name(receiver, language)
        elif not name[0].isidentifier():
            name = name.lstrip().lstrip(language.sigils)
            place = end - len(name.encode())
        # Counting line ends on the way is several times cheaper than the position of each node.
        line, counted = line + utf8.count(b"\n", counted, place), place
        unit = around.find(start)
        if kind == "route":
            unit = at_start.get(_find_decorated(node, language), unit)
        yield Reference(kind, name, receiver, unit, place, line)


def _find_decorated(node: tree_sitter.Node, language: Language) -> int:
    """Find the start byte of the definition that follows the attribute around `node`; -1 if not found."""
    around = node.parent
    while around and around.type not in language.attributes:
        around = around.parent
    while around and around.type in language.attributes | language.comments:
        around = around.next_named_sibling
    return around.start_byte if around else -1


_BASES = {"extends": "base", "implements": "interface"}


def _list_bindings(
    gathered: CaptureCollector, units: Sequence[Unit], spans: list[tuple[int, int]], references: Sequence[Reference]
) -> list[Binding]:
    """List bindings in order, each with the innermost unit around it, including the bases that references name.

    Skips the results of closures, imported names, and names without a text that also have a type, a value or a definition.
    """
    closures = sorted(gathered.closures, key=lambda span: (span[0], -span[1]))
    prototypes = sorted(gathered.prototypes, key=lambda span: (span[0], -span[1]))
    around, within, aside = SpanFinder(spans), SpanFinder(closures), SpanFinder(prototypes)
    defined = {unit.name_span.start for unit in units}
    bindings: list[Binding] = []
    for (start, how), (name, text) in sorted(gathered.bindings.items()):
        if start in gathered.imported or (not text and start in defined):
            continue
        unit, number = around.find(start), within.find(start)
        closure = closures[number] if number is not None else None
        if closure is not None and unit is not None and not _is_inside(closure, spans[unit]):
            closure = None
        if how in ("return", "result"):
            if closure is not None:
                continue
        elif (not text and bindings and bindings[-1].start == start) or aside.find(start) is not None:
            continue
        until = closure[1] if closure is not None else 0
        bindings.append(Binding(how, name, text, unit, start, until))
        if unit is not None and (member := gathered.members.get(start)):
            bindings.append(Binding(how, decode_node(member), text, units[unit].parent, member.start_byte))
    bindings += _list_bases(gathered, spans, references)
    bindings.sort(key=attrgetter("start"))
    return bindings


def _list_bases(
    gathered: CaptureCollector, spans: list[tuple[int, int]], references: Sequence[Reference]
) -> Iterable[Binding]:
    """List the bases of units, or of the type that a scope extends; an anonymous class is a scope named by its base."""
    sharp = {r.start for r in references if _STRENGTH.get(r.kind, 2) > 1}
    named = [(s.outer, s.name) for s in gathered.scopes if s.name is not None and s.region == "scope"]
    scopes = sorted(((o.start_byte, o.end_byte), name.start_byte, decode_node(name)) for o, name in named)
    around = SpanFinder([span for span, _, _ in scopes])
    for r in references:
        if r.kind not in _BASES:
            continue
        text, name = f"{r.receiver}.{r.name}" if r.receiver else r.name, ""
        scope = around.find(r.start)
        if scope is not None and (r.unit is None or _is_inside(scopes[scope][0], spans[r.unit])):
            _, place, name = scopes[scope]
            if place in sharp:
                continue
        yield Binding(_BASES[r.kind], name, text, r.unit, r.start)


def _is_inside(inner: tuple[int, int], outer: tuple[int, int]) -> bool:
    return inner != outer and outer[0] <= inner[0] and inner[1] <= outer[1]


READERS: Mapping[str, tuple[str, Callable[[bytes], Extraction]]] = {"protobuf": (PROTOBUF, read_protobuf)}
"""Language without a grammar → (version of our own reader, which is part of the recipe; the reader, called with UTF-8 bytes)."""


def find_reader_version(language: str) -> str:
    """Find the version of the language's own reader; empty if it has none."""
    return READERS[language][0] if language in READERS else ""


def extract_symbols(utf8: bytes, language: str, definitions_only: bool = False) -> Extraction:
    """Extract everything that the reader or the query of `language` finds. Raises GrammarMissing if it has neither."""
    return READERS[language][1](utf8) if language in READERS else extract_captures(utf8, language, definitions_only)

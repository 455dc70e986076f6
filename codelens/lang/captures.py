"""A text and its language's query → definitions, references and imports.

All knowledge of a language is in its query file and its row of languages.toml. The captures:

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
                       codelens/lang/literals.py takes the name (@receiver then is the verb, where one is written)
    @binding.name    a variable, parameter or field, with what the same match says of it: @binding.type (declared), @binding.value
                     (assigned) or @binding.element (run over); alone it only hides an outer name
    @binding.declarator   in place of the name where it lies under fields `declarator` (C's pointers and dimensions)
    @binding.member  a parameter's name that is a member of the type around as well
    @binding.return  the declared result of the function around it; @binding.result what a return statement
                     gives, @binding.yield what a generator does
    @closure         an unnamed function: what it returns is no result of the function around it
    @prototype       parameters without a body: their names are bound nowhere
    @import.module, @import.name, @import.alias    one imported name a match; `(#set! import.name "default")` gives a part that
                       the text does not say
    @import.prefix     a path that goes before the module of every import inside its parent (Rust `a::{b, c}`)

`(#touch? @a @b)` holds where @b begins at the byte where @a ends. A @reference.use, .type or .field gives way to a
sharper kind at the same place, and to the name of a definition (a name that only @definition takes
is no symbol, but a type parameter). Do not use `#not-any-of?`: py-tree-sitter 0.26 lets all pass (`#not-match?` works).

A function inside a type is a method, whatever the grammar calls it; inside a function it is local. All offsets here
count UTF-8 bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter, itemgetter
from typing import Literal

import tree_sitter

from codelens.derived import LITERAL_KINDS, Binding, Extraction, Reference, Unit
from codelens.lang.gather import Gathered, Key, bare, text_of
from codelens.lang.literals import is_set, said
from codelens.lang.nesting import nest
from codelens.lang.parser import load_grammar
from codelens.lang.registry import Language, languages
from codelens.model import PARTLY

_STRENGTH = {"use": 0, "type": 1, "field": 1, "endpoint": 1, "env": 3}
"""Of two kinds of reference at one place the stronger stands: those not named here are 2, the name of a definition 3."""
_GOES_ON = (b"$", b"#", b"{", b"\\")
"""What follows the text of a literal where it is not all: the marks of interpolation and escapes, in all languages."""


def extract_captures(utf8: bytes, language: str, definitions_only: bool = False) -> Extraction:
    """Everything the query of `language` finds. Raises GrammarMissing; hangs and aborts are the caller's to survive."""
    grammar = load_grammar(language, definitions_only)
    tree = grammar.parser.parse(utf8)
    gathered = Gathered(languages()[language], grammar.query, utf8)
    for pattern, captures in tree_sitter.QueryCursor(grammar.query).matches(tree.root_node, _predicate):
        gathered.take(pattern, captures)
    units, spans = nest(gathered)
    references = tuple(_references(gathered, spans))
    return Extraction(
        namespace=gathered.namespace,
        units=tuple(units),
        references=references,
        imports=gathered.placed_imports(),
        fault=PARTLY if tree.root_node.has_error else "",
        bindings=tuple(_bindings(gathered, units, spans, references)),
    )


def _predicate(
    predicate: str,
    args: list[tuple[str, Literal["capture", "string"]]],
    pattern_index: int,
    captures: dict[str, list[tree_sitter.Node]],
) -> bool:
    """The one condition that tree-sitter does not know itself."""
    before, after = (captures[capture][0] for capture, _ in args)
    return predicate == "touch?" and before.end_byte == after.start_byte


def _references(gathered: Gathered, spans: list[Key]) -> Iterable[Reference]:
    """References in order of their place, each with the innermost unit around it."""
    found, language, utf8 = gathered.references, gathered.language, gathered.utf8
    strongest = {start: 3 for start, end in gathered.drafts if end >= 0}
    for start, kind in found:
        strongest[start] = max(strongest.get(start, 0), _STRENGTH.get(kind, 2))
    around = _Enclosing(spans)
    at_start = {start: unit for unit, (start, _) in reversed([*enumerate(spans)])} if language.attributes else {}
    line, counted = 1, 0
    for (start, kind), (node, receiver) in sorted(found.items(), key=_by_key):
        end = node.end_byte
        if _STRENGTH.get(kind, 2) < strongest[start] or start == end:
            continue  # a sharper pattern speaks of the same place, or the parser made the name up
        name, place = utf8[start:end].decode("utf-8", "replace"), start
        if kind in LITERAL_KINDS:
            part = said(kind, name, is_whole=utf8[end : end + 1] not in _GOES_ON)
            if part is None or (kind == "env" and is_set(utf8, start, end)):
                continue
            place, name = start + len(name[: part[0]].encode()), name[part[0] : part[1]]
            receiver = bare(receiver, language)
        elif not name[0].isidentifier():
            name = name.lstrip().lstrip(language.sigils)
            place = end - len(name.encode())
        # Counting line ends as it goes is several times cheaper than asking each node for its place.
        line, counted = line + utf8.count(b"\n", counted, place), place
        unit = around.at(start)
        if kind == "route":
            unit = at_start.get(_decorated(node, language), unit)
        yield Reference(kind, name, receiver, unit, place, line)


def _decorated(node: tree_sitter.Node, language: Language) -> int:
    """Where the definition begins that an attribute around a node stands before as a sibling; -1 where there is none."""
    around = node.parent
    while around and around.type not in language.attributes:
        around = around.parent
    while around and around.type in language.attributes | language.comments:
        around = around.next_named_sibling
    return around.start_byte if around else -1


_BASES = {"extends": "base", "implements": "interface"}


def _bindings(
    gathered: Gathered, units: Sequence[Unit], spans: list[Key], references: Sequence[Reference]
) -> list[Binding]:
    """Bindings in order of their place, each with the innermost unit around it, and the bases that references name.

    Left out are what a closure returns, names that are imported, and bare names that a type, a value or a definition speaks of.
    """
    closures = _outer_first(gathered.closures)
    around, within, aside = _Enclosing(spans), _Enclosing(closures), _Enclosing(_outer_first(gathered.prototypes))
    defined = {unit.name_span.start for unit in units}
    found: list[Binding] = []
    for (start, how), (name, text) in sorted(gathered.bindings.items()):
        if start in gathered.imported or (not text and start in defined):
            continue
        unit = around.at(start)
        if how in ("return", "result"):
            closure = within.at(start)
            if closure is not None and (unit is None or _inside(closures[closure], spans[unit])):
                continue
        elif (not text and found and found[-1].start == start) or aside.at(start) is not None:
            continue
        found.append(Binding(how, name, text, unit, start))
        if unit is not None and (member := gathered.members.get(start)):
            found.append(Binding(how, text_of(member), text, units[unit].parent, member.start_byte))
    found += _bases(gathered, spans, references)
    found.sort(key=attrgetter("start"))
    return found


def _bases(gathered: Gathered, spans: list[Key], references: Sequence[Reference]) -> Iterable[Binding]:
    """What types build on: of the unit around, or by the name of a scope that adds to a type declared elsewhere.

    An anonymous class is a scope under the name of what it extends or builds: what is said of it is said of no type.
    """
    sharp = {r.start for r in references if _STRENGTH.get(r.kind, 2) > 1}
    scopes = sorted(
        ((s.outer.start_byte, s.outer.end_byte), s.name.start_byte, text_of(s.name))
        for s in gathered.scopes
        if s.name is not None and s.region == "scope"
    )
    around = _Enclosing([span for span, _, _ in scopes])
    for r in references:
        if r.kind not in _BASES:
            continue
        text, name = f"{r.receiver}.{r.name}" if r.receiver else r.name, ""
        scope = around.at(r.start)
        if scope is not None and (r.unit is None or _inside(scopes[scope][0], spans[r.unit])):
            _, place, name = scopes[scope]
            if place in sharp:
                continue
        yield Binding(_BASES[r.kind], name, text, r.unit, r.start)


def _outer_first(spans: Iterable[Key]) -> list[Key]:
    return sorted(spans, key=lambda span: (span[0], -span[1]))


def _inside(inner: Key, outer: Key) -> bool:
    return inner != outer and outer[0] <= inner[0] and inner[1] <= outer[1]


class _Enclosing:
    """The innermost of nested spans around places that are asked for in rising order."""

    def __init__(self, spans: list[Key]) -> None:
        self._spans = spans
        self._stack: list[int] = []
        self._following = 0

    def at(self, place: int) -> int | None:
        """Position of the innermost span around a place; None outside of all."""
        spans, stack = self._spans, self._stack
        while self._following < len(spans) and spans[self._following][0] <= place:
            while stack and spans[stack[-1]][1] <= spans[self._following][0]:
                stack.pop()
            stack.append(self._following)
            self._following += 1
        while stack and spans[stack[-1]][1] <= place:
            stack.pop()
        return stack[-1] if stack else None


_by_key = itemgetter(0)

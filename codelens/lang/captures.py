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
    @reference.KIND    a used name, with @receiver before its dot
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

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from operator import itemgetter
from typing import Literal

import tree_sitter

from codelens.derived import Extraction, Import, Reference, Unit
from codelens.lang.comments import clean_comment, doc_before, without_tags
from codelens.lang.parser import load_grammar
from codelens.lang.registry import Language, languages
from codelens.model import TYPE_KINDS, Span

MAX_SIGNATURE = 300
MAX_DOC = 4000
MAX_RECEIVER = 60
"""Characters. A longer receiver is an expression that names nothing."""

_STRENGTH = {"use": 0, "type": 1, "field": 1}
"""Of two kinds of reference at one place the stronger stands: those not named here are 2, the name of a definition 3."""

Captures = Mapping[str, list[tree_sitter.Node]]
Key = tuple[int, int]


@dataclass(slots=True)
class _Draft:
    """A definition while its matches come in: several patterns may speak of the same name."""

    name: tree_sitter.Node | None
    kind: str
    pattern: int
    inner: tree_sitter.Node
    around: tree_sitter.Node | None = None
    """What @definition alone widens it to."""
    body: tree_sitter.Node | None = None
    container: str = ""
    doc: list[tree_sitter.Node] = field(default_factory=list)
    decorators: list[tree_sitter.Node] = field(default_factory=list)
    region: str = ""
    """Of a scope, which has no kind: whether functions in it are methods."""

    @property
    def outer(self) -> tree_sitter.Node:
        return self.around if self.around and _length(self.around) > _length(self.inner) else self.inner

    def order(self) -> tuple[int, int, int]:
        return (self.outer.start_byte, -self.outer.end_byte, self.name.start_byte if self.name else -1)


def extract_captures(utf8: bytes, language: str) -> Extraction:
    """Everything the query of `language` finds. Raises GrammarMissing; hangs and aborts are the caller's to survive."""
    grammar = load_grammar(language)
    tree = grammar.parser.parse(utf8)
    gathered = _Gathered(languages()[language], grammar.query, utf8)
    for pattern, captures in tree_sitter.QueryCursor(grammar.query).matches(tree.root_node, _predicate):
        gathered.take(pattern, captures)
    units, spans = _nest(gathered)
    return Extraction(
        namespace=gathered.namespace,
        units=tuple(units),
        references=tuple(_references(gathered, spans)),
        imports=gathered.placed_imports(),
        fault="syntax errors" if tree.root_node.has_error else "",
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


class _Gathered:
    """Sorts matches by what they capture."""

    def __init__(self, language: Language, query: tree_sitter.Query, utf8: bytes) -> None:
        self.utf8 = utf8
        self.language = language
        self.query = query
        self.namespace = ""
        self.drafts: dict[Key, _Draft] = {}
        self.scopes: list[_Draft] = []
        self.docs: dict[int, tree_sitter.Node] = {}
        self.references: dict[tuple[int, str], tuple[tree_sitter.Node, str]] = {}
        self.imports: list[Import] = []
        self.unpacked: set[int] = set()
        """Places of modules of which names are imported: these stand for the import of the module itself."""
        self.prefixes: list[tuple[Key, str]] = []
        self.claimed: set[int] = set()

    def take(self, pattern: int, captures: Captures) -> None:
        for capture, nodes in captures.items():
            head, kind = _role(capture)
            if head == "reference":
                self._reference(kind, nodes, captures)
                return
            if head == "definition":
                self._definition(kind, pattern, nodes[0], captures)
                return
            if head == "import":
                self._import(pattern, captures)
                return
            if head == "scope":
                name = _name_of(nodes[0], captures)
                self.scopes.append(_Draft(name, "", pattern, nodes[0], region=kind or "scope"))
                return
            if head == "namespace":
                self.namespace = ".".join(map(_text, nodes))
                return
        for doc in captures.get("doc", ()):
            self.claimed.add(doc.start_byte)
            if owner := _owner(doc):
                self.docs.setdefault(owner.start_byte, doc)

    def _reference(self, kind: str, nodes: list[tree_sitter.Node], captures: Captures) -> None:
        receiver = ""
        if len(captures) > 1 and "receiver" in captures:
            receiver = _text(captures["receiver"][0])
            if len(receiver) > MAX_RECEIVER or "\n" in receiver:
                receiver = ""
        for node in nodes:
            key = (node.start_byte, kind)
            if key not in self.references or receiver:
                self.references[key] = (node, receiver)

    def _definition(self, kind: str, pattern: int, node: tree_sitter.Node, captures: Captures) -> None:
        for name in captures.get("name") or [node.child_by_field_name("name")]:  # type: ignore[list-item]
            key = (name.start_byte, name.end_byte) if name else (node.start_byte, -1)
            draft = self.drafts.get(key)
            if draft is None:
                draft = self.drafts[key] = _Draft(name, kind, pattern, node)
            if not kind:
                draft.around = node if draft.around is None or _length(node) > _length(draft.around) else draft.around
            elif pattern < draft.pattern or not draft.kind:
                draft.kind, draft.pattern, draft.inner = kind, pattern, node
            if "body" in captures:
                draft.body = captures["body"][0]
            if "container" in captures:
                draft.container = ".".join(_text(c) for c in captures["container"])
            if "doc" in captures:
                draft.doc += [doc for doc in captures["doc"] if doc not in draft.doc]
                self.claimed.update(doc.start_byte for doc in captures["doc"])
            draft.decorators += [d for d in captures.get("decorator", ()) if d not in draft.decorators]

    def _import(self, pattern: int, captures: Captures) -> None:
        if "import.prefix" in captures:
            path = captures["import.prefix"][0]
            if (around := path.parent) and (separator := path.next_sibling):
                self.prefixes.append(((around.start_byte, around.end_byte), _text(path) + _text(separator)))
            return
        place = next(nodes[0] for capture, nodes in captures.items() if capture.startswith("import."))
        parts = {k: v or "" for k, v in self.query.pattern_settings(pattern).items()}
        parts |= {k: _bare(".".join(map(_text, v)), self.language) for k, v in captures.items()}
        self.imports.append(
            Import(
                parts.get("import.module", ""),
                parts.get("import.name", ""),
                parts.get("import.alias", ""),
                place.start_byte,
                place.start_point[0] + 1,
            )
        )
        if "import.module" in captures and ("import.name" in parts or "import.alias" in parts):
            self.unpacked.add(captures["import.module"][0].start_byte)

    def placed_imports(self) -> tuple[Import, ...]:
        """Imports in order of their place, with the prefixes around them, outer first."""
        prefixes = sorted(self.prefixes)
        for at, one in enumerate(self.imports if prefixes else ()):
            around = "".join(path for (start, end), path in prefixes if start <= one.start < end)
            if not around:
                continue
            module = around + one.module if one.module else around.rstrip(":./\\")
            self.imports[at] = Import(module, one.name, one.alias, one.start, one.line)
        kept = [i for i in self.imports if i.name or i.alias or i.start not in self.unpacked]
        return tuple(sorted(kept, key=lambda i: (i.start, i.name)))


def _owner(doc: tree_sitter.Node) -> tree_sitter.Node | None:
    """The definition whose body a doc string opens: string → statement → block → definition."""
    node = doc.parent
    for _ in range(2):
        node = node.parent if node else None
    return node


def _name_of(node: tree_sitter.Node, captures: Captures) -> tree_sitter.Node | None:
    return captures["name"][0] if "name" in captures else node.child_by_field_name("name")


@dataclass(slots=True)
class _Open:
    """A region that encloses what follows, while the sweep is inside it."""

    span: Key
    path: str
    unit: int | None
    kind: str
    local: bool

    @property
    def end(self) -> int:
        return self.span[1]


def _nest(gathered: _Gathered) -> tuple[list[Unit], list[Key]]:
    """Drafts → units in order of their place, each with its container and parent. One sweep with a stack."""
    language = gathered.language
    units: list[Unit] = []
    spans: list[Key] = []
    stack: list[_Open] = [_Open((-1, 1 << 62), "", None, "", False)]
    for draft in sorted([d for d in gathered.drafts.values() if d.kind] + gathered.scopes, key=_Draft.order):
        span = (draft.outer.start_byte, draft.outer.end_byte)
        while stack[-1].end <= span[0] or stack[-1].span == span:  # names of one statement stand side by side
            stack.pop()
        top = stack[-1]
        name = _bare(_text(draft.name), language) if draft.name else ""
        local = (
            top.local or top.kind in ("function", "method", "property") or _inside_function(draft.outer, language, top)
        )
        if not draft.kind:
            stack.append(_Open(span, _joined(top.path, name), top.unit, draft.region, local))
            continue
        if not name or (draft.kind in ("variable", "constant") and (local or _is_guess(draft.outer))):
            continue
        container = _joined(top.path, draft.container)
        kind = "method" if draft.kind == "function" and _holds_methods(top, draft) else draft.kind
        # A wrapper without a name (an IIFE, describe(() => …)) encloses nothing that its content could belong to.
        units.append(_unit(draft, kind, name, container, top.unit, local and top.unit is not None, gathered))
        spans.append(span)
        stack.append(_Open(span, _joined(container, name), len(units) - 1, kind, local))
    return units, spans


def _holds_methods(top: _Open, draft: _Draft) -> bool:
    return top.kind in TYPE_KINDS or top.kind == "scope" or bool(draft.container)


def _is_guess(node: tree_sitter.Node) -> bool:
    """Whether the parser had to make up the end: what looks like a variable is then a macro before something else."""
    last = node.child(node.child_count - 1) if node.child_count else None
    return last is not None and last.is_missing


def _inside_function(node: tree_sitter.Node, language: Language, top: _Open) -> bool:
    """Whether an unnamed function lies between the definition and the unit that encloses it."""
    if not language.functions:
        return False
    ancestor = node.parent
    while ancestor is not None and ancestor.end_byte < top.end:
        if ancestor.type in language.functions:
            return True
        ancestor = ancestor.parent
    return False


def _joined(path: str, name: str) -> str:
    name = name.replace("::", ".").strip(".")
    return f"{path}.{name}" if path and name else path or name


def _unit(
    draft: _Draft, kind: str, name: str, container: str, parent: int | None, local: bool, gathered: _Gathered
) -> Unit:
    language = gathered.language
    body = draft.body or draft.inner.child_by_field_name("body")
    before, attributes = doc_before(draft.outer, language, gathered.claimed)
    inside = draft.doc or [d for d in [gathered.docs.get(draft.inner.start_byte)] if d]
    doc = clean_comment([_text(d) for d in inside] or before)
    if language.tagged_docs:
        doc = without_tags(doc)
    decorators = [_first_line(_text(d).lstrip("@")) for d in sorted(draft.decorators, key=lambda d: d.start_byte)]
    place = draft.name or draft.outer
    start, row, _ = _first_word(draft.outer, gathered.utf8)
    name_start, name_row, name_column = _first_word(place, gathered.utf8)
    end = draft.outer.end_byte
    return Unit(
        kind=kind,
        name=name,
        container=container,
        parent=parent,
        span=Span(start, end),
        name_span=Span(name_start, place.end_byte),
        body_start=body.start_byte if body else end,
        start_line=row + 1,
        end_line=_last_line(draft.outer),
        name_line=name_row + 1,
        name_column=name_column + 1,
        signature=_signature(draft, body, language, gathered.utf8),
        doc=doc[:MAX_DOC],
        decorators=tuple(attributes + list(dict.fromkeys(decorators))),
        local=local,
    )


def _first_word(node: tree_sitter.Node, utf8: bytes) -> tuple[int, int, int]:
    """(byte, row, column) where a node's text begins: some grammars count the blanks before a name in."""
    row, column = node.start_point
    if not utf8[node.start_byte : node.start_byte + 1].isspace():
        return node.start_byte, row, column
    text = utf8[node.start_byte : node.end_byte]
    blanks = len(text) - len(text.lstrip())
    if lines := text.count(b"\n", 0, blanks):
        return node.start_byte + blanks, row + lines, blanks - 1 - text.rfind(b"\n", 0, blanks)
    return node.start_byte + blanks, row, column + blanks


def _last_line(node: tree_sitter.Node) -> int:
    row, column = node.end_point
    return row + 1 if column or row == node.start_point[0] else row


def _signature(draft: _Draft, body: tree_sitter.Node | None, language: Language, utf8: bytes) -> str:
    """The definition's head on one line, without comments and annotations: all before its body, or its first line."""
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
    text = text.rstrip().rstrip(";") if end < node.end_byte else _first_line(text)
    if draft.name and end <= draft.name.start_byte:
        text += " " + _text(draft.name)  # typedef struct { … } Name
    return " ".join(text.split())[:MAX_SIGNATURE].rstrip("{=;\\ ")


def _references(gathered: _Gathered, spans: list[Key]) -> Iterable[Reference]:
    """References in order of their place, each with the innermost unit around it."""
    found, language, utf8 = gathered.references, gathered.language, gathered.utf8
    strongest = {start: 3 for start, end in gathered.drafts if end >= 0}
    for start, kind in found:
        strongest[start] = max(strongest.get(start, 0), _STRENGTH.get(kind, 2))
    stack: list[int] = []
    following, line, counted = 0, 1, 0
    for (start, kind), (node, receiver) in sorted(found.items(), key=_by_key):
        end = node.end_byte
        if _STRENGTH.get(kind, 2) < strongest[start] or start == end:
            continue  # a sharper pattern speaks of the same place, or the parser made the name up
        # Counting line ends as it goes is several times cheaper than asking each node for its place.
        line, counted = line + utf8.count(b"\n", counted, start), start
        while following < len(spans) and spans[following][0] <= start:
            while stack and spans[stack[-1]][1] <= spans[following][0]:
                stack.pop()
            stack.append(following)
            following += 1
        while stack and spans[stack[-1]][1] <= start:
            stack.pop()
        name, place = utf8[start:end].decode("utf-8", "replace"), start
        if not name[0].isidentifier():
            name = name.lstrip().lstrip(language.sigils)
            place = end - len(name.encode())
        yield Reference(kind, name, receiver, stack[-1] if stack else None, place, line)


_by_key = itemgetter(0)


@lru_cache(maxsize=256)
def _role(capture: str) -> tuple[str, str]:
    """A capture's name → what it captures, and of which kind."""
    head, _, kind = capture.partition(".")
    return head, kind


def _length(node: tree_sitter.Node) -> int:
    return node.end_byte - node.start_byte


def _text(node: tree_sitter.Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _first_line(text: str) -> str:
    return text.strip().split("\n", 1)[0].rstrip()


def _bare(text: str, language: Language) -> str:
    """A name without its quotes or the marks that are no part of it (Ruby's `:name`)."""
    return _unquoted(text.strip().lstrip(language.sigils))


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'`" else text

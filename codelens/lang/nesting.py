"""Drafts of definitions → units in order of their place, each with its container, parent, head and doc comment."""

from __future__ import annotations

from dataclasses import dataclass

import tree_sitter

from codelens.derived import Unit
from codelens.lang.comments import clean_comment, doc_before, without_tags
from codelens.lang.gather import Draft, Gathered, Key, bare, text_of
from codelens.lang.registry import Language
from codelens.model import TYPE_KINDS, Span

MAX_SIGNATURE = 300
"""Characters. Of 11,826 definitions in 500 modules of Python's standard library two have a longer head."""
MAX_DOC = 4000
"""Characters. Of the 3,800 doc comments of these definitions three are longer."""
_ENDLESS = 1 << 62
"""An end that lies behind any file's: the region around all others is never left."""


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


def nest(gathered: Gathered) -> tuple[list[Unit], list[Key]]:
    """Drafts → units in order of their place, each with its container and parent. One sweep with a stack."""
    language = gathered.language
    units: list[Unit] = []
    spans: list[Key] = []
    stack: list[_Open] = [_Open((-1, _ENDLESS), "", None, "", False)]
    for draft in sorted([d for d in gathered.drafts.values() if d.kind] + gathered.scopes, key=Draft.order):
        span = (draft.outer.start_byte, draft.outer.end_byte)
        while stack[-1].end <= span[0] or stack[-1].span == span:  # names of one statement stand side by side
            stack.pop()
        top = stack[-1]
        name = bare(text_of(draft.name), language) if draft.name else ""
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


def _holds_methods(top: _Open, draft: Draft) -> bool:
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
    draft: Draft, kind: str, name: str, container: str, parent: int | None, local: bool, gathered: Gathered
) -> Unit:
    language = gathered.language
    body = draft.body or draft.inner.child_by_field_name("body")
    before, attributes = doc_before(draft.outer, language, gathered.claimed)
    inside = draft.doc or [d for d in [gathered.docs.get(draft.inner.start_byte)] if d]
    doc = clean_comment([text_of(d) for d in inside] or before)
    if language.tagged_docs:
        doc = without_tags(doc)
    decorators = [_first_line(text_of(d).lstrip("@")) for d in sorted(draft.decorators, key=lambda d: d.start_byte)]
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


def _signature(draft: Draft, body: tree_sitter.Node | None, language: Language, utf8: bytes) -> str:
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
        text += " " + text_of(draft.name)  # typedef struct { … } Name
    return " ".join(text.split())[:MAX_SIGNATURE].rstrip("{=;\\ ")


def _first_line(text: str) -> str:
    return text.strip().split("\n", 1)[0].rstrip()

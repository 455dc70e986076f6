"""Matches of a query → what they capture, sorted: drafts of definitions, scopes, references, imports.

The captures and their meaning: codelens/lang/captures.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import tree_sitter

from codelens.derived import Import
from codelens.lang.registry import Language
from codelens.text.expressions import without_arguments

MAX_RECEIVER = 60
"""Characters, without the arguments of calls. A longer receiver is an expression that names nothing."""
MAX_BOUND = 100
"""Characters of a type or value. Chosen: what names one definition is shorter."""
MAX_SOURCE = 2000
"""Bytes of an expression that is looked at: it is cut before its arguments are left out."""

Captures = Mapping[str, list[tree_sitter.Node]]
Key = tuple[int, int]


@dataclass(slots=True)
class Draft:
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
        """The node that the unit spans: with decorators or a template head where something widens it."""
        return self.around if self.around and _length(self.around) > _length(self.inner) else self.inner

    def order(self) -> tuple[int, int, int]:
        """Sort key: by place, enclosing definitions before what they hold, several names of one statement by theirs."""
        return (self.outer.start_byte, -self.outer.end_byte, self.name.start_byte if self.name else -1)


class Gathered:
    """Sorts matches by what they capture."""

    def __init__(self, language: Language, query: tree_sitter.Query, utf8: bytes) -> None:
        self.utf8 = utf8
        self.language = language
        self.query = query
        self.namespace = ""
        self.drafts: dict[Key, Draft] = {}
        self.scopes: list[Draft] = []
        self.docs: dict[int, tree_sitter.Node] = {}
        self.references: dict[tuple[int, str], tuple[tree_sitter.Node, str]] = {}
        self.imports: list[Import] = []
        self.bindings: dict[tuple[int, str], tuple[str, str]] = {}
        """(place, how) → (name, text)."""
        self.members: dict[int, tree_sitter.Node] = {}
        """Place of a parameter → its name as a member of the type around."""
        self.closures: list[Key] = []
        self.prototypes: list[Key] = []
        self.imported: set[int] = set()
        """Places of what imports name."""
        self.unpacked: set[int] = set()
        """Places of modules of which names are imported: these stand for the import of the module itself."""
        self.prefixes: list[tuple[Key, str]] = []
        self.claimed: set[int] = set()

    def take(self, pattern: int, captures: Captures) -> None:
        """Sort one match in. Its first capture with a role decides what it is; a match without one may hold a doc string."""
        for capture, nodes in captures.items():
            head, kind = _role(capture)
            if head == "reference":
                self._reference(kind, nodes, captures)
                return
            if head == "binding":
                self._binding(captures)
                return
            if head == "definition":
                self._definition(kind, pattern, nodes[0], captures)
                return
            if head == "import":
                self._import(pattern, captures)
                return
            if head in ("closure", "prototype"):
                regions = self.closures if head == "closure" else self.prototypes
                regions.append((nodes[0].start_byte, nodes[0].end_byte))
                return
            if head == "scope":
                name = _name_of(nodes[0], captures)
                self.scopes.append(Draft(name, "", pattern, nodes[0], region=kind or "scope"))
                return
            if head == "namespace":
                self.namespace = ".".join(map(text_of, nodes))
                return
        for doc in captures.get("doc", ()):
            self.claimed.add(doc.start_byte)
            if owner := _owner(doc):
                self.docs.setdefault(owner.start_byte, doc)

    def _reference(self, kind: str, nodes: list[tree_sitter.Node], captures: Captures) -> None:
        receiver = ""
        if len(captures) > 1 and "receiver" in captures:
            receiver = shortened(captures["receiver"][0], MAX_RECEIVER)
        for node in nodes:
            key = (node.start_byte, kind)
            if key not in self.references or receiver:
                self.references[key] = (node, receiver)

    def _binding(self, captures: Captures) -> None:
        """A name and what is bound to it. A declared type and a value may stand at one place; of two texts the first is kept."""
        names = captures.get("binding.name", ())
        if len(captures) > 1 or not names:
            for member in captures.get("binding.member", ()):
                self.members[(names or [member])[0].start_byte] = member
            names = (
                names
                or captures.get("binding.member")
                or [_declared(n) for n in captures.get("binding.declarator", ())]
            )
            for capture, nodes in captures.items():
                head, how = _role(capture)
                if head == "binding" and how not in ("name", "member", "declarator"):
                    text = _value(nodes[0]) if how in ("value", "result") else shortened(nodes[0], MAX_BOUND)
                    self._bind(how, names, nodes, text)
                    return
        self._bind("value", names, (), "")

    def _bind(self, how: str, names: Sequence[tree_sitter.Node], nodes: Sequence[tree_sitter.Node], text: str) -> None:
        for place in names or nodes[:1]:
            key = (place.start_byte, how)
            if key in self.bindings and (not text or self.bindings[key][1]):
                continue
            name = shortened(place, MAX_RECEIVER) if names else ""
            if text or (name != "_" and how != "result"):
                self.bindings[key] = (name, text)

    def _definition(self, kind: str, pattern: int, node: tree_sitter.Node, captures: Captures) -> None:
        for name in captures.get("name") or [node.child_by_field_name("name")]:  # type: ignore[list-item]
            key = (name.start_byte, name.end_byte) if name else (node.start_byte, -1)
            draft = self.drafts.get(key)
            if draft is None:
                draft = self.drafts[key] = Draft(name, kind, pattern, node)
            if not kind:
                draft.around = node if draft.around is None or _length(node) > _length(draft.around) else draft.around
            elif pattern < draft.pattern or not draft.kind:
                draft.kind, draft.pattern, draft.inner = kind, pattern, node
            if "body" in captures:
                draft.body = captures["body"][0]
            if "container" in captures:
                draft.container = ".".join(text_of(c) for c in captures["container"])
            if "doc" in captures:
                draft.doc += [doc for doc in captures["doc"] if doc not in draft.doc]
                self.claimed.update(doc.start_byte for doc in captures["doc"])
            draft.decorators += [d for d in captures.get("decorator", ()) if d not in draft.decorators]

    def _import(self, pattern: int, captures: Captures) -> None:
        if "import.prefix" in captures:
            path = captures["import.prefix"][0]
            if (around := path.parent) and (separator := path.next_sibling):
                self.prefixes.append(((around.start_byte, around.end_byte), text_of(path) + text_of(separator)))
            return
        place = next(nodes[0] for capture, nodes in captures.items() if capture.startswith("import."))
        self.imported.update(node.start_byte for nodes in captures.values() for node in nodes)
        parts = {k: v or "" for k, v in self.query.pattern_settings(pattern).items()}
        parts |= {k: bare(".".join(map(text_of, v)), self.language) for k, v in captures.items()}
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


def _declared(node: tree_sitter.Node) -> tree_sitter.Node:
    """The name in a declarator: what its fields `declarator` lead to, a C++ reference having only a child."""
    while node.named_child_count:
        node = node.child_by_field_name("declarator") or node.named_children[-1]
    return node


def _name_of(node: tree_sitter.Node, captures: Captures) -> tree_sitter.Node | None:
    return captures["name"][0] if "name" in captures else node.child_by_field_name("name")


@lru_cache(maxsize=256)
def _role(capture: str) -> tuple[str, str]:
    """A capture's name → what it captures, and of which kind."""
    head, _, kind = capture.partition(".")
    return head, kind


def _length(node: tree_sitter.Node) -> int:
    return node.end_byte - node.start_byte


def text_of(node: tree_sitter.Node) -> str:
    """The source text of a node; bytes that are not UTF-8 as U+FFFD."""
    return (node.text or b"").decode("utf-8", "replace")


def shortened(node: tree_sitter.Node, most: int) -> str:
    """An expression on one line, the arguments of its calls left out; empty where it is longer than `most` characters."""
    raw = node.text or b""
    if len(raw) <= most and b"(" not in raw and b"{" not in raw and b"\n" not in raw:
        return raw.decode("utf-8", "replace")
    text = without_arguments(raw[:MAX_SOURCE].decode("utf-8", "replace"))
    return text if len(text) <= most else ""


_CHAIN = re.compile(r"(?:(?:[\w$@.]|->|::)+ = )+")
_NAMELESS = re.compile(
    rb"""[-+]?\.?\d|[\w@$#]{0,2}["'`]|[{|]|\[[&=]|<<|func?\([^{}]*\{"""
    rb"""|(?:async )?(?:(?:function|lambda|class)\b|(?:\w+|\([^()]*\)) ?=>)"""
)
"""How numbers, strings, tables and closures begin."""


def _value(node: tree_sitter.Node) -> str:
    """What a value names: of `a = b = make()` the last part, of literals and closures nothing."""
    if _NAMELESS.match(node.text or b""):
        return ""
    text = shortened(node, MAX_BOUND)
    if " = " in text and (chain := _CHAIN.match(text)):
        text = text[chain.end() :]
        if _NAMELESS.match(text.encode()):
            return ""
    return "" if "=>" in text else text


def bare(text: str, language: Language) -> str:
    """A name without its quotes or the marks that are no part of it (Ruby's `:name`)."""
    return _unquoted(text.strip().lstrip(language.sigils))


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'`" else text

"""Turn matches of a query into drafts of definitions, scopes, references, imports and bindings; find names in literals.

The captures are documented in codelens/lang/captures.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

import tree_sitter

from codelens.lang.registry import Language
from codelens.model.extraction import Import
from codelens.model.fast_dataclass import dataclass, field
from codelens.text.expressions import remove_arguments

MAX_RECEIVER = 200  # Characters, without arguments of calls. A chain of a dozen calls fits.
LONG_RECEIVER = "?"
"""The receiver of a member if the expression is too long: it is unknown, but the name is still that of a member."""
MAX_BOUND = 100  # Characters of a type or value; longer ones do not name a single definition
MAX_SOURCE = 2000  # Bytes of an expression that are read before its arguments are removed

Captures = Mapping[str, list[tree_sitter.Node]]


@dataclass(slots=True)
class DefinitionDraft:
    """A draft of a definition or scope, collected from all patterns that match its name."""

    name: tree_sitter.Node | None
    kind: str
    pattern: int
    inner: tree_sitter.Node
    around: tree_sitter.Node | None = None  # The wider node of a bare @definition
    body: tree_sitter.Node | None = None
    container: str = ""
    doc: list[tree_sitter.Node] = field(default_factory=list)
    decorators: list[tree_sitter.Node] = field(default_factory=list)
    region: str = ""  # For a scope, which has no kind: "scope" if its functions are methods, else "namespace"

    @property
    def outer(self) -> tree_sitter.Node:
        """The node of the whole unit, including decorators or a template head."""
        return max(self.inner, self.around or self.inner, key=_measure_length)

    def order(self) -> tuple[int, int, int]:
        """Sort key: by start, then outer definitions first, then by name."""
        return (self.outer.start_byte, -self.outer.end_byte, self.name.start_byte if self.name else -1)


class CaptureCollector:
    """A collector that sorts matches by their captures."""

    def __init__(self, language: Language, query: tree_sitter.Query, utf8: bytes) -> None:
        self.utf8, self.language, self.query = utf8, language, query
        self.namespace = ""
        self.drafts: dict[tuple[int, int], DefinitionDraft] = {}
        self.scopes: list[DefinitionDraft] = []
        self.docs: dict[int, tree_sitter.Node] = {}
        self.references: dict[tuple[int, str], tuple[tree_sitter.Node, str]] = {}
        self.imports: list[Import] = []
        self.bindings: dict[tuple[int, str], tuple[str, str]] = {}  # (place, how) → (name, text)
        self.members: dict[int, tree_sitter.Node] = {}
        """Start byte of a parameter → its name as a member of the enclosing type."""
        self.closures: list[tuple[int, int]] = []
        self.prototypes: list[tuple[int, int]] = []
        self.imported: set[int] = set()  # Start bytes of imported names
        self.unpacked: set[int] = set()
        """Start bytes of modules from which names are imported; this replaces the import of the module itself."""
        self.prefixes: list[tuple[tuple[int, int], str]] = []
        self.claimed: set[int] = set()

    def add_match(self, pattern: int, captures: Captures) -> None:
        """Add one match. Its first capture with a role decides its kind; a match without a role may contain a doc string."""
        for capture, nodes in captures.items():
            head, kind = _split_capture(capture)
            if head == "reference":
                self._add_reference(kind, nodes, captures)
            elif head == "binding":
                self._add_binding(captures)
            elif head == "definition":
                self._add_definition(kind, pattern, nodes[0], captures)
            elif head == "import":
                self._add_import(pattern, captures)
            elif head in ("closure", "prototype"):
                regions = self.closures if head == "closure" else self.prototypes
                regions.append((nodes[0].start_byte, nodes[0].end_byte))
            elif head == "scope":
                name = captures["name"][0] if "name" in captures else nodes[0].child_by_field_name("name")
                self.scopes.append(DefinitionDraft(name, "", pattern, nodes[0], region=kind or "scope"))
            elif head == "namespace":
                self.namespace = ".".join(map(decode_node, nodes))
            else:
                continue
            return
        for doc in captures.get("doc", ()):
            self.claimed.add(doc.start_byte)
            owner = doc.parent  # string → statement → block → definition
            for _ in range(2):
                owner = owner.parent if owner else None
            if owner:
                self.docs.setdefault(owner.start_byte, doc)

    def _add_reference(self, kind: str, nodes: list[tree_sitter.Node], captures: Captures) -> None:
        receiver = ""
        if len(captures) > 1 and "receiver" in captures:
            receiver = shorten_expression(captures["receiver"][0], MAX_RECEIVER) or LONG_RECEIVER
        for node in nodes:
            key = (node.start_byte, kind)
            if key not in self.references or receiver:
                self.references[key] = (node, receiver)

    def _add_binding(self, captures: Captures) -> None:
        """Add a name with its type or its value; one place may have both. The first text of each wins."""
        names = captures.get("binding.name", ())
        how, places, text = "value", names, ""
        if len(captures) > 1 or not names:
            members, declarators = captures.get("binding.member", ()), captures.get("binding.declarator", ())
            for member in members:
                self.members[(names or [member])[0].start_byte] = member
            places = names = names or members or [_find_declared_name(n) for n in declarators]
            for capture, nodes in captures.items():
                head, kind = _split_capture(capture)
                if head == "binding" and kind not in ("name", "member", "declarator"):
                    how, places, is_value = kind, names or nodes[:1], kind in ("value", "result")
                    text = _read_value(nodes[0]) if is_value else shorten_expression(nodes[0], MAX_BOUND)
                    break
        for place in places:
            key = (place.start_byte, how)
            if key in self.bindings and (not text or self.bindings[key][1]):
                continue
            name = shorten_expression(place, MAX_RECEIVER) if names else ""
            if text or (name != "_" and how != "result"):
                self.bindings[key] = (name, text)

    def _add_definition(self, kind: str, pattern: int, node: tree_sitter.Node, captures: Captures) -> None:
        for name in captures.get("name") or [node.child_by_field_name("name")]:  # type: ignore[list-item]
            key = (name.start_byte, name.end_byte) if name else (node.start_byte, -1)
            draft = self.drafts.get(key)
            if draft is None:
                draft = self.drafts[key] = DefinitionDraft(name, kind, pattern, node)
            if not kind:
                draft.around = max(draft.around or node, node, key=_measure_length)
            elif pattern < draft.pattern or not draft.kind:
                draft.kind, draft.pattern, draft.inner = kind, pattern, node
            if "body" in captures:
                draft.body = captures["body"][0]
            if "container" in captures:
                draft.container = ".".join(decode_node(c) for c in captures["container"])
            if "doc" in captures:
                draft.doc += [doc for doc in captures["doc"] if doc not in draft.doc]
                self.claimed.update(doc.start_byte for doc in captures["doc"])
            draft.decorators += [d for d in captures.get("decorator", ()) if d not in draft.decorators]

    def _add_import(self, pattern: int, captures: Captures) -> None:
        if "import.prefix" in captures:
            path = captures["import.prefix"][0]
            if (around := path.parent) and (separator := path.next_sibling):
                self.prefixes.append(((around.start_byte, around.end_byte), decode_node(path) + decode_node(separator)))
            return
        place = next(nodes[0] for capture, nodes in captures.items() if capture.startswith("import."))
        self.imported.update(node.start_byte for nodes in captures.values() for node in nodes)
        parts = {k: v or "" for k, v in self.query.pattern_settings(pattern).items()}
        parts |= {k: strip_name(".".join(map(decode_node, v)), self.language) for k, v in captures.items()}
        module, name, alias = (parts.get(f"import.{part}", "") for part in ("module", "name", "alias"))
        self.imports.append(Import(module, name, alias, place.start_byte, place.start_point[0] + 1))
        if "import.module" in captures and ("import.name" in parts or "import.alias" in parts):
            self.unpacked.add(captures["import.module"][0].start_byte)

    def place_imports(self) -> tuple[Import, ...]:
        """List the imports in order, with the prefixes around them, outer first."""
        prefixes, imports = sorted(self.prefixes), list[Import]()
        for imported in self.imports:
            if not imported.name and not imported.alias and imported.start in self.unpacked:
                continue
            around = "".join(path for (start, end), path in prefixes if start <= imported.start < end)
            module = around + imported.module if imported.module else around.rstrip(":./\\")
            imports.append(imported._replace(module=module) if around else imported)
        return tuple(sorted(imports, key=lambda i: (i.start, i.name)))


def _find_declared_name(node: tree_sitter.Node) -> tree_sitter.Node:
    """Find the name in a declarator by its fields `declarator`; a C++ reference has only a child."""
    while node.named_child_count:
        node = node.child_by_field_name("declarator") or node.named_children[-1]
    return node


@cache
def _split_capture(capture: str) -> tuple[str, str]:
    """Split a capture's name into (role, kind)."""
    head, _, kind = capture.partition(".")
    return head, kind


def _measure_length(node: tree_sitter.Node) -> int:
    return node.end_byte - node.start_byte


def decode_node(node: tree_sitter.Node) -> str:
    """Decode the source text of a node, with U+FFFD for invalid bytes."""
    return (node.text or b"").decode("utf-8", "replace")


def shorten_expression(node: tree_sitter.Node, most: int) -> str:
    """Shorten an expression to one line without arguments of calls; empty if longer than `most` characters."""
    raw = node.text or b""
    if len(raw) <= most and b"(" not in raw and b"{" not in raw and b"\n" not in raw:
        return raw.decode("utf-8", "replace")
    text = remove_arguments(raw[:MAX_SOURCE].decode("utf-8", "replace"))
    return text if len(text) <= most else ""


_CHAIN = re.compile(r"(?:(?:[\w$@.]|->|::)+ = )+")
_NAMELESS = re.compile(
    rb"""[-+]?\.?\d|[\w@$#]{0,2}["'`]|[{|]|\[[&=]|<<|func?\([^{}]*\{"""
    rb"""|(?:async )?(?:(?:function|lambda|class)\b|(?:\w+|\([^()]*\)) ?=>)"""
)  # How numbers, strings, tables and closures begin


def _read_value(node: tree_sitter.Node) -> str:
    """Read the expression of a value: the last part of `a = b = make()`; empty for literals and closures."""
    if _NAMELESS.match(node.text or b""):
        return ""
    text = shorten_expression(node, MAX_BOUND)
    if " = " in text and (chain := _CHAIN.match(text)):
        text = text[chain.end() :]
        if _NAMELESS.match(text.encode()):
            return ""
    return "" if "=>" in text else text


def strip_name(text: str, language: Language) -> str:
    """Strip quotes and sigils (Ruby's `:name`) from a name."""
    text = text.strip().lstrip(language.sigils)
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'`" else text


MAX_LITERAL = 200  # Characters of a name in a literal. Handwritten routes are shorter.

_SET = re.compile(rb"[\"'`]?\s{0,9}\]?\s{0,9}=(?![=>~])")

_QUOTED = re.compile(r"""@?("{3}|'{3}|["'`])(.*)\1""", re.DOTALL)
_NAMES_IN_LITERALS = {
    "env": re.compile(r"([A-Za-z_]\w*)", re.ASCII),
    # The first word without its directory, after `NAME=value` words of a shell.
    "process": re.compile(r"\s*(?:\w+=\S*\s+)*(?:[^\s\"'`$|;&<>]*/)?([A-Za-z0-9_][\w.+-]*)(?=\s|$|[;|&<>])", re.ASCII),
    "route": re.compile(r"(?:[A-Z]+ )?([^\s\\\"'`]+)"),  # Go 1.22 writes `GET /items/{id}`
    "endpoint": re.compile(r"(?:[A-Z]+ )?(?:(?:https?:)?//([^/?#\s\\]*))?([^?#\s\\]*)(?:[?#][^\s\\]*)?"),
    "flag": re.compile(r":?([A-Za-z0-9_][\w.:/-]*\??)", re.ASCII),
}  # Kind of a reference → the pattern whose first group is the name
_LOCAL = re.compile(r"(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\]|testserver)(?::\d+)?")


def find_name_part(kind: str, text: str, is_whole: bool = True) -> tuple[int, int] | None:
    """Find (start, end) of the name in a literal's text; None without a name. `is_whole` is False if a run-time value follows."""
    quoted = _QUOTED.fullmatch(text)
    offset, inner = (quoted.start(2), quoted[2]) if quoted else (0, text)
    pattern = _NAMES_IN_LITERALS[kind]
    match = pattern.match(inner) if kind == "process" else pattern.fullmatch(inner) if is_whole else None
    if match is None or (kind == "process" and not is_whole and match.end() == len(inner)):
        return None
    start, end = match.span(1)
    if kind == "endpoint":  # the path if the host is missing or local, else host and path
        has_host = match[1] and not _LOCAL.fullmatch(match[1])
        start, end = match.start(1 if has_host else 2), match.end(2)
    return (offset + start, offset + end) if 0 < end - start <= MAX_LITERAL else None


def is_set(utf8: bytes, start: int, end: int) -> bool:
    """True if the environment variable between `start` and `end` is assigned: `environ["X"] = …`, `process.env.X = …`."""
    return utf8[start - 1 : start] in (b".", b'"', b"'", b"`") and _SET.match(utf8, end) is not None

"""Find the places where a text has a name as a token, each with its role and the expression before its dot.

A text search finds the name, and the syntax tree distinguishes code from comments and strings. No query is run, so a file
takes little longer than its parse. For a language without a grammar there is only the text search.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from threading import Lock
from typing import Generic, NamedTuple, TypeVar

import tree_sitter

from codelens.lang.matches import LONG_RECEIVER, MAX_RECEIVER, shorten_expression
from codelens.lang.parser import GrammarMissing, blank_macros, load_parser
from codelens.lang.registry import Language, languages


class Role:
    """The roles of a name at a place. There are also global, read, argument, pattern, label and export."""

    TEXT = "text"  # In a comment, a string or prose
    DEFINITION = "definition"
    DECLARATION = "declaration"
    IMPORT = "import"
    KEY = "key"
    UNPACK = "unpack"  # A field's name that also declares a local variable: `const { name } = it`
    CALL = "call"
    TYPE = "type"
    CATCH = "catch"
    WRITE = "write"
    PARAMETER = "parameter"  # Of a function without a body, as in prototypes and types of functions
    NAME = "name"  # In code whose language has no grammar here


class NameToken(NamedTuple):
    """A token with the sought name; offsets count UTF-8 bytes."""

    start: int
    end: int
    role: str  # One of the `Role`s
    receiver: str = ""  # The expression before the dot, as in a `Reference`
    holder: str = ""  # For a key or a declared field, the type of the enclosing literal or definition
    bare: bool = True  # False after a dot, even if the expression before it cannot be read
    functions: tuple[tuple[int, int], ...] = ()
    """(start, end) of each enclosing function, named or not, innermost first."""


_STRING = re.compile(r"string|char|quote|heredoc|template|regex|text|content|raw|doc", re.IGNORECASE)
_IN_CODE = re.compile(r"interpolation|substitution|embedded|formatted|string_expression")
_MEMBER = re.compile(rb"\s*(?:<[^<>()]*>)?\s*(?:\?\.|!!?\.|&\.|\?->|->|::|\.|\\\\)\s*(?:#|template\s+)?")
_ROLES = {
    Role.IMPORT: r"import|use_(?:declaration|list|wildcard|as_clause)|using_directive|namespace_use|preproc_include|extern_crate",
    "global": r"global_statement|nonlocal_statement|global_declaration",
    "export": r"export",
    Role.CATCH: r"except_clause|catch|rescue|exceptions",
    "pattern": r"case_pattern|match_pattern|match_arm|switch_case|case_clause|expression_case|tuple_struct_pattern|_pattern\Z",
    Role.KEY: r"keyword_argument|\Apair\Z|keyed_element|field_initializer|init_pair|initializer_pair|designator|\Amethod_definition"
    r"|jsx_attribute",
    "label": r"label|goto|\Abreak|\Acontinue",
    Role.TYPE: r"type|generic|class_heritage|superclass|base_(?:class_)?(?:clause|list)|implements|extends|trait_bounds",
    Role.WRITE: r"assignment|augmented|update_expression|inc_statement|dec_statement",
    "argument": r"argument",
}  # Role → pattern of the enclosing nodes' kinds that give it; the first that fits counts
_PATTERNS = [(re.compile(pattern), role) for role, pattern in _ROLES.items()]
_FIELD_NODES = re.compile(
    r"field_decl|property_decl|public_field|field_definition|property_signature|property_element|enum_(?:variant|constant|member|"
    r"entry|assignment)|enumerator|const_spec|const_element|method_(?:spec|elem|signature)|function_(?:declarator|signature)|preproc_def|"
    r"type_definition"
)
_DECLARATOR = re.compile(r"declarator\Z")
_PARAMETERS = re.compile(r"(?:required|optional)_parameter\Z|parameter_declaration\Z|formal_parameter\Z")
_FIELD_MODIFIERS = ("accessibility_modifier", "override_modifier", "readonly")
_UNPACKED = re.compile(r"shorthand_(?:property|field)_identifier(?:_pattern)?\Z")
_TYPE_NODES = re.compile(
    "class|struct|interface|trait|enum|union|object|impl|record|type_spec|module|protocol|extension"
)
_LITERALS = re.compile(
    r"composite_literal|struct_expression|object_creation|initializer|call|new_expression|compound_literal|^declaration$"
)
_IN_LITERALS = ("field_initializer", "field_initializer_list", "initializer_list", "initializer_pair")
_TYPED_OBJECTS = ("variable_declarator", "public_field_definition", "as_expression", "satisfies_expression")
_NAMED_TYPES = ("type_identifier", "nested_type_identifier")
_ELEMENTS_OF = re.compile(r"(?:map)?\[[^]]*\]\*?")  # What Go writes before the type of elements
MOST_CLIMBED = 12  # Limit of nodes around a token that are examined for its role
T = TypeVar("T")


def find_name(utf8: bytes, name: str) -> Iterator[tuple[int, int]]:
    """Find (start, end) of a name wherever it is not part of a longer word. `bytes.find` is many times faster than a pattern."""
    wanted = name.encode()
    start = utf8.find(wanted)
    while wanted and start >= 0:
        end = start + len(wanted)
        if not (_is_letter(utf8[start - 1 : start]) or _is_letter(utf8[end : end + 1])):
            yield start, end
        start = utf8.find(wanted, end)


def _is_letter(byte: bytes) -> bool:
    return byte.isalnum() or byte == b"_" or byte > b"\x7f"


def find_tokens(
    utf8: bytes, language: str, name: str, functions: Sequence[tuple[int, int]] = (), place: int | None = None
) -> tuple[list[NameToken], bool]:
    """Find the tokens of a name in order of place; returns (tokens, True if the grammar could read all of the text).

    With `place`, find only the token there. `functions` has the (start, end) of functions, in order of place; those without
    the name are not parsed, which is faster.
    """
    matches = [(s, e) for s, e in find_name(utf8, name) if place is None or s <= place <= e]
    if not matches:
        return [], True
    row = languages().get(language)
    if row is None or not row.grammar or row.prose:
        role = Role.TEXT if row is None or row.prose or row.chunks != "code" else Role.NAME
        return [NameToken(start, end, role) for start, end in matches], True
    try:
        root = _parse_root(_blank_functions(utf8, functions, matches), language)
        if functions and root.has_error:  # perhaps because something is missing now
            root = _parse_root(utf8, language)
    except GrammarMissing:
        return [NameToken(start, end, Role.NAME) for start, end in matches], False
    tokens = (_read_token(root, match, utf8, row) for match in matches)
    return [token for token in tokens if token is not None], not root.has_error


def _blank_functions(utf8: bytes, functions: Sequence[tuple[int, int]], matches: Sequence[tuple[int, int]]) -> bytes:
    """Replace the functions without a match with spaces."""
    pieces, at, starts = list[bytes](), 0, [start for start, _ in matches]
    for start, end in functions:
        if start >= at and bisect_left(starts, start) == bisect_left(starts, end):
            pieces += utf8[at:start], b" " * (end - start)
            at = end
    return b"".join((*pieces, utf8[at:])) if pieces else utf8


MOST_KEPT = 1_000_000  # Bytes of texts whose trees are kept, some 50 MB of memory for C


class SizedCache(Generic[T]):
    """A cache of the values used last, up to `most` in sum of their sizes, for a server that is asked about files again."""

    def __init__(self, most: int) -> None:
        self._most, self._size, self._lock = most, 0, Lock()
        self._kept: OrderedDict[tuple[object, ...], tuple[T, int]] = OrderedDict()

    def find_or_make(self, key: tuple[object, ...], make: Callable[[], tuple[T, int]]) -> T:
        """Find the value of a key, or make it. `make` returns (value, size), and is called by one thread at a time."""
        with self._lock:
            if key not in self._kept:
                self._kept[key] = make()
                self._size += self._kept[key][1]
            self._kept.move_to_end(key)
            value = self._kept[key][0]
            while self._size > self._most:
                self._size -= self._kept.popitem(last=False)[1][1]
        return value


_tree_cache = SizedCache[tree_sitter.Tree](MOST_KEPT)


def _parse_root(utf8: bytes, language: str) -> tree_sitter.Node:
    """Parse a text, or find its tree in the cache. Raises GrammarMissing."""

    def parse() -> tuple[tree_sitter.Tree, int]:
        return load_parser(language).parse(blank_macros(utf8, language)), len(utf8)

    return _tree_cache.find_or_make((language, utf8), parse).root_node


def _try_parse(utf8: bytes, language: str) -> tree_sitter.Node | None:
    """Parse a text; None if it is too long to be kept, or without a grammar."""
    with suppress(GrammarMissing):
        return _parse_root(utf8, language) if len(utf8) <= MOST_KEPT else None
    return None


def find_enclosing(utf8: bytes, language: str, place: int) -> list[tuple[int, int]]:
    """Find (start, end) of each syntax node around a byte, outermost first; empty without a grammar."""
    spans, node = list[tuple[int, int]](), _try_parse(utf8, language)
    while node is not None:
        if (node.start_byte, node.end_byte) not in spans[-1:]:
            spans.append((node.start_byte, node.end_byte))
        around = [child for child in node.children if child.start_byte <= place <= child.end_byte]
        node = around[-1] if around else None
    return spans


def find_blocks(utf8: bytes, language: str) -> list[tuple[int, int]]:
    """Find (first line, last line) of multi-line nodes, from 0, the longest for each first line. Empty without a grammar."""
    root, blocks = _try_parse(utf8, language), dict[int, int]()
    waiting = [root] if root is not None else []
    while waiting:
        for child in waiting.pop().named_children:
            first, last = child.start_point[0], child.end_point[0] - (child.end_point[1] == 0)
            if last > first:
                blocks[first] = max(blocks.get(first, 0), last)
                waiting.append(child)
    return sorted(blocks.items())


def _read_token(root: tree_sitter.Node, span: tuple[int, int], utf8: bytes, language: Language) -> NameToken | None:
    """Read the token at a match; None if it is a longer one, such as Ruby's `valid?` for `valid`."""
    start, end = span
    name, node = utf8[start:end].decode(), root.descendant_for_byte_range(start, end)
    if node is None:
        return NameToken(start, end, Role.NAME)
    if _is_text(node, start, language):
        return NameToken(start, end, Role.TEXT)
    if not node.child_count and node.end_byte - node.start_byte <= end - start + 2:
        written = (node.text or b"").decode("utf-8", "replace").strip()
        without_sigil = written.lstrip(language.sigils + ("@:" if language.kin == "ecmascript" else "$@:"))
        if name not in (written, without_sigil, without_sigil.rstrip(":")):
            return None
    around = list(islice(_list_ancestors(node), MOST_CLIMBED))
    role = Role.UNPACK if _UNPACKED.search(node.type) else _find_role(node, around)
    receiver, bare = _find_receiver(node, utf8)
    if [outer.type for outer in around[:3]] == ["field_initializer", "field_initializer_list", "function_definition"]:
        role, receiver = Role.WRITE, "this"  # the initializer of a constructor in C++
    holder = _find_holder(around, role == Role.KEY, start) if role in (Role.KEY, Role.DECLARATION) else ""
    functions = tuple((at.start_byte, at.end_byte) for at in _list_ancestors(node) if at.type in language.functions)
    return NameToken(start, end, role, receiver, holder, bare, functions)


def _is_text(node: tree_sitter.Node, start: int, language: Language) -> bool:
    """True inside a comment or a string, except for code in a string: an interpolation, or an annotation in quotes."""
    if node.type in language.comments or "comment" in node.type:
        return True
    if node.type in ("preproc_arg", "ERROR"):  # the grammar does not divide the text: count the quotes before the place
        before = (node.text or b"")[: start - node.start_byte].rpartition(b"\n")[2]
        return before.count(b'"') % 2 == 1 or b"//" in before
    for at in (node, *islice(_list_ancestors(node), 3)):
        if at.child_count and not _STRING.search(at.type):
            return False
        if at.type in language.comments or "comment" in at.type:
            return True
        if _IN_CODE.search(at.type) or at.type.endswith("identifier") or at.type in ("constant", "name", "field_name"):
            return False
        if _STRING.search(at.type) and "identifier" not in at.type:
            # Python's annotations in quotes are code: `"Client"`, and names in `"list[Client]"`.
            return all(outer.type != "type" for outer in islice(_list_ancestors(at), 4))
    return False


def _list_ancestors(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    at = node.parent
    while at is not None:
        yield at
        at = at.parent


_STATEMENT = re.compile(r"statement|block|body|declaration|definition|source_file|program|module\Z")


def _find_role(node: tree_sitter.Node, around: list[tree_sitter.Node]) -> str:
    """Find a token's role by the nodes around it, up to its statement."""
    if _is_parameter(node, around):
        return Role.PARAMETER
    if around and _is_name_of(around[0], node):
        is_part = len(around) > 1 and _DECLARATOR.search(around[0].type) and not _FIELD_NODES.search(around[0].type)
        outer = around[1] if is_part else around[0]
        outer = around[2] if len(around) > 2 and outer.type == "variable_declaration" else outer
        if _FIELD_NODES.search(outer.type):
            return Role.DECLARATION
    if "type" in node.type:
        return Role.TYPE
    for depth, outer in enumerate(around):
        for pattern, role in _PATTERNS:
            if pattern.search(outer.type) and _has_role(role, node, around, depth):
                return role
        inner = around[depth - 1] if depth else node
        if inner.end_byte == node.end_byte or "generic" in inner.type:
            fields = ("function", "method", "name", "macro", "constructor")
            is_callee = any(outer.child_by_field_name(field) == inner for field in fields)
            if is_callee and any(word in outer.type for word in ("call", "invocation", "creation")):
                return Role.CALL
        if _STATEMENT.search(outer.type) or (depth and "call" in outer.type):
            break
    return "read"


def _is_parameter(node: tree_sitter.Node, around: list[tree_sitter.Node]) -> bool:
    """True for a parameter's name, unless it declares a field too, as `private` does in TypeScript."""
    inner, kinds = node, [outer.type for outer in around]
    for outer in around:
        if _PARAMETERS.search(outer.type):
            names = [outer.child_by_field_name(field) for field in ("name", "pattern", "declarator")]
            is_field = any(child.type in _FIELD_MODIFIERS for child in outer.children) or "record_declaration" in kinds
            return inner in names and not is_field
        if not _DECLARATOR.search(outer.type) or outer.child_by_field_name("declarator") != inner:
            return False
        inner = outer
    return False


def _has_role(role: str, node: tree_sitter.Node, around: list[tree_sitter.Node], depth: int) -> bool:
    outer, inner = around[depth], around[depth - 1] if depth else node
    if role == Role.KEY:
        if outer.type == "pair" and inner.type == "identifier":
            return False  # an expression, as in a dictionary of Python
        if outer.type == "method_definition" and around[depth + 1].type != "object":
            return False
        return depth <= 1 and inner.start_byte == _find_first_child(outer).start_byte
    if role == Role.WRITE:
        left = outer.child_by_field_name("left") or _find_first_child(outer)
        return left.start_byte <= node.start_byte and node.end_byte == left.end_byte < outer.end_byte
    if role == Role.TYPE:
        return "expression" not in outer.type or "type" in outer.type.partition("_")[0]
    return role != "argument" or depth == 0


def _find_first_child(node: tree_sitter.Node) -> tree_sitter.Node:
    return node.named_child(0) if node.named_child_count else node


def _is_name_of(outer: tree_sitter.Node, inner: tree_sitter.Node) -> bool:
    """True if `inner` is the name, or a declared name, in `outer`."""
    fields = [outer.children_by_field_name(field) for field in ("name", "declarator", "property")]
    return any(inner in field for field in fields) if any(fields) else _find_first_child(outer) == inner


def _find_receiver(node: tree_sitter.Node, utf8: bytes) -> tuple[str, bool]:
    """Find the expression before the dot; returns (expression, True if there is no dot)."""
    for at in (node, *islice(_list_ancestors(node), 2)):
        before = at.prev_named_sibling
        if before is not None and before.type == "optional_chain":
            before = before.prev_named_sibling
        if before is not None:
            if _MEMBER.fullmatch(utf8[before.end_byte : at.start_byte]) and "parameter" not in before.type:
                return shorten_expression(before, MAX_RECEIVER) or LONG_RECEIVER, False
            break
        has_dot = utf8[at.start_byte - 1 : at.start_byte] == b"."
        if has_dot and at.parent is not None and at.parent.start_byte < at.start_byte:
            return "", False
    return "", True


def _find_holder(around: list[tree_sitter.Node], is_key: bool, start: int) -> str:
    """Find the name of the type around a declaration, or of the type whose literal is around a key."""
    depth = objects = 0  # of a literal in literals whose type it does not repeat, and of an object in objects
    for outer in around:
        depth += outer.type == "literal_value"
        objects += outer.type in ("object", "array")
        if is_key and objects == 1 and outer.type in _TYPED_OBJECTS:  # const options: Options = { key: 1 }
            declared = outer.child_by_field_name("type") or outer.named_child(1)
            named = declared.named_child(0) if declared is not None and declared.type == "type_annotation" else declared
            return shorten_expression(named, MAX_RECEIVER) if named is not None and named.type in _NAMED_TYPES else ""
        if is_key and _LITERALS.search(outer.type) and outer.type not in _IN_LITERALS:
            for field in ("type", "name", "function", "constructor"):
                if (child := outer.child_by_field_name(field)) is not None:
                    name = child.child_by_field_name("name") if child.type == "struct_specifier" else None
                    written = shorten_expression(child if name is None else name, MAX_RECEIVER)
                    return _ELEMENTS_OF.sub("", written, count=depth - 1) if depth > 1 else written
            return ""
        name = None if is_key or not _TYPE_NODES.search(outer.type) else outer.child_by_field_name("name")
        if name is not None and name.start_byte != start:
            return shorten_expression(name, MAX_RECEIVER)
    return ""

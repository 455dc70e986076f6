"""Load grammars and find their versions, which are part of a document's recipe.

If a grammar cannot be loaded, its language has no symbols, but the run goes on: the text is indexed, and `doctor` reports it.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import tree_sitter

from codelens.errors import format_install_command
from codelens.lang.registry import Language, languages

_LONG_TAIL = "tree-sitter-languages"
_SHARED = "languages.so"
"""Marks grammars of tree-sitter-languages: only its shared library is used, since its binding is outdated."""


class GrammarMissing(Exception):
    """Raised if the grammar of a language is not installed, or does not fit this version of tree-sitter."""


MOST_KEPT = 300_000  # Limit of bytes of a text whose tree is kept until the next parse: at most 15 MB for C


class Grammar:
    """A compiled grammar with its query."""

    def __init__(self, parser: tree_sitter.Parser, query: tree_sitter.Query, language: str) -> None:
        self.query = query
        self._parser, self._language = parser, language
        self._last: tuple[bytes, tree_sitter.Tree] | None = None

    def parse(self, utf8: bytes) -> tree_sitter.Tree:
        """Parse a text to its syntax tree; the last tree is kept, since symbols and comments are read from the same text."""
        if self._last is not None and self._last[0] is utf8:
            return self._last[1]
        self._last = None
        tree = self._parser.parse(blank_macros(utf8, self._language))
        if len(utf8) <= MOST_KEPT:
            self._last = utf8, tree
        return tree


DEFINING = ("@definition", "@scope", "@doc", "@namespace")
"""Captures of patterns that yield units; all other patterns yield references and bindings."""


@cache
def load_grammar(language: str, definitions_only: bool = False) -> Grammar:
    """Load the grammar of a language. Raises GrammarMissing if the grammar is missing or cannot be loaded.

    With `definitions_only`, the query finds only units, in a third of the time, and loads in a fifth of the time.
    """
    with _find_language(language) as row:
        compiled = _compile_grammar(row.grammar)
        source = read_query_source(row)
        if definitions_only:
            source = "".join(part for part in split_patterns(source) if any(capture in part for capture in DEFINING))
        return Grammar(tree_sitter.Parser(compiled), tree_sitter.Query(compiled, source), language)


@cache
def load_parser(language: str) -> tree_sitter.Parser:
    """Load the parser of a language without its query, which takes most of the time to load. Raises GrammarMissing."""
    with _find_language(language) as row:
        return tree_sitter.Parser(_compile_grammar(row.grammar))


@contextmanager
def _find_language(language: str) -> Iterator[Language]:
    """Find the row of a language with a grammar; any fault of the grammar's package in the block becomes GrammarMissing."""
    row = languages().get(language)
    if row is None or not row.grammar:
        raise GrammarMissing(f"no grammar for {language}")
    try:
        yield row
    except ModuleNotFoundError as fault:
        command = format_install_command("languages")
        raise GrammarMissing(f"{_name_package(row.grammar)} is not installed: {command}") from fault
    except (ImportError, OSError, AttributeError, ValueError, tree_sitter.QueryError) as fault:
        raise GrammarMissing(f"{row.grammar}: {fault}") from fault


def _name_package(grammar: str) -> str:
    module = grammar.partition(":")[0]
    return _LONG_TAIL if module == _SHARED else module.replace("_", "-")


def check_grammar(language: str) -> None:
    """Load a grammar and look up each name of its query, in a hundredth of the time to compile it. Raises GrammarMissing."""
    with _find_language(language) as row:
        if unknown := find_unknown_names(_compile_grammar(row.grammar), read_query_source(row)):
            raise GrammarMissing(f"{row.grammar} has no {', '.join(unknown)}")


def find_unknown_names(grammar: tree_sitter.Language, query: str) -> list[str]:
    """Find the kinds of nodes and the fields that a query names and the grammar does not have."""
    pairs = _NAMES.findall(_NOT_NAMES.sub("", query))
    nodes, fields = ({pair[at] for pair in pairs} - _ANY for at in (0, 1))
    unknown = [name for name in nodes if grammar.id_for_node_kind(name, True) is None]
    return sorted([*unknown, *(name for name in fields if grammar.field_id_for_name(name) is None)])


_NOT_NAMES = re.compile(r';[^\n]*|"(?:\\.|[^"\\])*"')  # Comments and strings of a query
_PARTS = re.compile(r';[^\n]*|"(?:\\.|[^"\\])*"|[()\[\]]')  # Comments, strings and brackets of a query
_NAMES = re.compile(r"\(\s*([A-Za-z_]\w*)|([A-Za-z_]\w*)\s*:")
_ANY = {"", "_", "ERROR", "MISSING"}


def split_patterns(query: str) -> list[str]:
    """Split a query into its patterns, each with the captures and comments that follow it."""
    starts, depth = list[int](), 0
    for part in _PARTS.finditer(query):
        if part[0] in ("(", "["):
            starts += [] if depth else [part.start()]
            depth += 1
        elif part[0] in (")", "]"):
            depth -= 1
    return [query[start:end] for start, end in pairwise([*starts, len(query)])]


def _compile_grammar(grammar: str) -> tree_sitter.Language:
    module, _, function = grammar.partition(":")
    if module != _SHARED:
        return tree_sitter.Language(getattr(import_module(module), function)())
    spec = find_spec("tree_sitter_languages")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(_LONG_TAIL)
    name = "languages.dll" if sys.platform == "win32" else "languages.so"
    library = ctypes.CDLL(str(Path(next(iter(spec.submodule_search_locations))) / name))
    entry = getattr(library, f"tree_sitter_{function}")
    entry.restype = ctypes.c_void_p
    wrap = ctypes.pythonapi.PyCapsule_New
    wrap.restype, wrap.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return tree_sitter.Language(wrap(entry(), b"tree_sitter.Language", None))


def read_query_source(row: Language) -> str:
    """Read a language's query files as one text."""
    folder = Path(__file__).with_name("queries")
    return "\n".join((folder / f"{name}.scm").read_text(encoding="utf-8") for name in row.queries)


@cache
def find_grammar_version(language: str) -> str:
    """Find the package and version of a language's grammar; 'none' if it has none or is not installed."""
    row = languages().get(language)
    if row is None or not row.grammar:
        return "none"
    package = _name_package(row.grammar)
    if version := _list_versions().get(package.replace("-", "_")):
        return f"{package} {version}"
    from importlib import metadata  # for a package that was installed in another way

    try:
        return f"{package} {metadata.version(package)}"
    except metadata.PackageNotFoundError:
        return "none"


@cache
def _list_versions() -> dict[str, str]:
    """List package, with underscores → version, from the folder names that pip creates. `importlib.metadata` takes 15 ms to
    import, and reads a file for each package."""
    versions: dict[str, str] = {}
    for place in filter(os.path.isdir, sys.path):
        with os.scandir(place) as entries:
            for entry in entries:
                package, dash, version = entry.name.removesuffix(".dist-info").partition("-")
                if dash and entry.name.endswith(".dist-info"):
                    versions.setdefault(package, version)
    return versions


# Macros of C and C++ that a grammar takes for something else: before the name of a type, around a namespace, after parameters,
# between statements. They are replaced by spaces before a text is parsed, so that all places stay as they are.

_MACRO = rb"[A-Z_][A-Z0-9_]{2,} (?:[ \t]*\((?:[^()\n]|\([^()\n]*\))*\))?"
_BEFORE_NAME = re.compile(
    rb"\n[ \t]* (?:typedef\s+|template[^\n]*>\s*)? (?:class|struct|union|enum (?:\s+(?:class|struct))?) (?:\s+\[\[[^][]*\]\])?"
    rb"((?:\s+" + _MACRO + rb")+) (?=(?:\s+\[\[[^][]*\]\])? \s+[A-Za-z_][\w:]* (?:<[^;{}<>]*>)? (?:\s+final)? \s*[:{])",
    re.VERBOSE,
)
_AROUND_NAMESPACE = re.compile(
    rb"\n[ \t]* ((?=\w*(?:NAMESPACE|DECLS)) (?=\w*(?:BEGIN|END|OPEN|CLOSE))" + _MACRO + rb") [ \t]*\r?(?=\n)",
    re.VERBOSE,
)
_ATTRIBUTES = (b"LOCK", b"GUARDED", b"ATTRIBUTE", b"NOEXCEPT")
_AFTER_PARAMETERS = re.compile(
    rb"\b (?<=[)\w]\s) (?<!return\s) (?=[A-Z_]*(?:LOCKS?_|GUARDED|ATTRIBUTE|NOEXCEPT)) ("
    + _MACRO
    + rb") (?=\s*(?:[;{=A-Z]|->|(?:const|override|final)\b))",
    re.VERBOSE,
)
_ALONE = re.compile(rb"\n ((?:[ \t]*" + _MACRO + rb"[ \t]*\r?\n)+) (?!\s*(?:[,}=({\[|&+?*<>.-]|/[^/*]))", re.VERBOSE)
MOST_COMMENT_LINES = 20  # Limit of comment lines before a macro that are examined


def blank_macros(utf8: bytes, language: str) -> bytes:
    """Replace such macros with spaces, as far as the language's row demands it."""
    kinds = languages()[language].macros
    if not kinds:
        return utf8
    patterns = [_BEFORE_NAME]
    if b"NAMESPACE" in utf8 or b"DECLS" in utf8:
        patterns.append(_AROUND_NAMESPACE)
    if kinds == "lines" and any(word in utf8 for word in _ATTRIBUTES):
        patterns.append(_AFTER_PARAMETERS)
    spans = [macro.span(1) for pattern in patterns for macro in pattern.finditer(utf8)]
    if kinds == "lines":
        spans += [macro.span(1) for macro in _ALONE.finditer(utf8) if _is_between_statements(utf8, macro.start())]
    if not spans:
        return utf8
    blanked = bytearray(utf8)
    for start, end in spans:
        blanked[start:end] = re.sub(rb"\S", b" ", utf8[start:end])
    return bytes(blanked)


def _is_between_statements(utf8: bytes, end: int) -> bool:
    """True if the last line before `end` that is not a comment ends a statement or begins a block."""
    for _ in range(MOST_COMMENT_LINES):
        start = utf8.rfind(b"\n", 0, end) + 1
        line = utf8[start:end].strip()
        if line and not line.startswith(b"//"):
            return line.endswith((b";", b"{", b"}", b":"))
        if not start:
            break
        end = start - 1
    return False

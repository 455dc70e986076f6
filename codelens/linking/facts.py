"""The facts that linking reads about one document: its definitions by scope, its imports and its bindings.

The linker looks up nothing else, so `LinkFacts.digest_keys` shows which lookups a change of the document affects.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import xxhash

from codelens.lang.registry import Language
from codelens.model.code import CHUNK_KINDS, TYPE_KINDS
from codelens.model.extraction import Binding, Import

Key = tuple[str, ...]
"""The identity of a lookup. The first part is its kind, the others are the place and the name:

p stem                   files and folders of that name
s namespace              files of a namespace
d path name              definitions, imports and bindings of a name at the top level of a file; `*` for its wildcards
k folder-or-namespace name    definitions of a name at the top level of a folder or namespace
m path holder.name       members and fields of a type in a file
o holder name            members of types of that name in any file
g name                   definitions of that name in the repository
u path qualified         the content of a definition: its bases, declared type, results
e path                   everything that a document offers to others; changes if a key changes that the offers depend on
f modules, f owners      module names that manifests declare; owners of files
rpc                      the names of all remote procedures"""
HOLDERS = (*TYPE_KINDS, "module")  # Kinds of definitions with members that are looked up by the holder's name
FUNCTIONS = ("function", "method", "property", "macro")
PROTOBUF = "protobuf"
MOST_CLOSED = 50  # Limit of bindings of a name in unnamed functions to examine for one place; tests have hundreds
PROCEDURES = "rpc"  # Kind of the key of all remote procedures' names
_FIELD = re.compile(r"(?:(.+)(?:\.|->)|@{1,2})(\w+)$")  # A field as a member writes it: self.x, $this->x, @x
UnitFacts = tuple[int, int | None, str, str, str, bool, int, int]
"""(id, parent's id, kind, name, container, local, start, end) of a unit."""


class Definition:
    """A unit as the linker sees it. Each is read once, so definitions are compared by identity."""

    __slots__ = ("container", "end", "facts", "id", "kind", "local", "name", "parent", "place", "qualified", "start")

    def __init__(self, facts: LinkFacts, place: int, row: UnitFacts, parent: Definition | None) -> None:
        self.facts, self.place, self.parent = facts, place, parent
        self.id, _, self.kind, self.name, self.container, self.local, self.start, self.end = row
        self.qualified = f"{self.container}.{self.name}" if self.container else self.name


class FileInfo(NamedTuple):
    """A document's id, path, language, namespace and roles."""

    id: int
    path: str
    language: Language
    namespace: str
    roles: frozenset[str]


def use_dots(name: str) -> str:
    """Write a namespace with dots between its parts, instead of its language's separators."""
    return name and name.replace("\\", ".").replace("::", ".").strip(".")


def list_folders(path: str) -> Iterator[str]:
    """List the folders above a path, nearest first; the last is the root, an empty string."""
    while path:
        path = path.rpartition("/")[0]
        yield path


def find_folders(paths: Iterable[str]) -> set[str]:
    """Find all folders that contain these files, directly or not, except the root."""
    folders: set[str] = set()
    for path in paths:
        for folder in list_folders(path):
            if not folder or folder in folders:
                break
            folders.add(folder)
    return folders


class LinkFacts:
    """A document's definitions, imports and bindings, indexed for lookup."""

    def __init__(
        self, file: FileInfo, rows: Sequence[UnitFacts], imports: Sequence[Import], bindings: Sequence[Binding]
    ) -> None:
        self.file = file
        folder = file.path.rpartition("/")[0]
        self.place = (file.language.name, file.path if file.language.modules == "crate" else folder)
        """(language, folder or path): imports with the same text and the same place mean the same."""
        self.size = len(rows) + len(imports) + len(bindings)
        self.definitions: list[Definition] = []
        self.by_id: dict[int, Definition] = {}
        self.top: dict[str, list[Definition]] = {}  # Name → definitions at the top level
        self.members: dict[str, dict[str, list[Definition]]] = {}
        """Qualified name of a holder → its members in this file."""
        self.locals: dict[int, dict[str, list[Definition]]] = {}  # Place of a unit → its local definitions by name
        self.inner: set[str] = set()  # Names that are defined or bound inside any unit
        self.has_modules = False  # True if the file defines an inner module
        self._index_definitions(rows)
        self.imports = imports
        self.names: dict[str, Import] = {}  # Local name → its import
        self.wildcards = [i for i in imports if i.name == "*" and not i.alias]
        for imported in imports:
            if local := find_local_name(imported, file.language.modules):
                is_bare = not imported.name and not imported.alias and local == imported.module.partition(".")[0]
                self.names.setdefault(local, imported._replace(module=local) if is_bare else imported)
        self.bindings: dict[int | None, list[Binding]] = {}
        self._bound: dict[tuple[int | None, str], list[Binding]] = {}
        self._closed: dict[tuple[int | None, str], list[Binding]] = {}  # Bindings in unnamed functions
        self.module_bound: dict[str, None] = {}  # Names bound at the top level, in order of place
        self.fields: dict[tuple[str, str], tuple[list[Binding], list[Binding]]] = {}
        """(qualified name of a type, field) → (declarations in the type, assignments by its members)."""
        self.outer_bases: dict[str, list[Binding]] = {}
        """Name of a type → bases that are named outside of its definition: by a Rust impl or a Swift extension."""
        self.adds_to: dict[int, str] = {}  # Start of such a base → name of its type
        self._index_bindings(bindings)
        self.repeated = {name for name, same in self.top.items() if len(same) > 1} | self.module_bound.keys()
        self.repeated |= {name for unit, name in self._closed if unit is None}
        """Names that may mean different things at different places of the top level."""

    def _index_definitions(self, rows: Sequence[UnitFacts]) -> None:
        for place, row in enumerate(rows):
            outer = self.by_id.get(row[1]) if row[1] is not None else None
            definition = self.by_id[row[0]] = Definition(self, place, row, outer)
            self.definitions.append(definition)
            name = definition.name
            if definition.kind in CHUNK_KINDS or not name:
                continue
            self.has_modules = self.has_modules or definition.kind == "module"
            if definition.local and outer is not None:
                if definition.kind == "method" and definition.container != outer.qualified:
                    continue  # a method of an unnamed type inside the function is not called by its bare name
                self.locals.setdefault(outer.place, {}).setdefault(name, []).append(definition)
                self.inner.add(name)
            elif outer is None and definition.kind not in ("method", "property"):
                self.top.setdefault(name, []).append(definition)
            if definition.container and not (outer is not None and outer.kind in FUNCTIONS):
                self.members.setdefault(definition.container, {}).setdefault(name, []).append(definition)

    def _index_bindings(self, bindings: Sequence[Binding]) -> None:
        for binding in bindings:
            if binding.name and binding.how in ("base", "interface"):
                self.outer_bases.setdefault(binding.name.rpartition(".")[2], []).append(binding)
                self.adds_to[binding.start] = binding.name
                continue
            self.bindings.setdefault(binding.unit, []).append(binding)
            if not binding.name:
                continue
            table = self._closed if binding.until else self._bound
            table.setdefault((binding.unit, binding.name), []).append(binding)
            if binding.unit is None:
                if not binding.until:
                    self.module_bound[binding.name] = None
                continue
            self.inner.add(binding.name)
            around = self.definitions[binding.unit]
            if around.kind in HOLDERS:
                self.fields.setdefault((around.qualified, binding.name), ([], []))[0].append(binding)
            if (field := _FIELD.match(binding.name)) and (not field[1] or field[1] in self.file.language.self_names):
                self.fields.setdefault((around.container, field[2]), ([], []))[1].append(binding)

    def release(self) -> None:
        """Drop the definitions. They refer back to this object, so it would stay in memory until the next garbage collection."""
        for table in (self.definitions, self.by_id, self.top, self.members, self.locals):
            table.clear()

    @property
    def types(self) -> list[Definition]:
        """The types defined in the document, in order of place."""
        return [d for d in self.definitions if d.kind in TYPE_KINDS]

    def list_enclosing(self, unit: int | None) -> Iterator[Definition]:
        """List the definition at a place and those around it, innermost first; none at the top level."""
        around = self.definitions[unit] if unit is not None else None
        while around is not None:
            yield around
            around = around.parent

    def find_bindings(self, unit: int | None, name: str, place: int) -> Sequence[Binding]:
        """Find the bindings of a name that are directly in a unit (None: the module) and hold at a place, in order of place.

        Bindings in an unnamed function around the place hide those outside of it; the innermost function wins.
        """
        closed = self._closed.get((unit, name), ())
        before = bisect_right(closed, place, key=attrgetter("start")) if closed else 0
        last = closed[max(0, before - MOST_CLOSED) : before]
        if innermost := next((b.until for b in reversed(last) if b.until > place), 0):
            return [b for b in last if b.until == innermost]
        return self._bound.get((unit, name), ())

    def list_base_texts(self, owner: Definition) -> list[tuple[str, int | None]]:
        """List the bases and interfaces of a type, in order, as pairs (text, place of the unit whose scope contains it)."""
        outside = owner.parent.place if owner.parent else None
        inside = [b for b in self.bindings.get(owner.place, ()) if b.how in ("base", "interface")]
        return [*((b.text, outside) for b in inside), *((b.text, b.unit) for b in self.outer_bases.get(owner.name, ()))]

    def list_bindings(self, unit: int, how: str) -> list[Binding]:
        """List the bindings of a unit itself (base, interface, return, result), not of a name inside it."""
        return [b for b in self.bindings.get(unit, ()) if b.how == how and not b.name]

    def digest_keys(self) -> dict[Key, str]:
        """Digest everything that other documents may look up in this one: key → digest."""
        keys: defaultdict[Key, list[str]] = defaultdict(list)
        path, namespace, folder = self.file.path, self.file.namespace, self.file.path.rpartition("/")[0]
        stem, language = path.rpartition("/")[2].partition(".")[0], self.file.language
        # Which other files a folder of Python has does not matter to an import of it, only whether there is such a folder.
        stands_for_folder = language.modules != "dotted" or stem in language.index_files
        for part in {stem, folder.rpartition("/")[2]} if stands_for_folder else {stem}:
            keys["p", part].append(path)
        if namespace:
            keys["s", namespace].append(path)
        for unit in self.definitions:
            if unit.kind in CHUNK_KINDS or not unit.name:
                continue
            what = f"{path} {unit.kind} {unit.qualified}"
            keys["u", path, unit.qualified].append(f"{what} {self._describe_content(unit)}")
            if unit.local:
                continue
            keys["g", unit.name].append(what)
            if unit.container:
                keys["m", path, unit.qualified].append(what)
                keys["o", unit.container.rpartition(".")[2], unit.name].append(what)
            if unit.parent is None:
                keys["d", path, unit.name].append(what)
                keys["k", folder, unit.name].append(what)
                keys["k", namespace, unit.name].append(what)
        for (holder, name), (declared, assigned) in self.fields.items():
            keys["m", path, f"{holder}.{name}"].append(_join_bindings([*declared, *assigned]))
        if language.name == PROTOBUF:
            for unit in self.definitions:
                if unit.kind == "method":
                    keys[PROCEDURES,].append(f"{path} {unit.qualified}")
        for imported in self.imports:
            local = find_local_name(imported, language.modules) or "*"
            keys["d", path, local].append(f"import {imported.module} {imported.name} {imported.alias}")
        for binding in self.bindings.get(None, ()):
            keys["d", path, binding.name].append(f"{binding.how} {binding.text}")
        return {key: xxhash.xxh3_64_hexdigest("\n".join(texts).encode()) for key, texts in keys.items()}

    def _describe_content(self, unit: Definition) -> str:
        """Describe the bindings and local names of a definition and of the functions around it, which its value may depend on."""
        texts = [_join_bindings(self.outer_bases.get(unit.name, ()))]
        for around in self.list_enclosing(unit.place):
            if around is unit or around.kind in FUNCTIONS:
                # Declared fields of a type have keys of their own.
                fields = around.kind in TYPE_KINDS and around.kind != "type"
                bindings = [b for b in self.bindings.get(around.place, ()) if not (fields and b.name)]
                texts += _join_bindings(bindings), " ".join(self.locals.get(around.place, ()))
        return "\n".join(texts)


def _join_bindings(bindings: Sequence[Binding]) -> str:
    return ";".join(f"{b.how} {b.name} {b.text}" for b in bindings)


_VERSION = re.compile(r"v\d+$")


def find_local_name(one: Import, modules: str) -> str:
    """Find the local name of an import; empty for a wildcard, and for a module that is only loaded."""
    if one.alias:
        return one.alias if one.alias not in ("_", ".") else ""
    if one.name:
        return one.name if one.name != "*" else ""
    if modules == "dotted":
        return one.module.partition(".")[0]
    if modules == "package":  # Go: the last part of the path that is not a version
        head, _, last = one.module.rpartition("/")
        last = head.rpartition("/")[2] if _VERSION.match(last) and head else last
        return last.removeprefix("go-").partition(".")[0]
    return one.module.rpartition("::")[2] if modules == "crate" else one.module.rpartition("\\")[2]


@lru_cache(maxsize=20_000)
def hash_key(key: Key) -> int:
    """Hash a key to the 32 bits that are stored. A collision only causes a document to be linked again."""
    return xxhash.xxh3_64_intdigest("\0".join(key).encode("utf-8", "surrogatepass")) >> 32


class LinkWords(NamedTuple):
    """The word lists of words.toml: words with a special meaning in types and names."""

    transparent: frozenset[str]
    containers: frozenset[str]
    classes: frozenset[str]
    own: frozenset[str]
    common: frozenset[str]


@cache
def load_words() -> LinkWords:
    """Read words.toml."""
    table = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
    return LinkWords(**{name: frozenset(table[name]) for name in LinkWords._fields})

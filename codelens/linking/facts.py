"""The facts about one document that linking uses: its definitions by scope, its imports and its bindings.

Lookups of the linker are over these alone, so `keys` can say which of them a change of the document touches.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import xxhash

from codelens.derived import Binding, Import
from codelens.lang.registry import Language
from codelens.model import CHUNK_KINDS, TYPE_KINDS

Key = tuple[str, ...]
"""What a lookup of linking is known by. Its first part says what was looked up, the rest where and by which name:

p stem                   files and folders of that name
s namespace              files of a namespace
d path name              what a file defines, imports or binds by a name at its top level; `*` for its wildcards
k folder-or-namespace name    what a folder or namespace defines by a name at the top level
m path holder.name       members and fields of a type in a file
o holder name            members of types of that name in any file
g name                   definitions of that name in the repository
u path qualified         what stands in a definition: its bases, declared type, results
e path                   what a document offers depends on other documents: it changes if one of its own keys does
f modules, f owners      what manifests say of modules' names; owners of files
rpc                      the names of all remote procedures"""
HOLDERS = (*TYPE_KINDS, "module")
"""Kinds whose members are found by the holder's name."""
FUNCTIONS = ("function", "method", "property", "macro")
PROTOBUF = "protobuf"
PROCEDURES = "rpc"
"""The names of all remote procedures."""


_FIELD = re.compile(r"(?:(.+)(?:\.|->)|@{1,2})(\w+)$")
"""A field as members write it: self.x, $this->x, @x."""


class Definition:
    """One unit as linking sees it. Identity is that of the object: each is read once a run."""

    __slots__ = ("_qualified", "container", "end", "facts", "id", "kind", "local", "name", "parent", "place", "start")

    def __init__(
        self,
        facts: DocumentFacts,
        place: int,
        row: tuple[int, str, str, str, bool, int, int],
        parent: Definition | None,
    ) -> None:
        self.facts = facts
        self.place = place
        self.id, self.kind, self.name, self.container, self.local, self.start, self.end = row
        self.parent = parent
        self._qualified = "" if self.container else self.name

    @property
    def qualified(self) -> str:
        """Container and name, joined by a dot."""
        if not self._qualified:
            self._qualified = f"{self.container}.{self.name}"
        return self._qualified


class FileInfo(NamedTuple):
    """A document, as far as it is known without reading its units."""

    id: int
    path: str
    language: Language
    namespace: str
    roles: frozenset[str]


def dotted(name: str) -> str:
    """A namespace with dots, however its language separates its parts."""
    return name and name.replace("\\", ".").replace("::", ".").strip(".")


class DocumentFacts:
    """A document's definitions, imports and bindings, by how they are looked up."""

    __slots__ = (
        "_bound",
        "bindings",
        "by_id",
        "definitions",
        "fields",
        "file",
        "has_modules",
        "imports",
        "inner",
        "locals",
        "members",
        "module_bound",
        "names",
        "place",
        "repeated",
        "seconded",
        "size",
        "top",
        "wildcards",
    )

    def __init__(
        self,
        file: FileInfo,
        rows: Sequence[tuple[int, int | None, str, str, str, bool, int, int]],
        imports: Sequence[Import],
        bindings: Sequence[Binding],
    ) -> None:
        self.file = file
        folder = file.path.rpartition("/")[0]
        self.place = (file.language.name, file.path if file.language.modules == "crate" else folder)
        """What the meaning of an import depends on, beside its text."""
        self.size = len(rows) + len(imports) + len(bindings)
        self.definitions: list[Definition] = []
        self.top: dict[str, list[Definition]] = {}
        """Names of the file: all but members and what is local."""
        self.members: dict[str, dict[str, list[Definition]]] = {}
        """Qualified name of a holder → its members in this file."""
        self.locals: dict[int, dict[str, list[Definition]]] = {}
        """Place of a unit → definitions directly inside it that belong to it alone."""
        self.inner: set[str] = set()
        """Names that are defined or bound within some unit."""
        self.has_modules = False
        """Whether a module is defined inside the file."""
        self.by_id = by_id = dict[int, Definition]()
        for place, (unit, parent, *row) in enumerate(rows):
            found = Definition(self, place, (unit, *row), by_id.get(parent) if parent is not None else None)  # type: ignore[arg-type]
            by_id[unit] = found
            self.definitions.append(found)
            if found.kind in CHUNK_KINDS or not found.name:
                continue
            self.has_modules = self.has_modules or found.kind == "module"
            if found.local and found.parent is not None:
                if found.kind == "method" and found.container != found.parent.qualified:
                    continue  # of an unnamed type inside the function: nobody calls it by its name alone
                self.locals.setdefault(found.parent.place, {}).setdefault(found.name, []).append(found)
                self.inner.add(found.name)
            elif found.parent is None and found.kind not in ("method", "property"):
                self.top.setdefault(found.name, []).append(found)
            if found.container and not (found.parent is not None and found.parent.kind in FUNCTIONS):
                self.members.setdefault(found.container, {}).setdefault(found.name, []).append(found)
        self.imports = imports
        self.names: dict[str, Import] = {}
        """The name that an import gives to what it brings → the import."""
        self.wildcards = [i for i in imports if i.name == "*" and not i.alias]
        for one in imports:
            if local := local_name(one, file.language.modules):
                module = (
                    local if local == one.module.partition(".")[0] and not one.name and not one.alias else one.module
                )
                self.names.setdefault(local, one._replace(module=module))
        self.bindings: dict[int | None, list[Binding]] = {}
        self._bound: dict[tuple[int | None, str], list[Binding]] = {}
        self.module_bound: dict[str, None] = {}
        """Names that are bound at the top level, in order of place."""
        self.fields: dict[tuple[str, str], tuple[list[Binding], list[Binding]]] = {}
        """(qualified name of a type, field) → what the type declares of it, and what members set it to on the object itself."""
        self.seconded: dict[str, list[Binding]] = {}
        """Name of a type → bases that this file gives it elsewhere than at its head: a Rust impl, a Swift extension."""
        self._bind(bindings)
        self.repeated = {name for name, found in self.top.items() if len(found) > 1} | self.module_bound.keys()
        """Names that stand for different things at different places of the top level."""

    def _bind(self, bindings: Sequence[Binding]) -> None:
        own = self.file.language.self_names
        for binding in bindings:
            if binding.name and binding.how in ("base", "interface"):
                self.seconded.setdefault(binding.name.rpartition(".")[2], []).append(binding)
                continue
            self.bindings.setdefault(binding.unit, []).append(binding)
            if not binding.name:
                continue
            self._bound.setdefault((binding.unit, binding.name), []).append(binding)
            if binding.unit is None:
                self.module_bound[binding.name] = None
                continue
            self.inner.add(binding.name)
            around = self.definitions[binding.unit]
            if around.kind in HOLDERS:
                self.fields.setdefault((around.qualified, binding.name), ([], []))[0].append(binding)
            if (field := _FIELD.match(binding.name)) and (field[1] in own or not field[1]):
                self.fields.setdefault((around.container, field[2]), ([], []))[1].append(binding)

    def release(self) -> None:
        """Let go of the definitions, which lead back here: a circle would stay in memory until a collector looks for it."""
        for held in (self.definitions, self.by_id, self.top, self.members, self.locals):
            held.clear()

    @property
    def types(self) -> list[Definition]:
        """The types that the document defines, in order of place."""
        return [d for d in self.definitions if d.kind in TYPE_KINDS]

    def bound(self, unit: int | None, name: str) -> Sequence[Binding]:
        """Bindings of a name directly in a unit (None: the module), in order of place."""
        return self._bound.get((unit, name), ())

    def said(self, unit: int, how: str) -> list[Binding]:
        """Bindings about a unit itself: base, interface, return, result."""
        return [b for b in self.bindings.get(unit, ()) if b.how == how and not b.name]

    def keys(self) -> dict[Key, str]:
        """Key that another document may look up → digest of what it leads to here."""
        keys: dict[Key, list[str]] = {}

        def say(key: Key, answer: str) -> None:
            keys.setdefault(key, []).append(answer)

        path, namespace, folder = self.file.path, self.file.namespace, self.file.path.rpartition("/")[0]
        for part in {path.rpartition("/")[2].partition(".")[0], folder.rpartition("/")[2]}:
            say(("p", part), path)
        if namespace:
            say(("s", namespace), path)
        for unit in self.definitions:
            if unit.kind in CHUNK_KINDS or not unit.name:
                continue
            what = f"{path} {unit.kind} {unit.qualified}"
            say(("u", path, unit.qualified), f"{what} {self._digest(unit)}")
            if unit.local:
                continue
            say(("g", unit.name), what)
            if unit.container:
                say(("m", path, unit.qualified), what)
                say(("o", unit.container.rpartition(".")[2], unit.name), what)
            if unit.parent is None:
                say(("d", path, unit.name), what)
                say(("k", folder, unit.name), what)
                say(("k", namespace, unit.name), what)
        for (holder, name), (declared, was_set) in self.fields.items():
            say(("m", path, f"{holder}.{name}"), _said([*declared, *was_set]))
        if self.file.language.name == PROTOBUF:
            for unit in self.definitions:
                if unit.kind == "method":
                    say((PROCEDURES,), f"{path} {unit.qualified}")
        for one in self.imports:
            local = local_name(one, self.file.language.modules) or "*"
            say(("d", path, local), f"import {one.module} {one.name} {one.alias}")
        for binding in self.bindings.get(None, ()):
            say(("d", path, binding.name), f"{binding.how} {binding.text}")
        return {key: xxhash.xxh3_64_hexdigest("\n".join(said).encode()) for key, said in keys.items()}

    def _digest(self, unit: Definition) -> str:
        """All that the value of a definition may depend on and that stands in it, or in the functions around it."""
        said = [_said(self.seconded.get(unit.name, ()))]
        around: Definition | None = unit
        while around is not None:
            if around is unit or around.kind in FUNCTIONS:
                # What a type declares of its fields has keys of its own.
                fields = around.kind in TYPE_KINDS and around.kind != "type"
                bindings = self.bindings.get(around.place, ())
                said.append(_said([b for b in bindings if not (fields and b.name)]))
                said.append(" ".join(self.locals.get(around.place, ())))
            around = around.parent
        return "\n".join(said)


def _said(bindings: Sequence[Binding]) -> str:
    return ";".join(f"{b.how} {b.name} {b.text}" for b in bindings)


_VERSION = re.compile(r"v\d+$")


def local_name(one: Import, modules: str) -> str:
    """The name by which a file knows what it imported; empty for a wildcard, and for a module that is only loaded."""
    if one.alias:
        return one.alias if one.alias not in ("_", ".") else ""
    if one.name:
        return one.name if one.name != "*" else ""
    if modules == "dotted":
        return one.module.partition(".")[0]
    if modules == "package":  # Go: the last part of the path, but for a version
        head, _, last = one.module.rpartition("/")
        last = head.rpartition("/")[2] if _VERSION.match(last) and head else last
        return last.removeprefix("go-").partition(".")[0]
    return one.module.rpartition("::")[2] if modules == "crate" else one.module.rpartition("\\")[2]


@lru_cache(maxsize=100_000)
def token(key: Key) -> int:
    """A key as it is stored: 48 bits; a clash relinks a document too many."""
    return xxhash.xxh3_64_intdigest("\0".join(key).encode("utf-8", "surrogatepass")) >> 16

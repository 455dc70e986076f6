"""What linking knows of one document: its definitions by scope, its imports, and what is bound to names in it.

Lookups of the linker are over these alone, so `keys` can say which of them a change of the document touches.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import xxhash

from codelens.derived import Binding, Import
from codelens.lang.registry import Language
from codelens.model import CHUNK_KINDS, TYPE_KINDS

HOLDERS = (*TYPE_KINDS, "module")
"""Kinds whose members are found by the holder's name."""
FUNCTIONS = ("function", "method", "property", "macro")
PROTOBUF = "protobuf"
PROCEDURES = "rpc"
"""The question whether there are remote procedures at all."""


_FIELD = re.compile(r"(?:(.+)(?:\.|->)|@{1,2})(\w+)$")
"""A field as members write it: self.x, $this->x, @x."""


class Definition:
    """One unit as linking sees it. Identity is that of the object: each is read once a run."""

    __slots__ = ("container", "end", "facts", "id", "kind", "local", "name", "parent", "place", "start")

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

    @property
    def qualified(self) -> str:
        """Container and name, joined by a dot."""
        return f"{self.container}.{self.name}" if self.container else self.name


class FileInfo(NamedTuple):
    """What is known of a document without reading its units."""

    id: int
    path: str
    language: Language
    namespace: str
    roles: frozenset[str]


def dotted(name: str) -> str:
    """A namespace with dots, however its language separates its parts."""
    return name.replace("\\", ".").replace("::", ".").strip(".")


class DocumentFacts:
    """A document's definitions, imports and bindings, by how they are asked for."""

    __slots__ = (
        "_bound",
        "_fields",
        "bindings",
        "by_id",
        "definitions",
        "file",
        "imports",
        "locals",
        "members",
        "names",
        "seconded",
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
        self.definitions: list[Definition] = []
        self.top: dict[str, list[Definition]] = {}
        """Names of the file: all but members and what is local."""
        self.members: dict[str, dict[str, list[Definition]]] = {}
        """Qualified name of a holder → its members in this file."""
        self.locals: dict[int, dict[str, list[Definition]]] = {}
        """Place of a unit → definitions directly inside it that belong to it alone."""
        self.by_id = by_id = dict[int, Definition]()
        for place, (unit, parent, *row) in enumerate(rows):
            found = Definition(self, place, (unit, *row), by_id.get(parent) if parent is not None else None)  # type: ignore[arg-type]
            by_id[unit] = found
            self.definitions.append(found)
            if found.kind in CHUNK_KINDS or not found.name:
                continue
            if found.local and found.parent is not None:
                if found.kind == "method" and found.container != found.parent.qualified:
                    continue  # of an unnamed type inside the function: nobody calls it by its name alone
                self.locals.setdefault(found.parent.place, {}).setdefault(found.name, []).append(found)
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
        self._fields: dict[tuple[str, str], list[Binding]] = {}
        self.seconded: dict[str, list[Binding]] = {}
        """Name of a type → bases that this file gives it elsewhere than at its head: a Rust impl, a Swift extension."""
        own = file.language.self_names
        for binding in bindings:
            if binding.name and binding.how in ("base", "interface"):
                self.seconded.setdefault(binding.name.rpartition(".")[2], []).append(binding)
                continue
            self.bindings.setdefault(binding.unit, []).append(binding)
            if binding.name:
                self._bound.setdefault((binding.unit, binding.name), []).append(binding)
            if binding.unit is not None and (field := _FIELD.match(binding.name)) and (field[1] in own or not field[1]):
                self._fields.setdefault((self.definitions[binding.unit].container, field[2]), []).append(binding)

    def bound(self, unit: int | None, name: str) -> Sequence[Binding]:
        """What is bound to a name directly in a unit (None: the module), in order of place."""
        return self._bound.get((unit, name), ())

    def field(self, holder: str, name: str) -> Sequence[Binding]:
        """What the members of a type (by its qualified name) set a field of the object itself to, in order of place."""
        return self._fields.get((holder, name), ())

    def said(self, unit: int, how: str) -> list[Binding]:
        """What is said of a unit itself: base, interface, return, result."""
        return [b for b in self.bindings.get(unit, ()) if b.how == how and not b.name]

    def keys(self) -> dict[str, str]:
        """Key of a question that another document may ask → digest of the answer here."""
        keys: dict[str, list[str]] = {}

        def say(key: str, answer: str) -> None:
            keys.setdefault(key, []).append(answer)

        path, namespace, folder = self.file.path, self.file.namespace, self.file.path.rpartition("/")[0]
        stem = path.rpartition("/")[2].partition(".")[0]
        for part in {stem, folder.rpartition("/")[2]}:
            say(f"p:{part}", path)
        if namespace:
            say(f"s:{namespace}", path)
        for unit in self.definitions:
            if unit.kind in CHUNK_KINDS or not unit.name:
                continue
            own = [*self.bindings.get(unit.place, ()), *self.seconded.get(unit.name, ())]
            said = ";".join(f"{b.how} {b.name} {b.text}" for b in own)
            what = f"{unit.kind} {unit.qualified} {said}"
            say(f"u:{path}#{unit.qualified}", what)
            if unit.local:
                continue
            say(f"g:{unit.name}", f"{path} {unit.kind} {unit.qualified}")
            if unit.container:
                say(f"m:{path}#{unit.qualified}", what)
                say(f"o:{unit.container.rpartition('.')[2]}.{unit.name}", f"{path} {what}")
            if unit.parent is None:
                say(f"d:{path}#{unit.name}", what)
                say(f"k:{folder}#{unit.name}", f"{path} {what}")
                say(f"k:{namespace}#{unit.name}", f"{path} {what}")
        if self.file.language.name == PROTOBUF and any(unit.kind == "method" for unit in self.definitions):
            say(PROCEDURES, path)
        for one in self.imports:
            say(
                f"d:{path}#{local_name(one, self.file.language.modules) or '*'}",
                f"import {one.module} {one.name} {one.alias}",
            )
        for binding in self.bindings.get(None, ()):
            say(f"d:{path}#{binding.name}", f"{binding.how} {binding.text}")
        return {key: xxhash.xxh3_64_hexdigest("\n".join(said).encode()) for key, said in keys.items()}


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


def token(key: str) -> int:
    """A key as it is remembered: 48 bits; a clash relinks a document too many."""
    return xxhash.xxh3_64_intdigest(key.encode()) >> 16

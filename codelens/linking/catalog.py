"""Lookups of other documents of a repository, read when they are needed; each lookup records its key.

A key is recorded whether something is found or not: when an update changes what a key leads to, the documents that depend
on it are known. Tables are read once for each folder, namespace or name, so that a lookup costs no more in a large one.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

from codelens.lang.registry import Language, languages
from codelens.linking.facts import Definition, DocumentFacts, FileInfo, Key, dotted
from codelens.linking.manifests import Manifests, is_asked
from codelens.model import SYMBOL_KINDS, DocumentId, RepositoryId, UnitId
from codelens.store.compressed import decompress
from codelens.store.store import Store
from codelens.text.expressions import head_shape

MOST_LOADED = 200_000
"""Definitions, imports and bindings that are kept at a time, at some 400 bytes each. Chosen."""
MOST_ROWS = 60_000
"""Rows of tables by name that are kept at a time, at some 100 bytes each. Chosen."""
MOST_NAMED = 12
"""Definitions of one name that are looked at; with more of them the name says nothing. Chosen."""
DOCUMENT_ENDINGS = ("", ".rst", ".md", ".adoc", ".txt", ".ipynb", "/index.rst", "/index.md", "/README.md")
"""What a link to a document may leave out, in this order: Sphinx and most sites of Markdown do."""
FREE_KINDS = frozenset(SYMBOL_KINDS) - {"method", "property"}
"""Kinds whose names are seen without naming a type."""
NO_LANGUAGE = Language("")
T = TypeVar("T")


class Namesake(NamedTuple):
    """One of the definitions of a name."""

    unit: int
    document: int
    kind: str
    holder: str
    """The last name of what contains it; empty at the top level."""


class Catalog:
    """The facts of one repository's documents, or of `only` one of them where nothing is to be looked up in others."""

    def __init__(self, store: Store, repository: RepositoryId, only: DocumentId | None = None) -> None:
        self._store = store
        self._repository = repository
        self.files: dict[int, FileInfo] = {}
        self.by_path: dict[str, FileInfo] = {}
        self.by_folder: dict[tuple[str, str], list[FileInfo]] = {}
        self.by_namespace: dict[tuple[str, str], list[FileInfo]] = {}
        self.folders: set[str] = set()
        self._by_ending: dict[tuple[str, str], list[str]] = {}
        """(family, or empty for any; file name, or folder and file name) → paths; filled at the first question."""
        self._ending: dict[tuple[str, str], list[str]] = {}
        self.folders_named: dict[str, list[str]] = {}
        """Last part → folders, by path."""
        self.asked: set[Key] = set()
        """The keys that were looked up since the last call of `taken`, or within the question in hand."""
        self._facts: dict[int, DocumentFacts] = {}
        self._top: dict[tuple[str, str], dict[str, list[tuple[int, int]]]] = {}
        self._members: dict[tuple[str, str], dict[str, dict[str, list[tuple[int, int]]]]] = {}
        self._namesakes: dict[str, dict[str, list[Namesake]]] = {}
        self._many: set[tuple[str, str]] = set()
        """(family, name) of which there are more than MOST_NAMED: they need not be read again."""
        self._modules: dict[tuple[object, ...], tuple[Any, frozenset[Key]]] = {}
        self._loaded = self._rows = 0
        self.looked_at = 0
        """Rows of tables by name and paths that were looked at: how much a test counts."""
        rows, sets = languages(), dict[str, frozenset[str]]()
        for identity, path, language, namespace, roles in store.documents.linkable(repository, only):
            if (said := sets.get(roles)) is None:
                said = sets[roles] = frozenset(roles.split())
            self._add(FileInfo(identity, path, rows.get(language, NO_LANGUAGE), dotted(namespace), said))
        for folder in sorted(self.folders):
            self.folders_named.setdefault(folder.rpartition("/")[2], []).append(folder)
        manifests = [f for f in self.files.values() if is_asked(f.path)]
        self.manifests = Manifests({f.path: partial(self._raw, f.id) for f in manifests})

    def _raw(self, document: int) -> bytes:
        return b"".join(map(decompress, self._store.frames(DocumentId(document))))

    def _add(self, file: FileInfo) -> None:
        self.files[file.id] = self.by_path[file.path] = file
        folder, kin = file.path.rpartition("/")[0], file.language.kin
        if file.namespace:
            self.by_namespace.setdefault((kin, file.namespace), []).append(file)
        if (others := self.by_folder.get((kin, folder))) is not None:
            others.append(file)
            return
        self.by_folder[kin, folder] = [file]
        while folder and folder not in self.folders:
            self.folders.add(folder)
            folder = folder.rpartition("/")[0]

    # What is kept

    def trim(self) -> bool:
        """Forget what was read if it has become much; True if facts were. Definitions that are read again are other objects."""
        if self._rows > MOST_ROWS:
            for table in (self._top, self._members, self._namesakes, self._modules, self._ending):
                table.clear()
            self._rows = 0
        if self._loaded <= MOST_LOADED:
            return False
        for facts in self._facts.values():
            facts.release()
        self._facts.clear()
        self._loaded = 0
        return True

    def ask(self, *key: str) -> None:
        """Note that a key was looked up."""
        self.asked.add(key)

    def taken(self) -> set[Key]:
        """The keys that were looked up since the last call."""
        asked, self.asked = self.asked, set()
        return asked

    def kept(self, question: tuple[object, ...], find: Callable[..., T], *about: Any) -> T:
        """The result of `find(*about)`, kept with the keys that it depends on."""
        if (known := self._modules.get(question)) is None:
            asked, self.asked = self.asked, set()
            found = find(*about)
            known = self._modules[question] = found, frozenset(self.asked)
            self.asked = asked
            self._rows += 1
        self.asked |= known[1]
        return known[0]

    def facts(self, document: int) -> DocumentFacts:
        """The facts of a document, read at the first call."""
        if (known := self._facts.get(document)) is not None:
            return known
        store, identity = self._store, DocumentId(document)
        self._facts[document] = found = DocumentFacts(
            self.files[document],
            store.units.definitions(identity),
            store.references.imports_of(identity),
            store.references.bindings_of(identity),
        )
        self._loaded += found.size
        return found

    def about(self, definition: Definition) -> DocumentFacts:
        """The facts around a definition, for what is bound in it or said of it."""
        self.asked.add(("u", definition.facts.file.path, definition.qualified))
        return definition.facts

    # Files

    def linked_file(self, path: str, name: str) -> tuple[FileInfo, str] | None:
        """(file, tier) that the document at `path` means by a path, which may lack the ending of a document."""
        self.ask("p", posixpath.basename(name).partition(".")[0])
        folder = posixpath.dirname(path)
        if not name.startswith("/"):
            found = self._file_at(posixpath.normpath(posixpath.join(folder, name)))
            return (found, "literal") if found else self._only_file(name)
        while True:  # of a site: which folder is its root, no document says
            if found := self._file_at(posixpath.normpath(posixpath.join(folder, name.strip("/")))):
                return found, "literal"
            if not folder:
                return None
            folder = posixpath.dirname(folder)

    def _file_at(self, path: str) -> FileInfo | None:
        return next((self.by_path[path + end] for end in DOCUMENT_ENDINGS if path + end in self.by_path), None)

    def _only_file(self, name: str) -> tuple[FileInfo, str] | None:
        """The only file whose path ends so."""
        fitting = self.ending_with("", posixpath.normpath(name).rpartition("../")[2])
        return (self.by_path[fitting[0]], "unique") if len(fitting) == 1 else None

    def ending_with(self, kin: str, ending: str) -> Sequence[str]:
        """Paths of the files of a family (empty: of all) that are this path or end in it, in their order."""
        if (known := self._ending.get((kin, ending))) is not None:
            return known
        if not self._by_ending:
            for path, file in self.by_path.items():
                for part in {path.rpartition("/")[2], "/".join(path.rsplit("/", 2)[-2:])}:
                    self._by_ending.setdefault(("", part), []).append(path)
                    self._by_ending.setdefault((file.language.kin, part), []).append(path)
        found = self._by_ending.get((kin, "/".join(ending.rsplit("/", 2)[-2:])), ())
        self.looked_at += len(found)
        known = self._ending[kin, ending] = [p for p in found if p == ending or p.endswith(f"/{ending}")]
        self._rows += 1
        return known

    def fixture_files(self, facts: DocumentFacts) -> Iterator[DocumentFacts]:
        """The files whose functions may give the parameters of a test, nearest first: its own, and those of the folders above."""
        name = facts.file.language.fixtures
        self.ask("p", name.partition(".")[0])
        yield facts
        folder = facts.file.path
        while folder:
            folder = folder.rpartition("/")[0]
            if file := self.by_path.get(f"{folder}/{name}".lstrip("/")):
                yield self.facts(file.id)

    def offers(self, document: int) -> dict[Key, str]:
        """Key → digest of what it leads to in a document, for all keys that other documents may look up."""
        path, keys = self.files[document].path, self.facts(document).keys()
        if is_asked(path) and (manifest := self.manifests.offers(path)):
            keys[manifest[0]] = manifest[1]
        return keys

    def declared(self, document: int) -> bool:
        """Whether manifests say something of a document, or it is one."""
        path = self.files[document].path
        return bool(self.manifests.of(path) or self.manifests.owners(path, _not_noted))

    # Definitions by name

    def top(self, facts: DocumentFacts, name: str) -> Sequence[Definition]:
        """Definitions of that name at the top level of a file."""
        self.asked.add(("d", facts.file.path, name))
        return facts.top.get(name, ())

    def in_package(self, facts: DocumentFacts, name: str) -> Sequence[Definition]:
        """Definitions of that name that a file sees without an import."""
        language = facts.file.language
        if language.package == "directory":
            return self.in_folder(language.kin, facts.file.path.rpartition("/")[0], name)
        if language.package == "repository":
            return self.named(language.kin, name, FREE_KINDS)
        if language.package != "namespace":
            return ()
        namespace = facts.file.namespace
        while namespace:
            if found := self.in_namespace(language.kin, namespace, name):
                return found
            namespace = namespace.rpartition(".")[0] if language.open_types else ""
        used = [one.module.replace("\\", ".") for one in facts.imports if not one.name and not one.alias]
        return [d for one in used for d in self.in_namespace(language.kin, one, name)]

    def in_folder(self, kin: str, folder: str, name: str) -> Sequence[Definition]:
        """Definitions of that name at the top level of the files of a folder."""
        return self._at_top(kin, folder, name, self.by_folder)

    def in_namespace(self, kin: str, namespace: str, name: str) -> Sequence[Definition]:
        """Definitions of that name at the top level of the files of a namespace."""
        return self._at_top(kin, namespace, name, self.by_namespace)

    def _at_top(
        self, kin: str, place: str, name: str, files: dict[tuple[str, str], list[FileInfo]]
    ) -> Sequence[Definition]:
        """Definitions of that name at the top level of the files of a folder or namespace, by path and place."""
        self.asked.add(("k", place, name))
        group = files.get((kin, place), ())
        if len(group) == 1:
            return self.facts(group[0].id).top.get(name, ())
        key = (kin, f"{place}/" if files is self.by_folder else place)
        if (table := self._top.get(key)) is None:
            table = self._top[key] = {}
            for found, unit, document in self._store.units.at_top([DocumentId(f.id) for f in group]):
                table.setdefault(found, []).append((unit, document))
                self.looked_at += 1
            self._rows += len(table)
        return [self.facts(document).by_id[unit] for unit, document in table.get(name, ())]

    def members(self, holder: Definition, name: str) -> Sequence[Definition]:
        """Members of a type or module by that name, where its language lets them stand."""
        file, qualified = holder.facts.file, holder.qualified
        self.asked.add(("m", file.path, f"{qualified}.{name}"))
        if own := holder.facts.members.get(qualified, {}).get(name):
            return [d for d in own if d.id != holder.id]
        if not file.language.open_types:
            return ()
        self.asked.add(("o", holder.name, name))
        if file.language.open_types == "directory":
            found = self._members_in(holder).get(name, ())
            return [self.facts(document).by_id[unit] for unit, document in found]
        kin = file.language.kin
        return self._few([n for n in self._by_holder(name).get(holder.name, ()) if self._kin(n) == kin])

    def all_members(self, holder: Definition) -> Sequence[Definition]:
        """All members of a type in its file, or in its folder where its language lets them stand there."""
        if holder.facts.file.language.open_types != "directory":
            return [d for named in holder.facts.members.get(holder.qualified, {}).values() for d in named]
        found = [place for named in self._members_in(holder).values() for place in named]
        return [self.facts(document).by_id[unit] for unit, document in found]

    def _members_in(self, holder: Definition) -> dict[str, list[tuple[int, int]]]:
        """Name → members of a type in the files of its folder."""
        kin, folder = holder.facts.file.language.kin, holder.facts.file.path.rpartition("/")[0]
        if (table := self._members.get((kin, folder))) is None:
            table = self._members[kin, folder] = {}
            documents = [DocumentId(f.id) for f in self.by_folder.get((kin, folder), ())]
            for container, name, unit, document in self._store.units.contained(documents):
                table.setdefault(container, {}).setdefault(name, []).append((unit, document))
                self.looked_at += 1
                self._rows += 1
        return table.get(holder.qualified, {})

    def _by_holder(self, name: str) -> dict[str, list[Namesake]]:
        """Last name of what contains them → definitions of exactly that name; local ones apart."""
        if (known := self._namesakes.get(name)) is None:
            known = self._namesakes[name] = {}
            for unit, document, kind, container in self._store.units.namesakes(name):
                self.looked_at += 1
                if document in self.files:
                    one = Namesake(unit, document, kind, container.rpartition(".")[2])
                    known.setdefault(one.holder, []).append(one)
                    self._rows += 1
            self._rows += 1
        return known

    def member_names(self, language: str) -> frozenset[str]:
        """The names of all members of types in one language."""
        documents = [DocumentId(i) for i, file in self.files.items() if file.language.name == language]
        return frozenset(name for _, name, _, _ in self._store.units.contained(documents)) if documents else frozenset()

    def namesakes(self, name: str) -> Iterator[Namesake]:
        """All definitions of exactly that name in the repository; local ones apart."""
        return (one for named in self._by_holder(name).values() for one in named)

    def _kin(self, namesake: Namesake) -> str:
        return self.files[namesake.document].language.kin

    def _few(self, found: Sequence[Namesake]) -> Sequence[Definition]:
        """By path and place; nothing where there are more than MOST_NAMED."""
        if len(found) > MOST_NAMED:
            return ()
        definitions = [self.facts(n.document).by_id[n.unit] for n in found]
        return sorted(definitions, key=lambda d: (d.facts.file.path, d.place)) if len(found) > 1 else definitions

    def named(self, kin: str, name: str, kinds: Collection[str] = ()) -> Sequence[Definition]:
        """Definitions of exactly that name in the languages of a family, by path and place; none where there are many.

        Those of other `kinds` count among the many, and are left out.
        """
        self.asked.add(("g", name))
        if (kin, name) in self._many:
            return ()
        found = [n for n in self.namesakes(name) if self._kin(n) == kin]
        if len(found) > MOST_NAMED:
            self._many.add((kin, name))
            return ()
        return self._few([n for n in found if n.kind in kinds] if kinds else found)

    def anywhere(self, name: str, holder: str = "") -> Sequence[Definition]:
        """Definitions of that name in any language, directly within a holder if one is named; none where there are many."""
        self.asked.add(("g", name))
        return self._few(self._by_holder(name).get(holder, ()) if holder else list(self.namesakes(name)))

    def methods_named(self, language: str, name: str) -> list[Definition]:
        """All methods of that name in one language."""
        found = [n for n in self.namesakes(name) if n.kind == "method"]
        return [self.facts(n.document).by_id[n.unit] for n in found if self.files[n.document].language.name == language]

    def shape(self, definition: Definition) -> tuple[int, int]:
        """How many parameters and results a method's head lists."""
        return head_shape(self._store.units.signature(UnitId(definition.id)), definition.name)

    def line_of(self, definition: Definition) -> int:
        """The line of a definition's name, from 1."""
        return self._store.units.rows([UnitId(definition.id)])[UnitId(definition.id)].name_line


def _not_noted(*key: str) -> None:
    """In place of `Catalog.ask`, where no edge depends on the answer."""

"""All that linking may ask about other documents of a repository, read when it is asked for, and who asked what.

Each lookup notes its key, found or not: when a later update changes the answer, the documents that asked are known.
"""

from __future__ import annotations

import posixpath
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, TypeVar

from codelens.lang.registry import Language, languages
from codelens.linking.facts import Definition, DocumentFacts, FileInfo, dotted, token
from codelens.linking.manifests import Manifests, is_asked
from codelens.model import DocumentId, RepositoryId, UnitId
from codelens.store.store import Store
from codelens.text.expressions import head_shape
from codelens.text.identifiers import fold_identifier

KEPT = 3000
"""Documents whose facts stay in memory. Chosen: all of Django's Python fits, at some 15 kB each."""
MOST_ANSWERS = 100_000
"""Answers that are remembered at a time, at some 500 bytes each. Chosen."""
MOST_NAMED = 12
"""Definitions of one name that are looked at; with more of them the name says nothing. Chosen."""
DOCUMENT_ENDINGS = ("", ".rst", ".md", ".adoc", ".txt", ".ipynb", "/index.rst", "/index.md", "/README.md")
"""What a link to a document may leave out, in this order: Sphinx and most sites of Markdown do."""
NO_LANGUAGE = Language("")
T = TypeVar("T")


class Asked:
    """The questions behind one answer, as tokens: its own, and the answers that it is made of."""

    __slots__ = ("inner", "keys")

    def __init__(self) -> None:
        self.keys: Sequence[int] = []
        self.inner: Sequence[Asked] = []

    def close(self) -> None:
        """Keep it small from here on: there are many."""
        self.keys = tuple(set(self.keys))
        self.inner = tuple(dict.fromkeys(self.inner))

    def all(self) -> set[int]:
        """Its keys and those of all answers below."""
        keys, seen, waiting = set(self.keys), {self}, list(self.inner)
        while waiting:
            one = waiting.pop()
            if one not in seen:
                seen.add(one)
                keys.update(one.keys)
                waiting += one.inner
        return keys


class Catalog:
    """The facts of one repository's documents."""

    def __init__(self, store: Store, repository: RepositoryId) -> None:
        self._store = store
        self._repository = repository
        self.files: dict[int, FileInfo] = {}
        self.by_path: dict[str, FileInfo] = {}
        self.by_stem: dict[tuple[str, str], list[FileInfo]] = {}
        """(family, file name without endings, or that of the folder of an index file) → files, by path."""
        self.by_folder: dict[tuple[str, str], list[FileInfo]] = {}
        self.by_namespace: dict[tuple[str, str], list[FileInfo]] = {}
        self.folders: set[str] = set()
        self._by_name: dict[str, list[FileInfo]] = {}
        """File name → files; filled at the first question."""
        self.folders_named: dict[str, list[str]] = {}
        """Last part → folders, by path."""
        self._answers: dict[tuple[object, ...], tuple[Any, Asked]] = {}
        self.cut = 0
        """How often an answer was cut short by a guard against circles: what it went into must not be remembered."""
        self.asked = Asked()
        self._facts: OrderedDict[int, DocumentFacts] = OrderedDict()
        self._named: dict[tuple[str, str], tuple[Definition, ...]] = {}
        for identity, path, language, namespace, roles in store.documents.linkable(repository):
            row = languages().get(language, NO_LANGUAGE)
            self._add(FileInfo(identity, path, row, dotted(namespace), frozenset(roles.split())))
        for folder in sorted(self.folders):
            self.folders_named.setdefault(folder.rpartition("/")[2], []).append(folder)
        manifests = [f for f in self.files.values() if is_asked(f.path)]
        self.manifests = Manifests({f.path: partial(self._raw, f.id) for f in manifests})

    def _raw(self, document: int) -> bytes:
        import zstandard

        return zstandard.ZstdDecompressor().decompress(self._store.documents.snapshot(DocumentId(document)))

    def _add(self, file: FileInfo) -> None:
        self.files[file.id] = self.by_path[file.path] = file
        folder, _, name = file.path.rpartition("/")
        family, stem = _family(file.language), name.partition(".")[0]
        self.by_stem.setdefault((family, stem), []).append(file)
        if stem in file.language.index_files:
            self.by_stem.setdefault((family, folder.rpartition("/")[2]), []).append(file)
        self.by_folder.setdefault((family, folder), []).append(file)
        if file.namespace:
            self.by_namespace.setdefault((family, file.namespace), []).append(file)
        while folder and folder not in self.folders:
            self.folders.add(folder)
            folder = folder.rpartition("/")[0]

    def linked_file(self, path: str, name: str) -> tuple[FileInfo, str] | None:
        """(file, tier) that the document at `path` means by a path, which may lack the ending of a document."""
        self.ask(f"p:{posixpath.basename(name).partition('.')[0]}")
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
        if not self._by_name:
            for file in self.by_path.values():
                self._by_name.setdefault(posixpath.basename(file.path), []).append(file)
        ending = "/" + posixpath.normpath(name).rpartition("../")[2]
        fitting = [f for f in self._by_name.get(posixpath.basename(name), ()) if f"/{f.path}".endswith(ending)]
        return (fitting[0], "unique") if len(fitting) == 1 else None

    def offers(self, document: int) -> dict[str, str]:
        """Question → digest of the answer, for all that a document answers others."""
        path, keys = self.files[document].path, self.facts(document).keys()
        if is_asked(path) and (manifest := self.manifests.offers(path)):
            keys[manifest[0]] = manifest[1]
        return keys

    def telling(self) -> list[int]:
        """Documents of which manifests say something, or that are manifests."""
        ask = self.ask
        return [i for i, f in self.files.items() if self.manifests.of(f.path) or self.manifests.owners(f.path, ask)]

    def facts(self, document: int) -> DocumentFacts:
        """The facts of a document, read at the first call."""
        if (known := self._facts.get(document)) is not None:
            self._facts.move_to_end(document)
            return known
        store, identity = self._store, DocumentId(document)
        found = DocumentFacts(
            self.files[document],
            store.units.definitions(identity),
            store.references.imports_of(identity),
            store.references.bindings_of(identity),
        )
        self._facts[document] = found
        if len(self._facts) > KEPT:
            self._facts.popitem(last=False)
        return found

    def ask(self, key: str) -> None:
        """Note a question."""
        self.asked.keys.append(token(key))  # type: ignore[attr-defined]

    def taken(self) -> set[int]:
        """The questions since the last call."""
        asked, self.asked = self.asked, Asked()
        return asked.all()

    def remembered(self, key: tuple[object, ...], answer: Callable[[], T], whole: bool) -> T:
        """An answer that was given before, or is made now, with the questions behind it.

        One that a guard cut short counts only where it was asked for by itself (`whole`): within another it may lack a part.
        """
        if (known := self._answers.get(key)) is not None:
            self.asked.inner.append(known[1])  # type: ignore[attr-defined]
            return known[0]  # type: ignore[no-any-return]
        outer, cut = self.asked, self.cut
        self.asked = Asked()
        try:
            found = answer()
        finally:
            mine, self.asked = self.asked, outer
            mine.close()
            outer.inner.append(mine)  # type: ignore[attr-defined]
        if self.cut == cut or whole:
            if len(self._answers) >= MOST_ANSWERS:
                self._answers.clear()
            self._answers[key] = found, mine
        return found

    def top(self, facts: DocumentFacts, name: str) -> Sequence[Definition]:
        """Definitions of that name at the top level of a file."""
        self.ask(f"d:{facts.file.path}#{name}")
        return facts.top.get(name, ())

    def in_folder(self, family: str, folder: str, name: str) -> Iterable[Definition]:
        """Definitions of that name at the top level of the files of a folder."""
        self.ask(f"k:{folder}#{name}")
        for file in self.by_folder.get((family, folder), ()):
            yield from self.facts(file.id).top.get(name, ())

    def in_namespace(self, family: str, namespace: str, name: str) -> Iterable[Definition]:
        """Definitions of that name at the top level of the files of a namespace."""
        self.ask(f"k:{namespace}#{name}")
        for file in self.by_namespace.get((family, namespace), ()):
            yield from self.facts(file.id).top.get(name, ())

    def members(self, holder: Definition, name: str) -> Sequence[Definition]:
        """Members of a type or module by that name, where its language lets them stand."""
        file = holder.facts.file
        self.ask(f"m:{file.path}#{holder.qualified}.{name}")
        own = holder.facts.members.get(holder.qualified, {}).get(name)
        if own or not file.language.open_types:
            return [d for d in own or () if d.id != holder.id]
        family = _family(file.language)
        if file.language.open_types == "directory":
            self.ask(f"o:{holder.name}.{name}")
            folder = file.path.rpartition("/")[0]
            found = [self.facts(f.id) for f in self.by_folder.get((family, folder), ())]
            return [d for facts in found for d in facts.members.get(holder.qualified, {}).get(name, ())]
        self.ask(f"o:{holder.name}.{name}")
        return self._read_named(family, name, holder.name)

    def about(self, definition: Definition) -> DocumentFacts:
        """The facts around a definition, for what is bound in it or said of it."""
        self.ask(f"u:{definition.facts.file.path}#{definition.qualified}")
        return definition.facts

    def named(self, family: str, name: str) -> Sequence[Definition]:
        """Definitions of exactly that name in the languages of a family, by path and place; local ones apart."""
        self.ask(f"g:{name}")
        if (known := self._named.get((family, name))) is not None:
            return known
        self._named[family, name] = found = self._read_named(family, name, "")
        return found

    def shape(self, definition: Definition) -> tuple[int, int]:
        """How many parameters and results a method's head lists."""
        return head_shape(self._store.units.signature(UnitId(definition.id)), definition.name)

    def line_of(self, definition: Definition) -> int:
        """The line of a definition's name, from 1."""
        return self._store.units.rows([UnitId(definition.id)])[UnitId(definition.id)].name_line

    def methods_named(self, language: str, name: str) -> list[Definition]:
        """All methods of that name in one language."""
        found = self._store.units.methods_named(name, self._repository)
        return [self.facts(d).by_id[u] for u, d in found if self.files[d].language.name == language]

    def anywhere(self, name: str, holder: str = "") -> Sequence[Definition]:
        """Definitions of that name in any language, directly within a holder if one is named; none where there are many."""
        self.ask(f"g:{name}")
        rows = self._store.units.exactly_named(fold_identifier(name), name, holder)
        rows = [(unit, document) for unit, document in rows if document in self.files]
        return [self.facts(document).by_id[unit] for unit, document in rows] if len(rows) <= MOST_NAMED else ()

    def _read_named(self, family: str, name: str, holder: str) -> tuple[Definition, ...]:
        """Nothing where there are more than MOST_NAMED."""
        rows = [
            (unit, document)
            for unit, document in self._store.units.exactly_named(fold_identifier(name), name, holder)
            if document in self.files and _family(self.files[document].language) == family
        ]
        if len(rows) > MOST_NAMED:
            return ()
        return tuple([self.facts(document).by_id[unit] for unit, document in rows])


def _family(language: Language) -> str:
    return language.family or language.name

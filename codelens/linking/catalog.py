"""Look up names, files and modules in the other documents of a repository, and record the key of each lookup.

A key is recorded even if nothing is found. When an update changes the result for a key, the linker knows which documents
depend on it. Tables are read once for each folder, namespace or name, so a lookup costs no more in a large repository.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain
from typing import Any, NamedTuple, TypeVar

from codelens.lang import manifests
from codelens.lang.manifests import Manifest, ScriptConfig, is_manifest, is_script_config
from codelens.lang.registry import NO_LANGUAGE, languages
from codelens.linking.facts import Definition, FileInfo, Key, LinkFacts, find_folders, list_folders, use_dots
from codelens.model.code import SYMBOL_KINDS, DocumentId, RepositoryId, UnitId
from codelens.model.groups import group_pairs
from codelens.store.codec import decompress
from codelens.store.store import Store
from codelens.text.expressions import count_parameters_and_results
from codelens.worktree.patterns import PLACES, Owners

MODULES: Key = ("f", "modules")
"""The key of everything that manifests declare about module names. It seldom changes, and many documents depend on it."""
OWNERS: Key = ("f", "owners")
MOST_EXTENDED = 8  # Longest chain of configurations that extend each other


def is_declaration(path: str) -> bool:
    """True for a file that `Manifests` reads: a manifest, a script configuration (tsconfig.json) or CODEOWNERS."""
    return is_manifest(path) or is_script_config(path) or path in PLACES


class Manifests:
    """The manifests, script configurations and CODEOWNERS file of one repository, read when first needed."""

    def __init__(self, paths: Mapping[str, Callable[[], Iterable[bytes]]], record: Callable[..., None]) -> None:
        """`paths` maps each path to a function that reads its compressed frames; `record` is called with the key of each lookup."""
        self._paths, self._record = paths, record

    def _join_text(self, path: str) -> str:
        return b"".join(map(decompress, self._paths[path]())).decode("utf-8-sig", "replace")

    @cached_property
    def _manifests(self) -> dict[str, Manifest]:
        paths = filter(is_manifest, sorted(self._paths))
        return {path: manifest for path in paths if (manifest := manifests.read_manifest(path, self._join_text(path)))}

    @cached_property
    def _configs(self) -> dict[str, ScriptConfig]:
        paths = filter(is_script_config, sorted(self._paths))
        return {path: config for path in paths if (config := manifests.read_script_config(path, self._join_text(path)))}

    @cached_property
    def _by_name(self) -> dict[tuple[str, str], list[str]]:
        """(ecosystem, package name) → paths of its manifests."""
        return group_pairs(((found.ecosystem, found.name), path) for path, found in self._manifests.items())

    @cached_property
    def _configs_in(self) -> dict[str, list[ScriptConfig]]:
        """Folder → the script configurations in it, in order of path."""
        return group_pairs((posixpath.dirname(config.path), config) for config in self._configs.values())

    @cached_property
    def _roots(self) -> dict[str, list[tuple[str, str]]]:
        """Ecosystem → (import prefix, folder of its sources), longest prefix first."""
        roots: dict[str, set[tuple[str, str]]] = {}
        for path, manifest in self._manifests.items():
            for prefix, folder in manifest.roots:
                place = posixpath.normpath(posixpath.join(posixpath.dirname(path), folder))
                roots.setdefault(manifest.ecosystem, set()).add((prefix, "" if place == "." else place))
        return {name: sorted(pairs, key=lambda pair: (-len(pair[0]), pair)) for name, pairs in roots.items()}

    @cached_property
    def _owners(self) -> Owners | None:
        place = next((place for place in PLACES if place in self._paths), None)
        return Owners(self._join_text(place)) if place else None

    def describe_offer(self, path: str) -> tuple[Key, str] | None:
        """Describe a file's declarations that other documents depend on, as (key, content). Its dependencies are not included."""
        if manifest := self._manifests.get(path):
            return MODULES, repr((path, manifest.name, manifest.roots, manifest.entries))
        if config := self._configs.get(path):
            return MODULES, repr(config)
        return (OWNERS, f"{path} {self._join_text(path)}") if path in PLACES and path in self._paths else None

    def find_manifest_at(self, path: str) -> Manifest | None:
        """Find the manifest at a path."""
        return self._manifests.get(path)

    def find_manifest(self, ecosystem: str, name: str) -> str | None:
        """Find the path of a package's manifest."""
        self._record(*MODULES)
        return next(iter(self._by_name.get((ecosystem, name), ())), None)

    def has_package(self, name: str) -> bool:
        """True if a manifest of any ecosystem has this name; a hyphen may be written as an underscore."""
        return name.replace("-", "_") in {known.replace("-", "_") for _, known in self._by_name}

    def list_owners(self, path: str) -> tuple[str, ...]:
        """List the owners of a path according to CODEOWNERS."""
        self._record(*OWNERS)
        owning = self._owners.find_owners(path) if self._owners else None
        return owning.owners if owning else ()

    def has_declarations(self, path: str) -> bool:
        """True if the file is a manifest or has owners."""
        return path in self._manifests or bool(self.list_owners(path))

    def list_roots(self, ecosystem: str) -> list[tuple[str, str]]:
        """List (import prefix, folder of its sources), longest prefix first."""
        self._record(*MODULES)
        return self._roots.get(ecosystem, [])

    def list_script_targets(self, path: str, spec: str) -> Iterator[str]:
        """List paths, without an ending, that a script's import may mean: by the nearest configurations, then by package names."""
        self._record(*MODULES)
        for folder in list_folders(path):
            for config in self._configs_in.get(folder, ()):
                yield from self._list_config_targets(config, spec)
        parts = spec.split("/")
        names = ["/".join(parts[:end]) for end in range(1, len(parts) + 1)]
        for place in (place for name in names if name for place in self._by_name.get(("npm", name), ())):
            folder, manifest = posixpath.dirname(place), self._manifests[place]
            rest = spec[len(manifest.name) + 1 :]
            for entry in manifest.entries:  # entry points of the package, or of a path in it
                bare = re.sub(r"(?:\.d)?\.[mc]?[jt]sx?$", "", entry.removeprefix("./"))
                if rest and bare not in (rest, f"src/{rest}", f"{rest}/index", f"src/{rest}/index"):
                    continue
                yield posixpath.normpath(posixpath.join(folder, entry))
                built = re.sub(r"^(?:dist|lib|build|out)/", "", bare)  # the source of a build's output is in src
                yield posixpath.normpath(posixpath.join(folder, "src", built))
            for usual in ("src", "", "lib"):
                yield posixpath.normpath(posixpath.join(folder, usual, rest or "index"))

    def _list_config_targets(self, config: ScriptConfig, spec: str) -> Iterator[str]:
        """List the paths of an import according to `paths` and `baseUrl` of a configuration and of those that it extends."""
        waiting, seen = [config.path], set[str]()
        while waiting and len(seen) < MOST_EXTENDED:
            name = waiting.pop(0)
            current = self._configs.get(name)
            if current is None or name in seen:
                continue
            seen.add(name)
            for pattern, targets in current.paths:
                head, star, tail = pattern.partition("*")
                long_enough = len(spec) >= len(head) + len(tail)
                if spec.startswith(head) and spec.endswith(tail) and long_enough if star else spec == pattern:
                    middle = spec[len(head) : len(spec) - len(tail)] if star else ""
                    yield from (posixpath.normpath(target.replace("*", middle, 1)) for target in targets)
            if current.base is not None:
                yield posixpath.normpath(posixpath.join(current.base, spec))
            waiting += current.extends


MOST_LOADED = 70_000  # Limit of definitions, imports and bindings kept in memory, at some 700 bytes each
MOST_ROWS = 60_000  # Limit of rows of the tables by name kept in memory, at some 100 bytes each
MOST_NAMED = 12  # Limit of definitions of one name; a name with more of them identifies nothing
DOCUMENT_ENDINGS = ("", ".rst", ".md", ".adoc", ".txt", ".ipynb", "/index.rst", "/index.md", "/README.md")
"""Endings that a link to a document may omit, in order of preference, as in Sphinx and most Markdown sites."""
FREE_KINDS = frozenset(SYMBOL_KINDS) - {"method", "property"}
"""Kinds of definitions that code can name without a type before them."""
T = TypeVar("T")


class Namesake(NamedTuple):
    """A definition among those that share a name."""

    unit: int
    document: int
    kind: str
    kin: str  # The family of its language


Name = tuple[str, str]  # (family of languages, name), or a folder or namespace instead of the name
Place = tuple[int, int]  # (unit, document)


class Catalog:
    """The facts of all documents of a repository, or of `only` one document if the others are not needed."""

    def __init__(self, store: Store, repository: RepositoryId, only: DocumentId | None = None) -> None:
        self.store = store
        self.files: dict[int, FileInfo] = {}
        self.by_path: dict[str, FileInfo] = {}
        self.by_folder: dict[Name, list[FileInfo]] = {}
        self.by_namespace: dict[Name, list[FileInfo]] = {}
        self._by_ending: dict[Name, list[str]] = {}
        """(family, or empty for any; file name or folder/file name) → paths; filled at the first lookup."""
        self._ending: dict[Name, list[str]] = {}
        self.folders_named: dict[str, list[str]] = {}  # Last part of a folder's path → folders, by path
        self.keys: set[Key] = set()  # Keys looked up since the last `take_keys`, or by the question being answered
        self._facts: dict[int, LinkFacts] = {}
        self._top: dict[Name, dict[str, list[Place]]] = {}
        self._members: dict[Name, dict[str, dict[str, list[Place]]]] = {}
        self._namesakes: dict[str, dict[str, list[Namesake]]] = {}
        self._interfaces: dict[Name, list[Place]] = {}
        self._many: set[Name] = set()
        """(family, name) pairs with more than MOST_NAMED definitions, which need not be read again."""
        self._modules: dict[tuple[object, ...], tuple[Any, frozenset[Key]]] = {}
        self._loaded = self._rows = 0
        self.looked_at = 0  # Rows and paths examined so far, for tests that limit them
        rows, sets = languages(), dict[str, frozenset[str]]()
        for identity, path, language, namespace, roles in store.documents.list_linkable(repository, only):
            if (role_set := sets.get(roles)) is None:
                role_set = sets[roles] = frozenset(roles.split())
            file = FileInfo(identity, path, rows.get(language, NO_LANGUAGE), use_dots(namespace), role_set)
            self.files[identity] = self.by_path[path] = file
            if file.namespace:
                self.by_namespace.setdefault((file.language.kin, file.namespace), []).append(file)
            self.by_folder.setdefault((file.language.kin, path.rpartition("/")[0]), []).append(file)
        self.folders = find_folders(self.by_path)
        for folder in sorted(self.folders):
            self.folders_named.setdefault(folder.rpartition("/")[2], []).append(folder)
        declarations = [f for f in self.files.values() if is_declaration(f.path)]
        reads = {f.path: partial(store.read_frames, DocumentId(f.id)) for f in declarations}
        self.manifests = Manifests(reads, self.record)

    # Keys, and the memory for rows

    def trim_cache(self) -> bool:
        """Drop cached rows and facts if there are many; True if facts were dropped. Definitions are then read as new objects."""
        if self._rows > MOST_ROWS:
            for table in (self._top, self._members, self._namesakes, self._modules, self._ending):
                table.clear()
            self._interfaces.clear()
            self._rows = 0
        if self._loaded <= MOST_LOADED:
            return False
        for facts in self._facts.values():
            facts.release()
        self._facts.clear()
        self._loaded = 0
        return True

    def record(self, *key: str) -> None:
        """Record that a key was looked up."""
        self.keys.add(key)

    def take_keys(self) -> set[Key]:
        """Take the keys that were looked up since the last call."""
        keys, self.keys = self.keys, set()
        return keys

    def answer_once(self, question: tuple[object, ...], find: Callable[..., T], *about: Any) -> T:
        """Call `find(*about)` once for each question, and keep its result and the keys that it depends on."""
        if (known := self._modules.get(question)) is None:
            outer, self.keys = self.keys, set()
            answer = find(*about)
            known = self._modules[question] = answer, frozenset(self.keys)
            self.keys = outer
            self._rows += 1
        self.keys |= known[1]
        return known[0]

    def read_facts(self, document: int) -> LinkFacts:
        """Read the facts of a document, or return them if they were read before."""
        if (facts := self._facts.get(document)) is None:
            identity, references = DocumentId(document), self.store.references
            rows = self.store.units.list_definitions(identity)
            imports, bindings = references.list_imports(identity), references.list_bindings(identity)
            self._facts[document] = facts = LinkFacts(self.files[document], rows, imports, bindings)
            self._loaded += facts.size
        return facts

    def read_facts_of(self, definition: Definition) -> LinkFacts:
        """Read the facts of a definition's document, to use its bindings; record the definition's key."""
        self.keys.add(("u", definition.facts.file.path, definition.qualified))
        return definition.facts

    # Files

    def find_linked_file(self, path: str, name: str) -> tuple[FileInfo, str] | None:
        """Find the (file, tier) that a link in the document at `path` leads to. The link may omit the file's ending."""
        self.record("p", posixpath.basename(name).partition(".")[0])
        is_rooted = name.startswith("/")  # the root of a site may be any folder above
        for folder in list_folders(path) if is_rooted else [posixpath.dirname(path)]:
            place = posixpath.normpath(posixpath.join(folder, name.strip("/") if is_rooted else name))
            for end in DOCUMENT_ENDINGS:
                if file := self.by_path.get(place + end):
                    return file, "literal"
        fitting = () if is_rooted else self.find_paths("", posixpath.normpath(name).rpartition("../")[2])
        return (self.by_path[fitting[0]], "unique") if len(fitting) == 1 else None

    def find_paths(self, kin: str, ending: str) -> Sequence[str]:
        """Find the sorted paths of a family's files (empty: of all files) that equal `ending` or end in it after a slash."""
        if (known := self._ending.get((kin, ending))) is not None:
            return known
        if not self._by_ending:
            for path, file in self.by_path.items():
                for part in {path.rpartition("/")[2], "/".join(path.rsplit("/", 2)[-2:])}:
                    self._by_ending.setdefault(("", part), []).append(path)
                    self._by_ending.setdefault((file.language.kin, part), []).append(path)
        paths = self._by_ending.get((kin, "/".join(ending.rsplit("/", 2)[-2:])), ())
        self.looked_at += len(paths)
        self._rows += 1
        known = self._ending[kin, ending] = [p for p in paths if p == ending or p.endswith(f"/{ending}")]
        return known

    def list_fixture_files(self, facts: LinkFacts) -> Iterator[LinkFacts]:
        """List files whose functions may provide a test's parameters: its own file, then the fixture files of folders above it."""
        name = facts.file.language.fixtures
        self.record("p", name.partition(".")[0])
        yield facts
        for folder in list_folders(facts.file.path):
            if file := self.by_path.get(f"{folder}/{name}".lstrip("/")):
                yield self.read_facts(file.id)

    def digest_offers(self, document: int) -> dict[Key, str]:
        """Digest everything that other documents may look up in this one: key → digest."""
        path, keys = self.files[document].path, self.read_facts(document).digest_keys()
        if is_declaration(path) and (manifest := self.manifests.describe_offer(path)):
            keys[manifest[0]] = manifest[1]
        return keys

    # Definitions by name

    def find_in_file(self, facts: LinkFacts, name: str) -> Sequence[Definition]:
        """Find the definitions of a name at the top level of a file."""
        self.keys.add(("d", facts.file.path, name))
        return facts.top.get(name, ())

    def find_in_package(self, facts: LinkFacts, name: str) -> Sequence[Definition]:
        """Find the definitions of a name that are visible in a file without an import."""
        language = facts.file.language
        if language.package == "directory":
            return self.find_in_folder(language.kin, facts.file.path.rpartition("/")[0], name)
        if language.package == "repository":
            return self.find_named(language.kin, name, FREE_KINDS)
        if language.package != "namespace":
            return ()
        namespace = facts.file.namespace
        while namespace:
            if definitions := self.find_in_namespace(language.kin, namespace, name):
                return definitions
            namespace = namespace.rpartition(".")[0] if language.open_types else ""
        used = [i.module.replace("\\", ".") for i in facts.imports if not i.name and not i.alias]
        return [d for module in used for d in self.find_in_namespace(language.kin, module, name)]

    def find_in_folder(self, kin: str, folder: str, name: str) -> Sequence[Definition]:
        """Find the definitions of a name at the top level of a folder's files."""
        return self._find_at_top(kin, folder, name, is_folder=True)

    def find_in_namespace(self, kin: str, namespace: str, name: str) -> Sequence[Definition]:
        """Find the definitions of a name at the top level of a namespace's files."""
        return self._find_at_top(kin, namespace, name, is_folder=False)

    def _find_at_top(self, kin: str, place: str, name: str, is_folder: bool) -> Sequence[Definition]:
        """Find the definitions of a name at the top level of a folder or namespace, in order of path and place."""
        self.keys.add(("k", place, name))
        group = (self.by_folder if is_folder else self.by_namespace).get((kin, place), ())
        if len(group) == 1:
            return self.read_facts(group[0].id).top.get(name, ())
        key = (kin, f"{place}/" if is_folder else place)
        if (table := self._top.get(key)) is None:
            table = self._top[key] = {}
            for unit_name, unit, document in self.store.units.list_top_definitions([DocumentId(f.id) for f in group]):
                table.setdefault(unit_name, []).append((unit, document))
                self.looked_at += 1
            self._rows += len(table)
        return self.read_definitions(table.get(name, ()))

    def read_definitions(self, places: Iterable[Place]) -> list[Definition]:
        """Read the definitions of (unit, document) pairs, with the facts of their documents."""
        return [self.read_facts(document).by_id[unit] for unit, document in places]

    def find_members(self, holder: Definition, name: str) -> Sequence[Definition]:
        """Find the members of a type or module that have a name, in every file where its language allows them."""
        file, qualified = holder.facts.file, holder.qualified
        self.keys.add(("m", file.path, f"{qualified}.{name}"))
        if inside := holder.facts.members.get(qualified, {}).get(name):
            return [d for d in inside if d.id != holder.id]
        if not file.language.open_types:
            return ()
        self.keys.add(("o", holder.name, name))
        if file.language.open_types == "directory":
            return self.read_definitions(self._read_folder_members(holder).get(name, ()))
        namesakes = self._group_by_holder(name).get(holder.name, ())
        return self._read_unless_many([n for n in namesakes if n.kin == file.language.kin])

    def list_all_members(self, holder: Definition) -> Sequence[Definition]:
        """List all members of a type in its file, or in its folder if the language allows members there."""
        if holder.facts.file.language.open_types != "directory":
            return [d for same in holder.facts.members.get(holder.qualified, {}).values() for d in same]
        return self.read_definitions(chain.from_iterable(self._read_folder_members(holder).values()))

    def _read_folder_members(self, holder: Definition) -> dict[str, list[Place]]:
        """Read a type's members in the files of its folder: name → (unit, document)."""
        kin, folder = holder.facts.file.language.kin, holder.facts.file.path.rpartition("/")[0]
        if (table := self._members.get((kin, folder))) is None:
            table = self._members[kin, folder] = {}
            documents = [DocumentId(f.id) for f in self.by_folder.get((kin, folder), ())]
            for container, name, unit, document in self.store.units.list_members(documents):
                table.setdefault(container, {}).setdefault(name, []).append((unit, document))
                self.looked_at += 1
                self._rows += 1
        return table.get(holder.qualified, {})

    def _group_by_holder(self, name: str) -> dict[str, list[Namesake]]:
        """Group the definitions of exactly this name, except local ones, by the last name of their container."""
        if (known := self._namesakes.get(name)) is None:
            known = self._namesakes[name] = {}
            for unit, document, kind, container in self.store.units.find_namesakes(name):
                self.looked_at += 1
                if document in self.files:
                    namesake = Namesake(unit, document, kind, self.files[document].language.kin)
                    known.setdefault(container.rpartition(".")[2], []).append(namesake)
                    self._rows += 1
            self._rows += 1
        return known

    def list_member_names(self, language: str) -> frozenset[str]:
        """List the names of all type members in one language."""
        documents = [DocumentId(i) for i, file in self.files.items() if file.language.name == language]
        members = self.store.units.list_members(documents) if documents else ()
        return frozenset(name for _, name, _, _ in members)

    def _list_namesakes(self, name: str) -> list[Namesake]:
        """List all definitions of exactly this name in the repository, except local ones."""
        return list(chain.from_iterable(self._group_by_holder(name).values()))

    def _read_unless_many(self, namesakes: Sequence[Namesake]) -> Sequence[Definition]:
        """Read the definitions in order of path and place; empty if there are more than MOST_NAMED."""
        if len(namesakes) > MOST_NAMED:
            return ()
        definitions = self.read_definitions(n[:2] for n in namesakes)
        return sorted(definitions, key=lambda d: (d.facts.file.path, d.place))

    def find_named(self, kin: str, name: str, kinds: Collection[str] = ()) -> Sequence[Definition]:
        """Find the definitions of a name (of `kinds`) in a language family, by path; none if more than MOST_NAMED have it."""
        self.keys.add(("g", name))
        if (kin, name) in self._many:
            return ()
        namesakes = [n for n in self._list_namesakes(name) if n.kin == kin]
        if len(namesakes) > MOST_NAMED:
            self._many.add((kin, name))
            return ()
        return self._read_unless_many([n for n in namesakes if not kinds or n.kind in kinds])

    def find_anywhere(self, name: str, holder: str = "") -> Sequence[Definition]:
        """Find the definitions of a name in any language, inside `holder` if given; empty if there are more than MOST_NAMED."""
        self.keys.add(("g", name))
        return self._read_unless_many(
            self._group_by_holder(name).get(holder, ()) if holder else self._list_namesakes(name)
        )

    def list_methods(self, language: str, name: str) -> list[Namesake]:
        """List all methods of a name in one language, without reading their documents."""
        methods = [n for n in self._list_namesakes(name) if n.kind == "method"]
        return [n for n in methods if self.files[n.document].language.name == language]

    def find_interfaces(self, language: str, name: str) -> list[Definition]:
        """Find the interfaces in one language that have a method of a name."""
        places = self._interfaces.get((language, name))
        if places is None:
            places = []
            for unit, document in self.store.units.find_interfaces_with(name):
                file = self.files.get(document)
                if file and file.language.name == language:
                    places.append((unit, document))

            self._interfaces[language, name] = places
            self._rows += 1 + len(places)

        return self.read_definitions(places)

    def read_shape(self, definition: Definition) -> tuple[int, int]:
        """Count a method's (parameters, results) from its signature."""
        return count_parameters_and_results(self.store.units.read_signature(UnitId(definition.id)), definition.name)

    def find_line(self, definition: Definition) -> int:
        """Find the line of a definition's name, from 1."""
        return self.store.units.read_rows([UnitId(definition.id)])[UnitId(definition.id)].name_line

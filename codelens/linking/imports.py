"""Resolves imports: the files of the repository behind a module's name, by the rules of the importing language.

A language's row names its rule (`modules` in languages.toml); each rule is one function here. A module without a file in the
repository lies outside of it.
"""

from __future__ import annotations

import posixpath
import re
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence

from codelens.linking.catalog import Catalog
from codelens.linking.facts import FileInfo, LinkFacts, list_folders
from codelens.model.code import TYPE_KINDS
from codelens.model.extraction import Import

SCRIPT_ENDINGS = (".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts", ".vue", ".svelte", ".json")
"""Endings that JavaScript's resolvers try, in order of preference."""
_PYTHON_ENDINGS = (".py", ".pyi", "/__init__.py", "/__init__.pyi", ".pyx")
_WRITTEN_AS = {".js": (".ts", ".tsx"), ".jsx": (".tsx",), ".mjs": (".mts",), ".cjs": (".cts",)}
"""TypeScript imports name the files that the compiler writes."""


class Module:
    """The files of a module, and the places where its parts are looked for."""

    __slots__ = ("_key", "complete", "documents", "folder", "kin", "namespace", "within")

    def __init__(
        self,
        documents: tuple[int, ...] = (),
        folder: str | None = None,
        *,
        within: str = "",
        complete: bool = True,
        namespace: tuple[str, str] = ("", ""),
    ) -> None:
        self.documents = documents
        self.folder = folder  # The folder of the modules inside it; None if it cannot have any
        self.within = within  # Qualified name of the type or inner module that is meant; empty for the files as a whole
        self.complete = complete  # True if a name that is not found in it cannot exist
        self.kin, self.namespace = namespace
        """(family of languages, namespace) if the module is a namespace; its files are those that declare it."""
        self._key = namespace if self.namespace else (documents[:1], len(documents), folder, within)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Module) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def find_import(catalog: Catalog, facts: LinkFacts, one: Import) -> Module | None:
    """The module that an import names; None if it lies outside of the repository."""
    rule = _RULES.get(facts.file.language.modules)
    if rule is None:
        return None
    return catalog.kept(("import", facts.place, one.module), rule, catalog, facts, one.module)


def find_module(catalog: Catalog, module: Module, name: str) -> Module | None:
    """The module of that name inside another one."""
    if module.namespace:
        namespace = f"{module.namespace}.{name}"
        catalog.record("s", namespace)
        files = catalog.by_namespace.get((module.kin, namespace))
        return _of_namespace(module.kin, namespace, files) if files else None
    if module.folder is None:
        return None
    catalog.record("p", name)
    return _python_path(catalog, posixpath.join(module.folder, name)) or _rust_path(catalog, module.folder, [name])


# Python


def _dotted(catalog: Catalog, facts: LinkFacts, spec: str) -> Module | None:
    dots = len(spec) - len(spec.lstrip("."))
    parts = [part for part in spec[dots:].split(".") if part]
    if dots:
        folder = facts.file.path
        for _ in range(dots):
            folder = folder.rpartition("/")[0]
        catalog.record("p", parts[-1] if parts else folder.rpartition("/")[2])
        return _python_path(catalog, posixpath.join(folder, *parts))
    if not parts:
        return None
    catalog.record("p", parts[-1])
    return _absolute(catalog, facts.file.language.kin, facts.file.path, parts)


def _absolute(catalog: Catalog, kin: str, path: str, parts: Sequence[str]) -> Module | None:
    """The module of an absolute import: below the nearest folder above the importing file, else below any folder."""
    tail = "/".join(parts)
    is_standard = parts[0] in sys.stdlib_module_names
    for root in list_folders(path):
        if not _is_package(catalog, root):
            module = _python_path(catalog, posixpath.join(root, tail))
            if module and module.documents:
                return module
        if is_standard:
            return None
    roots, folder = catalog.kept(("roots", kin, tail), _roots, catalog, kin, tail)
    if roots:
        return _python_path(catalog, posixpath.join(nearest(posixpath.dirname(path), roots), tail))
    return Module((), folder, complete=False) if folder else None


def _roots(catalog: Catalog, kin: str, tail: str) -> tuple[list[str], str]:
    """(folders that hold a module at this path and are not packages themselves, a namespace package at this path)."""
    paths = {(path, ending) for ending in _PYTHON_ENDINGS for path in catalog.ending_with(kin, tail + ending)}
    roots = {path[: -len(tail + ending)].rstrip("/") for path, ending in paths}
    for folder in catalog.folders_named.get(tail.rpartition("/")[2], ()):
        root = folder[: -len(tail)].rstrip("/")
        fits = folder == tail or (folder.endswith(f"/{tail}") and not _is_package(catalog, folder))
        if fits and not _is_package(catalog, root):
            break
    else:
        folder = ""
    return sorted(root for root in roots if not _is_package(catalog, root)), folder


def _is_package(catalog: Catalog, folder: str) -> bool:
    """True for a folder with an `__init__.py`. An absolute import never starts inside such a folder."""
    return f"{folder}/__init__.py".lstrip("/") in catalog.by_path


def _python_path(catalog: Catalog, path: str) -> Module | None:
    for ending in _PYTHON_ENDINGS:
        if file := catalog.by_path.get((path + ending).lstrip("/")):
            folder, _, name = file.path.rpartition("/")
            return Module((file.id,), folder if name.startswith("__init__.") else None)
    return Module((), path, complete=False) if path in catalog.folders else None


# JavaScript and TypeScript


def _relative(catalog: Catalog, facts: LinkFacts, spec: str) -> Module | None:
    own = facts.file.path.rpartition("/")[0]
    if spec.startswith("."):
        return _script(catalog, posixpath.normpath(posixpath.join(own, spec)))
    for target in catalog.manifests.script_targets(facts.file.path, spec):
        if found := _script(catalog, target):
            return found
    return None


def _script(catalog: Catalog, path: str) -> Module | None:
    """The module of the file that a script's path means."""
    path = "" if path == "." else path
    stem, ending = posixpath.splitext(path)
    catalog.record("p", posixpath.basename(stem))
    tries = [path, *(stem + written for written in _WRITTEN_AS.get(ending, ()))]
    tries += [path + other for other in SCRIPT_ENDINGS]
    tries += [posixpath.join(path, f"index{other}") for other in SCRIPT_ENDINGS]
    file = next((catalog.by_path[name] for name in tries if name in catalog.by_path), None)
    return Module((file.id,)) if file else None


# Go


def _package(catalog: Catalog, facts: LinkFacts, spec: str) -> Module | None:
    family = facts.file.language.kin
    for module, folder in catalog.manifests.roots("go"):
        if spec == module or spec.startswith(f"{module}/"):
            folder = posixpath.join(folder, spec[len(module) + 1 :]).strip("/")
            catalog.record("p", folder.rpartition("/")[2])
            files = [f for f in catalog.by_folder.get((family, folder), ()) if not f.path.endswith("_test.go")]
            return Module(tuple(f.id for f in files)) if files else None
    return None


# Rust


def _crate(catalog: Catalog, facts: LinkFacts, spec: str) -> Module | None:
    parts = [part for part in re.split(r"::", spec) if part]
    if not parts:
        return None
    own = facts.file.path
    folder, _, name = own.rpartition("/")
    stem = name.partition(".")[0]
    inside = folder if stem in facts.file.language.index_files else posixpath.join(folder, stem)
    root = _crate_root(catalog, own)
    catalog.record("p", parts[-1])
    if parts[0] == "crate":
        return _rust_path(catalog, root, parts[1:])
    if parts[0] == "self":
        return _rust_path(catalog, inside, parts[1:]) if parts[1:] else Module((facts.file.id,), inside)
    if parts[0] == "super":
        above = inside.rpartition("/")[0]
        rest = parts[1:]
        while rest and rest[0] == "super":
            above, rest = above.rpartition("/")[0], rest[1:]
        return _rust_path(catalog, above, rest)
    if found := _rust_path(catalog, inside, parts):
        return found
    if found := _rust_path(catalog, root, parts):
        return found
    for crate, source in catalog.manifests.roots("cargo"):
        if crate == parts[0]:
            return _rust_path(catalog, source, parts[1:])
    return None


def _crate_root(catalog: Catalog, path: str) -> str:
    """The folder of a file's crate root: the nearest folder above with a lib.rs or main.rs."""
    for folder in list_folders(path):
        if any(posixpath.join(folder, name) in catalog.by_path for name in ("lib.rs", "main.rs")):
            return folder
    return path.rpartition("/")[0]


def _rust_path(catalog: Catalog, folder: str, parts: list[str]) -> Module | None:
    """The module at a path below a folder. The last part is a file, or a module or type within the file before it."""
    if not parts:
        for name in ("lib.rs", "mod.rs", "main.rs"):
            if file := catalog.by_path.get(posixpath.join(folder, name)):
                return Module((file.id,), folder)
        if file := catalog.by_path.get(f"{folder}.rs"):
            return Module((file.id,), folder)
        return None
    path = posixpath.join(folder, *parts)
    for name in (f"{path}.rs", f"{path}/mod.rs"):
        if file := catalog.by_path.get(name):
            return Module((file.id,), path)
    if len(parts) >= 1 and (around := _rust_path(catalog, folder, parts[:-1])) and around.documents:
        facts = catalog.facts(around.documents[0])
        for found in catalog.top(facts, parts[-1]):
            if found.kind == "module" or found.kind in TYPE_KINDS:
                return Module(around.documents, within=found.qualified)
    return None


# Java, Kotlin, Scala, C#, PHP


def _namespace(catalog: Catalog, facts: LinkFacts, spec: str) -> Module | None:
    family = facts.file.language.kin
    name = re.sub(r"\\|::", ".", spec).strip(".")
    catalog.record("s", name)
    if files := catalog.by_namespace.get((family, name)):
        return _of_namespace(family, name, files)
    outer, _, last = name.rpartition(".")
    while outer:
        catalog.record("s", outer)
        inside = name[len(outer) + 1 :]
        for type_ in catalog.in_namespace(family, outer, inside.partition(".")[0]):
            if type_.kind in TYPE_KINDS:
                return Module((type_.facts.file.id,), within=inside)
        outer = outer.rpartition(".")[0]
    if not facts.file.namespace and "." not in name:
        found = [d for d in catalog.named(family, last, TYPE_KINDS) if not d.facts.file.namespace]
        return Module((found[0].facts.file.id,), within=found[0].qualified) if len(found) == 1 else None
    return None


def _of_namespace(kin: str, namespace: str, files: Sequence[FileInfo]) -> Module:
    return Module(tuple(f.id for f in files), namespace=(kin, namespace))


# C, Ruby, Lua: files by their path


def _include(catalog: Catalog, facts: LinkFacts, spec: str) -> Module | None:
    return _by_suffix(catalog, facts, spec.strip("<>\"' "), ("",))


def _require(catalog: Catalog, facts: LinkFacts, spec: str) -> Module | None:
    endings = tuple(f".{e}" for e in facts.file.language.extensions[:2])
    path = spec.replace(".", "/") if "/" not in spec and not spec.endswith(endings) else spec
    return _by_suffix(
        catalog, facts, path, ("", *endings, *(f"/{i}{endings[0]}" for i in facts.file.language.index_files))
    )


def _by_suffix(catalog: Catalog, facts: LinkFacts, path: str, endings: Iterable[str]) -> Module | None:
    """The file in the same folder, else the nearest file whose path has this ending."""
    own = facts.file.path.rpartition("/")[0]
    family = facts.file.language.kin
    catalog.record("p", posixpath.basename(path).partition(".")[0])
    for ending in endings:
        sibling = posixpath.normpath(posixpath.join(own, path + ending))
        if file := catalog.by_path.get(sibling):
            return Module((file.id,), complete=False)
        if fitting := catalog.ending_with(family, (path + ending).lstrip("./")):
            return Module((catalog.by_path[nearest(own, fitting)].id,), complete=False)
    return None


def nearest(place: str, paths: Sequence[str]) -> str:
    """The first of the sorted paths that share the longest prefix with `place`."""
    at = bisect_left(paths, place)
    shared = max(len(posixpath.commonprefix([place, path])) for path in paths[max(at - 1, 0) : at + 1])
    return paths[bisect_left(paths, place[:shared])]


_RULES: Mapping[str, Callable[[Catalog, LinkFacts, str], Module | None]] = {
    "dotted": _dotted,
    "relative": _relative,
    "package": _package,
    "crate": _crate,
    "namespace": _namespace,
    "include": _include,
    "require": _require,
}

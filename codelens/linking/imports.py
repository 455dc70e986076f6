"""Resolve imports: find the files of the repository for a module's name, by the rules of the importing language.

A language's row names its rule (`modules` in languages.toml); each rule is one function here. A module without a file in the
repository lies outside of it.
"""

from __future__ import annotations

import posixpath
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from codelens.linking.catalog import Catalog
from codelens.linking.facts import LinkFacts, list_folders, use_dots
from codelens.model.code import TYPE_KINDS
from codelens.model.extraction import Import

SCRIPT_ENDINGS = (".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts", ".vue", ".svelte", ".json")
"""Endings that JavaScript's resolvers try, in order of preference."""
_PYTHON_ENDINGS = (".py", ".pyi", "/__init__.py", "/__init__.pyi", ".pyx")
_WRITTEN_AS = {".js": (".ts", ".tsx"), ".jsx": (".tsx",), ".mjs": (".mts",), ".cjs": (".cts",)}
"""Ending in an import → endings of its source. TypeScript imports name the files that the compiler writes."""


class Module(NamedTuple):
    """The files of a module, and the places where its names are looked up."""

    documents: tuple[int, ...] = ()
    folder: str | None = None  # Folder of its submodules; None if it cannot have any
    within: str = ""  # Qualified name of the type or inner module that is meant; empty for whole files
    complete: bool = True  # True if a name that is not found in the module cannot exist
    kin: str = ""  # The language family of a namespace
    namespace: str = ""  # Its name, if the module is a namespace; its files are those that declare it


def find_import(catalog: Catalog, facts: LinkFacts, imported: Import) -> Module | None:
    """Find the module that an import names; None if it is outside of the repository."""
    if (rule := _RULES.get(facts.file.language.modules)) is None:
        return None
    return catalog.answer_once(("import", facts.place, imported.module), rule, catalog, facts, imported.module)


def find_module(catalog: Catalog, module: Module, name: str) -> Module | None:
    """Find a module by its name inside another module."""
    if module.namespace:
        namespace = f"{module.namespace}.{name}"
        catalog.record("s", namespace)
        return _find_namespace(catalog, module.kin, namespace)
    if module.folder is None:
        return None
    catalog.record("p", name)
    path = posixpath.join(module.folder, name)
    return _find_python_file(catalog, path) or _find_rust_file(catalog, module.folder, [name])


# Python


def _resolve_dotted(catalog: Catalog, facts: LinkFacts, spec: str) -> Module | None:
    """Find a Python module. An absolute import is searched below each folder above the importing file, then below all folders."""
    path, kin = facts.file.path, facts.file.language.kin
    dots = len(spec) - len(spec.lstrip("."))
    parts = [part for part in spec[dots:].split(".") if part]
    if dots:
        folder = path
        for _ in range(dots):
            folder = folder.rpartition("/")[0]
        catalog.record("p", parts[-1] if parts else folder.rpartition("/")[2])
        return _find_python_file(catalog, posixpath.join(folder, *parts))
    if not parts:
        return None
    catalog.record("p", parts[-1])
    tail, is_standard = "/".join(parts), parts[0] in sys.stdlib_module_names
    for root in list_folders(path):
        if not _is_package(catalog, root):
            module = _find_python_file(catalog, posixpath.join(root, tail))
            if module and module.documents:
                return module
        if is_standard:
            return None
    roots, folder = catalog.answer_once(("roots", kin, tail), _find_roots, catalog, kin, tail)
    if roots:
        return _find_python_file(catalog, posixpath.join(find_nearest(posixpath.dirname(path), roots), tail))
    return Module((), folder, complete=False) if folder else None


def _find_roots(catalog: Catalog, kin: str, tail: str) -> tuple[list[str], str]:
    """Find (folders that contain a module at this path and are not packages, folder of a namespace package at this path)."""
    paths = {(path, ending) for ending in _PYTHON_ENDINGS for path in catalog.find_paths(kin, tail + ending)}
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
    """True for a folder with an `__init__.py`. An absolute import never starts in such a folder."""
    return f"{folder}/__init__.py".lstrip("/") in catalog.by_path


def _find_python_file(catalog: Catalog, path: str) -> Module | None:
    for ending in _PYTHON_ENDINGS:
        if file := catalog.by_path.get((path + ending).lstrip("/")):
            folder, _, name = file.path.rpartition("/")
            return Module((file.id,), folder if name.startswith("__init__.") else None)
    return Module((), path, complete=False) if path in catalog.folders else None


# JavaScript and TypeScript


def _resolve_script(catalog: Catalog, facts: LinkFacts, spec: str) -> Module | None:
    if spec.startswith("."):
        targets: Iterable[str] = [posixpath.normpath(posixpath.join(facts.file.path.rpartition("/")[0], spec))]
    else:
        targets = catalog.manifests.list_script_targets(facts.file.path, spec)
    for target in targets:
        path = "" if target == "." else target
        stem, ending = posixpath.splitext(path)
        catalog.record("p", posixpath.basename(stem))
        tries = [path, *(stem + written for written in _WRITTEN_AS.get(ending, ()))]
        tries += [path + other for other in SCRIPT_ENDINGS]
        tries += [posixpath.join(path, f"index{other}") for other in SCRIPT_ENDINGS]
        if file := next((catalog.by_path[name] for name in tries if name in catalog.by_path), None):
            return Module((file.id,))
    return None


# Go


def _resolve_package(catalog: Catalog, facts: LinkFacts, spec: str) -> Module | None:
    for module, folder in catalog.manifests.list_roots("go"):
        if spec == module or spec.startswith(f"{module}/"):
            folder = posixpath.join(folder, spec[len(module) + 1 :]).strip("/")
            catalog.record("p", folder.rpartition("/")[2])
            files = catalog.by_folder.get((facts.file.language.kin, folder), ())
            documents = tuple(f.id for f in files if not f.path.endswith("_test.go"))
            return Module(documents) if documents else None
    return None


# Rust


def _resolve_in_crate(catalog: Catalog, facts: LinkFacts, spec: str) -> Module | None:
    parts = [part for part in spec.split("::") if part]
    if not parts:
        return None
    first, rest = parts[0], parts[1:]
    folder, _, name = facts.file.path.rpartition("/")
    stem = name.partition(".")[0]
    inside = folder if stem in facts.file.language.index_files else posixpath.join(folder, stem)
    for root in list_folders(facts.file.path):
        if any(posixpath.join(root, name) in catalog.by_path for name in ("lib.rs", "main.rs")):
            break
    else:
        root = folder
    catalog.record("p", parts[-1])
    if first == "crate":
        return _find_rust_file(catalog, root, rest)
    if first == "self":
        return _find_rust_file(catalog, inside, rest) if rest else Module((facts.file.id,), inside)
    if first == "super":
        above = inside.rpartition("/")[0]
        while rest and rest[0] == "super":
            above, rest = above.rpartition("/")[0], rest[1:]
        return _find_rust_file(catalog, above, rest)
    if module := _find_rust_file(catalog, inside, parts) or _find_rust_file(catalog, root, parts):
        return module
    source = next((source for crate, source in catalog.manifests.list_roots("cargo") if crate == first), None)
    return _find_rust_file(catalog, source, rest) if source is not None else None


def _find_rust_file(catalog: Catalog, folder: str, parts: list[str]) -> Module | None:
    """Find the module at a path below a folder. The last part is a file, or a module or type in the file of the part before it."""
    path = posixpath.join(folder, *parts)
    names = [f"{path}.rs", f"{path}/mod.rs"]
    if not parts:
        names = [posixpath.join(folder, name) for name in ("lib.rs", "mod.rs", "main.rs")] + [f"{folder}.rs"]
    if file := next((catalog.by_path[name] for name in names if name in catalog.by_path), None):
        return Module((file.id,), path)
    if parts and (around := _find_rust_file(catalog, folder, parts[:-1])) and around.documents:
        for definition in catalog.find_in_file(catalog.read_facts(around.documents[0]), parts[-1]):
            if definition.kind == "module" or definition.kind in TYPE_KINDS:
                return Module(around.documents, within=definition.qualified)
    return None


# Java, Kotlin, Scala, C#, PHP


def _resolve_namespace(catalog: Catalog, facts: LinkFacts, spec: str) -> Module | None:
    family, name = facts.file.language.kin, use_dots(spec)
    catalog.record("s", name)
    if module := _find_namespace(catalog, family, name):
        return module
    outer, _, last = name.rpartition(".")
    while outer:
        catalog.record("s", outer)
        inside = name[len(outer) + 1 :]
        for type_ in catalog.find_in_namespace(family, outer, inside.partition(".")[0]):
            if type_.kind in TYPE_KINDS:
                return Module((type_.facts.file.id,), within=inside)
        outer = outer.rpartition(".")[0]
    if not facts.file.namespace and "." not in name:
        types = [d for d in catalog.find_named(family, last, TYPE_KINDS) if not d.facts.file.namespace]
        return Module((types[0].facts.file.id,), within=types[0].qualified) if len(types) == 1 else None
    return None


def _find_namespace(catalog: Catalog, kin: str, namespace: str) -> Module | None:
    files = catalog.by_namespace.get((kin, namespace))
    return Module(tuple(f.id for f in files), kin=kin, namespace=namespace) if files else None


# C, Ruby, Lua: files by their path


def _resolve_include(catalog: Catalog, facts: LinkFacts, spec: str) -> Module | None:
    return _find_by_suffix(catalog, facts, spec.strip("<>\"' "), [""])


def _resolve_required(catalog: Catalog, facts: LinkFacts, spec: str) -> Module | None:
    endings = tuple(f".{e}" for e in facts.file.language.extensions[:2])
    path = spec.replace(".", "/") if "/" not in spec and not spec.endswith(endings) else spec
    index_files = [f"/{i}{endings[0]}" for i in facts.file.language.index_files]
    return _find_by_suffix(catalog, facts, path, ["", *endings, *index_files])


def _find_by_suffix(catalog: Catalog, facts: LinkFacts, path: str, endings: Iterable[str]) -> Module | None:
    """Find the file at a path relative to this file's folder, else the nearest file whose path ends in it."""
    folder, family = facts.file.path.rpartition("/")[0], facts.file.language.kin
    catalog.record("p", posixpath.basename(path).partition(".")[0])
    for ending in endings:
        sibling = posixpath.normpath(posixpath.join(folder, path + ending))
        if file := catalog.by_path.get(sibling):
            return Module((file.id,), complete=False)
        if fitting := catalog.find_paths(family, (path + ending).lstrip("./")):
            return Module((catalog.by_path[find_nearest(folder, fitting)].id,), complete=False)
    return None


def find_nearest(place: str, paths: Sequence[str]) -> str:
    """Find the first of the sorted paths that share the longest prefix with `place`."""
    at = bisect_left(paths, place)
    shared = max(len(posixpath.commonprefix([place, path])) for path in paths[max(at - 1, 0) : at + 1])
    return paths[bisect_left(paths, place[:shared])]


_RULES: Mapping[str, Callable[[Catalog, LinkFacts, str], Module | None]] = {
    "dotted": _resolve_dotted,
    "relative": _resolve_script,
    "package": _resolve_package,
    "crate": _resolve_in_crate,
    "namespace": _resolve_namespace,
    "include": _resolve_include,
    "require": _resolve_required,
}

"""Manifests that are JSON or TOML: package.json, composer.json, Cargo.toml, pyproject.toml. Errors are the caller's to catch."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import Any

from codelens.lang.packages import Dependency, Lines, Manifest, in_order, strings, table, text_at
from codelens.notation import parse_json, parse_toml

_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][\w.-]*)")
_GROUPS = {"dependencies": "", "devDependencies": "dev", "peerDependencies": "peer", "optionalDependencies": "optional"}


def npm(path: str, text: str) -> Manifest:
    """package.json, with the folders that `file:` and `link:` name."""
    content, lines = parse_json(text), Lines(text)
    dependencies = [
        Dependency(name, lines.of(name, "json"), group, _local(version))
        for key, group in _GROUPS.items()
        for name, version in table(content, key).items()
    ]
    workspaces = content.get("workspaces")
    files = [content.get(key) for key in ("source", "types", "typings", "module", "main", "browser", "exports", "bin")]
    return Manifest(
        *(path, "npm", text_at(content, "name"), in_order(dependencies)),
        entries=tuple(dict.fromkeys(name for name in strings(files) if "/" in name or "." in name)),
        members=tuple(strings(table(content, "workspaces").get("packages") or workspaces)),
    )


def _local(version: Any) -> str:
    for scheme in ("file:", "link:", "portal:"):
        if isinstance(version, str) and version.startswith(scheme):
            return version[len(scheme) :]
    return ""


def composer(path: str, text: str) -> Manifest:
    """composer.json with its PSR-4 and PSR-0 prefixes; PHP itself and its extensions are no dependencies."""
    content, lines = parse_json(text), Lines(text)
    dependencies = [
        Dependency(name, lines.of(name, "json"), group)
        for key, group in (("require", ""), ("require-dev", "dev"))
        for name in table(content, key)
        if "/" in name
    ]
    roots = [
        (prefix, folder)
        for key in ("autoload", "autoload-dev")
        for style in ("psr-4", "psr-0")
        for prefix, folders in table(content, key, style).items()
        for folder in strings(folders)
    ]
    return Manifest(path, "composer", text_at(content, "name"), in_order(dependencies), tuple(roots))


def cargo(path: str, text: str) -> Manifest:
    """Cargo.toml. The root is the library's name as code writes it; a dependency under another name keeps the package's."""
    content, lines = parse_toml(text), Lines(text)
    dependencies = list(_crates(content, lines))
    for target in table(content, "target").values():
        dependencies += _crates(target, lines)
    dependencies += _crates(table(content, "workspace"), lines)
    name = text_at(content, "package", "name")
    library = text_at(content, "lib", "path") or "src/lib.rs"
    crate = text_at(content, "lib", "name") or name.replace("-", "_")
    bins = content.get("bin")
    return Manifest(
        *(path, "cargo", name, in_order(dependencies)),
        roots=((crate, posixpath.dirname(library)),) if crate else (),
        entries=tuple(filter(None, [text_at(content, "lib", "path"), *(text_at(b, "path") for b in bins or ())])),
        members=tuple(strings(table(content, "workspace").get("members"))),
    )


def _crates(content: Any, lines: Lines) -> Iterator[Dependency]:
    for key, group in (("dependencies", ""), ("dev-dependencies", "dev"), ("build-dependencies", "build")):
        for name, how in table(content, key).items():
            yield Dependency(text_at(how, "package") or name, lines.of(name, "toml"), group, text_at(how, "path"))


def pyproject(path: str, text: str) -> Manifest:
    """pyproject.toml by PEP 621 and 735, or Poetry's tables."""
    content, lines = parse_toml(text), Lines(text)
    project, poetry = table(content, "project"), table(content, "tool", "poetry")
    dependencies = list(_required(project.get("dependencies"), "", lines))
    for group, needs in (
        *table(project, "optional-dependencies").items(),
        *table(content, "dependency-groups").items(),
    ):
        dependencies += _required(needs, group, lines)
    dependencies += _poetry(poetry, "dependencies", "", lines) + _poetry(poetry, "dev-dependencies", "dev", lines)
    for group, needs in table(poetry, "group").items():
        dependencies += _poetry(needs, "dependencies", group, lines)
    if not (project or poetry or dependencies):
        return Manifest(path, "pypi", "")
    find = table(content, "tool", "setuptools", "packages", "find").get("where")
    folders = [*strings(find), text_at(content, "tool", "setuptools", "package-dir", "")]
    folders += [text_at(package, "from") for package in poetry.get("packages") or ()]
    scripts = [table(project, "scripts"), table(project, "gui-scripts"), table(poetry, "scripts")]
    return Manifest(
        *(path, "pypi", python_name(text_at(project, "name") or text_at(poetry, "name")), in_order(dependencies)),
        roots=tuple(dict.fromkeys(("", folder) for folder in folders if folder)),
        entries=tuple(dict.fromkeys(strings(scripts))),
    )


def python_name(name: str) -> str:
    """A project's name as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def required(line: str) -> str:
    """The name that a requirement of PEP 508 begins with; empty if there is none."""
    found = _REQUIREMENT.match(line)
    return found[1].rstrip(".-") if found else ""


def _required(needs: Any, group: str, lines: Lines) -> Iterator[Dependency]:
    for need in needs if isinstance(needs, list) else ():
        if isinstance(need, str) and (name := required(need)):
            yield Dependency(python_name(name), lines.of(name), group)


def _poetry(content: Any, key: str, group: str, lines: Lines) -> list[Dependency]:
    return [
        Dependency(python_name(name), lines.of(name, "toml"), group, text_at(how, "path"))
        for name, how in table(content, key).items()
        if name != "python"
    ]

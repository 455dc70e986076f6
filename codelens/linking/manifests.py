"""What the manifests of a repository say of its modules' names, and whom its CODEOWNERS name, read when one is asked for."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

from codelens.lang.manifests import is_manifest, read_manifest
from codelens.lang.packages import Manifest
from codelens.lang.script_config import ScriptConfig, is_script_config, read_script_config
from codelens.linking.facts import Key
from codelens.worktree.owners import PLACES, Owners

Ask = Callable[..., None]
MODULES: Key = ("f", "modules")
"""The one question behind what manifests say of modules' names: that changes seldom, and concerns many."""
OWNERS: Key = ("f", "owners")
MOST_EXTENDED = 8
"""Configurations that one takes over from another in a row. Chosen; a guard against circles."""


def is_asked(path: str) -> bool:
    """Whether a file's content is part of what `Manifests` answers."""
    return is_manifest(path) or is_script_config(path) or path in PLACES


class Manifests:
    """The manifests of one repository."""

    def __init__(self, paths: Mapping[str, Callable[[], bytes]]) -> None:
        """`paths`: path of a manifest → how to read it."""
        self._paths = paths

    def _text(self, path: str) -> str:
        return self._paths[path]().decode("utf-8-sig", "replace")

    @cached_property
    def _manifests(self) -> dict[str, Manifest]:
        found = {path: read_manifest(path, self._text(path)) for path in sorted(self._paths) if is_manifest(path)}
        return {path: manifest for path, manifest in found.items() if manifest}

    @cached_property
    def _configs(self) -> dict[str, ScriptConfig]:
        paths = [path for path in sorted(self._paths) if is_script_config(path)]
        found = {path: read_script_config(path, self._text(path)) for path in paths}
        return {path: config for path, config in found.items() if config}

    @cached_property
    def _by_name(self) -> dict[tuple[str, str], list[str]]:
        """(ecosystem, name of a package) → paths of its manifests."""
        found: dict[tuple[str, str], list[str]] = {}
        for path, manifest in self._manifests.items():
            found.setdefault((manifest.ecosystem, manifest.name), []).append(path)
        return found

    @cached_property
    def _configs_in(self) -> dict[str, list[ScriptConfig]]:
        """Folder → the configurations of scripts in it, by path."""
        found: dict[str, list[ScriptConfig]] = {}
        for config in self._configs.values():
            found.setdefault(posixpath.dirname(config.path), []).append(config)
        return found

    @cached_property
    def _roots(self) -> dict[str, list[tuple[str, str]]]:
        """Ecosystem → (what an import begins with, folder of its sources), longest first."""
        found: dict[str, set[tuple[str, str]]] = {}
        for path, manifest in self._manifests.items():
            for prefix, folder in manifest.roots:
                place = posixpath.normpath(posixpath.join(posixpath.dirname(path), folder))
                found.setdefault(manifest.ecosystem, set()).add((prefix, "" if place == "." else place))
        return {name: sorted(pairs, key=lambda pair: (-len(pair[0]), pair)) for name, pairs in found.items()}

    @cached_property
    def _owners(self) -> Owners | None:
        place = next((place for place in PLACES if place in self._paths), None)
        return Owners(self._text(place)) if place else None

    def offers(self, path: str) -> tuple[Key, str] | None:
        """(key, answer) for what one manifest says that other documents ask for: not what it depends on."""
        if manifest := self._manifests.get(path):
            return MODULES, repr((path, manifest.name, manifest.roots, manifest.entries, manifest.members))
        if config := self._configs.get(path):
            return MODULES, repr(config)
        return (OWNERS, f"{path} {self._text(path)}") if path in PLACES and path in self._paths else None

    def of(self, path: str) -> Manifest | None:
        """What one manifest declares."""
        return self._manifests.get(path)

    def declaring(self, ecosystem: str, name: str, ask: Ask) -> str | None:
        """The manifest of the package that bears a name here."""
        ask(*MODULES)
        return next(iter(self._by_name.get((ecosystem, name), ())), None)

    def owners(self, path: str, ask: Ask) -> tuple[str, ...]:
        """Who owns a path."""
        ask(*OWNERS)
        found = self._owners.of(path) if self._owners else None
        return found.owners if found else ()

    def roots(self, ecosystem: str, ask: Ask) -> list[tuple[str, str]]:
        """(what an import begins with, folder of its sources), longest first."""
        ask(*MODULES)
        return self._roots.get(ecosystem, [])

    def script_targets(self, path: str, spec: str, ask: Ask) -> Iterator[str]:
        """Paths without ending that a script's import may mean: by the nearest configurations, then by packages' names."""
        ask(*MODULES)
        folder = posixpath.dirname(path)
        while True:
            for config in self._configs_in.get(folder, ()):
                yield from self._aliased(config, spec)
            if not folder:
                break
            folder = posixpath.dirname(folder)
        parts = spec.split("/")
        for place in [
            p for end in range(1, len(parts) + 1) for p in self._by_name.get(("npm", "/".join(parts[:end])), ())
        ]:
            manifest = self._manifests[place]
            if manifest.name:
                yield from _within(manifest, posixpath.dirname(place), spec[len(manifest.name) + 1 :])

    def _aliased(self, config: ScriptConfig, spec: str) -> Iterator[str]:
        """What the paths of a configuration, or of those that it extends, make of an import."""
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


def _within(manifest: Manifest, folder: str, rest: str) -> Iterator[str]:
    """Where a package's own sources for a path in it may lie: what it is used by, else the usual places."""
    for name in manifest.entries:
        bare = re.sub(r"(?:\.d)?\.[mc]?[jt]sx?$", "", name.removeprefix("./"))
        if rest and bare not in (rest, f"src/{rest}", f"{rest}/index", f"src/{rest}/index"):
            continue
        yield posixpath.normpath(posixpath.join(folder, name))
        built = re.sub(r"^(?:dist|lib|build|out)/", "", bare)  # what a build writes has its source in src
        yield posixpath.normpath(posixpath.join(folder, "src", built))
    for place in ("src", "", "lib"):
        yield posixpath.normpath(posixpath.join(folder, place, rest or "index"))

"""What the manifests of a repository say of its modules' names: package.json, tsconfig.json, go.mod, Cargo.toml."""

from __future__ import annotations

import json
import posixpath
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

NAMES = ("package.json", "tsconfig.json", "jsconfig.json", "go.mod", "Cargo.toml")
_COMMENTS = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.S)
_TRAILING = re.compile(r",(\s*[}\]])")
Ask = Callable[[str], None]


class Manifests:
    """The manifests of one repository, read when one is asked for."""

    def __init__(self, paths: Mapping[str, Callable[[], bytes]]) -> None:
        """`paths`: path of a manifest → how to read it."""
        self._paths = paths
        self._read: dict[str, dict[str, Any]] = {}

    def _of(self, name: str, ask: Ask) -> dict[str, Any]:
        """Folder → content of the manifests of that file name."""
        ask(f"f:{name}")
        if name not in self._read:
            found = {}
            for path in sorted(self._paths):
                if posixpath.basename(path) == name and (content := _parsed(name, self._paths[path]())) is not None:
                    found[posixpath.dirname(path)] = content
            self._read[name] = found
        return self._read[name]

    def go_modules(self, ask: Ask) -> Iterator[tuple[str, str]]:
        """(module path, folder), longest first."""
        found = [(module, folder) for folder, module in self._of("go.mod", ask).items()]
        return iter(sorted(found, key=lambda pair: (-len(pair[0]), pair)))

    def rust_crates(self, ask: Ask) -> Iterator[tuple[str, str]]:
        """(name as code writes it, folder of its sources)."""
        for folder, content in self._of("Cargo.toml", ask).items():
            name = content.get("package", {}).get("name") if isinstance(content.get("package"), dict) else None
            if isinstance(name, str):
                yield name.replace("-", "_"), posixpath.join(folder, "src")

    def script_targets(self, path: str, spec: str, ask: Ask) -> Iterator[str]:
        """Paths without ending that a script's import may mean: by the nearest tsconfig's paths, then by packages' names."""
        for name in ("tsconfig.json", "jsconfig.json"):
            configs = self._of(name, ask)
            folder = posixpath.dirname(path)
            while True:
                if folder in configs:
                    yield from _aliased(configs[folder], folder, spec)
                if not folder:
                    break
                folder = posixpath.dirname(folder)
        for folder, content in self._of("package.json", ask).items():
            name = content.get("name")
            if isinstance(name, str) and (spec == name or spec.startswith(f"{name}/")):
                rest = spec[len(name) + 1 :]
                yield from _within(content, folder, rest)


def _aliased(config: Any, folder: str, spec: str) -> Iterator[str]:
    options = config.get("compilerOptions") if isinstance(config, dict) else None
    if not isinstance(options, dict):
        return
    base = posixpath.normpath(posixpath.join(folder, str(options.get("baseUrl") or ".")))
    paths = options.get("paths")
    for pattern, targets in paths.items() if isinstance(paths, dict) else ():
        head, star, tail = str(pattern).partition("*")
        if not (spec.startswith(head) and spec.endswith(tail) and len(spec) >= len(head) + len(tail)) or (
            not star and spec != pattern
        ):
            continue
        middle = spec[len(head) : len(spec) - len(tail)] if star else ""
        for target in targets if isinstance(targets, list) else ():
            yield posixpath.normpath(posixpath.join(base, str(target).replace("*", middle, 1)))
    if options.get("baseUrl"):
        yield posixpath.normpath(posixpath.join(base, spec))


def _within(content: Mapping[str, Any], folder: str, rest: str) -> Iterator[str]:
    """Where a package's own sources for a path in it may lie: what it exports, else the usual places."""
    exports = content.get("exports")
    entry = exports.get(f"./{rest}" if rest else ".") if isinstance(exports, dict) else exports if not rest else None
    names = list(_strings(entry))
    if not rest:
        names += [
            str(content[key]) for key in ("source", "types", "module", "main") if isinstance(content.get(key), str)
        ]
    for name in names:
        yield posixpath.normpath(posixpath.join(folder, name))
        built = re.sub(r"^\./(?:dist|lib|build|out)/", "", name)  # what a build writes has its source in src
        yield posixpath.normpath(posixpath.join(folder, "src", re.sub(r"(?:\.d)?\.[mc]?[jt]sx?$", "", built)))
    for place in ("src", "", "lib"):
        yield posixpath.normpath(posixpath.join(folder, place, rest or "index"))


def _strings(entry: Any) -> Iterator[str]:
    if isinstance(entry, str):
        yield entry
    elif isinstance(entry, dict):
        for value in entry.values():
            yield from _strings(value)


def _parsed(name: str, raw: bytes) -> Any:
    """The content of a manifest; None where it cannot be read, which is the fault of its author."""
    text = raw.decode("utf-8-sig", "replace")
    try:
        if name == "go.mod":
            match = re.search(r"^module\s+\"?([^\s\"]+)", text, re.M)
            return match[1] if match else None
        if name.endswith(".toml"):
            return tomllib.loads(text)
        if name != "package.json":
            text = _TRAILING.sub(r"\1", _COMMENTS.sub(lambda m: m[1] or "", text))
        content = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None

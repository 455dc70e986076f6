"""A manifest's path and text → its name and what it depends on, for the ecosystems whose manifests people write.

Pure: nothing is read but the text. A manifest that cannot be read declares nothing: that is the fault of its author.
"""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from codelens.lang import manifests
from codelens.lang import manifests as manifest_lines
from codelens.model.fast_dataclass import dataclass
from codelens.text.notation import parse_json, parse_toml

if TYPE_CHECKING:
    from xml.etree import ElementTree


class Dependency(NamedTuple):
    """One package that a manifest requires."""

    name: str
    line: int  # Line in the manifest, from 1
    group: str = ""
    """Empty for run-time dependencies; otherwise dev, build, peer, optional, indirect or the name of a group."""
    path: str = ""  # Its directory relative to the manifest's, if the manifest names one


@dataclass(frozen=True, slots=True)
class Manifest:
    """One manifest. Paths are as written, relative to its folder."""

    path: str
    ecosystem: str  # npm, pypi, go, cargo, composer, gem, maven (Gradle, too) or nuget
    name: str  # Name for dependents; `group:artifact` for Maven. May be empty.
    dependencies: tuple[Dependency, ...] = ()  # In order of line; each name once in a group
    roots: tuple[tuple[str, str], ...] = ()
    """(what an import begins with, folder of its sources): a Go module's path, a crate's name, PSR-4's `App\\` → `src/`; of
    Python an empty prefix and the folder of the packages."""
    entries: tuple[str, ...] = ()
    """Files that the package is used by (npm's main, module, types, exports, bin; a crate's lib and bins); of Python
    `module:function`."""
    members: tuple[str, ...] = ()  # Globs of folders of the packages of a workspace


_FORMS = {
    "word": re.compile(r"([\w./@\\:-]+)"),
    "json": re.compile(r'"((?:[^"\\\n]|\\.)*)"\s*:'),
    "toml": re.compile(r"^[ \t]*(?:\[(?:[^\n\]]*\.)?)?[\"']?([\w-]+)[\"']?[ \t]*[=.\]]", re.MULTILINE),
}
"""Forms of names: a word, a JSON key, a TOML key or the last part of a TOML table."""


class NameLines:
    """Finds the line of each name in a text. Repeated names are found one after the other, in the order of the manifest."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]
        self._places: dict[str, dict[str, list[int]]] = {}

    def of(self, name: str, form: str = "word") -> int:
        """The line of the next occurrence of a name in this form (word, json or toml); 1 if not found."""
        if form not in self._places:
            self._places[form] = self._all(form)
        left = self._places[form].get(name, [])
        place = left.pop() if len(left) > 1 else left[0] if left else 0
        return bisect_right(self._starts, place)

    def _all(self, form: str) -> dict[str, list[int]]:
        """Name → its offsets, in reverse order."""
        places: dict[str, list[int]] = {}
        for found in _FORMS[form].finditer(self._text):
            places.setdefault(found[1], []).append(found.start(1))
        return {name: list(reversed(found)) for name, found in places.items()}


def in_order(dependencies: Iterable[Dependency]) -> tuple[Dependency, ...]:
    """Sort by line and name; keep the first of each name in a group."""
    kept: dict[tuple[str, str], Dependency] = {}
    for one in sorted(dependencies, key=lambda d: (d.line, d.name, d.group)):
        kept.setdefault((one.name, one.group), one)
    return tuple(kept.values())


def strings(value: Any) -> Iterator[str]:
    """All strings in lists and in the values of tables, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from strings(one)
    elif isinstance(value, dict):
        for one in value.values():
            yield from strings(one)


def table(value: Any, *keys: str) -> dict[str, Any]:
    """The table at a path of keys; empty if missing."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def text_at(value: Any, *keys: str) -> str:
    """The string at a path of keys; empty if missing."""
    found = table(value, *keys[:-1]).get(keys[-1])
    return found if isinstance(found, str) else ""


_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][\w.-]*)")
_GROUPS = {"dependencies": "", "devDependencies": "dev", "peerDependencies": "peer", "optionalDependencies": "optional"}


def npm(path: str, text: str) -> Manifest:
    """package.json, including the directories of `file:` and `link:`."""
    content, lines = parse_json(text), NameLines(text)
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
    """composer.json with its PSR-4 and PSR-0 prefixes, without PHP and its extensions."""
    content, lines = parse_json(text), NameLines(text)
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
    content, lines = parse_toml(text), NameLines(text)
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


def _crates(content: Any, lines: NameLines) -> Iterator[Dependency]:
    for key, group in (("dependencies", ""), ("dev-dependencies", "dev"), ("build-dependencies", "build")):
        for name, how in table(content, key).items():
            yield Dependency(text_at(how, "package") or name, lines.of(name, "toml"), group, text_at(how, "path"))


def pyproject(path: str, text: str) -> Manifest:
    """pyproject.toml by PEP 621 and 735, or Poetry's tables."""
    content, lines = parse_toml(text), NameLines(text)
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
    """A project's name, normalised by PEP 503."""
    return re.sub(r"[-_.]+", "-", name).lower()


def required(line: str) -> str:
    """The name at the start of a PEP 508 requirement; empty if missing."""
    found = _REQUIREMENT.match(line)
    return found[1].rstrip(".-") if found else ""


def _required(needs: Any, group: str, lines: NameLines) -> Iterator[Dependency]:
    for need in needs if isinstance(needs, list) else ():
        if isinstance(need, str) and (name := required(need)):
            yield Dependency(python_name(name), lines.of(name), group)


def _poetry(content: Any, key: str, group: str, lines: NameLines) -> list[Dependency]:
    return [
        Dependency(python_name(name), lines.of(name, "toml"), group, text_at(how, "path"))
        for name, how in table(content, key).items()
        if name != "python"
    ]


_GEM = re.compile(r"""\s*(?:gem|\w+\.add_(?:(runtime|development)_)?dependency)[\s(]+["']([\w.-]+)["']([^\n]*)""")
_GEM_NAME = re.compile(r"""^\s*\w+\.name\s*=\s*["']([\w.-]+)["']""", re.MULTILINE)
_PATH = re.compile(r"""\bpath(?::|\s*=>)\s*["']([^"']+)["']""")
_GRADLE = re.compile(
    r"""\s*(?:["']?(\w+)["']?)[\s(]+(?:platform\(|enforcedPlatform\(|kotlin\()?\s*(?:["']([\w.-]+:[\w.-]+)[^"']*["']|
        (?:project)\s*\(\s*(?:path\s*[:=]\s*)?["']:?([\w:.-]+)["'])""",
    re.VERBOSE,
)
_DECLARATION = re.compile(r"\s*<\?xml[^>]*\?>")  # The declared encoding may differ from that of the decoded text
_CONFIGURATION = re.compile(
    r"\w*(?:implementation|api|compile|runtime|compileOnly|runtimeOnly|kapt|ksp)\w*", re.IGNORECASE
)


def go_mod(path: str, text: str) -> Manifest:
    """go.mod; a replacement by a folder is the path of the dependency that it replaces."""
    name, block = "", ""
    needs: list[Dependency] = []
    folders: dict[str, str] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        code, _, comment = line.partition("//")
        words = code.replace("(", " ( ").split()
        if words[:1] == [")"]:
            block = ""
        elif len(words) > 1 and words[1] == "(":
            block = words[0]
        elif words:
            verb, rest = (block, words) if block else (words[0], words[1:])
            rest = [word.strip('"`') for word in rest]
            if verb == "module" and rest:
                name = name or rest[0]
            elif verb == "require" and rest:
                needs.append(Dependency(rest[0], number, "indirect" if "indirect" in comment else ""))
            elif verb == "replace" and "=>" in rest and rest[-1].startswith("."):
                folders[rest[0]] = rest[-1]
    needs = [need._replace(path=folders.get(need.name, "")) for need in needs]
    return Manifest(path, "go", name, in_order(needs), ((name, "."),) if name else ())


def requirements(path: str, text: str) -> Manifest:
    """requirements.txt: names, and directories after -e. The rest of the file name is the group."""
    stem = re.sub(r"requirements|[-_.]|txt$|in$", " ", path.rpartition("/")[2]).split()
    group = stem[0] if stem else ""
    needs = []
    for number, line in enumerate(text.split("\n"), start=1):
        code = line.partition("#")[0].strip()
        folder = re.match(r"(?:-e|--editable)[\s=]+(\.[^\s\[]*)", code)
        if folder:
            needs.append(Dependency(posixpath.basename(folder[1].rstrip("/")), number, group, folder[1]))
        elif "://" not in code.partition("@")[0] and (name := required(code)):
            needs.append(Dependency(python_name(name), number, group))
    return Manifest(path, "pypi", "", in_order(needs))


def setup_cfg(path: str, text: str) -> Manifest | None:
    """setup.cfg as setuptools reads it."""
    import configparser  # few trees have one

    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return None
    lines = NameLines(text)
    needs = list(_listed(parser.get("options", "install_requires", fallback=""), "", lines))
    for section in ("options.extras_require",):
        for group in parser.options(section) if parser.has_section(section) else ():
            needs += _listed(parser.get(section, group), group, lines)
    folders = re.findall(r"^\s*=\s*(\S+)", parser.get("options", "package_dir", fallback=""), re.MULTILINE)
    entries = re.findall(r"=\s*([\w.]+:[\w.]+)", parser.get("options.entry_points", "console_scripts", fallback=""))
    name = python_name(parser.get("metadata", "name", fallback="").strip())
    return Manifest(path, "pypi", name, in_order(needs), tuple(("", folder) for folder in folders), tuple(entries))


def _listed(value: str, group: str, lines: NameLines) -> Iterator[Dependency]:
    for line in value.split("\n"):
        if name := required(line.partition("#")[0]):
            yield Dependency(python_name(name), lines.of(name), group)


def gems(path: str, text: str) -> Manifest:
    """A Gemfile or gemspec."""
    needs, group = [], ""
    for number, line in enumerate(text.split("\n"), start=1):
        if found := re.match(r"\s*group[\s(]+:(\w+)[^\n]*\bdo\b", line):
            group = found[1].replace("development", "dev")
        elif re.match(r"end\b", line):
            group = ""
        elif found := _GEM.match(line):
            folder = _PATH.search(found[3])
            kind = "dev" if found[1] == "development" else group
            needs.append(Dependency(found[2], number, kind, folder[1] if folder else ""))
    name = _GEM_NAME.search(text) if path.endswith(".gemspec") else None
    return Manifest(path, "gem", name[1] if name else "", in_order(needs))


def gradle(path: str, text: str) -> Manifest:
    """build.gradle in Groovy or Kotlin; a project of the same build is a dependency with a path from the root."""
    needs = []
    for number, line in enumerate(text.split("\n"), start=1):
        found = _GRADLE.match(line)
        if found and _CONFIGURATION.fullmatch(found[1]):
            group = "dev" if "test" in found[1].lower() else ""
            project = (found[3] or "").strip(":").replace(":", "/")
            needs.append(Dependency(found[2] or project.rpartition("/")[2], number, group, project))
    return Manifest(path, "maven", "", in_order(needs))


def pom(path: str, text: str) -> Manifest | None:
    """pom.xml; properties in names are not expanded."""
    root = _xml(text)
    if root is None:
        return None
    lines = NameLines(text)
    owner = _child(root, "groupId") or _child(root.find("parent"), "groupId")
    needs = [
        Dependency(
            f"{_child(one, 'groupId')}:{artifact}", lines.of(artifact), "dev" if _child(one, "scope") == "test" else ""
        )
        for one in root.findall("dependencies/dependency")
        if (artifact := _child(one, "artifactId"))
    ]
    members = tuple((module.text or "").strip() for module in root.findall("modules/module"))
    artifact = _child(root, "artifactId")
    return Manifest(path, "maven", f"{owner}:{artifact}" if artifact else "", in_order(needs), members=members)


def msbuild(path: str, text: str) -> Manifest | None:
    """A .csproj: its packages, and other projects with their paths. The default name is the file's."""
    root = _xml(text)
    if root is None:
        return None
    lines, needs = NameLines(text), []
    for one in root.iter():
        name = (one.get("Include") or "").strip()
        if one.tag == "PackageReference" and name:
            needs.append(Dependency(name, lines.of(name)))
        elif one.tag == "ProjectReference" and name:
            folder = name.replace("\\", "/")
            stem = posixpath.splitext(posixpath.basename(folder))[0]
            needs.append(Dependency(stem, lines.of(name), "", folder))
    stem = posixpath.splitext(posixpath.basename(path))[0]
    named = [(one.text or "").strip() for tag in ("PackageId", "AssemblyName") for one in root.iter(tag)]
    own = next((name for name in named if name and "$" not in name), stem)
    return Manifest(path, "nuget", "" if path.endswith(".props") else own, in_order(needs))


def _xml(text: str) -> ElementTree.Element | None:
    """The root element, with tags without namespaces; None for a text with entities, which could expand without limit."""
    if "<!ENTITY" in text or "<!DOCTYPE" in text:
        return None
    from xml.etree import ElementTree

    try:
        root = ElementTree.fromstring(_DECLARATION.sub("", text).encode("utf-8", "replace"))
    except ElementTree.ParseError:
        return None
    for one in root.iter():
        one.tag = str(one.tag).rpartition("}")[2]
    return root


def _child(element: ElementTree.Element | None, tag: str) -> str:
    found = element.find(tag) if element is not None else None
    return (found.text or "").strip() if found is not None else ""


MAX_MANIFEST = 1 << 18  # Characters. Longer ones are generated.

_READERS: tuple[tuple[re.Pattern[str], Callable[[str, str], Manifest | None]], ...] = tuple(
    (re.compile(pattern), reader)
    for pattern, reader in (
        (r"package\.json", manifests.npm),
        (r"composer\.json", manifests.composer),
        (r"Cargo\.toml", manifests.cargo),
        (r"pyproject\.toml", manifests.pyproject),
        (r"setup\.cfg", manifest_lines.setup_cfg),
        (r"requirements[\w.-]*\.(?:txt|in)", manifest_lines.requirements),
        (r"go\.mod", manifest_lines.go_mod),
        (r"Gemfile|gems\.rb|.*\.gemspec", manifest_lines.gems),
        (r"build\.gradle(?:\.kts)?", manifest_lines.gradle),
        (r"pom\.xml", manifest_lines.pom),
        (r".*\.(?:cs|fs|vb)proj|Directory\.Packages\.props", manifest_lines.msbuild),
    )
)
_ANY = re.compile("|".join(f"(?:{pattern.pattern})" for pattern, _ in _READERS))


def is_manifest(path: str) -> bool:
    """True if `read_manifest` knows a file of this name."""
    return _ANY.fullmatch(path.rpartition("/")[2]) is not None


def read_manifest(path: str, text: str) -> Manifest | None:
    """The manifest at a path; None for other files and for those that cannot be parsed."""
    reader = _reader(path)
    if reader is None or len(text) > MAX_MANIFEST:
        return None
    try:
        return reader(path, text.removeprefix("\ufeff"))
    except (ValueError, AttributeError, TypeError):  # the author may have used any structure
        return None


def _reader(path: str) -> Callable[[str, str], Manifest | None] | None:
    name = path.rpartition("/")[2]
    return next((reader for pattern, reader in _READERS if pattern.fullmatch(name)), None)

"""Read the names, dependencies and import roots from the text of package manifests and of tsconfig.json.

A manifest that cannot be read declares nothing; its author is responsible for that.
"""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from codelens.model.fast_dataclass import dataclass
from codelens.text.notation import parse_json, parse_toml

if TYPE_CHECKING:
    from xml.etree import ElementTree

MAX_MANIFEST = 1 << 18  # Characters. Longer manifests are generated.


class Dependency(NamedTuple):
    """A package that a manifest requires."""

    name: str
    line: int  # Line in the manifest, from 1
    group: str = ""
    """Empty for run-time dependencies; otherwise dev, build, peer, optional, indirect or the name of a group."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """The declarations of one manifest. Paths are relative to its folder."""

    ecosystem: str  # npm, pypi, go, cargo, composer, gem, maven (Gradle, too) or nuget
    name: str  # Name for dependents; `group:artifact` for Maven. May be empty.
    dependencies: tuple[Dependency, ...]  # In order of line; each name once in a group
    roots: tuple[tuple[str, str], ...] = ()
    """(prefix of an import, folder of its sources): a Go module's path or a crate's name."""
    entries: tuple[str, ...] = ()  # Entry points of an npm package: main, module, types, exports, bin


_FORMS = {
    "word": re.compile(r"([\w./@\\:-]+)"),
    "json": re.compile(r'"((?:[^"\\\n]|\\.)*)"\s*:'),
    "toml": re.compile(r"^[ \t]*(?:\[(?:[^\n\]]*\.)?)?[\"']?([\w-]+)[\"']?[ \t]*[=.\]]", re.MULTILINE),
}  # Form → pattern of names: a word, a JSON key, a TOML key or the last part of a TOML table


class NameLines:
    """The lines of names in a text. Repeated names are found one after the other, in the order of the manifest."""

    def __init__(self, text: str, form: str = "word") -> None:
        """`form` is how names are written: word, json or toml."""
        self._starts = [0, *(newline.end() for newline in re.finditer("\n", text))]
        self._places: dict[str, list[int]] = {}  # Name → its offsets, in reverse order
        for name in reversed(list(_FORMS[form].finditer(text))):
            self._places.setdefault(name[1], []).append(name.start(1))

    def find_next_line(self, name: str) -> int:
        """Find the line of the next occurrence of a name; 1 if not found."""
        places = self._places.get(name, [0])
        return bisect_right(self._starts, places.pop() if len(places) > 1 else places[0])


def sort_dependencies(dependencies: Iterable[Dependency]) -> tuple[Dependency, ...]:
    """Sort by line and name; keep the first of each name in a group."""
    first: dict[tuple[str, str], Dependency] = {}
    for dependency in sorted(dependencies, key=lambda d: (d.line, d.name, d.group)):
        first.setdefault((dependency.name, dependency.group), dependency)
    return tuple(first.values())


def find_strings(value: Any) -> Iterator[str]:
    """Find all strings in lists and in the values of tables, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from find_strings(part)


def get_table(value: Any, *keys: str) -> dict[str, Any]:
    """Get the table at a path of keys; empty if missing."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def get_text(value: Any, *keys: str) -> str:
    """Get the string at a path of keys; empty if missing."""
    text = get_table(value, *keys[:-1]).get(keys[-1])
    return text if isinstance(text, str) else ""


def _list_keys(content: Any, groups: Mapping[str, str], lines: NameLines) -> Iterator[Dependency]:
    """List the dependencies that are keys of tables. `groups` maps the name of a table to its group."""
    for table, group in groups.items():
        for name, version in get_table(content, table).items():
            yield Dependency(get_text(version, "package") or name, lines.find_next_line(name), group)


_NPM = {"dependencies": "", "devDependencies": "dev", "peerDependencies": "peer", "optionalDependencies": "optional"}
_COMPOSER = {"require": "", "require-dev": "dev"}
_CARGO = {"dependencies": "", "dev-dependencies": "dev", "build-dependencies": "build"}


def _read_npm(name: str, text: str) -> Manifest:
    content = parse_json(text)
    dependencies = _list_keys(content, _NPM, NameLines(text, "json"))
    files = [content.get(key) for key in ("source", "types", "typings", "module", "main", "browser", "exports", "bin")]
    entries = dict.fromkeys(name for name in find_strings(files) if "/" in name or "." in name)
    return Manifest("npm", get_text(content, "name"), sort_dependencies(dependencies), entries=tuple(entries))


def _read_composer(name: str, text: str) -> Manifest:
    """Read composer.json, without PHP and its extensions, whose names have no vendor."""
    content = parse_json(text)
    needs = [need for need in _list_keys(content, _COMPOSER, NameLines(text, "json")) if "/" in need.name]
    return Manifest("composer", get_text(content, "name"), sort_dependencies(needs))


def _read_cargo(name: str, text: str) -> Manifest:
    """Read Cargo.toml. The root is the library's name in code; a dependency under another name keeps its package's name."""
    content, lines = parse_toml(text), NameLines(text, "toml")
    tables = [content, *get_table(content, "target").values(), get_table(content, "workspace")]
    dependencies = [dependency for table in tables for dependency in _list_keys(table, _CARGO, lines)]
    package = get_text(content, "package", "name")
    crate = get_text(content, "lib", "name") or package.replace("-", "_")
    folder = posixpath.dirname(get_text(content, "lib", "path") or "src/lib.rs")
    return Manifest("cargo", package, sort_dependencies(dependencies), ((crate, folder),) if crate else ())


def _read_pyproject(name: str, text: str) -> Manifest:
    """Read pyproject.toml by PEP 621 and 735, or by Poetry's tables."""
    content, lines, keys = parse_toml(text), NameLines(text), NameLines(text, "toml")
    project, poetry = get_table(content, "project"), get_table(content, "tool", "poetry")
    groups = [("", project.get("dependencies")), *get_table(project, "optional-dependencies").items()]
    groups += get_table(content, "dependency-groups").items()
    dependencies = [need for group, needs in groups for need in _list_requirements(needs, group, lines)]
    dependencies += _list_poetry(poetry, {"dependencies": "", "dev-dependencies": "dev"}, keys)
    for group, needs in get_table(poetry, "group").items():
        dependencies += _list_poetry(needs, {"dependencies": group}, keys)
    package = get_text(project, "name") or get_text(poetry, "name")
    return Manifest("pypi", normalize_python_name(package), sort_dependencies(dependencies))


def _list_poetry(content: Any, groups: Mapping[str, str], keys: NameLines) -> Iterator[Dependency]:
    for table, group in groups.items():
        for name in get_table(content, table):
            if name != "python":
                yield Dependency(normalize_python_name(name), keys.find_next_line(name), group)


def normalize_python_name(name: str) -> str:
    """Normalize a project's name by PEP 503."""
    return re.sub(r"[-_.]+", "-", name).lower()


_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][\w.-]*)")


def _list_requirements(needs: Any, group: str, lines: NameLines) -> Iterator[Dependency]:
    for need in needs if isinstance(needs, list) else ():
        if isinstance(need, str) and (name := _REQUIREMENT.match(need)):
            written = name[1].rstrip(".-")
            yield Dependency(normalize_python_name(written), lines.find_next_line(written), group)


def _read_requirements(name: str, text: str) -> Manifest:
    """Read requirements.txt: names of packages, and of folders after -e. The rest of the file's name is the group."""
    group = next(iter(re.sub(r"requirements|[-_.]|txt$|in$", " ", name).split()), "")
    needs = []
    for number, line in enumerate(text.split("\n"), start=1):
        code = line.partition("#")[0].strip()
        if folder := re.match(r"(?:-e|--editable)[\s=]+(\.[^\s\[]*)", code):
            needs.append(Dependency(posixpath.basename(folder[1].rstrip("/")), number, group))
        elif "://" not in code.partition("@")[0] and (package := _REQUIREMENT.match(code)):
            needs.append(Dependency(normalize_python_name(package[1].rstrip(".-")), number, group))
    return Manifest("pypi", "", sort_dependencies(needs))


def _read_setup_cfg(name: str, text: str) -> Manifest:
    import configparser  # few trees have one

    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except configparser.Error as fault:
        raise ValueError from fault
    groups = {"": parser.get("options", "install_requires", fallback="")}
    extras = "options.extras_require"
    if parser.has_section(extras):
        groups |= {group: parser.get(extras, group) for group in parser.options(extras)}
    lines, dependencies = NameLines(text), list[Dependency]()
    for group, value in groups.items():
        dependencies += _list_requirements([line.partition("#")[0] for line in value.split("\n")], group, lines)
    package = normalize_python_name(parser.get("metadata", "name", fallback="").strip())
    return Manifest("pypi", package, sort_dependencies(dependencies))


def _read_go_mod(name: str, text: str) -> Manifest:
    module, block = "", ""
    needs: list[Dependency] = []
    for number, line in enumerate(text.split("\n"), start=1):
        code, _, comment = line.partition("//")
        words = code.replace("(", " ( ").split()
        if words[:1] == [")"]:
            block = ""
        elif len(words) > 1 and words[1] == "(":
            block = words[0]
        elif words:
            verb, rest = (block, words) if block else (words[0], words[1:])
            if verb == "module" and rest:
                module = module or rest[0].strip('"`')
            elif verb == "require" and rest:
                needs.append(Dependency(rest[0].strip('"`'), number, "indirect" if "indirect" in comment else ""))
    return Manifest("go", module, sort_dependencies(needs), ((module, "."),) if module else ())


_GEM = re.compile(r"""\s*(?:gem|\w+\.add_(?:(runtime|development)_)?dependency)[\s(]+["']([\w.-]+)["']""")
_GEM_NAME = re.compile(r"""^\s*\w+\.name\s*=\s*["']([\w.-]+)["']""", re.MULTILINE)


def _read_gems(name: str, text: str) -> Manifest:
    """Read a Gemfile or gemspec."""
    needs, group = [], ""
    for number, line in enumerate(text.split("\n"), start=1):
        if opened := re.match(r"\s*group[\s(]+:(\w+)[^\n]*\bdo\b", line):
            group = opened[1].replace("development", "dev")
        elif re.match(r"end\b", line):
            group = ""
        elif gem := _GEM.match(line):
            needs.append(Dependency(gem[2], number, "dev" if gem[1] == "development" else group))
    package = _GEM_NAME.search(text) if name.endswith(".gemspec") else None
    return Manifest("gem", package[1] if package else "", sort_dependencies(needs))


_GRADLE = re.compile(
    r"""\s*(?:["']?(\w+)["']?)[\s(]+(?:platform\(|enforcedPlatform\(|kotlin\()?\s*(?:["']([\w.-]+:[\w.-]+)[^"']*["']|
        (?:project)\s*\(\s*(?:path\s*[:=]\s*)?["']:?([\w:.-]+)["'])""",
    re.VERBOSE,
)
_CONFIGURATION = re.compile(
    r"\w*(?:implementation|api|compile|runtime|compileOnly|runtimeOnly|kapt|ksp)\w*", re.IGNORECASE
)


def _read_gradle(name: str, text: str) -> Manifest:
    """Read build.gradle in Groovy or Kotlin."""
    needs = []
    for number, line in enumerate(text.split("\n"), start=1):
        need = _GRADLE.match(line)
        if need and _CONFIGURATION.fullmatch(need[1]):
            group = "dev" if "test" in need[1].lower() else ""
            needs.append(Dependency(need[2] or need[3].strip(":").rpartition(":")[2], number, group))
    return Manifest("maven", "", sort_dependencies(needs))


def _read_pom(name: str, text: str) -> Manifest:
    """Read pom.xml. Properties in names are not expanded."""
    root, lines, needs = _read_xml(text), NameLines(text), []
    for need in root.findall("dependencies/dependency"):
        if artifact := _find_child_text(need, "artifactId"):
            group = "dev" if _find_child_text(need, "scope") == "test" else ""
            package = f"{_find_child_text(need, 'groupId')}:{artifact}"
            needs.append(Dependency(package, lines.find_next_line(artifact), group))
    owner = _find_child_text(root, "groupId") or _find_child_text(root, "parent/groupId")
    artifact = _find_child_text(root, "artifactId")
    return Manifest("maven", f"{owner}:{artifact}" if artifact else "", sort_dependencies(needs))


def _read_msbuild(name: str, text: str) -> Manifest:
    """Read a project of .NET: its packages and the projects it refers to. By default it is named after the file."""
    root, lines, needs = _read_xml(text), NameLines(text), []
    for element in root.iter():
        package = (element.get("Include") or "").strip()
        if package and element.tag in ("PackageReference", "ProjectReference"):
            line = lines.find_next_line(package)
            if element.tag == "ProjectReference":
                package = posixpath.splitext(posixpath.basename(package.replace("\\", "/")))[0]
            needs.append(Dependency(package, line))
    names = [(element.text or "").strip() for tag in ("PackageId", "AssemblyName") for element in root.iter(tag)]
    own_name = next((name for name in names if name and "$" not in name), posixpath.splitext(name)[0])
    return Manifest("nuget", "" if name.endswith(".props") else own_name, sort_dependencies(needs))


_DECLARATION = re.compile(r"\s*<\?xml[^>]*\?>")  # The declared encoding may differ from that of the decoded text


def _read_xml(text: str) -> ElementTree.Element:
    """Parse XML and drop namespaces from its tags. Raises ValueError, also for entities, which could expand without limit."""
    if "<!ENTITY" in text or "<!DOCTYPE" in text:
        raise ValueError("entities are not expanded")
    from xml.etree import ElementTree

    try:
        root = ElementTree.fromstring(_DECLARATION.sub("", text).encode("utf-8", "replace"))
    except ElementTree.ParseError as fault:
        raise ValueError from fault
    for element in root.iter():
        element.tag = str(element.tag).rpartition("}")[2]
    return root


def _find_child_text(element: ElementTree.Element, tag: str) -> str:
    return (element.findtext(tag) or "").strip()


_READERS: tuple[tuple[re.Pattern[str], Callable[[str, str], Manifest]], ...] = tuple(
    (re.compile(pattern), reader)
    for pattern, reader in (
        (r"package\.json", _read_npm),
        (r"composer\.json", _read_composer),
        (r"Cargo\.toml", _read_cargo),
        (r"pyproject\.toml", _read_pyproject),
        (r"setup\.cfg", _read_setup_cfg),
        (r"requirements[\w.-]*\.(?:txt|in)", _read_requirements),
        (r"go\.mod", _read_go_mod),
        (r"Gemfile|gems\.rb|.*\.gemspec", _read_gems),
        (r"build\.gradle(?:\.kts)?", _read_gradle),
        (r"pom\.xml", _read_pom),
        (r".*\.(?:cs|fs|vb)proj|Directory\.Packages\.props", _read_msbuild),
    )
)  # (pattern of a file's name, reader of a file's name and text); readers may raise any fault of a wrong structure

_ANY_NAME = re.compile("|".join(f"(?:{pattern.pattern})" for pattern, _ in _READERS))


def is_manifest(path: str) -> bool:
    """True if `read_manifest` knows a file of this name."""
    return _ANY_NAME.fullmatch(posixpath.basename(path)) is not None


def read_manifest(path: str, text: str) -> Manifest | None:
    """Read the manifest at a path; None for other files and for those that cannot be parsed."""
    name = posixpath.basename(path)
    reader = next((reader for pattern, reader in _READERS if pattern.fullmatch(name)), None)
    if reader is None or len(text) > MAX_MANIFEST:
        return None
    try:
        return reader(name, text.removeprefix("\ufeff"))
    except (ValueError, AttributeError, TypeError):  # the author may have used any structure
        return None


# tsconfig.json and jsconfig.json: where a script's imports lead. Comments and trailing commas are allowed, as TypeScript does.

_STRING = r'"(?:\\.|[^"\\])*(?:"|\\?\Z)'
# Each alternative matches at least one character, so no text is read twice.
_COMMENT = re.compile(rf"({_STRING})|//[^\n]*|/\*(?:.*?\*/|.*\Z)", re.DOTALL)
_TRAILING = re.compile(rf"({_STRING})|,(?=\s*[}}\]])", re.DOTALL)
_CONFIG_NAME = re.compile(r"(?:tsconfig|jsconfig)[\w.-]*\.json")


@dataclass(frozen=True, slots=True)
class ScriptConfig:
    """A configuration of TypeScript's resolver. Paths are relative to the root of the tree."""

    path: str
    base: str | None  # Folder for imports that are not relative; None if not set
    paths: tuple[tuple[str, tuple[str, ...]], ...]  # (pattern with at most one star, its replacements)
    extends: tuple[str, ...]
    """Configurations that supply base and paths if this one has none, the last one first; names of packages are unchanged."""


def is_script_config(path: str) -> bool:
    """True if a file is named like a TypeScript or JavaScript configuration."""
    return _CONFIG_NAME.fullmatch(posixpath.basename(path)) is not None


def read_script_config(path: str, text: str) -> ScriptConfig | None:
    """Read the configuration at a path; None if it cannot be parsed."""
    bare = _COMMENT.sub(lambda part: part[1] or " ", text.removeprefix("\ufeff"))
    try:
        content = parse_json(_TRAILING.sub(lambda part: part[1] or "", bare))
    except ValueError:
        return None
    if not isinstance(content, dict):
        return None
    folder, options = posixpath.dirname(path), get_table(content, "compilerOptions")
    base_url = get_text(options, "baseUrl")
    base = _join_paths(folder, base_url) if base_url else None
    start = folder if base is None else base
    written = ((pattern, find_strings(value)) for pattern, value in get_table(options, "paths").items())
    paths = [(pattern, tuple(_join_paths(start, target) for target in targets)) for pattern, targets in written]
    extends = []
    for name in reversed([*find_strings(content.get("extends"))]):
        if name.startswith("."):
            name = f"{_join_paths(folder, name).removesuffix('.json')}.json"
        extends.append(name)
    return ScriptConfig(path, base, tuple(paths), tuple(extends))


def _join_paths(folder: str, path: str) -> str:
    joined = posixpath.normpath(posixpath.join(folder, path)).lstrip("/")
    return "" if joined == "." else joined

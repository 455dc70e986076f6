"""Manifests that are read line by line or tag by tag: go.mod, requirements, setup.cfg, Ruby, Gradle, Maven, MSBuild.

Gemfiles and Gradle's files are programs: what they compute is not seen, only what stands in them as text.
"""

from __future__ import annotations

import configparser
import posixpath
import re
from collections.abc import Iterator
from xml.etree import ElementTree

from codelens.lang.manifest_tables import python_name, required
from codelens.lang.packages import Dependency, Lines, Manifest, in_order

_GEM = re.compile(r"""\s*(?:gem|\w+\.add_(?:(runtime|development)_)?dependency)[\s(]+["']([\w.-]+)["']([^\n]*)""")
_GEM_NAME = re.compile(r"""^\s*\w+\.name\s*=\s*["']([\w.-]+)["']""", re.MULTILINE)
_PATH = re.compile(r"""\bpath(?::|\s*=>)\s*["']([^"']+)["']""")
_GRADLE = re.compile(
    r"""\s*(?:["']?(\w+)["']?)[\s(]+(?:platform\(|enforcedPlatform\(|kotlin\()?\s*(?:["']([\w.-]+:[\w.-]+)[^"']*["']|
        (?:project)\s*\(\s*(?:path\s*[:=]\s*)?["']:?([\w:.-]+)["'])""",
    re.VERBOSE,
)
_DECLARATION = re.compile(r"\s*<\?xml[^>]*\?>")
"""It may say an encoding that the text no longer has."""
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
    """requirements.txt: names, and folders after -e; its group is what its name says beyond `requirements`."""
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
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return None
    lines = Lines(text)
    needs = list(_listed(parser.get("options", "install_requires", fallback=""), "", lines))
    for section in ("options.extras_require",):
        for group in parser.options(section) if parser.has_section(section) else ():
            needs += _listed(parser.get(section, group), group, lines)
    folders = re.findall(r"^\s*=\s*(\S+)", parser.get("options", "package_dir", fallback=""), re.MULTILINE)
    entries = re.findall(r"=\s*([\w.]+:[\w.]+)", parser.get("options.entry_points", "console_scripts", fallback=""))
    name = python_name(parser.get("metadata", "name", fallback="").strip())
    return Manifest(path, "pypi", name, in_order(needs), tuple(("", folder) for folder in folders), tuple(entries))


def _listed(value: str, group: str, lines: Lines) -> Iterator[Dependency]:
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
    """pom.xml; properties in names are left as they stand."""
    root = _xml(text)
    if root is None:
        return None
    lines = Lines(text)
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
    """A .csproj: its packages, and other projects with their paths. Its name is the file's unless it says another."""
    root = _xml(text)
    if root is None:
        return None
    lines, needs = Lines(text), []
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
    said = next((name for name in named if name and "$" not in name), stem)
    return Manifest(path, "nuget", "" if path.endswith(".props") else said, in_order(needs))


def _xml(text: str) -> ElementTree.Element | None:
    """The root with its tags' namespaces taken off. Entities of its own are refused: they may unfold without end."""
    if "<!ENTITY" in text or "<!DOCTYPE" in text:
        return None
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

"""Write the calls that a compiler sees in Go or Java, for `tools.bench.calls`.

    python -m tools.bench.compiled_calls go TREE > CALLS.tsv        # needs golang.org/x/tools/cmd/callgraph
    python -m tools.bench.compiled_calls java TREE CLASSES > CALLS.tsv      # needs javap; CLASSES: folder of compiled classes

Go: the call graph of variable type analysis (VTA), tests included. Java: the instructions that call, each with the method
of the static type, looked up in the bases.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_POSITION = "{{.%s.Prog.Fset.Position .%s.Pos}}\t{{.%s.Name}}"
_TEMPLATE = "\t".join([_POSITION.replace("%s", "Caller"), _POSITION.replace("%s", "Callee"), "{{.Dynamic}}"])


def go_calls(tree: Path) -> Iterator[str]:
    """Rows of the call graph between functions of the tree."""
    command = ["callgraph", "-algo=vta", "-test", "-format", _TEMPLATE, "./..."]
    ran = subprocess.run(command, cwd=tree, stdout=subprocess.PIPE, text=True, check=True)
    root = f"{tree.resolve()}/"
    rows = set()
    for line in ran.stdout.splitlines():
        caller, caller_name, callee, callee_name, dynamic = line.split("\t")
        how = "dynamic" if dynamic == "dynamic" else "direct"
        if caller.startswith(root):
            head = f"{_place(caller, root)}\t{_go_name(caller_name)}"
            is_inside = callee.startswith(root) and "$" not in callee_name
            call = f"call\t{head}\t{_place(callee, root)}\t{_go_name(callee_name)}\t{how}"
            rows.add(call if is_inside else f"in\t{head}")
    yield from sorted(rows)


def _place(position: str, root: str) -> str:
    path, line, *_ = position.removeprefix(root).split(":")
    return f"{path}\t{line}"


def _go_name(name: str) -> str:
    """A function's name; nothing for a literal, which belongs to the function around it."""
    return "" if "$" in name else name.partition("[")[0]


class JavaMethod(NamedTuple):
    """A method of a class file."""

    owner: str
    name: str
    descriptor: str
    path: str
    line: int  # The first line of its code; 0 if it has none
    calls: list[tuple[str, str, str]]  # (owner, name, descriptor)


_CLASS = re.compile(r"^(?:[\w ]*)(?:class|interface|enum|@interface) ([\w.$]+)(.*)\{$")
_METHOD = re.compile(r"^  (?!  )(?:.* )?([\w.$<>]+)\((.*)\)(?: throws .*)?;$|^  static \{\};$")
_CALL = re.compile(r"// (?:Interface)?Method (?:([\w/$\[\];]+)\.)?\"?(<init>|[\w$]+)\"?:(\(.*\).+)$")
_LINE = re.compile(r"^      line (\d+): \d+$")


def java_calls(tree: Path, classes: Path) -> Iterator[str]:
    """Rows of the calls between methods of the tree's classes."""
    files = sorted(str(file) for file in classes.rglob("*.class"))
    ran = subprocess.run(["javap", "-c", "-p", "-l", "-s", *files], stdout=subprocess.PIPE, text=True, check=True)
    paths: dict[str, list[Path]] = {}
    for path in sorted(tree.rglob("*.java")):
        paths.setdefault(path.stem, []).append(path)
    bases: dict[str, list[str]] = {}
    methods = list(_methods(ran.stdout, tree, paths, bases))
    known = {(m.owner, m.name, m.descriptor): m for m in methods}
    rows = set()
    for method in methods:
        if method.line:
            head = f"{method.path}\t{method.line}\t{_java_name(method)}"
            rows.add(f"in\t{head}")
            for owner, name, descriptor in method.calls:
                if callee := _found(owner, name, descriptor, known, bases):
                    rows.add(f"call\t{head}\t{callee.path}\t{callee.line}\t{_java_name(callee)}\tdirect")
    yield from sorted(rows)


def _java_name(method: JavaMethod) -> str:
    """The qualified name; nothing for code that a compiler has moved into a method of its own."""
    owner = method.owner.rpartition("/")[2].replace("$", ".")
    if method.name == "<init>":
        return owner
    return "" if method.name.startswith(("lambda$", "<", "access$")) else f"{owner}.{method.name}"


def _found(
    owner: str, name: str, descriptor: str, known: dict[tuple[str, str, str], JavaMethod], bases: dict[str, list[str]]
) -> JavaMethod | None:
    """The method that a call names, in its type or the nearest base."""
    waiting = [owner]
    for each in waiting:
        if found := known.get((each, name, descriptor)):
            return found
        waiting += [] if name == "<init>" else bases.get(each, [])
    return None


def _methods(text: str, tree: Path, paths: dict[str, list[Path]], bases: dict[str, list[str]]) -> Iterator[JavaMethod]:
    """The methods of javap's output; fills `bases`."""
    owner, path, method = "", "", None
    for line in text.splitlines():
        if found := _CLASS.match(line):
            owner = found[1].replace(".", "/")
            bases[owner] = [re.sub(r"<.*", "", b).replace(".", "/") for b in _named(found[2])]
            outer = owner.partition("$")[0]
            fitting = [p for p in paths.get(outer.rpartition("/")[2], ()) if p.as_posix().endswith(f"/{outer}.java")]
            path = fitting[0].relative_to(tree).as_posix() if fitting else ""
        elif found := _METHOD.match(line):
            if method and method.path:
                yield method
            name = "<clinit>" if not found[1] else found[1].replace(".", "/")
            method = JavaMethod(owner, "<init>" if name == owner else name.rpartition("/")[2], "", path, 0, [])
        elif method and line.startswith("    descriptor: "):
            method = method._replace(descriptor=line.removeprefix("    descriptor: "))
        elif method and (found := _CALL.search(line)):
            method.calls.append((found[1] or owner, found[2], found[3]))
        elif method and not method.line and (found := _LINE.match(line)):
            method = method._replace(line=int(found[1]))
    if method and method.path:
        yield method


def _named(head: str) -> list[str]:
    """The bases in the head of a class, without arguments of types."""
    while (plain := re.sub(r"<[^<>]*>", "", head)) != head:
        head = plain
    return [name.strip() for part in re.split(r"\b(?:extends|implements)\b", head)[1:] for name in part.split(",")]


def main() -> None:
    """Print the rows."""
    language, tree, *rest = sys.argv[1:]
    rows = go_calls(Path(tree)) if language == "go" else java_calls(Path(tree), Path(rest[0]))
    print("\n".join(rows))


if __name__ == "__main__":
    main()

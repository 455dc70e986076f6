"""Compare the places of `codelens refs` with language servers, and `codelens lsp` with another language server.

    python -m tools.bench.language_servers jedi INDEX TREE [--names 40]
    python -m tools.bench.language_servers lsp INDEX TREE --command 'gopls serve' --language go
    python -m tools.bench.language_servers positions INDEX TREE --command 'gopls serve' --language go

`positions` draws names of code at which the other server knows a definition, and asks both servers for definitions and
references there. Places outside of the tree do not count.

A place is contradicted if the server finds definitions for it and none is the target's, confirmed if one is. Some servers answer
with a prototype, a typedef or an import: it counts as the target's if the answer lists it as such. The server reads a copy of the
tree. `jedi` needs that package, in the environment that runs this.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import re
import shlex
import subprocess
import sys
import time
import urllib.parse
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, Self

from codelens.errors import TargetError
from codelens.index import Index
from codelens.lang.tokens import Role
from codelens.model.graph import CERTAINTIES, ONLY_BY_NAME, Relation, RelationOptions
from codelens.model.request import SearchOptions
from codelens.processes.python import build_codelens_command

KINDS = ("function", "method", "class", "struct", "interface", "type", "enum", "constant", "variable", "trait")
Place = tuple[str, int]  # (path relative to the tree, line from 1)
Ask = Callable[[Path, int, int], list[Place]]
"""(file, line from 1, column in UTF-16 from 1) → the definitions of the name there."""


class LanguageServer:
    """A language server that is asked over its standard input."""

    def __init__(self, command: str, tree: Path, language: str) -> None:
        self._tree, self._language, self._number = tree, language, 0
        self._open = set[Path]()
        self._process = subprocess.Popen(shlex.split(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tree)
        root = tree.resolve().as_uri()
        folders = [{"uri": root, "name": tree.name}]
        self._ask("initialize", {"processId": None, "rootUri": root, "capabilities": {}, "workspaceFolders": folders})
        self._send({"method": "initialized", "params": {}})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()

    @property
    def process_id(self) -> int:
        """The process of the server."""
        return self._process.pid

    def definitions(self, path: Path, line: int, column: int) -> list[Place]:
        """The definitions of the name at a place."""
        return list(self._places(self.ask_at("definition", path, line, column)))

    def references(self, path: Path, line: int, column: int) -> list[Place]:
        """The references to what the name at a place means, with its definition."""
        return list(self._places(self.ask_at("references", path, line, column)))

    def ask_at(self, request: str, path: Path, line: int, column: int) -> Any:
        """The answer about a place in a file, which is opened first."""
        uri = path.resolve().as_uri()
        if path not in self._open:
            self._open.add(path)
            text = path.read_text("utf-8", "replace")
            document = {"uri": uri, "languageId": self._language, "version": 1, "text": text}
            self._send({"method": "textDocument/didOpen", "params": {"textDocument": document}})
        where = {"textDocument": {"uri": uri}, "position": {"line": line - 1, "character": column - 1}}
        return self._ask(f"textDocument/{request}", {**where, "context": {"includeDeclaration": True}})

    def _places(self, found: Any) -> Iterator[Place]:
        for one in [found] if isinstance(found, dict) else found or ():
            start = one.get("targetSelectionRange") or one["range"]
            path = Path(urllib.parse.unquote(urllib.parse.urlsplit(one.get("targetUri") or one["uri"]).path))
            inside = path.is_relative_to(self._tree.resolve())
            name = path.relative_to(self._tree.resolve()).as_posix() if inside else str(path)
            yield name, start["start"]["line"] + 1

    def _ask(self, method: str, params: object) -> Any:
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        while True:
            message = self._read()
            if message.get("id") == self._number and "method" not in message:
                return message.get("result")
            if "id" in message and "method" in message:  # the server asks for settings and the like
                items = message.get("params", {}).get("items") or ()
                result = [None for _ in items] if message["method"] == "workspace/configuration" else None
                self._send({"id": message["id"], "result": result})

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self._process.stdin.flush()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        size = 0
        while (line := self._process.stdout.readline()).strip() or not size:
            if not line:
                raise SystemExit("the language server has ended")
            if line.lower().startswith(b"content-length:"):
                size = int(line.split(b":")[1])
        found: dict[str, Any] = json.loads(self._process.stdout.read(size))
        return found


def ask_jedi(tree: Path) -> Ask:
    """Ask jedi, which is a library."""
    import jedi  # type: ignore[import-not-found,import-untyped,unused-ignore]

    project = jedi.Project(tree, sys_path=[str(tree), str(tree / "src")], smart_sys_path=False)

    def ask(path: Path, line: int, column: int) -> list[Place]:
        try:
            found = jedi.Script(path=path, project=project).goto(line, column - 1, follow_imports=True)
        except Exception:  # it fails on some of its own inferences
            return []
        return [
            (one.module_path.relative_to(tree.resolve()).as_posix(), one.line)
            if one.module_path and one.module_path.is_relative_to(tree.resolve())
            else (str(one.module_path), one.line or 0)
            for one in found
        ]

    return ask


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a row for each certainty."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.language_servers", description=__doc__)
    parser.add_argument("server", choices=["jedi", "lsp", "positions"])
    parser.add_argument("index", type=Path)
    parser.add_argument("tree", type=Path)
    parser.add_argument("--command")
    parser.add_argument("--language", default="python")
    parser.add_argument("--names", type=int, default=40)
    parser.add_argument("--most", type=int, default=25, help="places asked for one name")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--wrong", type=int, default=0, help="print so many contradicted places")
    options = parser.parse_args(arguments)
    if options.server == "positions":
        return compare_servers(options)
    with Index.open(options.index) as index:
        if options.server == "jedi":
            counts, wrong = compare(index, options, ask_jedi(options.tree))
        else:
            with LanguageServer(options.command, options.tree, options.language) as server:
                counts, wrong = compare(index, options, server.definitions)
    print("| certainty | places | confirmed | contradicted | unanswered | contradicted share |")
    print("|---|" + "---:|" * 5)
    for certainty in CERTAINTIES:
        good, bad, none = (counts[certainty, what] for what in ("confirmed", "contradicted", "unanswered"))
        print(f"| {certainty} | {good + bad + none} | {good} | {bad} | {none} | {bad / max(good + bad, 1):.3f} |")
    print("\n".join(wrong[: options.wrong]))
    return 0


def compare(index: Index, options: argparse.Namespace, ask: Ask) -> tuple[Counter[tuple[str, str]], list[str]]:
    """The counts by certainty and outcome, and a line for each contradicted place."""
    chance, counts, wrong = random.Random(options.seed), Counter[tuple[str, str]](), list[str]()
    paths = [path for _, path in index.files(SearchOptions(languages=(options.language,)))]
    targets = [unit for path in paths for unit in index.symbols(path) if unit.kind in KINDS and not unit.local]
    chance.shuffle(targets)
    for target in targets[: options.names]:
        try:
            answer = index.graph.refs(f"{target.path}:{target.name_line}", RelationOptions())
        except TargetError:
            continue
        target_lines = {
            (target.path, unit.name_line)
            for unit in index.symbols(target.path)
            if unit.qualified_name == target.qualified_name
        }
        target_lines |= {(r.place.path, r.place.line) for r in answer.relations if is_declaration(r)}
        places = [r for r in answer.relations if r.span.end and r.source.language == options.language]
        for place in chance.sample(places, min(len(places), options.most)):
            path = options.tree / place.place.path
            found = ask(path, place.place.line, place.place.column_utf16)
            verdict = judge(found, target_lines, place)
            counts[place.certainty, verdict] += 1
            if verdict == "contradicted":
                where = f"{place.place.path}:{place.place.line}:{place.place.column} {found[:2]}"
                name, text = answer.targets[0].qualified_name, place.place.text.strip()[:90]
                wrong.append(f"{place.certainty} {name} {where} {text}")
    chance.shuffle(wrong)
    return counts, wrong


NAME = re.compile(r"[A-Za-z_]\w+")


def compare_servers(options: argparse.Namespace) -> int:
    """Print how often both servers agree about the definitions of drawn names, and about references to them."""
    chance, counts, shared, wrong = random.Random(options.seed), Counter[str](), Counter[str](), list[str]()
    with Index.open(options.index) as index:
        paths = [path for _, path in index.files(SearchOptions(languages=(options.language,)))]
    command = [*build_codelens_command(), "lsp", "--no-index", "--db", str(options.index.resolve())]
    with (
        LanguageServer(options.command, options.tree, options.language) as other,
        LanguageServer(shlex.join(command), options.tree, options.language) as ours,
    ):
        wait_until_loaded(other, options, paths)
        for path, line, column, text in draw_names(options, paths, chance):
            theirs = inside(other.definitions(path, line, column))
            if not theirs or counts.total() >= options.names:
                continue
            found = inside(ours.definitions(path, line, column))
            verdict = "same" if found & theirs else "different" if found else "empty"
            counts[verdict if len(found) < 2 or verdict != "same" else "among several"] += 1
            where = f"{path.relative_to(options.tree)}:{line}:{column}"
            if verdict != "same":
                wrong.append(f"{verdict} {where} {sorted(theirs)[:2]} {sorted(found)[:2]} {text.strip()[:80]}")
                continue
            expected, listed = inside(other.references(path, line, column)), inside(ours.references(path, line, column))
            shared.update(both=len(expected & listed), theirs=len(expected - listed), ours=len(listed - expected))
            wrong += [f"missing {where} {place} {text.strip()[:60]}" for place in sorted(expected - listed)[:1]]
            wrong += [f"more {where} {place} {text.strip()[:60]}" for place in sorted(listed - expected)[:1]]
    print(f"definitions: {dict(counts)}\nreferences: {dict(shared)}")
    print("\n".join(wrong[: options.wrong]))
    return 0


def wait_until_loaded(server: LanguageServer, options: argparse.Namespace, paths: Sequence[str]) -> None:
    """Ask about names until the server knows a definition: some read the whole tree before they answer."""
    names = [name[:3] for name in itertools.islice(draw_names(options, paths, random.Random()), 100)]
    for _ in range(60):
        if any(server.definitions(*name) for name in names):
            return
        time.sleep(2)


def draw_names(
    options: argparse.Namespace, paths: Sequence[str], chance: random.Random
) -> Iterator[tuple[Path, int, int, str]]:
    """(file, line, column in UTF-16, text of the line) of names in drawn files, several in each."""
    for name in chance.sample(paths, len(paths)):
        rows = (options.tree / name).read_text("utf-8", "replace").split("\n")
        places = [(number, found) for number, row in enumerate(rows, 1) for found in NAME.finditer(row)]
        for number, found in chance.sample(places, min(len(places), options.most)):
            before = found.string[: found.start()].encode("utf-16-le", "replace")
            yield options.tree / name, number, len(before) // 2 + 1, found.string


def inside(places: Sequence[Place]) -> set[Place]:
    """The places in the tree."""
    return {place for place in places if not place[0].startswith("/")}


def is_declaration(place: Relation) -> bool:
    """True if a place introduces the target's name in its file, and is not only a guess."""
    return place.role in (Role.DEFINITION, Role.DECLARATION, Role.IMPORT) and place.certainty != ONLY_BY_NAME


def judge(found: Sequence[Place], targets: Collection[Place], place: Relation) -> str:
    """confirmed, contradicted or unanswered, by the places of the target, of which an overloaded function has several.

    A definition that is asked about itself, such as an import, does not count.
    """
    others = [one for one in found if one != (place.place.path, place.place.line)]
    if any(path == other and abs(line - at) <= 2 for path, line in found for other, at in targets):
        return "confirmed"
    return "contradicted" if others else "unanswered"


if __name__ == "__main__":
    sys.exit(main())

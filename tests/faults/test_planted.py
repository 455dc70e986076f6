"""Modules planted in a repository: all commands run there, and no process that they start imports any of them."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from codelens.cli.help import COMMANDS
from tests.hooked import python_with
from tests.tiers import many

for _needed in ("ir_measures", "mcp", "pygls", "starlette", "watchfiles"):
    pytest.importorskip(_needed, reason="needs the extras eval, lsp, mcp, serve and watch")

httpx = pytest.importorskip("httpx")

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
PATIENCE = 120.0  # Time limit for a command, for the slowest machine

LAMP = """
class Lamp:
    "Gives light."


class Bulb(Lamp):
    pass


def price(name):
    "What it costs."
    return 3
"""
SHOP = "from lamp import price\n\n\ndef sell(name):\n    'Sell one.'\n    return price(name)\n"
FILES = {
    "lamp.py": LAMP,
    "shop.py": SHOP,
    "tests/test_shop.py": "from shop import sell\n\n\ndef test_sell():\n    assert sell('lamp') == 3\n",
    "README.md": "# Shop\n\nIt sells lamps.\n",
    "fleet.jsonl": '{"path": "."}\n',
}
TASK = {
    "id": "1",
    "repo": "repo",
    "query": "what a lamp costs",
    "relevant": [{"symbol": "price", "files": ["lamp.py"]}],
}

ONCE = """
index --jobs 2
search lamp
search --mode vector "what it costs"
search -F price
search --regex pri.e
files shop
why price
context "lamp price"
symbols shop.py
refs price
callers price
callees sell
path sell price
impact price
hierarchy Lamp
map
test-scope price
graph export
snapshot list
snapshot diff HEAD~1 HEAD
note add "It gives light" -m "By day too." --at lamp.py
note list
memory pin price
memory unpin price
memory rate price 7
memory feedback 1 useful
memory used lamp.py
search --open 1 price
memory show
memory export
memory forget --all --yes
graph traces
status
config
model list
model info codelens
model eval
eval tune
eval tasks.jsonl
eval --jobs 2 tasks.jsonl
eval make-tasks --out ../made
doctor
--show-completion bash
help query
hooks install
hooks status
hooks run
hooks remove
cluster index fleet.jsonl --workers 1 --store ../store
cluster search --store ../store lamp
cluster status --store ../store
install cursor --print
index --remove --yes
"""
"""All commands that end by themselves."""
FEW = """
index --jobs 2
search --mode vector "what it costs"
why price
context "lamp price"
note add "It gives light" -m "By day too." --at lamp.py
eval --jobs 2 tasks.jsonl
eval tune
doctor
hooks install
hooks run
cluster index fleet.jsonl --workers 1 --store ../store
index --remove --yes
"""
"""Those that start processes or read what a repository brings: enough for each change, while campaigns run all of them."""

HOOK = """
import os, sys
_log = os.open({log!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
os.write(_log, "".join(name + "\\n" for name in sys.modules).encode())
sys.addaudithook(lambda event, given: event == "import" and os.write(_log, (given[0] + "\\n").encode("utf-8", "replace")))
"""
"""Records the modules that a process imports, and those it does not find: these could be found in a repository."""


class Shop:
    """A repository in which commands run as in a shell."""

    def __init__(self, folder: Path, python: Path) -> None:
        self.folder, self.python = folder, python
        self.home = folder.with_name(f"{folder.name}-home")
        self.codes: dict[str, int] = {}
        """Command line → exit code."""
        for name, text in FILES.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        (folder / "tasks.jsonl").write_text(json.dumps(TASK) + "\n")
        self.git("init", "-q")
        self.git("add", ".")
        self.git("commit", "-qm", "Sell lamps")
        (folder / "lamp.py").write_text(LAMP + "\n\ndef tax():\n    return 1\n")
        self.git("commit", "-qam", "Tax lamps")

    def git(self, *arguments: str) -> None:
        who = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
        subprocess.run(["git", *who, *arguments], cwd=self.folder, check=True, env=self.environment())

    def environment(self) -> dict[str, str]:
        """The environment, without settings of this machine's user."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / "config"),
            "XDG_CACHE_HOME": str(self.home / "cache"),
            "XDG_DATA_HOME": str(self.home / "data"),
            "EDITOR": "true",
            "CODELENS_MEMORY": "1",
        }

    def everything(self) -> None:
        """Run each command once."""
        for line in (ONCE if many() else FEW).strip().splitlines():
            self._run(line)
        self._mcp()
        self._lsp()
        self._watch()
        self._serve()
        self._run("index --remove --yes")

    def _command(self, line: str) -> list[str]:
        return [str(self.python), str(self.python.with_name("codelens")), *shlex.split(line)]

    def _run(self, line: str) -> str:
        ran = subprocess.run(
            self._command(line),
            cwd=self.folder,
            env=self.environment(),
            text=True,
            capture_output=True,
            stdin=subprocess.DEVNULL,
        )
        assert ran.returncode in (0, 1), (line, ran.stderr)
        self.codes[line] = ran.returncode
        return ran.stdout

    @contextmanager
    def _started(self, line: str) -> Iterator[subprocess.Popen[str]]:
        """Start a command that runs until it is ended."""
        with (self.folder.with_name(f"{self.folder.name}-errors")).open("w+") as errors:
            process = subprocess.Popen(
                self._command(line),
                cwd=self.folder,
                env=self.environment(),
                text=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
            try:
                yield process
                process.terminate()
                self.codes[line] = process.wait(PATIENCE)
                errors.seek(0)
                assert "Traceback" not in errors.read()
            finally:
                process.kill()
                process.wait()
                for pipe in (process.stdin, process.stdout):
                    assert pipe
                    pipe.close()

    def _finds(self, name: str) -> bool:
        return bool(
            subprocess.run(
                self._command(f"search -l sym:{name}"), cwd=self.folder, env=self.environment(), capture_output=True
            ).stdout
        )

    def _saved(self, name: str) -> None:
        """Save a new file and wait until searches find it."""
        (self.folder / f"{name}_of_ours.py").write_text(f"def {name}():\n    return 5\n")
        end = time.monotonic() + PATIENCE
        while not self._finds(name):
            assert time.monotonic() < end, f"{name} is not indexed"
            time.sleep(0.2)

    def _watch(self) -> None:
        with self._started("watch --debounce 100"):
            self._saved("overheard")

    def _serve(self) -> None:
        with self._started("serve --port 0 --workers 2 --watch") as process:
            assert process.stdout
            address = process.stdout.readline().strip()
            assert httpx.get(f"{address}api/search?q=price", timeout=PATIENCE).json()["count"]
            assert httpx.get(f"{address}api/why?q=price", timeout=PATIENCE).status_code == 200
            self._saved("served")

    def _mcp(self) -> None:
        """Start an MCP server that builds the missing index, and query it."""
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        with self._started("mcp --watch") as process:
            assert process.stdin and process.stdout

            def ask(number: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
                asked = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
                assert process.stdin and process.stdout
                process.stdin.write(json.dumps(asked) + "\n")
                process.stdin.flush()
                return dict(json.loads(process.stdout.readline())["result"])

            ask(0, "initialize", client)
            end = time.monotonic() + PATIENCE
            number = 0
            while not self._finds("price"):
                assert time.monotonic() < end
                time.sleep(0.2)
            for number in range(1, 100):
                found = ask(number, "tools/call", {"name": "search", "arguments": {"query": "price", "fresh": True}})
                if not found.get("isError") and "shop.py" in found["content"][0]["text"]:
                    return
            raise AssertionError(found)

    def _lsp(self) -> None:
        """Start a language server, and ask it for symbols until it has the index."""
        with self._started("lsp") as process:
            assert process.stdin and process.stdout

            def ask(number: int, method: str, params: dict[str, Any]) -> Any:
                assert process.stdin and process.stdout
                asked = json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
                process.stdin.write(f"Content-Length: {len(asked)}\r\n\r\n{asked}")
                process.stdin.flush()
                while True:
                    size = 0
                    while head := process.stdout.readline().strip():
                        size = int(head.partition(":")[2]) if head.lower().startswith("content-length") else size
                    answer = json.loads(process.stdout.read(size))
                    if answer.get("id") == number and "method" not in answer:
                        return answer["result"]

            ask(0, "initialize", {"processId": None, "rootUri": self.folder.as_uri(), "capabilities": {}})
            end = time.monotonic() + PATIENCE
            while not ask(1, "workspace/symbol", {"query": "price"}):
                assert time.monotonic() < end
                time.sleep(0.2)


def plant(name: str, folder: Path, marks: Path, is_package: bool) -> None:
    """Write a module that creates a file in `marks` when it is imported."""
    file = folder / name / "__init__.py" if is_package else folder / f"{name}.py"
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"open({str(marks / name)!r}, 'w').close()\n")


@pytest.mark.slow
def test_no_command_imports_what_a_repository_plants(tmp_path: Path) -> None:
    log, marks = tmp_path / "imported", tmp_path / "marks"
    marks.mkdir()
    harmless = Shop(tmp_path / "harmless", python_with(tmp_path / "told", HOOK.format(log=str(log))))
    harmless.everything()
    tried = {line.split()[0] for line in (ONCE.strip().splitlines())} - {"--show-completion"}
    assert tried | {"watch", "serve", "mcp", "lsp"} == {name for group in COMMANDS.values() for name in group}

    dotted = set(log.read_text().split())
    names = {name.partition(".")[0] for name in dotted} | set(sys.stdlib_module_names)
    names = {name for name in names if name.isidentifier()} - {Path(file).stem for file in FILES}
    packages = {name.partition(".")[0] for name in dotted if "." in name}
    assert {"codelens", "multiprocessing", "numpy", "signal", "tree_sitter"} <= names

    planted = Shop(tmp_path / "planted", python_with(tmp_path / "plain"))
    for name in names:
        plant(name, planted.folder, marks, is_package=name in packages)
    ignored = "".join(f"/{name}\n/{name}.py\n" for name in names)  # else indexing them would take most of the time
    (planted.folder / ".gitignore").write_text(ignored)
    planted.everything()
    assert sorted(mark.name for mark in marks.iterdir()) == []
    assert planted.codes == harmless.codes

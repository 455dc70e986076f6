"""The tools of the table: how each is found on this machine, indexes a tree, brings its index up to date, and is asked."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from codelens import __version__
from codelens.processes.python import build_codelens_command
from tools.speed.warm import ask_codegraph

HERE = Path(__file__).parent
PYTHON = build_codelens_command()[:-2]  # Without `-m codelens`
Ask = Callable[[str], list[str]]


@dataclass(frozen=True, slots=True)
class Peer:
    """One tool and its commands for a tree. What it does not do is empty.

    A cold run is `index` after `place` was removed. `ask` has a command for each shape of question that the tool answers;
    `warm` returns the seconds of each question, asked one after the other in one process.
    """

    name: str
    version: str
    place: Path | None = None
    index: Sequence[str] = ()
    update: Sequence[str] = ()
    ask: Mapping[str, Ask] = field(default_factory=dict)
    warm: Callable[[Sequence[str]], list[float]] | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    note: str = ""


def codelens(tree: Path, work: Path) -> Peer:
    """The code of this checkout, with all that an index holds by default."""
    command, place, env = build_codelens_command(), work / "codelens.db", _environment(work)
    index = [*command, "index", "--quiet", "--no-config", "--db", str(place), str(tree)]

    def ask(question: str) -> list[str]:
        return [*command, "search", "--no-config", "--db", str(place), "--", question]

    def warm(questions: Sequence[str]) -> list[float]:
        return _seconds([*PYTHON, str(HERE / "warm.py"), str(place)], questions, env)

    return Peer("codelens", __version__, place, index, index, _all(ask), warm, env)


def semble(tree: Path, work: Path) -> Peer | None:
    """Chunks with vectors and BM25. It indexes as part of a search, and downloads its model: without one, a random model of the
    same shape takes the same time."""
    found = shutil.which("semble")
    if not found:
        return None
    python = Path(found).read_text(encoding="utf-8").split("\n")[0].removeprefix("#!").strip()
    env = _environment(work) | {"SEMBLE_CACHE_LOCATION": str(work / "semble"), "HF_HUB_OFFLINE": "1"}
    with_model = [python, str(HERE / "in_semble.py"), "model", str(work / "semble-model"), str(tree)]
    model = subprocess.run(with_model, env=env, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    env["SEMBLE_MODEL_NAME"] = model

    def ask(question: str) -> list[str]:
        return [found, "search", question, str(tree)]

    def warm(questions: Sequence[str]) -> list[float]:
        return _seconds([python, str(HERE / "in_semble.py"), "warm", str(tree)], questions, env)

    note = "random weights" if model == str(work / "semble-model") else ""
    return Peer(
        "semble", _version([found, "--version"]), work / "semble", ask("main"), ask("main"), _all(ask), warm, env, note
    )


def codegraph(tree: Path, work: Path) -> Peer | None:
    """A graph of symbols; explores it for a sentence. Warm, it is an MCP server."""
    found = shutil.which("codegraph")
    if not found:
        return None
    quiet = dict.fromkeys(("CODEGRAPH_NO_DAEMON", "CODEGRAPH_NO_WATCH", "CODEGRAPH_NO_DOWNLOAD", "DO_NOT_TRACK"), "1")
    env, at = _environment(work) | quiet | {"CODEGRAPH_TELEMETRY": "0"}, ["--path", str(tree)]

    def query(question: str) -> list[str]:
        return [found, "query", *at, "--", question]

    def warm(questions: Sequence[str]) -> list[float]:
        return ask_codegraph([found, "serve", "--mcp", *at], questions, env)

    return Peer(
        name="codegraph",
        version=_version([found, "--version"]),
        place=tree / ".codegraph",
        index=[found, "init", "--yes", str(tree)],
        update=[found, "sync", "--quiet", str(tree)],
        ask={"name": query, "substring": query, "sentence": lambda q: [found, "explore", *at, "--", q]},
        warm=warm,
        env=env,
    )


def ctags(tree: Path, work: Path) -> Peer | None:
    """Definitions only. Programs of that name that are not Universal Ctags cannot be compared."""
    found, readtags, place = shutil.which("ctags"), shutil.which("readtags"), work / "tags"
    version = _version([found, "--version"]) if found else ""
    if not found or "Universal" not in version:
        return None
    index = [found, "-R", "-f", str(place), str(tree)]
    ask: dict[str, Ask] = {"substring": lambda question: ["grep", "-F", question, str(place)]}
    if readtags:
        ask["name"] = lambda question: [readtags, "-t", str(place), question]
    return Peer("universal-ctags", version, place, index, index, ask, env=_environment(work))


def codesearch(tree: Path, work: Path) -> Peer | None:
    """Trigrams of the text; a question is a regular expression over all files."""
    found, search, place = shutil.which("cindex"), shutil.which("csearch"), work / "csearchindex"
    if not found or not search:
        return None
    ask = dict.fromkeys(("name", "substring"), lambda question: [search, re.escape(question)])
    return Peer(
        "codesearch", "", place, [found, str(tree)], [found], ask, env=_environment(work) | {"CSEARCHINDEX": str(place)}
    )


def ripgrep(tree: Path, work: Path) -> Peer | None:
    """No index: every question reads the tree. A sentence is any of its longer words."""
    found = shutil.which("rg")
    if not found:
        return None

    def text(question: str) -> list[str]:
        return [found, "-F", "-e", question, str(tree)]

    def words(question: str) -> list[str]:
        longer = [word for word in re.findall(r"\w+", question) if len(word) > 3]
        return [found, "-F", *(part for word in longer or [question] for part in ("-e", word)), str(tree)]

    ask = {"name": text, "substring": text, "sentence": words}
    return Peer("ripgrep", _version([found, "--version"]), ask=ask, env=_environment(work))


def git(tree: Path, work: Path) -> Peer | None:
    """Looks at every file, as a run of `codelens index` does that has nothing to do."""
    found = shutil.which("git")
    if not found:
        return None
    return Peer(
        "git status", _version([found, "--version"]), update=[found, "-C", str(tree), "status"], env=_environment(work)
    )


FOUND_BY: Mapping[str, Callable[[Path, Path], Peer | None]] = {
    "codelens": codelens,
    "semble": semble,
    "codegraph": codegraph,
    "universal-ctags": ctags,
    "codesearch": codesearch,
    "ripgrep": ripgrep,
    "git status": git,
}
INSTALL: Mapping[str, str] = {
    "semble": "pip install semble==0.7.*, in an environment of its own",
    "codegraph": "npm install -g @colbymchenry/codegraph@1.6",
    "universal-ctags": "apt install universal-ctags, brew install universal-ctags",
    "codesearch": "apt install codesearch, go install github.com/google/codesearch/cmd/...@latest",
    "ripgrep": "apt install ripgrep, brew install ripgrep, cargo install ripgrep",
    "git status": "apt install git, brew install git",
}


def _all(ask: Ask) -> Mapping[str, Ask]:
    return dict.fromkeys(("name", "substring", "sentence"), ask)


def _version(command: Sequence[str]) -> str:
    output = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return output.strip().split("\n")[0]


def _environment(work: Path) -> dict[str, str]:
    """With a home of its own, so that no tool leaves anything on this machine; models that were downloaded before stay visible.

    Python may keep the bytecode of its modules, as it does where a package is installed.
    """
    home = work / "home"
    home.mkdir(exist_ok=True)
    models = os.environ.get("HF_HOME") or str(Path.home() / ".cache" / "huggingface")
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "HOME": str(home), "XDG_CACHE_HOME": str(home), "XDG_CONFIG_HOME": str(home), "HF_HOME": models}


def _seconds(command: Sequence[str], questions: Sequence[str], env: Mapping[str, str]) -> list[float]:
    ran = subprocess.run(command, input=json.dumps(questions), env=env, capture_output=True, text=True, check=False)
    if ran.returncode:
        sys.exit(f"{' '.join(command)}: exit code {ran.returncode}\n{ran.stderr}")
    return list(json.loads(ran.stdout))

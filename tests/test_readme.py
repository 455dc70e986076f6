"""README and manual are true: their commands run and print what they show, and their tables match the code.

The tests run the ```console blocks of README.md and of each page in docs/ in order, in a copy of sample_repos. Lines after a
command are its output; `…` stands for any text, and alone on a line for any lines. `# exit 1` after a command is its exit code.
A block after a comment `<!-- not run: REASON -->` is not run. `pytest --golden tests/test_readme.py` updates the outputs.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

import pytest

import codelens.query.parser
from codelens.cli.help import EXIT_CODES
from codelens.config import Settings
from codelens.model.code import CHUNK_KINDS, SYMBOL_KINDS
from codelens.query.filters import FIELD_TESTS
from codelens.query.nodes import KIND_GROUPS
from codelens.store.migrate import find_newest_version
from tools.readme import FIGURES
from tools.readme import rewritten as rewritten_tables

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
OTHERS = [ROOT / f"{name}.md" for name in ("ARCHITECTURE", "CONTRIBUTING", "CHANGELOG", "SECURITY")]
TEXT = "".join(page.read_text(encoding="utf-8") for page in PAGES)
BLOCK = re.compile(
    r"^(?:<!-- not run: (?P<exempt>[^>\n]+) -->\n)?```console\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL
)
ANYTHING = "…"
LONGEST_README = 150
LONGEST_PAGE = 300


@dataclass(frozen=True, slots=True)
class Shown:
    """One command of the manual with the output below it."""

    command: str
    exit_code: int
    output: str


def read_block(body: str) -> list[Shown]:
    shown = []
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        line, _, output = part.partition("\n")
        command, _, code = line.partition("  # exit ")
        shown.append(Shown(command, int(code or 0), output))
    return shown


def fits(expected: str, actual: str) -> bool:
    """True if an output equals what the manual shows of it."""
    lines = [
        r"(?:.*\n)*" if line.strip() == ANYTHING else ".*".join(map(re.escape, line.split(ANYTHING))) + r"\n"
        for line in expected.splitlines()
    ]
    return re.fullmatch("".join(lines), actual) is not None


def rewritten(expected: str, actual: str) -> str:
    """The output as it is, cut where the manual cut it, with the lines that still fit as they were."""
    old = expected.splitlines()
    new = [next((o for o in old if ANYTHING in o.strip(" ") and o.strip() != ANYTHING and fits(o, f"{line}\n")), line)
           for line in actual.splitlines()]  # fmt: skip
    if old and old[-1].strip() == ANYTHING:
        new = [*new[: len(old) - 1], ANYTHING]
    return "".join(f"{line}\n" for line in new)


@pytest.fixture
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, str]]]:
    """A folder with sample_repos in it, and variables under which nothing of this machine's user counts."""
    folder, home = tmp_path_factory.mktemp("manual"), tmp_path_factory.mktemp("home")
    shutil.copytree(ROOT / "sample_repos", folder / "sample_repos")
    programs = home / "bin"
    programs.mkdir()
    for name, command in (("python", ""), ("codelens", " -m codelens")):
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}"{command} "$@"\n')
        (programs / name).chmod(0o755)
    yield (
        folder,
        {
            "PATH": f"{programs}:/usr/bin:/bin",
            "PYTHONPATH": str(ROOT),
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home),
            "GIT_CEILING_DIRECTORIES": str(folder.parent),
            "LC_ALL": "C.UTF-8",
            "TERM": "dumb",
            "COLUMNS": "100",
        },
    )


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="the manual speaks to a POSIX shell")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands(page: Path, environment: tuple[Path, dict[str, str]], request: pytest.FixtureRequest) -> None:
    folder, variables = environment
    golden = request.config.getoption("--golden")
    wrong: list[str] = []

    def run(block: re.Match[str]) -> str:
        if block["exempt"]:
            return block[0]
        parts = []
        for shown in read_block(block["body"]):
            ran = subprocess.run(
                ["sh", "-c", f"{shown.command} 2>&1"], cwd=folder, env=variables, capture_output=True, text=True
            )
            assert ran.returncode == shown.exit_code, f"{shown.command}\n{ran.stdout}"
            output = shown.output
            if not fits(output, ran.stdout):
                wrong.append(f"$ {shown.command}\n{ran.stdout}")
                output = rewritten(output, ran.stdout)
            code = f"  # exit {shown.exit_code}" if shown.exit_code else ""
            parts.append(f"$ {shown.command}{code}\n{output}")
        return f"```console\n{''.join(parts)}```"

    text = BLOCK.sub(run, page.read_text(encoding="utf-8"))
    if golden:
        page.write_text(text, encoding="utf-8", newline="\n")
    else:
        assert not wrong, "the manual shows something else than\n" + "\n".join(wrong)


def test_only_what_installs_is_exempt() -> None:
    blocks = list(BLOCK.finditer(TEXT))
    assert len(blocks) >= 4
    assert TEXT.count("```console") == len(blocks)
    exempt = [block for block in blocks if block["exempt"]]
    assert all("install" in block["exempt"] for block in exempt)
    assert [b["body"] for b in exempt if not re.search(r"pipx? install|\$ make|--install-completion", b["body"])] == []


def test_make_targets() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in set(re.findall(r"\bmake ([a-z]+)\b(?= |`|$)", TEXT)) & {
        "demo",
        "test",
        "check",
        "bench",
        "eval",
        "questions",
    }:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    recipe = re.search(r"^demo:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    assert recipe
    assert [command for command in ("index", "search", "why") if f"codelens {command} " in recipe[1]] == [
        "index",
        "search",
        "why",
    ]


def test_pages_are_short() -> None:
    for page in PAGES:
        lines = page.read_text(encoding="utf-8").count("\n")
        assert lines <= (LONGEST_README if page == README else LONGEST_PAGE), page


def test_every_page_is_linked_from_readme_and_site() -> None:
    readme = README.read_text(encoding="utf-8")
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert [page.name for page in PAGES[1:] if f"](docs/{page.name})" not in readme] == []
    assert [page.name for page in PAGES[1:] if f": {page.name}\n" not in navigation] == []


@pytest.mark.parametrize("page", [*PAGES, *OTHERS], ids=lambda page: page.stem)
def test_links_lead_to_files(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", OTHERS, ids=lambda page: page.stem)
def test_paths_in_pages_for_contributors_exist(page: Path) -> None:
    paths = re.findall(
        r"`((?:codelens|tests|tools|docs|migrations|sample_repos)/[\w./-]*)`", page.read_text(encoding="utf-8")
    )
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_grammar_is_the_parsers() -> None:
    doc = codelens.query.parser.__doc__ or ""
    rules = "".join(line.removeprefix("    ") for line in doc.splitlines(keepends=True) if line.startswith("    "))
    shown = re.search(r"```ebnf\n(.*?)```", TEXT, re.DOTALL)
    assert shown
    assert shown[1] == rules


def rows(heading: str) -> list[list[str]]:
    """The cells of the first table below a heading or text."""
    table = re.search(r"^\|.*\n\|[-:| ]+\|\n((?:\|.*\n)+)", TEXT[TEXT.index(heading) :], re.MULTILINE)
    assert table, heading
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in table[1].splitlines()]


def test_settings() -> None:
    shown = {name.strip("`"): default.strip("`") for name, default, _ in rows("## All settings")}
    assert shown == {
        f.name: json.dumps(f.default) if not isinstance(f.default, float) else str(f.default) for f in fields(Settings)
    }


def test_exit_codes() -> None:
    assert [code for code, _ in rows("| exit code |")] == re.findall(r"^ *(\d+)", EXIT_CODES, re.MULTILINE)


def test_filters() -> None:
    shown = {name for row in rows("| filter |") for name in re.findall(r"`(\w+):", row[0])}
    assert shown == set(FIELD_TESTS)
    kinds = next(row[1] for row in rows("| filter |") if row[0].startswith("`kind:"))
    assert set(re.findall(r"\w+", kinds)) == {*SYMBOL_KINDS, *CHUNK_KINDS, *KIND_GROUPS}


def test_dependencies() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = {re.split(r"[<>=; ]", entry)[0] for entry in project["dependencies"]}
    shown: set[str] = set()
    for cell, why in rows("## Why each dependency is there"):
        names = re.findall(r"`([\w.-]+)`", cell)
        shown |= {f"tree-sitter{name}" if name.startswith("-") else name for name in names}
        assert why
    assert shown == wanted


def test_tables_of_the_index() -> None:
    assert find_newest_version() >= 1
    sql = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "migrations").glob("*.sql")))
    made = set(re.findall(r"CREATE (?:VIRTUAL )?TABLE (\w+)", sql))
    assert {name for cell, _ in rows("| table | holds |") for name in re.findall(r"`(\w+)`", cell)} == made


def test_tables_of_figures_in_readme_are_those_of_the_manual() -> None:
    readme = README.read_text(encoding="utf-8")
    assert rewritten_tables(readme, FIGURES.read_text(encoding="utf-8")) == readme


def test_figures_in_the_sentences_of_readme_are_those_of_the_manual() -> None:
    readme = " ".join(README.read_text(encoding="utf-8").split())
    figures = " ".join(FIGURES.read_text(encoding="utf-8").split())
    watching = (ROOT / "docs/watch.md").read_text(encoding="utf-8")

    def figure(pattern: str, text: str) -> float:
        found = re.search(pattern, text)
        assert found, pattern
        return float(found[1].replace(",", ""))

    assert figure(r"an index: (\d+) s for Django", readme) == round(figure(r"\| codelens \| ([\d.]+) \(", figures))
    for pattern in (r"(\d+) questions about six repositories", r"(\d+) (?:commit subjects|subjects of commits)"):
        assert figure(pattern, readme) == figure(pattern, figures)
    per_100_000 = figure(r"a query finds .*? in (\d+) ms", figures) / (
        figure(r"Of ([\d,]+) vectors", figures) / 100_000
    )
    assert figure(r"(\d+) ms of CPU per 100,000 vectors", readme) == round(per_100_000)
    assert figure(r"of a search takes (\d+) ms of CPU", readme) == figure(r"\((\d+) ms, not 220", watching)
    (model,) = (ROOT / "codelens").rglob("*.model")
    assert figure(r"embedding model \((\d+) MB\)", readme) == round(model.stat().st_size / 1e6)

"""Every command, in a repository whose names, authors, patterns, notes and traces hold characters that control a terminal."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from codelens.render.visible import escape_text
from tests.cli.every_command import LINES, OTHERS
from tests.commands import Run
from tests.tiers import many

if sys.platform == "win32":
    pytest.skip("names that Windows does not allow", allow_module_level=True)

from tests.cli.test_terminal import at_terminal

ODD = "\x1b[31m\x07\x7f\x9b2J\u202e\u2066\u200b\ufeff\u061c\U000e0041"
"""A colour, a bell, DEL, a C1 control sequence, overrides of direction, and invisible characters."""
RAW = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]"
)
LINE_OF_FILE = re.compile(r"(?<=:\d:).*(?=\n)")  # printed as it is in the file, as grep does
COLOUR = re.compile("\x1b(\\[[0-9;]*m|\\]8;[^\x1b]*\x1b\\\\)")
NAMES = {
    "word": "price",
    "file": f"{ODD} price.py",
    "used": "price_of",
    "user": "sell_it",
    "class": "Lamp",
    "key": "ci",
    "title": "Slow",
    "note": "odd",
}
MORE = (
    *(
        "search --history price",
        "search price --csv",
        "search price --tsv",
        "search price --markdown",
        "search price --sarif",
    ),
    *(
        "search price --jsonl",
        "search price -l",
        "search -c price",
        "search price --pretty",
        "search price --contributions --json",
    ),
    *(
        "search --files",
        "symbols {file} --blame",
        "symbols {file} --ctags",
        "refs price_of --text",
        "refs price_of --pretty",
    ),
    *(
        "graph export --format graphml",
        "graph export --format dot",
        "map --dot",
        "impact price_of --dot",
        "map --pretty",
    ),
    *("context price --budget 500 --format xml", "context price --budget 500 --format json", "why price --pretty"),
    *(
        "context price --budget 500 --format compact",
        "status --skipped",
        "index --explain-path {skipped}",
        "doctor --check",
        "config --show-origin",
        "config aliases",
        "install --list",
        "install cursor --project --print",
    ),
    *(
        "callers price_of --pretty",
        "hierarchy Lamp --pretty",
        "test-scope {file}",
        "notes",
        "symbols no{file}",
        "index -v",
    ),
    "search price --format {{name}}|{{qualified_name}}|{{signature}}|{{doc}}|{{path}}|{{root}}",
    "refs price_of --format {{source}}|{{target}}|{{path}}",
)
"""More forms of output of some commands."""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("odd") / f"shop {ODD}"
    (folder / f"{ODD} deep").mkdir(parents=True)
    code = (
        f"class Lamp:\n    'Gives {ODD} light.'\n\n\nclass Bulb(Lamp): pass\n\n\n"
        f"def price_of(name='{ODD}'):\n    '''What it {ODD} costs.'''\n    return 3\n\n\n"
        f"def sell_it(name):\n    # price {ODD}\n    return price_of(name)\n"
    )
    (folder / f"{ODD} price.py").write_text(code)
    (folder / f"{ODD} deep/test_{ODD}.py").write_text("def test_price(): assert price_of(1)\n")
    (folder / f"{ODD}.js").write_text(f"const o = {{ '{ODD}price': function () {{ return price_of() }} }}\n")
    (folder / f"{ODD}.md").write_text(f"# Price {ODD}\n\nprice {ODD}\n")
    (folder / f"{ODD}.min.js").write_text("a" * 9000)
    (folder / f"{ODD}.toml").touch()
    escaped = "".join(f"\\U{ord(letter):08x}" for letter in ODD)
    (folder / ".codelens.toml").write_text(f'aliases = "{escaped}.toml"\n')
    (folder / ".gitignore").write_text(f"*.{ODD}\n*{ODD}*.tmp\n")
    (folder / f"left.{ODD}").write_text("price")
    (folder / f"x{ODD}.tmp").write_text("price")
    notes = folder / ".codelens/notes"
    notes.mkdir(parents=True)
    (notes / "odd.md").write_text(
        f'---\nid: odd\ntitle: "price {ODD}"\ntags: ["{ODD}"]\nanchors:\n- path: "{ODD} price.py"\n  line: 8\n---\nprice {ODD}\n'
    )
    git = ("git", "-c", f"user.name=A{ODD}n", "-c", "user.email=ann@example.org")
    subprocess.run([*git, "init", "-q"], cwd=folder, check=True)
    subprocess.run([*git, "add", "-A"], cwd=folder, check=True)
    subprocess.run([*git, "commit", "-qm", f"price {ODD} of lamps"], cwd=folder, check=True)
    return folder


def list_lines() -> list[str]:
    once = [*OTHERS.values(), *LINES.values()]
    return [*MORE, *(f"{line} --json" for line in LINES.values()), *once]


def test_no_command_prints_them_raw(shop: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODELENS_MEMORY", "1")
    monkeypatch.chdir(shop)
    assert run("index").code == 0
    spans = {"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": [span()]}]}]}
    (shop.parent / f"spans{ODD}.json").write_text(json.dumps(spans))
    run("graph", "traces", f"../spans{ODD}.json")
    names = {**NAMES, "skipped": f"left.{ODD}"}
    raw = []
    for line in list_lines():
        arguments = [part.format(**names) for part in line.split(" ")]
        ran = run(*arguments)
        assert "Traceback" not in ran.err and "see where it happened" not in ran.err, (line, ran.err)
        shown = COLOUR.sub("", ran.out) if "--pretty" in line else ran.out
        if line.split(" ")[0] in ("search", "files", "refs", "callers", "callees", "impact"):
            shown = LINE_OF_FILE.sub("", shown)
        for name, text in (("stdout", shown), ("stderr", ran.err)):
            if found := RAW.search(text):
                raw.append((line, name, text[max(found.start() - 60, 0) : found.end() + 20]))
        if line.endswith("--json") or "sarif" in line or "memory export" in line:
            assert ran.out == "" or json.loads(ran.out)
        if "graphml" in line:
            assert ElementTree.fromstring(ran.out) is not None
            values = [found.text for found in ElementTree.fromstring(ran.out).iter() if found.text]
            assert any(f"{ODD[7:]}" in value for value in values), "only what XML forbids is replaced"
    assert not raw, "\n".join(map(repr, raw))


def span() -> dict[str, object]:
    now = time.time_ns()
    attributes = [
        {"key": "code.function", "value": {"stringValue": "price_of"}},
        {"key": "code.filepath", "value": {"stringValue": f"{ODD} price.py"}},
    ]
    return {
        "name": f"price_of {ODD}",
        "startTimeUnixNano": str(now),
        "endTimeUnixNano": str(now + 5),
        "attributes": attributes,
    }


@pytest.mark.slow
def test_no_command_prints_them_raw_at_a_terminal(shop: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shop)
    run("index", "-q")
    names = {**NAMES, "skipped": f"left.{ODD}"}
    for line in list_lines() if many() else list_lines()[::3]:
        _, text = at_terminal(
            [part.format(**names) for part in line.split(" ")], shop, environment={"CODELENS_MEMORY": "1"}
        )
        found = RAW.search(COLOUR.sub("", text))
        assert not found, (line, text)


def test_joiners_of_words_and_emoji_stay() -> None:
    for text in ("می\u200cخواهم", "👩\u200d🚀", "क्\u200dष"):
        assert escape_text(text) == text

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

from codelens.text.terms import tokens
from tools.model.duplicates import MinHash, earlier_near, without_duplicates
from tools.model.pairs import Record, main, read_pairs, write_pairs

LONG = "a = b(c, d) ; e = f(g, h) ; i = j(k, l) ; m = n(o, p) ; q = r(s, t) ; u = v(w, x) ; y = z(one, two) ; " * 2


def record(query: str, name: str, body: str, kind: str = "doc") -> Record:
    fields = {"name": name, "context": " a.py", "signature": f"def {name}", "body": body}
    return {"kind": kind, "query": query, **fields, "language": "python", "path": "a.py", "line": 1}


def filtered(
    folder: Path, packages: dict[str, list[Record]], *against: Path
) -> tuple[dict[str, list[str]], dict[str, int]]:
    """(queries that stay, by package; what goes, by reason)"""
    (folder / "in").mkdir()
    for name, records in packages.items():
        write_pairs(folder / "in" / f"{name}.jsonl.zst", records)
    report = without_duplicates(folder / "in", folder / "out", against)
    kept = {name: [r["query"] for r in read_pairs(folder / "out" / f"{name}.jsonl.zst")] for name in packages}
    return kept, report["left out"]


def test_of_equal_and_nearly_equal_answers_the_first_package_keeps_its_own(tmp_path: Path) -> None:
    nearly = LONG.replace("one", "three", 1)
    packages = {
        "a": [record("first of all", "f", LONG)],
        "b": [record("second of all", "f", LONG), record("third of all", "g", nearly), record("fourth", "h", "x = 1")],
        "c": [record("fifth of all", "h", "x = 1"), record("sixth of all", "i", "x = 1")],
    }
    kept, left = filtered(tmp_path, packages)
    assert kept == {"a": ["first of all"], "b": ["fourth"], "c": ["sixth of all"]}
    assert left == {"doc: equal": 2, "doc: near": 1}


def test_kinds_of_question_do_not_drive_out_each_other(tmp_path: Path) -> None:
    kept, left = filtered(tmp_path, {"a": [record("do it all", "f", LONG), record("f it", "f", LONG, "name")]})
    assert (kept, left) == ({"a": ["do it all", "f it"]}, {})


def test_what_resembles_a_held_out_tree_goes(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "m.py").write_text(
        "def f(x):\n    '''Says what.'''\n    " + LONG.replace(" ; ", "\n    ") + "\ndef g(): return 1\n"
    )
    packages = {"a": [record("q one", "f", LONG + "more"), record("q two", "g()", "return 1")]}
    packages["a"][1]["signature"] = "def g():"
    kept, left = filtered(tmp_path, packages, tree)
    assert kept == {"a": []}
    assert left == {"doc: equal to what is held out": 1, "doc: near to what is held out": 1}


def test_a_repeated_question_is_kept_a_few_times(tmp_path: Path) -> None:
    kept, left = filtered(tmp_path, {f"p{i}": [record("Create a new instance", f"f{i}", f"x = {i}")] for i in range(9)})
    assert sum(map(len, kept.values())) == 5
    assert left == {"doc: asked too often": 4}


def test_similar_texts_are_distinguished_from_different_ones() -> None:
    words = [f"w{i}" for i in range(200)]
    changed = [*words[:100], "other", *words[101:]]
    half = [*words[:100], *(f"v{i}" for i in range(100))]
    make = MinHash()
    rows = numpy.stack([row for text in (words, half, changed, words) if (row := make.row(text)) is not None])
    assert earlier_near(rows).tolist() == [-1, -1, 0, 0]
    assert make.row(tokens("too short")) is None


@pytest.mark.slow
def test_the_command_mines_each_tree_once_and_goes_on_with_new_ones(tmp_path: Path) -> None:
    source = 'def parse_it(line):\n    """Splits a line into its parts."""\n    return line.split()\n'
    for name in ("npm-a", "pypi-b"):
        (tmp_path / "trees" / name).mkdir(parents=True)
        (tmp_path / "trees" / name / "m.py").write_text(source)
    (tmp_path / "names").write_text("# Excluded\nflask vue-core (owner/name)\n")
    arguments = [str(tmp_path / "trees"), str(tmp_path / "out"), "--excluded", str(tmp_path / "names")]
    assert main(arguments) == 0
    out = tmp_path / "out"
    assert [r["query"] for r in read_pairs(out / "npm-a.jsonl.zst")] == ["Splits a line into its parts"]
    assert json.loads((out / "held-out.json").read_text()) == [[], ["flask", "vuecore"]]
    (out / "npm-a.jsonl.zst").write_bytes(b"kept as it is")
    (tmp_path / "trees" / "z").mkdir()
    assert main(arguments) == 0
    assert (out / "npm-a.jsonl.zst").read_bytes() == b"kept as it is"
    assert list(read_pairs(out / "z.jsonl.zst")) == []


@pytest.mark.slow
def test_pairs_are_the_same_bytes_in_every_process(tmp_path: Path) -> None:
    (tmp_path / "t" / "p").mkdir(parents=True)
    source = 'def parse_it{0}(line):\n    """Splits a line into {0} parts."""\n    return line.split({0})\n'
    (tmp_path / "t" / "p" / "m.py").write_text("".join(map(source.format, range(30))))
    written = []
    for seed in ("1", "2"):
        command = [sys.executable, "-m", "tools.model.pairs", str(tmp_path / "t"), str(tmp_path / seed)]
        subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": seed}, check=True, capture_output=True)
        written.append((tmp_path / seed / "p.jsonl.zst").read_bytes())
    assert written[0] == written[1]

"""codelens model: what it tells of models, what it writes, and that a wrong word is one line and a hint."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from codelens.cli.config import set_toml_key
from codelens.config import find_user_place
from codelens.embed.model_file import ModelFile
from codelens.errors import format_install_command
from codelens.training.corpus import map_to_rows
from codelens.training.model import Recipe, write_quantised
from codelens.training.trainer import train_model
from tests.commands import Run, SpanRun
from tests.embed.models import make_model
from tests.training.own_trees import write_repository, write_tree
from tests.training.small import corpus
from tools.model.build import begin, build, frequencies


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Empty folders for the user's models and configuration, instead of those of this machine's user."""
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.delenv("CODELENS_MODEL", raising=False)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    return tmp_path


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small model that was trained on other code."""
    words = corpus()
    names = build(frequencies(words), 150, 60)
    recipe = Recipe(dimensions=32, steps=40, batch=128, run=32, rate=0.02, sif=0.1)
    found = map_to_rows(words, names)
    model = begin(np.bincount(found.ids, minlength=len(names)).astype(np.int64), recipe)
    train_model(found, np.arange(len(found)), recipe, model)
    path = tmp_path_factory.mktemp("models") / "small.model"
    write_quantised(path, model, names, {"name": "small", "licences": ["MIT"], "held_out": {"pairs": 7, "mrr": 0.5}})
    return path


@pytest.fixture
def mine(home: Path) -> Path:
    """A model of the user's, named `mine`."""
    folder = find_user_place("models")
    assert folder is not None
    folder.mkdir(parents=True)
    return make_model(folder / "mine.model")


def user_file(home: Path) -> Path:
    return home / "XDG_CONFIG_HOME/codelens/config.toml"


def refused(ran: SpanRun, said: str) -> None:
    assert (ran.code, ran.out) == (2, "")
    line, hint = ran.err.splitlines()
    assert line.startswith("codelens: error: ")
    assert said in line
    assert hint.startswith("hint: ")


@pytest.mark.slow
def test_info_says_all_that_a_file_says_of_itself(base: Path, run: Run, home: Path) -> None:
    told = run("model", "info", str(base), cwd=home)
    lines = dict(line.split(maxsplit=1) for line in told.out.splitlines())
    file = ModelFile(base)
    assert lines["name:"] == "small"
    assert lines["hash:"] == file.digest()
    assert (lines["rows:"], lines["dimensions:"]) == (str(len(file.names)), "32")
    assert (lines["bytes:"], lines["path:"]) == (str(base.stat().st_size), str(base))
    assert (lines["licences:"], lines["held_out.mrr:"]) == ("MIT", "0.5")
    record = json.loads(run("model", "info", "--json", str(base), cwd=home).out)
    assert record["model"]["card"] == {"licences": ["MIT"], "held_out": {"pairs": 7, "mrr": 0.5}}
    assert (record["model"]["hash"], record["exit_code"]) == (file.digest(), 0)


def test_info_of_hashing_has_no_file(run: Run, home: Path) -> None:
    record = json.loads(run("model", "info", "hashing", "--json", cwd=home).out)["model"]
    assert (record["dimensions"], record["rows"], record["path"], record["card"]) == (256, None, None, {})


def test_list_marks_the_one_in_use_and_says_who_set_it(
    mine: Path, run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rows() -> dict[str, dict[str, object]]:
        models = json.loads(run("model", "list", "--json", cwd=home).out)["models"]
        return {row["model"]: row for row in models}

    assert list(rows()) == ["codelens", "hashing", "mine"]
    assert [name for name, row in rows().items() if row["in_use"]] == ["codelens"]
    monkeypatch.setenv("CODELENS_MODEL", "mine")
    assert (rows()["mine"]["in_use"], rows()["mine"]["origin"]) == (True, "$CODELENS_MODEL")
    assert rows()["mine"]["hash"] == ModelFile(mine).digest()
    monkeypatch.setenv("CODELENS_MODEL", str(mine))
    assert rows()["mine"]["in_use"], "a path to the same file is the same model"
    mine.write_bytes(b"no model at all")
    text = run("model", "list", cwd=home)
    assert text.code == 0
    assert "is not a model file of codelens" in text.out.splitlines()[-1]
    monkeypatch.setenv("CODELENS_MODEL", "gone")
    assert "no model is called 'gone'" in run("model", "list", cwd=home).out.splitlines()[-1]


@pytest.mark.slow
def test_use_writes_the_setting_and_nothing_else(mine: Path, base: Path, run: Run, home: Path) -> None:
    place = user_file(home)
    assert run("model", "use", "mine", cwd=home).code == 0
    assert place.read_text() == 'model = "mine"\n'
    place.write_bytes(b"# mine\r\nlimit = 3  # few\r\n")
    ran = run("model", "use", "hashing", cwd=home)
    assert (ran.code, ran.out) == (0, "")
    assert "`codelens index`" in ran.err
    assert place.read_bytes() == b'# mine\r\nlimit = 3  # few\r\nmodel = "hashing"\r\n'
    (home / "small.model").write_bytes(base.read_bytes())
    assert run("model", "use", "./small.model", cwd=home).code == 0
    assert tomllib.loads(place.read_text())["model"] == str(home / "small.model")
    assert json.loads(run("config", "--json", cwd=home).out)["settings"]["model"]["value"] == str(home / "small.model")
    assert sorted(p.name for p in place.parent.iterdir()) == ["config.toml"]


def test_use_follows_a_link_to_the_file(run: Run, home: Path) -> None:
    kept = home / "dotfiles.toml"
    kept.write_text("limit = 4\n")
    user_file(home).parent.mkdir(parents=True)
    user_file(home).symlink_to(kept)
    assert run("model", "use", "hashing", cwd=home).code == 0
    assert kept.read_text() == 'limit = 4\nmodel = "hashing"\n'
    assert user_file(home).is_symlink()


def test_use_says_where_another_setting_wins(mine: Path, run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODELENS_MODEL", "hashing")
    assert "$CODELENS_MODEL sets another, which wins: hashing" in run("model", "use", "mine", cwd=home).err


@pytest.mark.parametrize("text", ["limit = \n", 'model = """\nlong"""\n', "[search]\n"])
def test_use_leaves_a_file_alone_that_it_does_not_understand(text: str, run: Run, home: Path) -> None:
    place = user_file(home)
    place.parent.mkdir(parents=True)
    place.write_text(text)
    ran = run("model", "use", "hashing", cwd=home)
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (2, "", 2)
    assert place.read_text() == text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", 'model = "new"\n'),
        ("a = 1", 'a = 1\nmodel = "new"\n'),
        ('model = "old"  # why\nb = 2\n', 'model = "new"  # why\nb = 2\n'),
        ("a = 1\n'model' = 'o\"ld'\n", "a = 1\n'model' = \"new\"\n"),
        ("[t]\nmodel = 'other'\n", "model = \"new\"\n[t]\nmodel = 'other'\n"),
        ('s = """\nmodel = "in text"\n"""\n', 's = """\nmodel = "in text"\n"""\nmodel = "new"\n'),
        ('# model = "old"\n', '# model = "old"\nmodel = "new"\n'),
    ],
)
def test_a_setting_is_written_where_it_stands(before: str, after: str) -> None:
    assert set_toml_key(before, "model", "new") == after


@pytest.mark.slow
def test_a_model_is_found_by_its_name(
    mine: Path, run: Run, home: Path, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODELENS_MODEL", "mine")
    assert run("index", cwd=own).code == 0
    assert "embedder made-1" in run("doctor", cwd=own).out
    assert run("search", "--mode", "vector", "open file", cwd=own).code == 0
    monkeypatch.setenv("CODELENS_MODEL", "nobodys")
    refused(run("index", cwd=own), "no model is called 'nobodys'")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("", "Missing command"),
        ("frobnicate", "no command 'frobnicate'"),
        ("info nope", "no model is called 'nope'"),
        ("info no/such.model", "no model at no/such.model"),
        ("use", "no MODEL"),
        ("use nope", "no model is called 'nope'"),
        ("use no-model", "no model is called 'no-model'"),
        ("train nowhere --from mine", "not a folder: nowhere"),
        ("train tree --from hashing", "'hashing' has no model file"),
        ("train tree --from mine --name a/b", "'a/b' is not a valid name for a model"),
        ("train tree --from mine --name codelens", "'codelens' is the name of a shipped model"),
        ("train tree --from mine --name mine", "already exists, trained on other code"),
        ("train tree --from mine --steps 0", "--steps must be at least 1"),
        pytest.param("train tree --from mine", "only 0 pairs of words and code", marks=pytest.mark.slow),
        ("train tree --from mine --progress bar", "--progress must be auto, json or none"),
        ("eval nowhere", "not a folder: nowhere"),
        ("eval tree --models nope", "no model is called 'nope'"),
        ("eval tree --models ,", "--models is empty"),
    ],
)
def test_a_wrong_word_is_one_line_and_a_hint(arguments: str, said: str, mine: Path, run: Run, home: Path) -> None:
    (home / "tree").mkdir()
    (home / "there.txt").write_text("mine")
    refused(run("model", *arguments.split(), cwd=home), said)
    assert (home / "there.txt").read_text() == "mine"
    assert sorted(p.name for p in home.glob("**/*.part")) == []


@pytest.mark.slow
def test_train_keeps_a_model_that_gained_and_says_what(base: Path, run: Run, home: Path) -> None:
    write_repository(home / "shop", seed=1)
    ran = run("model", "train", "shop", "--from", str(base), "--steps", "60", cwd=home)
    assert ran.code == 0, ran.err
    table = {line.split()[0]: line.split()[1:] for line in ran.out.splitlines()}
    assert table["MRR@10"] == ["pairs", "held", "out", "before", "after"]
    assert float(table["doc"][3]) > float(table["doc"][2]) + 0.05
    assert float(table["history"][3]) > float(table["history"][2])
    assert "loss" in ran.err
    assert "hint: `codelens model use shop`" in ran.err
    told = run("model", "info", "shop", "--json", cwd=home)
    model = json.loads(told.out)["model"]
    assert model["card"]["repositories"] == ["shop"]
    assert model["card"]["from"]["hash"] == ModelFile(base).digest()
    assert model["card"]["held_out"]["doc"]["mrr"] == pytest.approx(float(table["doc"][3]), abs=1e-3)
    assert run("model", "use", "shop", cwd=home).code == 0
    assert run("index", cwd=home / "shop").code == 0
    again = run("model", "train", "--from", str(base), "--steps", "60", "--json", cwd=home / "shop")
    assert again.code == 0
    assert json.loads(run("model", "info", "shop", "--json", cwd=home).out)["model"]["hash"] == model["hash"]
    assert json.loads(again.out)["gained"] is True


@pytest.mark.slow
def test_train_writes_nothing_that_gained_nothing(base: Path, run: Run, home: Path) -> None:
    """One step of a rate that warms up moves no rank."""
    write_repository(home / "shop", seed=1)
    command = ("model", "train", "shop", "--from", str(base), "--steps", "1")
    ran = run(*command, "--progress", "json", cwd=home)
    assert (ran.code, "nothing written" in ran.err) == (1, True)
    steps = [json.loads(line) for line in ran.err.splitlines() if line.startswith("{")]
    assert [s["done"] for s in steps if s["phase"] == "train"] == [1]
    folder = find_user_place("models")
    assert folder is not None
    assert list(folder.glob("*")) == []
    assert run(*command, "--keep-anyway", "--name", "kept", cwd=home).code == 0
    assert [p.name for p in folder.iterdir()] == ["kept.model"]


@pytest.mark.slow
def test_eval_compares_models_by_documentation(base: Path, run: Run, home: Path) -> None:
    write_tree(home / "shop", seed=1)
    ran = run("model", "eval", "shop", "--models", f"hashing,{base}", cwd=home)
    assert ran.code == 0, ran.err
    head, *lines = ran.out.splitlines()
    assert head.split() == ["MRR@10", "hashing", "small.model"]
    assert any(line.startswith("words (BM25)") for line in lines)
    record = json.loads(run("model", "eval", "shop", "--models", "hashing", "--json", cwd=home).out)
    assert record["questions"] > 20
    assert 0 <= record["mrr"]["hashing"]["vectors"] <= 1
    (home / "bare").mkdir()
    (home / "bare/a.py").write_text("def f():\n    return 1\n")
    nothing = run("model", "eval", "bare", cwd=home)
    assert (nothing.code, nothing.out) == (1, "")
    assert "no questions" in nothing.err


CODE = """
import sys
from codelens.cli.main import main
code = main(sys.argv[1:])
sys.stderr.write(",".join(sorted(sys.modules)))
sys.exit(code)
"""


@pytest.mark.slow
@pytest.mark.parametrize("arguments", ["info mine", "list", "use mine", "--help", "train --help"])
def test_commands_without_vectors_do_not_import_numpy(arguments: str, mine: Path, home: Path) -> None:
    command = [sys.executable, "-c", CODE, "model", *arguments.split()]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=home, check=False)
    assert ran.returncode == 0, ran.stderr
    assert not {"numpy", "scipy", "codelens.training"} & set(ran.stderr.split(","))


def test_a_reader_that_goes_away_ends_it_quietly(mine: Path, home: Path) -> None:
    command = f"{sys.executable} -m codelens model list | head -c 1"
    ran = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, cwd=home, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")


def test_training_without_scipy_says_what_to_install(mine: Path, home: Path) -> None:
    write_tree(home / "port", seed=1)
    code = "import sys; sys.modules['scipy'] = None; from codelens.cli.main import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "model", "train", "port", "--from", "mine", "--name", "other"]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=home, check=False)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.splitlines() == [
        "codelens: error: training needs scipy, which a default install does not include",
        f"hint: {format_install_command('train')}",
    ]

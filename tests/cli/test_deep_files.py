"""Files of others that nest without end, or are no text: each reader says so in one line with the file's name, or goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from codelens.embed.folder_models import read_json
from codelens.embed.model_file import MAGIC, ModelFile
from codelens.errors import UsageError
from tests.commands import Run

DEEP = 100_000
HOSTILE = {
    "lists": b"[" * DEEP,
    "objects": b'{"a":' * DEEP,
    "no text": b"\xff\xfe\xfd{",
    "a number": b"1" * 5000,
    "null": b"null",
    "list of null": b"[null]",
    "values": b"a = " + b"[" * DEEP,
    "tables": b"a" + b".a" * 45 + b" = 1\n",
    "a long key": b"a" + b".a" * 40_000 + b" = 1\n",
    "empty": b"",
}


@pytest.fixture(params=HOSTILE)
def hostile(request: pytest.FixtureRequest) -> bytes:
    return HOSTILE[request.param]


def one_line(ran: object, *names: str) -> None:
    """The command ended with 2, one line that names the file, and at most one hint."""
    lines = ran.err.splitlines()  # type: ignore[attr-defined]
    assert ran.code == 2, lines  # type: ignore[attr-defined]
    assert lines[0].startswith("codelens: error: ")
    assert any(name in lines[0] for name in names), lines
    assert len(lines) <= 2 and "--debug" not in lines[-1], lines


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("eval FILE", marks=pytest.mark.slow),
        pytest.param("eval --topics FILE --qrels FILE", marks=pytest.mark.slow),
        pytest.param("eval --compare FILE FILE", marks=pytest.mark.slow),
        "graph traces FILE",
        "search --metadata FILE x",
    ],
)
def test_a_hostile_file_named_on_the_command_line_is_one_error(
    command: str, hostile: bytes, indexed: Path, tmp_path: Path, run: Run
) -> None:
    file = tmp_path / "given.json"
    file.write_bytes(hostile)
    ran = run(*command.replace("FILE", str(file)).split(), cwd=indexed)
    if hostile:
        one_line(ran, str(file))
    else:  # an empty file may say nothing
        assert ran.code in (1, 2) and len(ran.err.splitlines()) <= 2


@pytest.mark.parametrize("key", ["aliases", "classes", "metadata", "weights"])
def test_a_hostile_file_named_in_the_settings_is_one_error(
    key: str, hostile: bytes, indexed: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "own.toml"
    file.write_bytes(hostile)
    monkeypatch.setenv(f"CODELENS_{key.upper()}", str(file))
    ran = run("search", "note", cwd=indexed)
    if hostile:
        one_line(ran, str(file))
    else:
        assert ran.code in (0, 2) and len(ran.err.splitlines()) <= 2


def test_a_hostile_configuration_file_is_one_error(hostile: bytes, indexed: Path, tmp_path: Path, run: Run) -> None:
    file = tmp_path / "no-config/codelens/config.toml"
    file.parent.mkdir(parents=True)
    file.write_bytes(hostile)
    for command in (["search", "note"], ["model", "use", "hashing"]):
        ran = run(*command, cwd=indexed)
        if hostile:
            one_line(ran, str(file))
        else:
            assert ran.code == 0


def test_a_hostile_list_of_keys_is_one_error(hostile: bytes, tmp_path: Path, run: Run) -> None:
    file = tmp_path / "no-config/codelens/keys.json"
    file.parent.mkdir(parents=True)
    file.write_bytes(hostile)
    file.chmod(0o600)
    one_line(run("serve", "keys", "list", cwd=tmp_path), str(file))


def test_a_hostile_header_of_a_model_is_one_error(hostile: bytes, tmp_path: Path) -> None:
    file = tmp_path / "own.model"
    file.write_bytes(MAGIC + len(hostile).to_bytes(4, "little") + hostile)
    with pytest.raises(UsageError, match=r"own\.model is damaged"):
        ModelFile(file)
    (tmp_path / "config.json").write_bytes(hostile)
    if hostile not in (b"null", b"[null]"):
        with pytest.raises(UsageError, match=r"config\.json"):
            read_json(tmp_path / "config.json")


NAMES = (
    *("package.json", "composer.json", "tsconfig.json", "Cargo.toml", "pyproject.toml", "setup.cfg", "go.mod"),
    *("requirements.txt", "Gemfile", "build.gradle", "pom.xml", "a.csproj", "a.ipynb", "a.proto", "a.yaml", "a.json"),
    *("a.toml", "index.scip", "SKILL.md", ".codelens/notes/a.md", "a.md", "a.py", "a.rst", "a.org"),
)


@pytest.mark.slow
def test_a_tree_of_hostile_files_is_indexed(hostile: bytes, tmp_path: Path, run: Run) -> None:
    root = tmp_path / "tree"
    for name in NAMES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"---\n" + hostile + b"\n---\n" if name.endswith(".md") else hostile)
    (root / "good.py").write_text("def wanted(): pass\n")
    ran = run("index", "--no-vector", cwd=root)
    assert ran.code == 0 and "Error" not in ran.err, ran.err
    for line in ran.err.splitlines():
        if line.startswith("codelens: note: "):
            assert "index.scip" in line
    assert run("search", "-l", "wanted", cwd=root).out == "good.py\n"
    assert run("index", "-q", cwd=root).err == ""


XML = b"<a>" * 60_000 + b"</a>" * 60_000
MESSAGES = b"".join(
    b"%s\n" % line for line in (b"message A {" * 20_000, b'syntax = "proto3";', b"message B { string c = 1; }")
)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "content"), [("pom.xml", XML), ("a.proto", MESSAGES), ("a.csproj", XML)])
def test_other_nesting(name: str, content: bytes, tmp_path: Path, run: Run) -> None:
    (tmp_path / name).write_bytes(content)
    (tmp_path / "good.py").write_text("def wanted(): pass\n")
    assert run("index", "-q", "--no-vector", cwd=tmp_path).code == 0
    assert run("search", "-l", "wanted", cwd=tmp_path).out == "good.py\n"

"""The network by flag, variable and file of the user, never by a repository; and what `doctor` says of models of others."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.test_terminal import at_terminal
from tests.commands import Run
from tests.embed.endpoints import Endpoint, endpoint
from tests.embed.folders import make_graph


@pytest.fixture
def other(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    monkeypatch.setenv("CODELENS_API_KEY", "sk-mine")
    with endpoint() as found:
        monkeypatch.setenv("CODELENS_MODEL", found.setting)
        yield found


def test_each_command_needs_allow_network(own: Path, other: Endpoint, run: Run) -> None:
    refused = run("index", cwd=own)
    assert (refused.code, other.asked) == (2, [])
    assert "--allow-network" in refused.err
    assert run("index", "-q", "--allow-network", cwd=own).code == 0
    assert {asked.key for asked in other.asked} == {"Bearer sk-mine"}
    asked = len(other.asked)
    plain = run("search", "note", cwd=own)
    assert plain.code == 0 and plain.out
    assert "note: no vector results: made at 127.0.0.1:" in plain.err and "--allow-network" in plain.err
    assert len(other.asked) == asked
    for command in ("search", "why", "context"):
        ran = run(command, "--allow-network", "note", cwd=own)
        assert (ran.code, "no vector results" in ran.err) == (0, False)
        assert len(other.asked) == (asked := asked + 1), command
    assert b"sk-mine" not in (own / ".codelens/index.db").read_bytes()


def test_the_first_search_at_a_terminal_indexes_with_the_flag(own: Path, other: Endpoint) -> None:
    subprocess.run(["git", "init", "-q"], cwd=own, check=True)
    code, text = at_terminal(["search", "--allow-network", "verify password"], own)
    assert (code, "verify_password" in text) == (0, True), text
    assert len(other.asked) > 1, "the texts of the files, and the query"


def test_the_users_variable_and_file_allow_it_too(
    own: Path, other: Endpoint, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CODELENS_ALLOW_NETWORK", "1")
    assert run("index", "-q", cwd=own).code == 0
    monkeypatch.delenv("CODELENS_ALLOW_NETWORK")
    file = tmp_path / "no-config/codelens/config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("allow_network = true\n")
    asked = len(other.asked)
    assert run("search", "-q", "note", cwd=own).code == 0
    assert len(other.asked) == asked + 1


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("allow_network = true", "a project may not set 'allow_network'"),
        ("model = 'https://host/v1#m'", "a project may set 'model' to codelens or hashing alone"),
        ("model = 'HTTPS://host/v1#m'", "a project may set 'model' to codelens or hashing alone"),
        ("model = 'models/m'", "a project may set 'model' to codelens or hashing alone"),
    ],
)
def test_a_repository_may_not_allow_the_network(line: str, said: str, own: Path, run: Run) -> None:
    (own / ".codelens.toml").write_text(line + "\n")
    ran = run("config", "--show-origin", cwd=own)
    assert (ran.code, said in ran.err) == (0, True)
    assert ".codelens.toml" not in ran.out


@pytest.mark.parametrize("line", ["allow_network = false", "model = 'hashing'", "model = 'codelens'"])
def test_a_repository_may_choose_hashing(line: str, own: Path, run: Run) -> None:
    (own / ".codelens.toml").write_text(line + "\n")
    assert run("config", cwd=own).code == 0


def test_an_address_in_the_users_file_is_no_path(own: Path, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "no-config/codelens/config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("model = 'https://host/v1#m'\n")
    assert 'model = "https://host/v1#m"\n' in run("config", cwd=own).out


@pytest.mark.slow
def test_doctor_reports_the_model_and_the_extras(
    own: Path, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CODELENS_MODEL", str(make_graph(tmp_path / "tiny")))
    out = run("doctor", cwd=own).out
    assert "ok      model: tiny\n" in out
    assert "ok      onnx: its models can be used\n" in out
    monkeypatch.setenv("CODELENS_MODEL", "https://host/v1#m")
    assert "less    model: m at host needs the network, which is not allowed; --allow-network" in run("doctor").out
    monkeypatch.setenv("CODELENS_MODEL", str(tmp_path / "none"))
    assert f"less    model: no model at {tmp_path / 'none'}; " in run("doctor").out

"""codelens install: what it writes for each agent, what it leaves alone, and what it asks."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import anyio
import pytest

from codelens.cli.install import list_agents
from codelens.errors import format_install_command
from codelens.text.entries import BEGIN, END
from tests.commands import Run

SETTINGS = {
    "claude-code": (".claude.json", ".mcp.json"),
    "codex": (".codex/config.toml", ".codex/config.toml"),
    "cursor": (".cursor/mcp.json", ".cursor/mcp.json"),
    "copilot": (".copilot/mcp-config.json", ".github/mcp.json"),
    "gemini": (".gemini/settings.json", ".gemini/settings.json"),
    "opencode": (".config/opencode/opencode.json", "opencode.json"),
    "vscode": (".config/Code/User/mcp.json", ".vscode/mcp.json"),
    "zed": (".config/zed/settings.json", ".zed/settings.json"),
}
"""Agent → its settings file below the user's home, and below a project's root, on Linux."""
TEXTS = {
    "claude-code": (".claude/CLAUDE.md", "CLAUDE.md"),
    "codex": (".codex/AGENTS.md", "AGENTS.md"),
    "cursor": ("", "AGENTS.md"),
    "copilot": (".copilot/copilot-instructions.md", ".github/copilot-instructions.md"),
    "gemini": (".gemini/GEMINI.md", "GEMINI.md"),
    "opencode": (".config/opencode/AGENTS.md", "AGENTS.md"),
    "vscode": ("", ".github/copilot-instructions.md"),
    "zed": (".config/zed/AGENTS.md", "AGENTS.md"),
}
VARIABLES = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "GEMINI_CLI_HOME")
XDG = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the tables above are of Linux")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    for name in (*VARIABLES, *XDG):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository; the working directory is a folder in it."""
    (tmp_path / "project/src").mkdir(parents=True)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path / "project", check=True)
    monkeypatch.chdir(tmp_path / "project/src")
    return tmp_path / "project"


def files(folder: Path) -> dict[str, str]:
    found = (path for path in folder.rglob("*") if path.is_file() and ".git/" not in str(path))
    return {path.relative_to(folder).as_posix(): path.read_text() for path in found}


def server(path: Path) -> dict[str, Any]:
    """The entry in a settings file, whatever its key is."""
    text = path.read_text()
    (servers,) = (tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)).values()
    return dict(servers["codelens"])


def command_of(entry: dict[str, Any]) -> list[str]:
    command = entry["command"]
    return command if isinstance(command, list) else [command, *entry["args"]]


def test_the_table_is_complete() -> None:
    assert list_agents() == list(SETTINGS) == list(TEXTS)


@pytest.mark.parametrize("agent", SETTINGS)
def test_the_users_files_are_written_and_removed(agent: str, run: Run, home: Path, project: Path) -> None:
    settings, text = SETTINGS[agent][0], TEXTS[agent][0]
    assert run("install", agent, "--yes").code == 0
    written = files(home)
    assert sorted(written) == sorted(filter(None, (settings, text)))
    assert "mcp" in command_of(server(home / settings))
    assert all(written[name].startswith(BEGIN) and "`search`" in written[name] for name in [text] if name)
    again = run("install", agent, "--yes")
    assert (again.code, files(home)) == (0, written)
    assert again.err.endswith("nothing to change\n")
    assert run("install", agent, "--remove", "--yes").code == 0
    assert files(home) == {}
    assert files(project) == {}


@pytest.mark.parametrize("agent", SETTINGS)
def test_a_projects_files_are_written_and_removed(agent: str, run: Run, home: Path, project: Path) -> None:
    settings, text = SETTINGS[agent][1], TEXTS[agent][1]
    assert run("install", agent, "--project", "--yes").code == 0
    assert sorted(files(project)) == sorted((settings, text))
    assert str(project) not in json.dumps(server(project / settings))
    assert files(home) == {}
    assert run("install", agent, "--project", "--remove", "--yes").code == 0
    assert files(project) == {}


def test_variables_of_the_agents_name_their_folders(
    run: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (*VARIABLES, "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    assert {line.split("\t")[2] for line in run("install", "--list").out.splitlines()} == {
        str(tmp_path / "CLAUDE_CONFIG_DIR/.claude.json"),
        str(tmp_path / "CODEX_HOME/config.toml"),
        str(home / ".cursor/mcp.json"),
        str(tmp_path / "COPILOT_HOME/mcp-config.json"),
        str(tmp_path / "GEMINI_CLI_HOME/.gemini/settings.json"),
        str(tmp_path / "XDG_CONFIG_HOME/opencode/opencode.json"),
        str(tmp_path / "XDG_CONFIG_HOME/Code/User/mcp.json"),
        str(tmp_path / "XDG_CONFIG_HOME/zed/settings.json"),
    }


@pytest.mark.parametrize(
    ("system", "code", "zed"),
    [
        ("darwin", "home/Library/Application Support/Code/User/mcp.json", "home/.config/zed/settings.json"),
        ("win32", "roaming/Code/User/mcp.json", "roaming/Zed/settings.json"),
    ],
)
def test_other_systems_have_folders_of_their_own(
    system: str, code: str, zed: str, run: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setenv("APPDATA", str(tmp_path / "roaming"))
    listed = dict(line.split("\t")[::2] for line in run("install", "--list").out.splitlines())
    assert (listed["vscode"], listed["zed"]) == (str(tmp_path / code), str(tmp_path / zed))


def test_the_list_says_where_codelens_is_configured(run: Run, home: Path, project: Path) -> None:
    run("install", "gemini", "--yes")
    run("install", "gemini", "--yes", "--project")
    run("install", "codex", "--yes")
    (home / ".cursor").mkdir()
    (home / ".cursor/mcp.json").write_text("{")
    state = dict(line.split("\t")[:2] for line in run("install", "--list").out.splitlines())
    assert state == dict.fromkeys(SETTINGS, "-") | {"gemini": "user,project", "codex": "user"}


def test_what_is_printed_is_what_would_be_written(run: Run, home: Path, project: Path) -> None:
    shown = run("install", "gemini", "--print").out
    assert files(home) == {}
    run("install", "gemini", "--yes")
    settings, text = home / ".gemini/settings.json", home / ".gemini/GEMINI.md"
    assert shown == f"# {settings}\n{settings.read_text()}\n# {text}\n{text.read_text()}"


@pytest.mark.parametrize("agent", SETTINGS)
def test_the_entry_names_the_folders_of_the_users_shell(
    agent: str, run: Run, home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Agents start servers without the variables of a shell."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(home / 'my "data"'))
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    settings = home / SETTINGS[agent][0]
    named = {"XDG_CONFIG_HOME": str(home / ".config"), "XDG_DATA_HOME": str(home / 'my "data"')}
    for expected in (named, named):  # the second run changes nothing
        assert run("install", agent, "--yes").code == 0
        entry = server(settings)
        assert entry.get("env", entry.get("environment")) == expected
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "data"))
    assert run("install", agent, "--yes").code == 0
    entry = server(settings)
    assert entry.get("env", entry.get("environment")) == {**named, "XDG_DATA_HOME": str(home / "data")}
    assert run("install", agent, "--remove", "--yes").code == 0
    assert "XDG_DATA_HOME" not in settings.read_text()
    run("install", agent, "--project", "--yes")
    assert not {"env", "environment"} & server(project / SETTINGS[agent][1]).keys()


def test_variables_that_the_user_wrote_stay(
    run: Run, home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, codex = home / ".cursor/mcp.json", home / ".codex/config.toml"
    for file in (settings, codex):
        file.parent.mkdir()
    settings.write_text('{"mcpServers": {"codelens": {"env": {"MINE": "1"}}}}')
    codex.write_text('[mcp_servers.codelens]\ncommand = "x"\n\n[mcp_servers.codelens.env]\nMINE = "1"\n')
    assert run("install", "codex", "--yes").code == 0
    assert server(codex)["env"] == {"MINE": "1"}
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "data"))
    assert run("install", "cursor", "--yes").code == 0
    assert server(settings)["env"] == {"MINE": "1", "XDG_DATA_HOME": str(home / "data")}
    refused = run("install", "codex", "--yes")
    assert refused.code == 2
    assert "its layout cannot be edited safely" in refused.err


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["claude-code", "codex", "opencode"])
def test_the_entry_starts_the_server(agent: str, run: Run, home: Path, project: Path) -> None:
    from mcp import ClientSession
    from mcp.client.stdio import StdioServerParameters, stdio_client

    (project / "src/cup.py").write_text("def pour():\n    return 1\n")
    run("install", agent, "--yes")
    program, *arguments = command_of(server(home / SETTINGS[agent][0]))

    async def listed() -> list[str]:
        started = StdioServerParameters(command=program, args=arguments, env=dict(os.environ), cwd=project)
        with Path(os.devnull).open("w") as nowhere:
            async with stdio_client(started, nowhere) as streams, ClientSession(*streams) as session:
                await session.initialize()
                return [tool.name for tool in (await session.list_tools()).tools]

    assert anyio.run(listed) == ["search", "read", "refs", "context"]


def test_other_entries_and_comments_stay(run: Run, home: Path, project: Path) -> None:
    zed, codex = home / ".config/zed/settings.json", home / ".codex/config.toml"
    zed.parent.mkdir(parents=True)
    codex.parent.mkdir()
    zed.write_text(
        '// Zed\n{\n  "context_servers": {\n    "a": {"command": "b"}, // mine\n  },\n  "vim_mode": true,\n}\n'
    )
    codex.write_text('model = "o" # mine\n\n[mcp_servers.a]\ncommand = "b"\n')
    zed.chmod(0o600)
    before = files(home)
    for agent in ("zed", "codex"):
        assert run("install", agent, "--yes").code == 0
    assert stat.S_IMODE(zed.stat().st_mode) == 0o600
    after = files(home)
    for path, text in before.items():
        assert after[f"{path}.codelens-backup"] == text
        assert "codelens" in after[path]
        assert [line for line in after[path].split("\n") if line and line in text] == [*filter(None, text.split("\n"))]
    assert stat.S_IMODE(zed.with_name("settings.json.codelens-backup").stat().st_mode) == 0o600
    for agent in ("zed", "codex"):
        assert run("install", agent, "--remove", "--yes").code == 0
    assert files(home) == before


def test_a_link_stays_a_link(run: Run, home: Path, project: Path) -> None:
    (home / "dotfiles").mkdir()
    (home / "dotfiles/mcp.json").write_text("{}\n")
    (home / ".cursor").mkdir()
    (home / ".cursor/mcp.json").symlink_to(home / "dotfiles/mcp.json")
    assert run("install", "cursor", "--yes").code == 0
    assert (home / ".cursor/mcp.json").is_symlink()
    assert "codelens" in (home / "dotfiles/mcp.json").read_text()


def test_a_projects_link_stays_in_the_project(run: Run, home: Path, project: Path) -> None:
    (project / "CLAUDE.md").write_text("# Rules\n")
    (project / "AGENTS.md").symlink_to("CLAUDE.md")
    assert run("install", "cursor", "--project", "--yes", cwd=project).code == 0
    assert ((project / "AGENTS.md").is_symlink(), BEGIN in (project / "CLAUDE.md").read_text()) == (True, True)

    elsewhere = project.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept.md").write_text("kept\n")
    for place, target in (("AGENTS.md", "kept.md"), (".cursor", ""), (".cursor/mcp.json.codelens-backup", "kept.md")):
        for old in ("AGENTS.md", ".cursor/mcp.json", ".cursor/mcp.json.codelens-backup"):
            (project / old).unlink(missing_ok=True)
        if place == ".cursor":
            (project / place).rmdir()
        elif (project / ".cursor").is_symlink():
            (project / ".cursor").unlink()
        (project / place).parent.mkdir(exist_ok=True)
        (project / place).symlink_to(elsewhere / target)
        ran = run("install", "cursor", "--project", "--yes", cwd=project)
        assert (ran.code, "leads out of" in ran.err, str(project / place) in ran.err) == (2, True, True)
    assert [(file.name, file.read_text()) for file in elsewhere.iterdir()] == [("kept.md", "kept\n")]


@pytest.mark.parametrize("text", ["{", "[]", '{"mcpServers": 1}', "\udcff", f"{BEGIN}\n"])
def test_a_broken_file_is_refused_and_left_alone(text: str, run: Run, home: Path, project: Path) -> None:
    broken = home / (".gemini/GEMINI.md" if text.startswith(BEGIN) else ".gemini/settings.json")
    broken.parent.mkdir()
    broken.write_bytes(text.encode("utf-8", "surrogateescape"))
    refused = run("install", "gemini", "--yes")
    error, *rest = refused.err.splitlines()
    assert (refused.code, refused.out) == (2, "")
    assert error.startswith(f"codelens: error: {broken} ")
    assert len(rest) == 1
    assert list(home.rglob("*.*")) == [home / ".gemini", broken]
    assert broken.read_bytes() == text.encode("utf-8", "surrogateescape")


def test_instructions_stay_while_another_agent_reads_them(run: Run, home: Path, project: Path) -> None:
    for agent in ("codex", "cursor"):
        assert run("install", agent, "--project", "--yes").code == 0
    assert run("install", "codex", "--project", "--remove", "--yes").code == 0
    assert sorted(files(project)) == [".cursor/mcp.json", "AGENTS.md"]
    assert run("install", "cursor", "--project", "--remove", "--yes").code == 0
    assert files(project) == {}


def test_no_new_file_hides_the_one_that_an_agent_reads(run: Run, home: Path, project: Path) -> None:
    (project / "AGENTS.md").write_text("# Rules\n")
    (home / ".claude").mkdir()
    (home / ".claude/CLAUDE.md").write_text("# Mine\n")
    for agent in ("claude-code", "zed", "codex"):
        assert run("install", agent, "--project", "--yes").code == 0
    assert [path.name for path in project.glob("*.md")] == ["AGENTS.md"]
    assert (project / "AGENTS.md").read_text().startswith(f"# Rules\n\n{BEGIN}\n")
    assert (project / "AGENTS.md").read_text().count(END) == 1
    assert run("install", "opencode", "--yes").code == 0
    assert BEGIN in (home / ".claude/CLAUDE.md").read_text()


def test_without_a_terminal_it_needs_yes(run: Run, home: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Path(os.devnull).open() as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        refused = run("install", "cursor")
    assert refused.code == 2
    assert refused.err == (
        f"codelens: error: this would change {home / '.cursor/mcp.json'}\nhint: add --yes to run without a question\n"
    )
    assert files(home) == {}


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("n", 1), ("", 1)])
def test_on_a_terminal_it_shows_the_change_and_asks(
    answer: str, code: int, home: Path, project: Path, tmp_path: Path
) -> None:
    import pty

    (home / ".cursor").mkdir()
    (home / ".cursor/mcp.json").write_text('{\n  "mcpServers": {}\n}\n')
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "codelens", "install", "cursor"], stdin=theirs, stdout=theirs, stderr=theirs, cwd=project
    ) as process:
        os.close(theirs)
        os.write(ours, f"{answer}\n".encode())
        seen = b""
        while b"changed" not in seen:
            seen += os.read(ours, 4096)
        assert process.wait() == code
    os.close(ours)
    said = seen.decode().replace("\r\n", "\n")
    assert '+    "codelens": {' in said
    assert f"Change {home / '.cursor/mcp.json'}? [y/N]" in said
    assert ("codelens" in (home / ".cursor/mcp.json").read_text()) == (code == 0)


def test_bad_requests_are_one_line_and_a_hint(
    run: Run, home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for arguments, error in ((["vim"], "no agent 'vim'"), ([], "no agent")):
        said = run("install", *arguments)
        assert (said.code, said.err) == (2, f"codelens: error: {error}\nhint: agents: {', '.join(SETTINGS)}\n")
    (home / ".cursor").write_text("a file")
    assert run("install", "cursor", "--yes").code == 2
    monkeypatch.setitem(sys.modules, "mcp", None)  # as if it were not installed
    missing = run("install", "codex", "--yes")
    assert missing.code == 2
    assert missing.err.endswith(f"hint: {format_install_command('mcp')}\n")
    assert run("install", "codex", "--remove", "--yes").code == 0


@pytest.mark.parametrize(
    ("agent", "names"), [("codex", ["AGENTS.override.md", "AGENTS.md"]), ("zed", [".rules", "AGENTS.md"])]
)
def test_of_several_files_the_one_that_the_agent_reads_is_written(
    agent: str, names: list[str], run: Run, home: Path, project: Path
) -> None:
    for name in names:
        (project / name).write_text("Be kind.\n")
    assert run("install", agent, "--project", "--yes").code == 0
    assert [BEGIN in (project / name).read_text() for name in names] == [True, False]

"""The origin of a setting's value: default < user's file < project's file < environment < flag, and refused values."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest

from codelens.config import Settings, load_settings
from codelens.index import Index
from tests.commands import Run
from tests.search.trees import QUICK, functions

PROJECT = ".codelens.toml"


@pytest.fixture(autouse=True)
def user_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The place of the user's file, which does not exist yet; the files of this machine's user are not read."""
    for name in [name for name in os.environ if name.startswith("CODELENS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    place = tmp_path / "home/codelens/config.toml"
    place.parent.mkdir(parents=True)
    return place


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


Ask = Callable[..., dict[str, tuple[object, str]]]


@pytest.fixture
def ask(run: Run) -> Ask:
    """Setting → (value, origin), as `config --show-origin` prints them in a folder."""

    def go(cwd: Path, *arguments: str) -> dict[str, tuple[object, str]]:
        ran = run("config", "--show-origin", *arguments, cwd=cwd)
        assert (ran.code, ran.err) == (0, "")
        parts = [line.partition("  # ") for line in ran.out.splitlines()]
        return {key: (value, origin) for line, _, origin in parts for key, value in tomllib.loads(line).items()}

    return go


def test_each_layer_wins_over_the_one_below(
    project: Path, user_file: Path, monkeypatch: pytest.MonkeyPatch, run: Run, ask: Ask
) -> None:
    """The strongest layer decides the number of hits and what `config` prints."""
    (project / "widgets.py").write_text(functions(30))
    db = project / ".codelens/index.db"
    db.parent.mkdir()
    Index.build(db, [project], QUICK)

    def shown(*flags: str) -> int:
        return len(run("search", "widget", *flags, cwd=project).out.splitlines())

    assert (shown(), ask(project)["limit"]) == (20, (20, "default"))
    user_file.write_text("limit = 11\n")
    assert (shown(), ask(project)["limit"]) == (11, (11, str(user_file)))
    (project / PROJECT).write_text("limit = 12\n")
    assert (shown(), ask(project)["limit"]) == (12, (12, str(project / PROJECT)))
    monkeypatch.setenv("CODELENS_LIMIT", "13")
    assert (shown(), ask(project)["limit"]) == (13, (13, "$CODELENS_LIMIT"))
    assert (shown("-m", "14"), shown()) == (14, 13)


def test_a_flag_has_its_own_origin(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODELENS_COLOR", "never")
    loaded = load_settings(project, project, {"color": "always", "path_style": None})
    assert (loaded.values.color, loaded.origin["color"]) == ("always", "flag")
    assert (loaded.values.path_style, loaded.origin["path_style"]) == ("cwd", "default"), "a flag of None was not given"


def test_a_layer_leaves_alone_what_it_does_not_name(
    project: Path, user_file: Path, monkeypatch: pytest.MonkeyPatch, ask: Ask
) -> None:
    user_file.write_text('mode = "exact"\nlimit = 11\n')
    (project / PROJECT).write_text("limit = 12\nquery_seconds = 2\n")
    monkeypatch.setenv("CODELENS_HIDDEN", "yes")
    told = ask(project)
    assert told["mode"] == ("exact", str(user_file))
    assert told["limit"] == (12, str(project / PROJECT))
    assert told["query_seconds"] == (2.0, str(project / PROJECT)), "a whole number is a number"
    assert told["hidden"] == (True, "$CODELENS_HIDDEN")
    assert {key for key, (_, origin) in told.items() if origin != "default"} == {
        "mode", "limit", "query_seconds", "hidden",
    }  # fmt: skip
    assert list(told) == list(asdict(Settings())), "every setting, in the order of the manual"


@pytest.mark.parametrize("inner", ["limit = 5\n", None])
def test_the_nearest_project_file_counts_alone(inner: str | None, project: Path, ask: Ask) -> None:
    (project / PROJECT).write_text('limit = 6\nmode = "exact"\n')
    (project / ".codelens").mkdir()
    Index.build(project / ".codelens/index.db", [project], QUICK)
    deep = project / "a/b"
    deep.mkdir(parents=True)
    if inner:
        (project / "a" / PROJECT).write_text(inner)
    told = ask(deep)
    assert told["limit"] == (5, str(project / "a" / PROJECT)) if inner else (6, str(project / PROJECT))
    assert told["mode"] == ("hybrid", "default") if inner else ("exact", str(project / PROJECT))


@pytest.mark.parametrize("root", ["index", "git", "none"])
def test_no_project_file_above_the_root_is_read(root: str, tmp_path: Path, project: Path, ask: Ask) -> None:
    """The root is the folder with the index, else the top of the work tree, else the working directory."""
    (tmp_path / PROJECT).write_text("limit = 6\n")
    deep = project / "deep"
    deep.mkdir()
    if root == "index":
        (project / ".codelens").mkdir()
        Index.build(project / ".codelens/index.db", [project], QUICK)
    elif root == "git":
        (project / ".git").mkdir()
        (project / ".git/HEAD").write_text("ref: refs/heads/main\n")
        (project / ".git/objects").mkdir()
        (project / ".git/refs").mkdir()
    assert ask(deep)["limit"] == (20, "default")
    (project / PROJECT).write_text("limit = 7\n")
    assert ask(deep)["limit"] == (20, "default") if root == "none" else (7, str(project / PROJECT))


def test_without_xdg_the_users_file_lies_in_dot_config(
    tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch, ask: Ask
) -> None:
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.delenv("APPDATA", raising=False)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    place = tmp_path / ".config/codelens/config.toml"
    place.parent.mkdir(parents=True)
    place.write_text("limit = 8\n")
    assert ask(project)["limit"] == (8, str(place))


def test_no_config_reads_no_files(project: Path, user_file: Path, monkeypatch: pytest.MonkeyPatch, ask: Ask) -> None:
    """Not even to find them broken; the environment still counts."""
    user_file.write_text("mode = ")
    (project / PROJECT).write_text("no_such = 1\nlimit = 3\n")
    monkeypatch.setenv("CODELENS_COLOR", "never")
    told = ask(project, "--no-config")
    assert told["limit"] == (20, "default")
    assert told["color"] == ("never", "$CODELENS_COLOR")


WRONG = [
    ("limitt = 3", "unknown setting 'limitt'"),
    ("[search]\nlimit = 3", "unknown setting 'search'"),
    ('limit = "many"', "'limit' must be a whole number, not 'many'"),
    ("limit = true", "'limit' must be a whole number, not True"),
    ("limit = 2.5", "'limit' must be a whole number, not 2.5"),
    ("hidden = 1", "'hidden' must be true or false, not 1"),
    ('fuzzy = "yes"', "'fuzzy' must be true or false, not 'yes'"),
    ('query_seconds = "5"', "'query_seconds' must be a number, not '5'"),
    ("query_seconds = true", "'query_seconds' must be a number, not True"),
    ("mode = 1", "'mode' must be a string, not 1"),
    ('mode = "magic"', "'mode' must be one of hybrid, keyword, vector, exact, fuzzy, not 'magic'"),
    ('color = "blue"', "'color' must be one of auto, always, never, not 'blue'"),
    ('path_style = ""', "'path_style' must be one of cwd, root, absolute, not ''"),
    ("limit = ", "Invalid value (at "),
    ("limit = 1\nlimit = 2", "Cannot overwrite a value (at "),
    ("= = =", "Invalid statement (at "),
]


def refused(run: Run, cwd: Path, *command: str) -> str:
    """The one line that says why, of a command that did nothing else."""
    ran = run(*command, cwd=cwd)
    assert (ran.code, ran.out) == (2, "")
    line, hint = ran.err.splitlines()
    assert hint.startswith("hint: ")
    return line


def warned(run: Run, cwd: Path, *command: str) -> str:
    """The one line that says what does not count, of a command that did its work."""
    ran = run(*command, cwd=cwd)
    assert ran.code == 0 and ran.out
    lines = [line for line in ran.err.splitlines() if line.startswith(f"codelens: warning: {cwd / PROJECT}: ")]
    assert len(lines) == 1
    return lines[0]


@pytest.mark.parametrize(("text", "said"), WRONG)
def test_a_fault_in_the_users_own_file_is_an_error(
    text: str, said: str, project: Path, user_file: Path, run: Run
) -> None:
    user_file.write_text(text + "\n")
    assert refused(run, project, "config").startswith(f"codelens: error: {user_file}: {said}")


@pytest.mark.parametrize(("text", "said"), WRONG)
def test_a_fault_in_a_projects_file_is_left_out(
    text: str, said: str, project: Path, user_file: Path, run: Run, ask: Ask
) -> None:
    user_file.write_text('limit = 11\nmode = "exact"\n')
    usual = ask(project)
    (project / PROJECT).write_text(text + "\n")
    line = warned(run, project, "config")
    assert line.startswith(f"codelens: warning: {project / PROJECT}: {said}")
    assert "ignored" in line
    assert {key: row for key, row in show(run, project).items() if row != usual[key]} in (
        {},
        {"limit": (1, str(project / PROJECT))},
    ), "the user's own value counts in its place"


def show(run: Run, cwd: Path) -> dict[str, tuple[object, str]]:
    """Setting → (value, origin), whatever is warned of."""
    parts = [line.partition("  # ") for line in run("config", "--show-origin", cwd=cwd).out.splitlines()]
    return {key: (value, origin) for line, _, origin in parts for key, value in tomllib.loads(line).items()}


def test_what_is_right_in_a_projects_file_counts(project: Path, run: Run) -> None:
    (project / PROJECT).write_text("limitt = 3\nlimit = 7\nmemory = true\nmax_file_size = -1\n")
    told = show(run, project)
    assert told["limit"] == (7, str(project / PROJECT))
    assert told["memory"] == (False, "default")
    assert told["max_file_size"] == (Settings().max_file_size, "default")


def test_a_file_that_is_not_utf_8_is_named(project: Path, run: Run) -> None:
    (project / PROJECT).write_bytes(b'mode = "\xff"\n')
    assert warned(run, project, "config").startswith(f"codelens: warning: {project / PROJECT}: 'utf-8' codec")


COMMANDS = ("index --json", "search widget", "why widget", "status", "symbols a.py", "config", "map")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("limit = \n", ": Invalid value (at line 1"),
        ("allow_network = true\n", ": a project may not set 'allow_network'"),
        ("limitt = 1\n", ": unknown setting 'limitt'"),
        ("aliases = " + "[" * 50_000, ": it is nested too deeply"),
        ("a" + ".a" * 40_000 + " = 1\n", ": a key has too many parts"),
        ("limit.a" + ".a" * 45 + " = 1\n", ": 'limit' must be a whole number, not a table"),
        ("x = 1\n" * 100_000, ": too large for a configuration file"),
        ("query_seconds = 1" + "0" * 400, ": 'query_seconds' must be at most"),
        ("max_file_size = 1" + "0" * 400, ": 'max_file_size' must be at most"),
        ("aliases = 'no.toml'\n", ": 'aliases': "),
        ("classes = 'deep.toml'\n", ": 'classes': "),
        ("metadata = 'deep.json'\n", ": 'metadata': "),
        ("weights = 'deep.toml'\n", ": 'weights': "),
    ],
    ids=lambda value: value[:20],
)
def test_no_command_is_stopped_by_a_repository(text: str, said: str, project: Path, run: Run) -> None:
    (project / "a.py").write_text(functions(1))
    (project / "deep.toml").write_text("a = " + "[" * 100_000)
    (project / "deep.json").write_text("[" * 100_000)
    (project / ".codelens").mkdir()
    Index.build(project / ".codelens/index.db", [project], QUICK)
    (project / PROJECT).write_text(text)
    for command in COMMANDS:
        assert warned(run, project, *command.split()).startswith(f"codelens: warning: {project / PROJECT}{said}")
    assert run("search", "widget", "-q", cwd=project).err == ""
    assert run("search", "widget", "--no-config", cwd=project).err == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", ["search widget", "search -l widget", "why widget", "status", "refs widget_0000", "map"]
)
def test_an_answer_in_json_says_what_does_not_count(command: str, project: Path, run: Run) -> None:
    (project / "a.py").write_text(functions(1))
    (project / ".codelens").mkdir()
    Index.build(project / ".codelens/index.db", [project], QUICK)
    (project / PROJECT).write_text("memory = true\n")
    flags = [flag for flag in command.split() if flag != "-l"]
    told = json.loads(run(*flags, "--json", cwd=project).out)["notices"]
    assert told[0]["code"] == "settings"
    assert told[0]["text"].startswith(f"{project / PROJECT}: a project may not set 'memory': ignored")


def test_many_faults_are_counted(project: Path, run: Run) -> None:
    (project / PROJECT).write_text("".join(f"x{n} = 1\n" for n in range(500)))
    lines = run("config", cwd=project).err.splitlines()
    assert len(lines) == 6
    assert lines[-1] == f"codelens: warning: {project / PROJECT}: 495 more settings are ignored"


@pytest.mark.parametrize(
    ("name", "raw", "said"),
    [
        ("LIMIT", "many", "$CODELENS_LIMIT must be a whole number, not 'many'"),
        ("LIMIT", "2.5", "$CODELENS_LIMIT must be a whole number, not '2.5'"),
        ("LIMIT", "", "$CODELENS_LIMIT must be a whole number, not ''"),
        ("HIDDEN", "perhaps", "$CODELENS_HIDDEN must be true or false, not 'perhaps'"),
        ("QUERY_SECONDS", "soon", "$CODELENS_QUERY_SECONDS must be a number, not 'soon'"),
        ("MODE", "magic", "$CODELENS_MODE: 'mode' must be one of hybrid, keyword, vector, exact, fuzzy, not 'magic'"),
        ("COLOR", "blue", "$CODELENS_COLOR: 'color' must be one of auto, always, never, not 'blue'"),
    ],
)
def test_a_variable_that_cannot_be_taken_is_named(
    name: str, raw: str, said: str, project: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"CODELENS_{name}", raw)
    assert refused(run, project, "config") == f"codelens: error: {said}"


@pytest.mark.parametrize(
    ("raw", "value"), [("1", True), ("true", True), ("YES", True), ("0", False), ("False", False), ("no", False), ("", False)]
)  # fmt: skip
def test_a_variable_says_yes_or_no(
    raw: str, value: bool, project: Path, monkeypatch: pytest.MonkeyPatch, ask: Ask
) -> None:
    monkeypatch.setenv("CODELENS_FUZZY", raw)
    assert ask(project)["fuzzy"] == (value, "$CODELENS_FUZZY")


def test_what_config_prints_can_be_pasted_into_the_users_file(
    project: Path, user_file: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    monkeypatch.setenv("CODELENS_HYPERLINK_FORMAT", 'x://"a\\b{path}#')
    monkeypatch.setenv("CODELENS_QUERY_SECONDS", "1e-7")
    monkeypatch.setenv("CODELENS_VECTOR", "no")
    printed = [run("config", *option, cwd=project).out for option in ([], ["--show-origin"])]
    for name in ("HYPERLINK_FORMAT", "QUERY_SECONDS", "VECTOR"):
        monkeypatch.delenv(f"CODELENS_{name}")
    wanted = Settings(hyperlink_format='x://"a\\b{path}#', query_seconds=1e-7, vector=False)
    for text in printed:
        user_file.write_text(text)
        loaded = load_settings(project, project)
        assert loaded.values == wanted
        assert set(loaded.origin.values()) == {str(user_file)}


def test_a_path_in_a_file_is_relative_to_that_file(project: Path, user_file: Path, ask: Ask) -> None:
    user_file.write_text("classes = 'mine.toml'\n")
    assert ask(project)["classes"] == (str(user_file.parent / "mine.toml"), str(user_file))
    (project / PROJECT).write_text("classes = 'doc/ours.toml'\n")
    deep = project / "deep"
    deep.mkdir()
    (project / ".git").mkdir()
    for name in ("objects", "refs"):
        (project / ".git" / name).mkdir()
    (project / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (project / "doc").mkdir()
    (project / "doc/ours.toml").write_text("")
    assert ask(deep)["classes"] == (str(project / "doc/ours.toml"), str(project / PROJECT))
    (project / PROJECT).write_text("classes = ''\n")
    assert ask(project)["classes"] == ("", str(project / PROJECT)), "a project may do without the user's"


@pytest.mark.parametrize("value", ["../home/c.toml", "/etc/passwd", "link/c.toml", "a/../../c.toml", "loop", "\\u0000"])
@pytest.mark.parametrize("key", ["aliases", "classes", "weights"])
def test_a_project_names_no_file_outside_it(key: str, value: str, project: Path, tmp_path: Path, run: Run) -> None:
    (project / "link").symlink_to(tmp_path)
    (project / "loop").symlink_to("loop")
    (project / PROJECT).write_text(f'{key} = "{value}"\n')
    line = warned(run, project, "config")
    assert line.startswith(f"codelens: warning: {project / PROJECT}: '{key}' leads out of {project}: ")


def test_a_projects_file_is_no_link_out_of_the_repository(project: Path, tmp_path: Path, run: Run) -> None:
    (project / ".git").mkdir()
    (tmp_path / "theirs.toml").write_text("password = 'shown'\n")
    (project / PROJECT).symlink_to(tmp_path / "theirs.toml")
    line = warned(run, project, "config")
    assert line.startswith(f"codelens: warning: {project / PROJECT}: a link leads out of {project}, to ")
    assert "password" not in line
    (project / PROJECT).unlink()
    (project / "ours.toml").write_text("limit = 7\n")
    (project / PROJECT).symlink_to("ours.toml")
    assert run("config", "limit", cwd=project).out == "7\n"


def test_own_classes_from_a_projects_file(project: Path, run: Run) -> None:
    (project / "a.py").write_text("def blast_text():\n    pass\n\n\ndef callers_of():\n    pass\n")
    (project / ".codelens").mkdir()
    Index.build(project / ".codelens/index.db", [project], QUICK)
    (project / PROJECT).write_text("classes = 'classes.toml'\n")
    asked = ("search", "blast radius", "--format", "{name}")
    assert warned(run, project, *asked).endswith(f"{project / 'classes.toml'} does not exist: ignored")
    (project / "classes.toml").write_text("[impact]\nphrases = 'blast radius'\ntargets = 'callersOf'\n")
    assert run(*asked, cwd=project).out.split() == ["callers_of", "blast_text"]
    assert run(*asked, "--no-config", cwd=project).out.split() == ["blast_text"]
    (project / "classes.toml").write_text("[impact]\nphrases = 'blast radius'\n")
    assert warned(run, project, *asked).endswith("classes.toml: class 'impact' has no targets: ignored")


def test_one_setting_is_printed_alone(run: Run, tmp_path: Path) -> None:
    (tmp_path / PROJECT).write_text('limit = 7\nmode = "exact"\n', encoding="utf-8")
    assert run("config", "limit", cwd=tmp_path).out == "7\n"
    assert run("config", "mode", cwd=tmp_path).out == "exact\n"
    assert run("config", "limit", "--show-origin", cwd=tmp_path).out.startswith("limit = 7  # ")
    assert json.loads(run("config", "limit", "--json", cwd=tmp_path).out)["settings"].keys() == {"limit"}
    ran = run("config", "limt", cwd=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert "no setting 'limt'" in ran.err
    assert "did you mean 'limit'?" in ran.err

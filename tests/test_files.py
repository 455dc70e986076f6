"""Only `codelens/files.py` opens files for writing; how it follows links, and what it refuses."""

from __future__ import annotations

import ast
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from codelens.errors import CannotWrite, UnsafePath
from codelens.files import (
    list_tops,
    read_file,
    refuse_special,
    replace_file,
    resolve_below,
    write_in_one_step,
    write_new,
    write_output,
    write_private_file,
)

posix = pytest.mark.skipif(os.name == "nt", reason="links need a privilege there, and pipes have no path")
PACKAGE = Path(__file__).parents[1] / "codelens"
WRITING_METHODS = {
    *("write_text", "write_bytes", "touch", "symlink_to", "hardlink_to", "mkstemp", "mkdtemp", "NamedTemporaryFile"),
    *("copyfile", "copy", "copy2", "copytree", "move", "makedirs", "mknod", "mkfifo", "symlink", "link"),
}
MODULES_OF_METHODS = {"os", "shutil", "tempfile", "Path"}
"""What stands before a function of that name; a dictionary has a method `copy`, too."""
ALLOWED = {
    "cli/main.py: os.open(os.devnull, access)": "stands for a stream that the caller closed",
    "cli/main.py: os.open(os.devnull, os.O_WRONLY)": "stands for a reader that is gone",
    "store/connection.py: apsw.Connection(f'{format_uri(path)}?{options}')": "`refuse_unsafe_index` comes first",
    "store/vectors.py: apsw.Connection(str(path))": "in the user's cache",
}
"""The calls elsewhere that open something for writing, and why they may."""


def list_writing_calls(tree: ast.AST) -> Iterator[str]:
    """The calls in a module that create a file, or open one for writing, without the arguments that are named."""
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        owner = ""
        name = call.func.id if isinstance(call.func, ast.Name) else ""
        if isinstance(call.func, ast.Attribute):
            owner, name = ast.unparse(call.func.value), call.func.attr
        options = {option.arg: ast.unparse(option.value) for option in call.keywords}
        texts = [ast.unparse(argument) for argument in call.args] + [options.get("mode", "''")]

        if f"{owner}.{name}" == "os.open":
            is_writing = texts[1] != "os.O_RDONLY"
        elif name == "open":
            modes = [text for text in texts if set(text.strip("'")) <= set("rwaxbt+")]
            is_writing = any(set(mode) & set("wax+") for mode in modes)
        elif name in ("mkdir", "TemporaryDirectory"):
            is_writing = "exist_ok" in options
        elif name == "Connection":
            is_writing = owner == "apsw" and texts[0] != "':memory:'"
        else:
            is_of_path = name in ("write_text", "write_bytes", "touch", "symlink_to", "hardlink_to")
            is_writing = name in WRITING_METHODS and (is_of_path or owner in MODULES_OF_METHODS or not owner)
        if is_writing:
            yield f"{ast.unparse(call.func)}({', '.join(map(ast.unparse, call.args))})"


def test_no_other_module_opens_a_file_for_writing() -> None:
    calls = {
        f"{file.relative_to(PACKAGE).as_posix()}: {call}"
        for file in PACKAGE.rglob("*.py")
        if file != PACKAGE / "files.py"
        for call in list_writing_calls(ast.parse(file.read_text(encoding="utf-8")))
    }
    assert calls == set(ALLOWED)


@pytest.mark.parametrize(
    "source",
    [
        *(
            "open(p, 'w')",
            "p.open('ab')",
            "p.open(mode='x')",
            "os.open(p, os.O_RDWR)",
            "os.open(p, flags)",
            "p.touch()",
        ),
        *("p.write_text('')", "shutil.copy2(a, b)", "tempfile.mkstemp()", "p.mkdir(exist_ok=True)", "mkstemp()"),
        "apsw.Connection('x')",
    ],
)
def test_the_check_knows_each_way_of_writing(source: str) -> None:
    assert len(list(list_writing_calls(ast.parse(source)))) == 1


@pytest.mark.parametrize("source", ["open(p)", "p.open('rb')", "os.open(p, os.O_RDONLY)", "d.copy()", "p.mkdir()"])
def test_the_check_lets_reading_pass(source: str) -> None:
    assert not list(list_writing_calls(ast.parse(source)))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "tree/.git").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/kept").write_text("kept")
    return tmp_path / "tree"


@posix
@pytest.mark.parametrize(
    "target", ["../outside/kept", "../outside/new", "../outside", ".git/config", "sub/../../outside"]
)
def test_a_link_may_not_lead_out_of_a_repository_or_into_git(target: str, repository: Path) -> None:
    (repository / "file").symlink_to(target)
    with pytest.raises(UnsafePath, match="leads"):
        resolve_below(repository / "file")
    with pytest.raises(UnsafePath):
        write_in_one_step(repository / "file", b"x", [repository])
    with pytest.raises(UnsafePath):
        write_output(repository / "file", b"x")
    with pytest.raises(UnsafePath):
        read_file(repository / "file")
    assert [(p.name, p.read_text()) for p in (repository.parent / "outside").iterdir()] == [("kept", "kept")]


@posix
def test_a_folder_on_the_way_may_not_lead_out_even_to_another_repository(repository: Path) -> None:
    (repository.parent / "outside/.git").mkdir()
    (repository / "sub").symlink_to("../outside")
    assert list_tops(repository / "sub/kept") == [repository / "sub", repository]
    with pytest.raises(UnsafePath, match=r"leads out of .*tree, to"):
        resolve_below(repository / "sub/kept")


@posix
def test_a_link_inside_a_repository_is_followed(repository: Path) -> None:
    (repository / "one").write_text("old")
    (repository / "two").symlink_to("one")
    write_in_one_step(repository / "two", b"new", [repository])
    assert ((repository / "two").is_symlink(), (repository / "one").read_text()) == (True, "new")
    assert read_file(repository / "two") == b"new"


@posix
def test_links_of_the_user_outside_of_repositories_are_followed(tmp_path: Path) -> None:
    (tmp_path / "settings").symlink_to("dotfiles")
    write_in_one_step(tmp_path / "settings", b"x")
    write_output(tmp_path / "settings", b"y")
    assert (tmp_path / "dotfiles").read_text() == "y"
    assert resolve_below(tmp_path / "settings") == tmp_path / "dotfiles"


@posix
def test_a_link_of_a_repository_in_the_home_folder_is_the_users(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many people keep the settings of their home folder in git."""
    (repository / "settings").symlink_to("../outside/kept")
    monkeypatch.setenv("HOME", str(repository))
    assert resolve_below(repository / "settings") == repository.parent / "outside/kept"


@posix
def test_pipes_devices_and_folders_are_refused_without_waiting(repository: Path) -> None:
    os.mkfifo(repository / "pipe")
    (repository / "folder").mkdir()
    (repository / "zero").symlink_to("/dev/zero")
    for name in ("pipe", "folder", "zero"):
        with pytest.raises(UnsafePath):
            refuse_special(repository / name)
        with pytest.raises(UnsafePath):
            read_file(repository / name)
        with pytest.raises(UnsafePath):
            write_in_one_step(repository / name, b"x", [repository])


@posix
def test_a_link_in_place_of_a_new_file_is_not_followed(repository: Path) -> None:
    (repository / "link").symlink_to("../outside/new")
    with pytest.raises(FileExistsError):
        write_new(repository / "link", b"x")
    with replace_file(repository / "link") as file:
        file.write(b"x")
    assert ((repository / "link").is_symlink(), (repository / "link").read_bytes()) == (False, b"x")
    assert not (repository.parent / "outside/new").exists()


@posix
def test_a_replaced_file_keeps_its_mode(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("old")
    file.chmod(0o640)
    write_in_one_step(file, b"new")
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    write_in_one_step(file, b"new", is_executable=True)
    assert stat.S_IMODE(file.stat().st_mode) == 0o750
    write_private_file(file, b"secret")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with pytest.raises(FileExistsError):
        write_private_file(file, b"other", keeps_existing=True)
    assert (file.read_bytes(), [p.name for p in tmp_path.iterdir()]) == (b"secret", ["file"])


def test_a_block_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    with pytest.raises(ZeroDivisionError), replace_file(tmp_path / "file") as file:
        file.write(b"half")
        raise ZeroDivisionError
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("file", "old")]
    with pytest.raises(CannotWrite, match="gone"):
        write_in_one_step(tmp_path / "gone/file", b"x")

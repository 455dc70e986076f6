"""Results of the walk: each kind of entry once, with its reason, in the order of the paths' bytes."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from codelens.config import Settings
from codelens.errors import UsageError
from codelens.model.code import SeenFile, Skip, SkipReason
from codelens.worktree.files import build_stamp, unescape_path
from codelens.worktree.walk import explain_path, walk_tree
from tests.tiers import examples
from tests.worktree.conftest import git_tree, write_tree

posix = pytest.mark.skipif(os.name == "nt", reason="POSIX only")


def outcome(root: Path, settings: Settings | None = None) -> dict[str, str]:
    """path → 'seen' or 'reason: detail'."""
    steps = list(walk_tree(root, settings or Settings()))
    assert len({step.path for step in steps}) == len(steps)
    return {s.path: "seen" if isinstance(s, SeenFile) else f"{s.reason}: {s.detail}" for s in steps}


def test_every_kind_of_entry_has_its_reason(tmp_path: Path) -> None:
    write_tree(
        tmp_path,
        {
            "a.py": "x = 1\n",
            "big.txt": b"x" * 3_100_000,
            ".env": "",
            ".github/ci.yml": "",
            "node_modules/x/index.js": "",
            "vendor/modules.txt": "",
            "vendor/x/x.go": "",
            "third_party/zlib.c": "",
            "jquery.min.js": "",
            "yarn.lock": "",
            ".codelens/index.db": "",
            "sub/.codelens/index.db": "",
            "env/pyvenv.cfg": "",
            "pkg/__pycache__/a.pyc": "",
        },
    )
    assert outcome(tmp_path) == {
        ".codelens/": "index: codelens' own files",
        ".env": "hidden: its name begins with a dot",
        ".github/": "hidden: its name begins with a dot",
        "a.py": "seen",
        "big.txt": "too large: 3.1 MB, limit 2.0 MB",
        "env/": "vendored: a Python environment: holds pyvenv.cfg",
        "jquery.min.js": "minified: by its name",
        "node_modules/": "vendored: installed by npm",
        "pkg/__pycache__/": "generated: Python's bytecode",
        "sub/.codelens/": "index: codelens' own files",
        "third_party/zlib.c": "seen",
        "vendor/": "vendored: made by go mod vendor: holds modules.txt",
        "yarn.lock": "generated: a lock file",
    }


def test_settings_include_hidden_ignored_vendored_and_large_files(tmp_path: Path) -> None:
    write_tree(tmp_path, {".a/b": "", "node_modules/x.js": "", "y.min.js": "", "go.sum": "", "big": b"x" * 300})
    everything = Settings(hidden=True, include_vendored=True, max_file_size=300)
    assert set(outcome(tmp_path, everything).values()) == {"seen"}
    assert outcome(tmp_path, Settings(max_file_size=299))["big"] == "too large: 300 bytes, limit 299 bytes"


@posix
def test_links_are_never_followed(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "root", {"real/a.py": ""})
    (tmp_path / "outside.py").write_text("")
    for name, target in {
        "to_file": "real/a.py",
        "to_folder": "real",
        "real/up": "..",
        "gone": "nowhere",
        "self": "self",
        "out": "../outside.py",
    }.items():
        (root / name).symlink_to(target)
    assert outcome(root) == {
        "gone": "broken link: to nowhere",
        "out": "link: to ../outside.py",
        "real/a.py": "seen",
        "real/up": "link: to ..",
        "self": "broken link: to self, a loop",
        "to_file": "link: to real/a.py",
        "to_folder": "link: to real",
    }


@posix
def test_special_files_are_skipped_and_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        assert outcome(tmp_path) == {"pipe": "not a regular file: a pipe", "socket": "not a regular file: a socket"}


@posix
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_a_skip_and_the_walk_goes_on(tmp_path: Path) -> None:
    write_tree(tmp_path, {"a/x": "", "b": "", "c": ""})
    (tmp_path / "a").chmod(0)
    (tmp_path / "b").chmod(0)
    found = outcome(tmp_path)
    (tmp_path / "a").chmod(0o700)
    assert found == {"a/": "unreadable: Permission denied", "b": "unreadable: Permission denied", "c": "seen"}


@posix
def test_folder_that_cannot_be_listed_is_a_skip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tree(tmp_path, {"a/x": "", "b": ""})
    listed = os.scandir

    def refuse(path: str) -> object:
        if path.endswith("a/"):
            raise PermissionError(13, "Permission denied")
        return listed(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert outcome(tmp_path) == {"a/": "unreadable: Permission denied", "b": "seen"}


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_paths_that_are_not_utf8_are_shown_with_escapes(tmp_path: Path) -> None:
    for name in (b"caf\xe9.py", "café.py".encode(), rb"caf\xe9.py", b"back\\slash.py"):
        (tmp_path / os.fsdecode(name)).write_text("x")
    steps = [step for step in walk_tree(tmp_path, Settings()) if isinstance(step, SeenFile)]
    assert {step.path for step in steps} == {r"caf\xe9.py", "café.py", r"caf\x5cxe9.py", r"back\slash.py"}
    for step in steps:
        assert (tmp_path / step.os_path).read_text() == "x"
        assert unescape_path(step.path) == step.os_path
        assert explain_path(tmp_path, step.os_path, Settings()) == step


def test_stamp_is_the_stat(tmp_path: Path) -> None:
    write_tree(tmp_path, {"a.py": "abc"})
    (seen,) = walk_tree(tmp_path, Settings())
    found = (tmp_path / "a.py").stat()
    assert isinstance(seen, SeenFile)
    assert seen.stamp == build_stamp(found)
    assert seen.stamp.size == 3


PART = st.text(alphabet="ab.-0é/ ", min_size=1, max_size=3)


@hypothesis_settings(
    max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(names=st.sets(PART, max_size=12))
def test_order_is_that_of_the_path_bytes(tmp_path_factory: pytest.TempPathFactory, names: set[str]) -> None:
    root = tmp_path_factory.mktemp("order")
    for name in names:
        parts = [part for part in name.split("/") if part.strip(". ")]
        place = root.joinpath(*parts)
        if parts and not place.exists() and not any(above.is_file() for above in place.parents):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text("")
    paths = [step.path for step in walk_tree(root, Settings())]
    assert paths == sorted(paths, key=os.fsencode)
    assert len(paths) == len(set(paths))


@posix
def test_a_tree_of_any_depth_is_walked(tmp_path: Path) -> None:
    folders = [f"{tmp_path}{'/d' * depth}" for depth in range(1, 1201)]
    for folder in folders:
        os.mkdir(folder)  # noqa: PTH102 (pathlib recurses)
    assert list(walk_tree(tmp_path, Settings())) == []
    with open(f"{folders[-1]}/a.py", "w"):  # noqa: PTH123
        pass
    assert [step.path.count("/") for step in walk_tree(tmp_path, Settings())] == [1200]
    os.unlink(f"{folders[-1]}/a.py")  # noqa: PTH108
    for folder in reversed(folders):
        os.rmdir(folder)  # noqa: PTH106 (rmtree recurses too)


def test_the_git_folder_is_not_part_of_the_tree(tmp_path: Path) -> None:
    git_tree(tmp_path, {"a.py": ""})
    assert outcome(tmp_path, Settings(hidden=True)) == {"a.py": "seen"}


def test_explain_agrees_with_the_walk(tmp_path: Path) -> None:
    git_tree(tmp_path, {".gitignore": "out/\n", "out/deep/a.py": "", "src/a.py": "", "src/b.min.js": "", ".x/y": ""})
    steps = {step.path: step for step in walk_tree(tmp_path, Settings())}
    for path, step in steps.items():
        assert explain_path(tmp_path, path, Settings()) == step
    assert explain_path(tmp_path, "out/deep/a.py", Settings()) == steps["out/"]
    assert explain_path(tmp_path, ".x/y", Settings()) == steps[".x/"]
    assert explain_path(tmp_path, str(tmp_path / "src/a.py"), Settings()) == steps["src/a.py"]
    assert explain_path(tmp_path, "src", Settings()) is None
    assert explain_path(tmp_path, ".", Settings()) is None
    assert explain_path(tmp_path, ".git/config", Settings()) == Skip(
        ".git/config", SkipReason.HIDDEN, "git's own files"
    )


def test_explain_refuses_missing_paths(tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    with pytest.raises(UsageError, match="no such file: nothing"):
        explain_path(tmp_path / "r", "nothing", Settings())
    with pytest.raises(UsageError, match="outside"):
        explain_path(tmp_path / "r", "../r2", Settings())


def test_root_must_be_a_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a folder"):
        list(walk_tree(tmp_path / "none", Settings()))


@posix
def test_root_may_be_a_link(tmp_path: Path) -> None:
    write_tree(tmp_path / "real", {"a.py": ""})
    (tmp_path / "link").symlink_to("real")
    assert outcome(tmp_path / "link") == {"a.py": "seen"}

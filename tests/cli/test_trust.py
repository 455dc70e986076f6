"""An index is opened if codelens made it here for this user, or the user accepted it; what a repository ships is refused."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from codelens.config import find_user_place, list_user_places
from codelens.index import Index
from codelens.store.store import Store
from codelens.zstd import zstd
from tests.commands import Run
from tests.dump import dump
from tests.writable import writable

pytestmark = pytest.mark.slow

REFUSED = "`codelens index --rebuild` builds it from the files, `codelens index --trust` accepts it as it is"
READING = (
    ("search", "password"),
    ("why", "password"),
    ("symbols", "notes/auth.py"),
    ("refs", "verify"),
    ("callers", "verify"),
    ("map",),
    ("files", "auth"),
    ("context", "check a password"),
    ("status",),
    ("snapshot", "list"),
    ("search", "password", "--refresh"),
    ("index",),
    ("watch",),
    ("hooks", "run"),
)


@pytest.fixture
def planted(own: Path, run: Run, tmp_path: Path) -> Path:
    """A repository that came with an index, which somebody else made with the same codelens."""
    run("index", "-q", cwd=own)
    unsigned(own / ".codelens/index.db")
    shutil.copytree(own, tmp_path / "cloned")
    return tmp_path / "cloned"


def unsigned(index: Path, *statements: str) -> None:
    with writable(index) as connection:
        for statement in ("DELETE FROM meta WHERE key = 'mark'", *statements):
            connection.execute(statement).fetchall()


@pytest.mark.parametrize("command", READING, ids=" ".join)
def test_no_command_opens_an_index_that_came_with_a_repository(
    command: tuple[str, ...], planted: Path, run: Run
) -> None:
    before = (planted / ".codelens/index.db").read_bytes()
    ran = run(*command, cwd=planted)
    assert (ran.code, ran.out) == (3, "")
    places = " or ".join(map(str, list_user_places("")))
    refused = f"{planted}/.codelens/index.db was not made here by codelens for you: it fits no key in {places}"
    assert ran.err == f"codelens: error: {refused}\nhint: {REFUSED}\n"
    assert (planted / ".codelens/index.db").read_bytes() == before


def test_a_rebuild_makes_it_the_user_s_own(planted: Path, run: Run) -> None:
    (planted / "notes/auth.py").unlink()  # what the planted index says of it must not come back
    assert run("index", "-q", "--rebuild", cwd=planted).code == 0
    hits = run("search", "password", cwd=planted).out.splitlines()
    assert hits
    assert not [hit for hit in hits if hit.startswith("notes/auth.py:")]
    assert run("status", cwd=planted).code == 0


def test_trust_holds_for_the_file_as_it_was(planted: Path, run: Run) -> None:
    index = planted / ".codelens/index.db"
    assert run("index", "--trust", cwd=planted).code == 0
    assert run("search", "password", cwd=planted).code == 0
    os.utime(index)  # other times, the same content
    assert run("search", "password", cwd=planted).code == 0
    unsigned(index, "INSERT INTO meta VALUES ('changed', '1')")
    assert run("search", "password", cwd=planted).code == 3


def test_an_accepted_index_is_the_user_s_own_once_it_is_updated(planted: Path, run: Run) -> None:
    run("index", "--trust", cwd=planted)
    (planted / "notes/added.py").write_text("def verify_signature(): ...\n")
    assert run("index", "-q", cwd=planted).code == 0
    assert "notes/added.py" in run("search", "verify_signature", cwd=planted).out


def test_the_user_s_own_setting_accepts_all_and_a_project_s_does_not(
    planted: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (planted / ".codelens.toml").write_text("trust_indexes = true\n")
    assert run("search", "password", cwd=planted).code != 0
    monkeypatch.setenv("CODELENS_TRUST_INDEXES", "1")
    (planted / ".codelens.toml").unlink()
    assert run("search", "password", cwd=planted).code == 0


def test_a_copy_in_another_place_is_refused_and_names_its_place(own: Path, run: Run, tmp_path: Path) -> None:
    run("index", "-q", cwd=own)
    shutil.copytree(own, tmp_path / "elsewhere")
    for _ in ("the original is there", "the original is gone"):
        ran = run("search", "password", cwd=tmp_path / "elsewhere")
        assert ran.code == 3
        assert f"was made at {own}/.codelens/index.db and moved or copied here" in ran.err
        shutil.rmtree(own, ignore_errors=True)


@pytest.mark.parametrize("place", ["renamed", "deeper/notes"])
def test_a_moved_folder_is_recognised(place: str, own: Path, run: Run, tmp_path: Path) -> None:
    run("index", "-q", cwd=own)
    before, moved = run("search", "password", cwd=own).out, tmp_path / place
    moved.parent.mkdir(exist_ok=True)
    own.rename(moved)
    index = moved / ".codelens/index.db"
    content = index.read_bytes()
    ran = run("search", "password", cwd=moved)
    assert (ran.code, ran.out, ran.err) == (0, before, "")
    assert index.read_bytes() == content, "a search never writes"
    ran = run("index", cwd=moved)
    assert f"note: the index was made at {own}/.codelens/index.db and moved here with its folder" in ran.err
    assert "(nothing changed)" in ran.err
    assert "moved here" not in run("index", cwd=moved).err
    assert run("search", "password", cwd=moved).out == before
    updated = dump(index)
    run("index", "-q", "--rebuild", cwd=moved)
    assert dump(index) == updated


@pytest.mark.parametrize("how", ["index alone", "all files written again", "folder of another user", "another mark"])
def test_what_only_looks_like_a_moved_folder_is_refused(how: str, own: Path, run: Run, tmp_path: Path) -> None:
    run("index", "-q", cwd=own)
    moved = tmp_path / "renamed"
    if how == "index alone":
        shutil.copytree(own, moved, ignore=shutil.ignore_patterns(".codelens"))
        (own / ".codelens").rename(moved / ".codelens")
    else:
        own.rename(moved)
    if how == "all files written again":  # as another tree, in a folder with the same inode
        for file in [file for file in moved.rglob("*") if file.is_file() and file.parent.name != ".codelens"]:
            file.write_bytes(file.read_bytes())
    elif how == "folder of another user":
        if os.geteuid():
            pytest.skip("only root can give a folder away")
        os.chown(moved, 12345, -1)
    elif how == "another mark":
        found = moved.stat()
        made_up = f"UPDATE meta SET value = '{found.st_dev}:{found.st_ino}' WHERE key = 'folder'"
        unsigned(moved / ".codelens/index.db", "INSERT INTO meta VALUES ('mark', 'made up')", made_up)
    assert run("search", "password", cwd=moved).code == 3
    assert run("index", cwd=moved).code == 3


def test_another_user_s_index_is_refused(own: Path, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run("index", "-q", cwd=own)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "another"))
    monkeypatch.setenv("HOME", str(tmp_path / "home of another"))
    assert run("search", "password", cwd=own).code == 3


@pytest.mark.parametrize("beside", ["index.db", "index.db-wal", "index.db-journal"])
def test_an_index_that_git_tracks_is_accepted_as_it_is_only(beside: str, own: Path, run: Run) -> None:
    run("index", "-q", cwd=own)
    (own / ".codelens" / beside).touch()
    git(own, "init", "-q")
    git(own, "add", "-f", f".codelens/{beside}")
    ran = run("search", "password", cwd=own)
    assert ran.code == 3
    assert f"git tracks {own}/.codelens/index.db, so others can change it" in ran.err
    assert run("index", "-q", "--rebuild", cwd=own).code == 0
    assert run("search", "password", cwd=own).code == 0
    unsigned(own / ".codelens/index.db")  # as a pull would bring another one
    assert run("search", "password", cwd=own).code == 3


@pytest.mark.parametrize("version", ["2", "4"])
def test_files_of_like_names_and_all_versions_of_git_s_list(version: str, own: Path, run: Run) -> None:
    run("index", "-q", cwd=own)
    git(own, "init", "-q")
    (own / "x.codelens").mkdir()
    (own / "x.codelens/index.db").touch()
    git(own, "add", "-A")
    git(own, "update-index", "--index-version", version)
    assert run("search", "password", cwd=own).code == 0
    git(own, "add", "-f", ".codelens/index.db")
    assert run("search", "password", cwd=own).code == 3


def test_a_log_next_to_an_accepted_index_is_not_read(planted: Path, run: Run) -> None:
    run("index", "--trust", cwd=planted)
    (planted / ".codelens/index.db-wal").write_bytes(b"anything")
    assert run("search", "password", cwd=planted).code == 3
    assert run("index", "--trust", cwd=planted).code == 3


def test_the_file_alone_sends_no_run_to_another_folder(own: Path, run: Run, tmp_path: Path) -> None:
    run("index", "-q", cwd=own)
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key.py").write_text("password_of_the_bank = 1\n")
    unsigned(own / ".codelens/index.db", f"UPDATE repositories SET root = '{secret}'")
    run("index", "--trust", cwd=own)
    for command in (("index",), ("search", "password", "--refresh"), ("index", str(own))):
        ran = run(*command, cwd=own)
        assert ran.code == 3
        assert f"was made from {secret}, which lies outside {own}" in ran.err
    assert "bank" not in run("search", "password_of_the_bank", cwd=own).out
    assert run("index", "-q", str(secret), cwd=own).code == 0, "a folder that the user names"


def test_an_unfinished_build_that_came_with_a_repository_is_not_gone_on_with(own: Path, run: Run) -> None:
    run("index", "-q", cwd=own)
    index = own / ".codelens/index.db"
    unsigned(index, "UPDATE meta SET value = 'building' WHERE key = 'state'", "UPDATE units SET name = 'planted'")
    index.rename(index.with_name("index.db.building"))
    assert run("index", "-q", cwd=own).code == 0
    assert run("symbols", "planted", cwd=own).code != 0


@pytest.mark.parametrize(
    "statements",
    [
        (
            "DROP TABLE skips",
            "CREATE VIEW skips AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT * FROM n",
        ),
        ("CREATE TRIGGER spy AFTER INSERT ON meta BEGIN DELETE FROM units; END",),
        ("CREATE TABLE more (x)",),
        ("ALTER TABLE units ADD COLUMN more",),
        ("DROP INDEX units_by_folded",),
    ],
)
def test_other_tables_than_codelens_makes_are_refused(statements: tuple[str, ...], planted: Path, run: Run) -> None:
    unsigned(planted / ".codelens/index.db", *statements)
    for command in (("index", "--trust"), ("search", "password"), ("index",)):
        assert run(*command, cwd=planted).code == 3
    assert "are not those of a codelens index" in run("index", "--trust", cwd=planted).err


def test_a_bomb_in_a_snapshot_takes_no_memory(planted: Path, run: Run) -> None:
    """122 kB that claim to be 4 GB: refused by what their head says."""
    packer = zstd.ZstdCompressor()
    packer.set_pledged_input_size(1 << 30)
    block = bytes(1 << 24)
    bomb = b"".join([*(packer.compress(block) for _ in range(64)), packer.flush()])
    with writable(planted / ".codelens/index.db") as connection:
        connection.execute("UPDATE snapshots SET bytes = ?", (bomb,)).fetchall()
    run("index", "--trust", cwd=planted)
    limited = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (700_000_000, 700_000_000)); "
        "from codelens.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", limited, "search", "password"], cwd=planted, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 3
    assert "claims to be 1073741824 bytes long" in ended.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="modes of files")
def test_the_key_is_the_user_s_alone(own: Path, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "fresh"))
    run("index", "-q", cwd=own)
    folder = find_user_place("")
    assert folder is not None
    assert stat.S_IMODE((folder / "index.key").stat().st_mode) == 0o600
    assert [file.name for file in folder.iterdir()] == ["index.key"]


@pytest.mark.parametrize("writer", ["shell", "agent"])
def test_a_process_without_the_variables_of_the_shell_opens_the_index(
    writer: str, own: Path, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """$XDG_DATA_HOME is set in a shell, and an agent starts processes without it."""

    def enter(place: str) -> None:
        if place == "shell":
            monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
        else:
            monkeypatch.delenv("XDG_DATA_HOME", raising=False)

    reader = "agent" if writer == "shell" else "shell"
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    enter(writer)
    assert run("index", "-q", cwd=own).code == 0
    enter(reader)
    assert run("search", "password", cwd=own).code == 0
    assert run("index", "-q", "--rebuild", cwd=own).code == 0
    enter(writer)
    assert run("search", "password", cwd=own).code == 0

    unsigned(own / ".codelens/index.db")
    assert run("search", "password", cwd=own).code == 3
    assert run("index", "--trust", cwd=own).code == 0
    enter("agent")
    assert run("search", "password", cwd=own).code == 0


def test_an_index_of_one_key_gets_the_other_at_the_next_run(
    own: Path, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").write_text("not a folder")
    assert run("index", "-q", cwd=own).code == 0
    (tmp_path / "home").unlink()
    assert run("index", "-q", cwd=own).code == 0
    monkeypatch.delenv("XDG_DATA_HOME")
    assert run("search", "password", cwd=own).code == 0


@pytest.mark.parametrize("variable", ["XDG_DATA_HOME", "HOME"])
def test_a_repository_brings_no_key(
    variable: str, planted: Path, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A relative folder would be one of the repository, which could bring a key and an index that it signed."""
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", str(planted))
    assert run("index", "-q", "--rebuild", cwd=planted).code == 0
    shutil.copytree(planted / ".local/share", planted, dirs_exist_ok=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv(variable, ".")
    assert run("search", "password", cwd=planted).code == 3


def _obey_modes_of_files() -> None:
    """Drop root's right to write everywhere, in the program that is started next."""
    import ctypes

    drop_from_bounding_set, dac_override = 24, 1  # PR_CAPBSET_DROP and CAP_DAC_OVERRIDE of Linux
    ctypes.CDLL(None).prctl(drop_from_bounding_set, dac_override, 0, 0, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="modes of files, and rights of root")
def test_the_hint_helps_where_the_home_folder_cannot_be_written(own: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(0o555)

    def start(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "codelens", *arguments],
            cwd=own,
            env={"PATH": os.environ["PATH"], "HOME": str(home)} | variables,
            preexec_fn=_obey_modes_of_files if os.geteuid() == 0 else None,
            capture_output=True,
            text=True,
            check=False,
        )

    made = start("index")
    assert made.returncode == 0, made.stderr
    assert "CODELENS_TRUST_INDEXES=1" in made.stderr
    refused = start("search", "password")
    assert refused.returncode == 3
    assert f"it fits no key in {home}/.local/share/codelens\n" in refused.stderr
    assert "hint: set XDG_DATA_HOME to a folder for a key, then `codelens index --rebuild`; or set" in refused.stderr
    assert start("search", "password", CODELENS_TRUST_INDEXES="1").returncode == 0
    elsewhere = {"XDG_DATA_HOME": str(own / ".data")}
    assert start("index", "--rebuild", **elsewhere).returncode == 0
    assert start("search", "password", **elsewhere).returncode == 0


def test_without_a_place_for_the_key_the_run_says_what_follows(
    own: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", os.devnull)
    monkeypatch.setenv("HOME", os.devnull)
    ran = run("index", cwd=own)
    assert ran.code == 0
    assert "searches refuse this index unless CODELENS_TRUST_INDEXES=1 is set" in ran.err
    assert run("search", "password", cwd=own).code == 3
    monkeypatch.setenv("CODELENS_TRUST_INDEXES", "1")
    assert run("search", "password", cwd=own).code == 0
    assert run("index", cwd=own).code == 0


def test_an_interrupted_run_leaves_an_index_that_is_still_the_user_s(own: Path, run: Run) -> None:
    """The mark covers the roots, so a new root and its mark are one transaction."""
    run("index", "-q", cwd=own)
    index = own / ".codelens/index.db"
    with Store.write(index) as store, store.writing():
        store.documents.add_repositories([own / "notes"])
    Index.open(index).close()


def test_trust_names_no_folders(own: Path, run: Run) -> None:
    assert run("index", "--trust", ".", cwd=own).code == 2
    assert run("index", "--trust", cwd=own).code == 3, "nothing is there to be accepted"


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True)

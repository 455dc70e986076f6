"""`codelens cluster`: a fleet's store answers as one index of the same repositories does."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("distributed", reason="the extra `cluster` is not installed")

from codelens.config import Settings
from codelens.fleet.build import index_fleet
from codelens.fleet.manifest import FleetManifest
from codelens.fleet.sources import read_fleet
from codelens.fleet.stores import open_store
from codelens.fleet.workers import open_client
from tests.commands import SAMPLES, Run

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with three repositories in `clones`, a `store` of a shard each, and one index of all, `one.db`."""
    folder = tmp_path_factory.mktemp("fleet")
    for name in ("notes", "shop"):
        shutil.copytree(SAMPLES / name / "repo", folder / "clones" / name)
    (folder / "clones/extra").mkdir()
    (folder / "clones/extra/coupon.py").write_text(
        "def apply_coupon(order, coupon):\n    return order.total - coupon\n"
    )
    with open_client("", workers=1) as client:
        index_fleet(client, read_fleet(folder / "clones"), str(folder / "store"), Settings(), most=1)
    yield folder


def without_index(text: str) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(text)
    apart = ("index", "more", "tokens")  # a token names its index, and a pack counts the tokens of the record
    return {key: value for key, value in record.items() if key not in apart}


def test_a_fleet_answers_as_one_index_does(run: Run, fleet: Path) -> None:
    roots = [str(fleet / "clones" / name) for name in ("extra", "notes", "shop")]
    assert run("index", "--db", str(fleet / "one.db"), "-q", *roots).code == 0
    one, many = ("--db", str(fleet / "one.db")), ("--store", str(fleet / "store"))
    for command in (
        ("search", "apply coupon", "--json"),
        ("search", "total of an order", "-t", "py", "--jsonl", "-m", "3"),
        ("search", "-F", "def ", "-c"),
        ("search", "--regex", r"def \w+_coupon", "--vimgrep"),
        ("files", "coupon", "--json"),
        ("why", "apply coupon", "--json"),
        ("why", "apply coupon", "apply_coupon"),
        ("refs", "Catalog.Reserve"),
        ("callers", "verify_password", "--depth", "2", "--json"),
        ("callees", "authenticate"),
        ("impact", "verify_password"),
        ("context", "expired coupon", "--budget", "100000", "--format", "json"),
        ("symbols", "notes/notes/auth.py"),
    ):
        scope = ("--root-scope",) if command[0] in ("search", "files", "why", "context") else ()
        expected, found = run(*command, *one, *scope), run("cluster", *command, *many)
        assert (found.code, found.err) == (expected.code, expected.err), command
        if {"--json", "json"} & set(command):
            assert without_index(found.out) == without_index(expected.out)
        elif "--jsonl" in command:
            assert found.out.splitlines()[:-1] == expected.out.splitlines()[:-1]
        else:
            assert found.out == expected.out, command


def test_symbols_of_a_file(run: Run, fleet: Path) -> None:
    found = run("cluster", "symbols", "coupon.py", "--store", str(fleet / "store"))
    assert (found.code, found.out) == (0, "    1  function def apply_coupon(order, coupon):\n")


def test_the_store_may_lie_among_the_clones_and_in_the_settings(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(SAMPLES / "notes/repo", tmp_path / "notes")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ".configuration"))
    (tmp_path / ".configuration/codelens").mkdir(parents=True)
    (tmp_path / ".configuration/codelens/config.toml").write_text('store = "../../store"\n')
    for _ in range(2):  # the second time the store is there
        ran = run("cluster", "index", ".", "--workers", "1", cwd=tmp_path)
        assert (ran.code, ran.err.splitlines()[-1]) == (0, "codelens: 1 of 1 repository in 1 shard")
    assert run("cluster", "search", "-l", "RateLimiter", cwd=tmp_path / "notes").code == 0
    (tmp_path / "notes/.codelens.toml").write_text('store = "elsewhere"\n')
    ran = run("cluster", "search", "-l", "RateLimiter", cwd=tmp_path / "notes")
    assert ran.code == 0 and "a project may not set 'store'" in ran.err


def test_json_names_the_store_as_its_index(run: Run, fleet: Path) -> None:
    index = json.loads(run("cluster", "search", "coupon", "--json", "--store", str(fleet / "store")).out)["index"]
    assert index["path"] == str(fleet / "store")
    assert [row["name"] for row in index["repositories"]] == ["extra", "notes", "shop"]
    assert index["snapshot"] == FleetManifest.read(open_store(str(fleet / "store"))).snapshot


def test_a_missing_shard_is_noted_or_an_error_on_request(run: Run, fleet: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    shutil.copytree(fleet / "store", store)
    entry = FleetManifest.read(open_store(str(store))).shards[0]
    assert entry.repositories == ("extra",)
    (store / entry.file).unlink()
    found = run("cluster", "search", "coupon", "--store", str(store))
    assert found.code == 0
    assert "coupon.py" not in found.out
    assert "note: shard 1 of 3 (extra) did not answer" in found.err
    answer = json.loads(run("cluster", "search", "coupon", "--json", "--store", str(store)).out)
    assert [notice["code"] for notice in answer["notices"]] == ["missing"]
    refused = run("cluster", "search", "coupon", "--require-complete", "--store", str(store))
    assert (refused.code, refused.out) == (7, "")
    assert refused.err.startswith("codelens: error: shard 1 of 3 (extra) did not answer: no index at ")


def test_status_and_a_second_run_report_no_changes(run: Run, fleet: Path) -> None:
    shown = run("cluster", "status", "--store", str(fleet / "store"))
    assert shown.code == 0
    assert shown.out.splitlines()[1].startswith("repositories  3, 3 searched, ")
    record = json.loads(run("cluster", "status", "--json", "--store", str(fleet / "store")).out)
    assert [row["stale"] for row in record["repositories"]] == ["", "", ""]
    before = (fleet / "store/manifest.json").read_bytes()
    again = run("cluster", "index", str(fleet / "clones"), "--store", str(fleet / "store"), "--workers", "1")
    assert (again.code, again.err.splitlines()[-1]) == (0, "codelens: 3 of 3 repositories in 3 shards")
    assert (fleet / "store/manifest.json").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("search", "x"), 2, "no store"),
        (("search", "x", "--store", "nowhere"), 3, "no manifest in "),
        (("search", "x", "--store", "ftp://host/x"), 2, "no store at 'ftp://host/x'"),
        (("search", "x", "--store", "s", "--refresh"), 2, "--refresh is about one index"),
        (("search", "x", "--store", "s", "--db", "i.db"), 2, "--db is about one index"),
        (("search", "x", "--store", "s", "--timeout", "0"), 2, "--timeout must be above 0, not 0"),
        (("search", "x", "--store", "s", "--scheduler", "tcp://127.0.0.1:1", "--timeout", "1"), 3, "no manifest in "),
        (("index", "--store", "s"), 2, "no FLEET"),
        (("index", "nowhere", "--store", "s"), 2, "no such file or folder: "),
        (("index", ".", "--store", "s", "--workers", "0"), 2, "--workers must be from 1 to 256, not 0"),
        (("status",), 2, "no store"),
        (("status", "--store", "nowhere"), 3, "no manifest in "),
    ],
)
def test_faults_are_one_line_and_a_hint(
    arguments: tuple[str, ...], code: int, text: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run("cluster", *arguments)
    assert (ran.code, ran.out) == (code, "")
    error, hint = ran.err.splitlines()
    assert error.startswith(f"codelens: error: {text}")
    assert hint.startswith("hint: ")
    assert list(tmp_path.iterdir()) == []

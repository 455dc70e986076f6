"""`make tour`: its manifest, what it fetches and refuses, what it kills, and what it marks."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
import tarfile
import time
import tomllib
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import psutil
import pytest

from tools.tour.__main__ import main
from tools.tour.fetch import Unfetched, fetched, source_lines, unpack
from tools.tour.manifest import MANIFEST, BadManifest, Bars, Tree, read_manifest
from tools.tour.measure import MB, Limits, Row, figures, measure, spend
from tools.tour.report import as_markdown, as_text, comparison, failed, over_bars, passes, summary, table

LANGUAGES = Path(__file__).parents[2] / "codelens/lang/languages.toml"
GOLDEN = Path(__file__).parents[1] / "golden/tour.txt"
NO_LIMITS = Limits(600, 100_000 * MB)
BARS = Bars(cpu_per_mb=1.2, link_share=0.25, peak_mb=700, peak_to_mb=150, changed_s=3, changed_from_mb=100)
CHANGE: Row = {"file": "a.py", "ended": "", "wall": 2.0, "cpu": 2.5, "peak": 100 * MB}


def a_tree(**values: object) -> Tree:
    given = {
        "name": "small",
        "package": "small",
        "source": "npm",
        "version": "1.0",
        "languages": ["c"],
        "why": "it is small",
    } | values
    return Tree(**given)  # type: ignore[arg-type]


def a_row(**values: object) -> Row:
    row: Row = {"tree": "small", "version": "1.0", "ended": "", "wall": 70.0, "cpu": 110.0, "peak": 600 * MB}
    row |= {"files": 1200, "symbols": 34567, "source_bytes": 100 * MB, "index_bytes": 250 * MB}
    return row | {"phases": {"read": 80.0, "link": 20.0}, "references": {"resolved": 900, "guessed": 30}} | values


def a_tar(path: Path, files: Mapping[str, str]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
    return path


def test_the_manifest_names_every_language_that_has_a_grammar() -> None:
    _, trees = read_manifest()
    named = {language for tree in trees for language in tree.languages}
    table = tomllib.loads(LANGUAGES.read_text(encoding="utf-8"))
    project = tomllib.loads((LANGUAGES.parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extra = {re.split("[<>=]", entry)[0].replace("-", "_") for entry in project["optional-dependencies"]["languages"]}
    default = {name for name, row in table.items() if "queries" in row and row["grammar"].split(":")[0] not in extra}
    assert default <= named <= table.keys()


def test_the_manifest_has_forty_trees_with_pinned_archives() -> None:
    _, trees = read_manifest()
    assert len(trees) >= 40
    assert len({t.folder for t in trees}) == len({t.name for t in trees}) == len(trees)
    assert {"sympy", "django", "kotlin", "rails"} <= {t.name for t in trees}
    for tree in trees:
        assert tree.archives or tree.source == "clone", tree.name
        assert all(len(digest) == 64 for digest in tree.archives.values()), tree.name


def test_the_manifest_names_no_host() -> None:
    assert "://" not in MANIFEST.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("[a]\nsource = 'npm'\nversion = '1'\nlanguages = ['c']\n", "why"),
        ("[a]\nsource = 'npm'\nversion = ''\nlanguages = ['c']\nwhy = 'x'\n", "must not be empty"),
        ("[a]\nsource = 'ftp'\nversion = '1'\nlanguages = ['c']\nwhy = 'x'\n", "not one of"),
        ("[a]\nsource = 'npm'\nversion = '1'\nlanguages = ['c']\nwhy = 'x'\nsize = 3\n", "size"),
    ],
)
def test_a_bad_manifest_says_what_is_wrong(tmp_path: Path, table: str, said: str) -> None:
    bars = MANIFEST.read_text(encoding="utf-8").partition("[bars]\n")[2].partition("\n\n")[0]
    (tmp_path / "trees.toml").write_text(f"[bars]\n{bars}\n{table}", encoding="utf-8")
    with pytest.raises(BadManifest, match=said):
        read_manifest(tmp_path / "trees.toml")


def test_an_archive_is_unpacked_without_its_top_folder(tmp_path: Path) -> None:
    archive = a_tar(tmp_path / "a.tgz", {"top/a.c": "a", "top/lib/b.c": "b", "top/library/c.c": "c"})
    unpack(archive, tmp_path / "all")
    assert sorted(p.name for p in (tmp_path / "all").rglob("*.c")) == ["a.c", "b.c", "c.c"]
    unpack(archive, tmp_path / "part", ["lib"])
    assert [p.relative_to(tmp_path / "part").as_posix() for p in (tmp_path / "part").rglob("*.c")] == ["lib/b.c"]


def test_a_wheel_keeps_its_folders_and_parts_may_be_globs(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as wheel:
        for name in ("a/b.py", "a/c/d.py", "a/e.json"):
            wheel.writestr(name, "x")
    unpack(tmp_path / "a.whl", tmp_path / "tree", ["*.py"])
    assert sorted(p.relative_to(tmp_path / "tree").as_posix() for p in (tmp_path / "tree").rglob("*.*")) == [
        "a/b.py",
        "a/c/d.py",
    ]


@pytest.mark.parametrize("name", ["../outside.c", "top/../../outside.c"])
def test_a_path_outside_the_archives_root_is_refused(tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(name, "x")
    a_tar(tmp_path / "a.tgz", {"top/a.c": "a", name: "x"})
    for archive_name in ("a.tgz", "a.zip"):
        with pytest.raises(Unfetched, match="outside"):
            unpack(tmp_path / archive_name, tmp_path / "tree")
    assert not list(tmp_path.rglob("outside.c"))
    assert not (tmp_path / "tree").exists()


def test_links_are_left_out(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tgz", "w:gz") as tar:
        link = tarfile.TarInfo("top/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc"
        tar.addfile(link)
        tar.addfile(tarfile.TarInfo("top/a.c"))
    unpack(tmp_path / "a.tgz", tmp_path / "tree")
    assert [p.name for p in (tmp_path / "tree").iterdir()] == ["a.c"]


def test_an_archive_that_is_there_is_verified_and_unpacked_once(tmp_path: Path) -> None:
    tree = a_tree(archives={"a.tgz": "0" * 64})
    store = tmp_path / "archives" / tree.folder
    store.mkdir(parents=True)
    a_tar(store / "a.tgz", {"top/a.c": "a"})
    with pytest.raises(Unfetched, match=r"a\.tgz is missing, not in the manifest, or has another SHA-256"):
        fetched(tree, tmp_path)
    assert not (tmp_path / tree.folder).exists()
    root = fetched(a_tree(), tmp_path)
    (store / "a.tgz").unlink()
    assert fetched(a_tree(), tmp_path) == root
    assert (root / "a.c").read_text(encoding="utf-8") == "a"


def test_an_unknown_digest_is_printed_for_the_manifest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = tmp_path / "archives" / a_tree().folder
    store.mkdir(parents=True)
    a_tar(store / "a.tgz", {"top/a.c": "a"})
    fetched(a_tree(), tmp_path)
    assert capsys.readouterr().err.startswith('small: archives = { "a.tgz" = "')


def test_the_package_manager_fetches_all_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trees, npm = tmp_path / "trees", tmp_path / "bin/npm"
    trees.mkdir()
    npm.parent.mkdir()
    npm.write_text(
        "#!/bin/sh\ntouch half.tgz; echo 'npm error 404 none at https://host.example/$3' >&2; exit 1\n",
        encoding="utf-8",
    )
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", str(npm.parent) + os.pathsep + os.environ["PATH"])
    with pytest.raises(Unfetched, match=r"^npm: npm error 404 none at …$"):
        fetched(a_tree(), trees)
    assert not list(trees.rglob("*.tgz"))
    archive = a_tar(tmp_path / "a.tgz", {"package/a.c": "a"})
    npm.write_text(f"#!/bin/sh\ntest \"$*\" = 'pack --ignore-scripts small@1.0' && cp {archive} .\n", encoding="utf-8")
    assert [p.name for p in fetched(a_tree(), trees).iterdir()] == ["a.c"]


def test_a_broken_archive_is_refused(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar.xz", "w:xz") as tar:
        tar.addfile(tarfile.TarInfo("top/a.c"))
    content = (tmp_path / "a.tar.xz").read_bytes()
    (tmp_path / "a.tar.xz").write_bytes(content[: len(content) // 2])
    with pytest.raises(Unfetched, match=r"^a\.tar\.xz: "):
        unpack(tmp_path / "a.tar.xz", tmp_path / "tree")


def test_sources_come_only_from_the_main_debian_archive() -> None:
    modern = "Types: deb\nURIs: http://host.example/debian\nSuites: stable\n\nTypes: deb\nURIs: http://host.example/debian-security\n"
    assert source_lines(modern) == "Types: deb-src\nURIs: http://host.example/debian\nSuites: stable\n\n"
    old = "deb [signed-by=/a] http://host.example/debian stable main\ndeb http://other.example/tools stable main\n# deb x\n"
    assert source_lines(old) == "deb-src [signed-by=/a] http://host.example/debian stable main\n\n"


WORKERS = """
import subprocess, sys
worker = "import os, sys, time; open(str(os.getpid()), 'w').close(); held = bytearray(int(sys.argv[1])); time.sleep(600)"
workers = [subprocess.Popen([sys.executable, "-c", worker, sys.argv[1]]) for _ in range(2)]
for worker in workers:
    worker.wait()
"""
"""Starts two workers that leave a file named after their process id, hold so many bytes, and do not end."""


@pytest.mark.parametrize(
    ("limits", "ended"),
    [
        (Limits(600, 150 * MB), "memory limit"),  # neither worker is over it alone
        (Limits(1, 100_000 * MB), "time limit"),
    ],
)
def test_a_run_over_a_limit_is_killed_with_its_children(tmp_path: Path, limits: Limits, ended: str) -> None:
    spent = spend([sys.executable, "-c", WORKERS, str(100 * MB)], limits, tmp_path)
    assert spent.ended == ended
    assert spent.wall > 0
    workers = [int(path.name) for path in tmp_path.iterdir()]
    if ended == "memory limit":
        assert len(workers) == 2
        assert spent.peak > 150 * MB
    for pid in workers:
        wait_for_the_end(pid)


def wait_for_the_end(pid: int) -> None:
    """A killed process is gone, or waits to be reaped, a moment later; one that lives on fails the test."""
    for _ in range(600):
        with contextlib.suppress(psutil.NoSuchProcess):
            if psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                time.sleep(0.1)
                continue
        return
    pytest.fail(f"process {pid} lives on")


def test_a_run_is_charged_with_its_children_and_their_errors(tmp_path: Path) -> None:
    burn = "import time\nwhile time.process_time() < 1: pass"
    spent = spend(
        [sys.executable, "-c", f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {burn!r}])"],
        NO_LIMITS,
        tmp_path,
    )
    assert spent.ended == ""
    assert spent.cpu >= 1
    assert spent.peak > 0
    spent = spend([sys.executable, "-c", "import sys\nsys.exit('no such tree')"], NO_LIMITS, tmp_path)
    assert spent.ended == "exit code 1: no such tree"


@pytest.mark.slow
def test_a_tree_is_indexed_changed_and_restored(tmp_path: Path) -> None:
    root = tmp_path / "tree"
    root.mkdir()
    for name in ("a", "b", "c"):
        (root / f"{name}.py").write_text(f"def {name}():\n    return 1\n", encoding="utf-8")
    before = {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in root.iterdir()}
    row = measure(a_tree(), root, NO_LIMITS, change_all=True)
    assert failed(row) == ""
    assert (row["files"], row["symbols"], row["languages"]) == (3, 3, {"python": 3})
    assert row["change"]["file"] == "b.py"
    assert {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in root.iterdir()} == before
    assert [p.name for p in tmp_path.iterdir()] == ["tree"]


def test_figures_take_whatever_phases_and_references_there_are() -> None:
    common = {"indexed": 2, "symbols": 5, "source_bytes": 100, "languages": {"c": 2}}
    old = figures({"repositories": [common | {"index_bytes": 300}]})
    assert (old["files"], old["index_bytes"], old["phases"], old["references"]) == (2, 300, {}, {})
    one = common | {"index_bytes": 900, "cpu_seconds": {"read": 1.5, "link": 0.5}, "references": {"resolved": 7}}
    two = common | {"index_bytes": 900, "cpu_seconds": {"read": 1.0, "finish": 2.0}, "references": {"guessed": 1}}
    both = figures({"repositories": [one, two]})
    assert (both["files"], both["symbols"], both["index_bytes"]) == (4, 10, 900)
    assert both["phases"] == {"read": 2.5, "link": 0.5, "finish": 2.0}
    assert both["references"] == {"resolved": 7, "guessed": 1}


@pytest.mark.parametrize(
    ("values", "over"),
    [
        ({"change": CHANGE}, []),
        ({"cpu": 121.0}, ["CPU s/MB"]),
        ({"phases": {"read": 70.0, "link": 30.0}}, ["link share"]),
        ({"phases": {"read": 30.0, "link": 10.0}}, []),
        ({"peak": 701 * MB}, ["peak MB"]),
        ({"peak": 701 * MB, "source_bytes": 151 * MB}, []),
        ({"bar_cpu_s": 100.0}, ["CPU s"]),
        ({"change": CHANGE | {"wall": 3.1}}, ["changed s"]),
        ({"change": CHANGE | {"wall": 3.1}, "source_bytes": 99 * MB}, []),
    ],
)
def test_a_figure_over_its_bar_is_marked(values: Row, over: list[str]) -> None:
    row = a_row(**values)
    assert over_bars(row, BARS) == over
    head, line = table([row], BARS)
    assert [name for name, cell in zip(head, line, strict=True) if cell.endswith("!")] == over
    assert passes([row], BARS) == (not over)


def test_what_did_not_finish_fails_and_is_shown(rows: list[Row], golden: Callable[[Path, str], None]) -> None:
    golden(GOLDEN, as_text(list(table(rows, BARS))) + "\n" + summary(rows, BARS) + "\n")
    assert not passes(rows, BARS)


@pytest.fixture
def rows() -> list[Row]:
    killed = {"tree": "endless", "version": "1", "ended": "time limit", "wall": 601.2, "cpu": 600.0, "peak": 3000 * MB}
    return [
        a_row(change=CHANGE),
        killed,
        {"tree": "absent", "version": "1", "ended": "not fetched: npm: no such version"},
    ]


def test_two_results_are_compared_by_tree(rows: list[Row]) -> None:
    finished = rows[1] | a_row(tree="endless", cpu=150.0, wall=100.0)
    head, small, endless, absent = comparison({"rows": rows[:2]}, {"rows": [a_row(cpu=55.0), finished, rows[2]]})
    cells = dict(zip(head, small, strict=True))
    assert (cells["CPU s"], cells["changed s"], cells["out of fuel"]) == ("110.0 → 55.0 (×0.50)", "2.0 → –", "–")
    assert dict(zip(head, endless, strict=True))["symbols"] == "– → 34 567"
    assert endless[-1] == "time limit → ok"
    assert absent[-1] == "not measured → not fetched: npm: no such version"


def test_results_are_printed_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, cpu in (("before", 110.0), ("after", 100.0)):
        (tmp_path / f"{name}.json").write_text(json.dumps({"rows": [a_row(cpu=cpu)]}), encoding="utf-8")
    assert main(["--compare", str(tmp_path / "before.json"), str(tmp_path / "after.json"), "--markdown"]) == 0
    head, rule, line = capsys.readouterr().out.splitlines()
    assert head.startswith("| tree | symbols | CPU s |")
    assert rule.startswith("|---|---:|")
    assert "| 110.0 → 100.0 (×0.91) |" in line


def test_a_pipe_in_a_cell_does_not_end_it() -> None:
    assert as_markdown([["tree", "ended"], ["a", "x | y"]]).splitlines()[-1] == "| a | x \\| y |"


def test_a_tree_that_is_there_is_measured_and_written_as_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = next(t for t in read_manifest()[1] if t.name == "type-fest")
    (tmp_path / tree.folder).mkdir()
    (tmp_path / tree.folder / "a.ts").write_text("export type A = string;\n", encoding="utf-8")
    out = tmp_path / "out.json"
    # One file of a line is over the bar of CPU seconds per MB, by the time that the interpreter takes to start.
    assert main([str(tmp_path), "--only", "type-fest", "--out", str(out)]) == 1
    result = json.loads(out.read_text(encoding="utf-8"))
    assert result.keys() == {"commit", "date", "cores", "python", "limits", "rows"}
    assert [(r["tree"], r["files"], r["ended"]) for r in result["rows"]] == [("type-fest", 1, "")]
    assert capsys.readouterr().out.endswith("1 trees: 1 over a bar, 0 not finished\n")


def test_an_unknown_tree_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([str(tmp_path), "--only", "sympi"])
    assert "not in the manifest: sympi" in capsys.readouterr().err


def test_a_clone_must_be_there(tmp_path: Path) -> None:
    tree = a_tree(source="clone", version="v2")
    with pytest.raises(Unfetched, match=r"clone small at v2 into .*small-v2"):
        fetched(tree, tmp_path)
    (tmp_path / "small-v2").mkdir()
    assert fetched(tree, tmp_path) == tmp_path / "small-v2"


def test_a_large_tree_has_a_bar_of_its_own_for_memory_alone() -> None:
    large = a_row(source_bytes=400 * MB, peak=800 * MB, change=CHANGE | {"wall": 20.0})
    assert over_bars(large, BARS) == ["changed s"]
    assert over_bars(large | {"bar_peak_mb": 700}, BARS) == ["peak MB"]
    assert over_bars(large | {"bar_peak_mb": 1000}, BARS) == []


def test_trees_above_the_common_bar_for_memory_have_one() -> None:
    _, trees = read_manifest()
    large = {tree.name: tree.peak_mb for tree in trees if tree.peak_mb}
    assert len(large) >= 10
    assert max(bar for name, bar in large.items() if name != "linux") <= 700


def test_a_tree_may_take_its_own_time(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/a.py").write_text("def f(): pass\n")
    limits = Limits(0.01, 100_000 * MB)
    assert measure(a_tree(), tmp_path / "tree", limits)["ended"] == "time limit"
    assert measure(a_tree(seconds=600), tmp_path / "tree", limits)["ended"] == ""

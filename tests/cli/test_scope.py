"""codelens test-scope: from symbols, files and changes of a git tree to the tests that reach them, over real edges."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from codelens.index import Index
from codelens.processes.python import filter_environment
from codelens.worktree.place import prepare_index_folder
from tests.commands import Run, SpanRun
from tests.render.schema import check
from tests.search.trees import QUICK
from tests.worktree.conftest import git, git_tree

FOUND, NOTHING, WRONG = 0, 1, 2
SHOP = {
    "shop/__init__.py": "",
    "shop/price.py": "RATE = 2\n\n\ndef price(line):\n    return line * RATE\n\n\ndef unused(line):\n    return line\n",
    "shop/cart.py": "from shop.price import price\n\n\nclass Cart:\n"
    "    def total(self, lines):\n        return sum(price(x) for x in lines)\n",
    "shop/lamp.py": "def light(level):\n    return level + 1\n",
    "tests/conftest.py": "import pytest\n\nfrom shop.cart import Cart\n\n\n"
    "@pytest.fixture\ndef filled():\n    return Cart().total([1, 2])\n",
    "tests/test_cart.py": "from shop.cart import Cart\n\n\n"
    "class TestCart:\n    def test_total(self):\n        assert Cart().total([1]) == 2\n\n\n"
    "def test_filled(filled):\n    assert filled == 6\n",
    "tests/test_lamp.py": "from shop.lamp import light\n\n\ndef checked(level):\n    return light(level)\n\n\n"
    "def test_light():\n    assert checked(1) == 2\n",
    "tests/test_rate.py": "from shop import price\n\n\ndef test_rate():\n    assert price.RATE == 2\n",
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A git tree with its index; tests leave it as it is."""
    root = git_tree(tmp_path_factory.mktemp("shop") / "tree", SHOP)
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "-m", "first")
    indexed(root)
    return root


def indexed(root: Path) -> None:
    prepare_index_folder(root / ".codelens/index.db")  # keeps it out of git
    Index.build(root / ".codelens/index.db", [root], QUICK)


def lines(ran: SpanRun) -> list[str]:
    return ran.out.splitlines()


def test_tests_of_a_symbol_are_found_through_its_callers(shop: Path, run: Run) -> None:
    ran = run("test-scope", "price", "--format", "{depth} {pytest} {through}", cwd=shop)
    assert ran.code == FOUND
    assert lines(ran) == [
        "2 tests/test_cart.py::TestCart::test_total Cart.total",
        "3 tests/test_cart.py::test_filled Cart.total filled",
    ]


def test_tests_of_a_file_include_those_of_its_importers(shop: Path, run: Run) -> None:
    assert lines(run("test-scope", "shop/lamp.py", cwd=shop)) == ["tests/test_lamp.py"]
    assert lines(run("test-scope", "shop/price.py", "shop/lamp.py", cwd=shop)) == [
        "tests/test_rate.py",
        "tests/test_cart.py",
        "tests/test_lamp.py",
    ]


def test_a_helper_is_no_test_and_its_caller_is(shop: Path, run: Run) -> None:
    ran = run("test-scope", "light", "--format", "{qualified_name}", cwd=shop)
    assert lines(ran) == ["test_light"]


def test_no_tests_exit_with_1(shop: Path, run: Run) -> None:
    ran = run("test-scope", "unused", "--json", cwd=shop)
    assert (ran.code, json.loads(ran.out)["tests"], json.loads(ran.out)["exit_code"]) == (NOTHING, [], NOTHING)


def test_json_fits_the_schema(shop: Path, run: Run) -> None:
    record = json.loads(run("test-scope", "price", "--json", cwd=shop).out)
    check(record, "test_scope")
    assert [t["through"] for t in record["tests"]] == [["Cart.total"], ["Cart.total", "filled"]]
    assert [t["name"] for t in record["touched"]] == ["price"]


@pytest.mark.slow
def test_pytest_runs_what_it_names(shop: Path, run: Run) -> None:
    ids = lines(run("test-scope", "price", "--format", "pytest", cwd=shop))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", ".", *ids]
    # A test of a fleet may have had all children of this process ignore the current folder.
    ran = subprocess.run(command, cwd=shop, env=filter_environment(), capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout
    assert "2 passed" in ran.stdout


@pytest.fixture
def changed(tmp_path: Path) -> Path:
    root = git_tree(tmp_path / "tree", SHOP)
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "-m", "first")
    (root / "shop/lamp.py").write_text("def light(level):\n    return level + 2\n")
    git(root, "commit", "--quiet", "--all", "-m", "brighter")
    indexed(root)
    return root


def test_tests_of_a_range_of_commits(changed: Path, run: Run) -> None:
    assert lines(run("test-scope", "--pr", "HEAD~1..HEAD", cwd=changed)) == ["tests/test_lamp.py"]


def test_tests_of_a_diff_in_a_file(changed: Path, run: Run) -> None:
    (changed / "last.diff").write_bytes(git(changed, "diff", "HEAD~1"))
    assert lines(run("test-scope", "--diff", "last.diff", cwd=changed)) == ["tests/test_lamp.py"]


def test_tests_of_staged_changes_alone(changed: Path, run: Run) -> None:
    assert run("test-scope", "--staged", cwd=changed).code == NOTHING
    (changed / "shop/price.py").write_text(SHOP["shop/price.py"].replace("line * RATE", "line * RATE + 0"))
    git(changed, "add", "shop/price.py")
    (changed / "shop/lamp.py").write_text("def light(level):\n    return level + 3\n")
    assert lines(run("test-scope", "--staged", cwd=changed)) == ["tests/test_cart.py"]


def test_a_changed_test_is_listed_itself(changed: Path, run: Run) -> None:
    (changed / "tests/test_rate.py").write_text(SHOP["tests/test_rate.py"].replace("== 2", "== 3 - 1"))
    git(changed, "add", "--all")
    assert lines(run("test-scope", "--staged", "--format", "{depth} {pytest}", cwd=changed)) == [
        "0 tests/test_rate.py::test_rate"
    ]


def test_what_is_staged_runs_nothing_that_the_repository_configures(changed: Path, run: Run, tmp_path: Path) -> None:
    trace = tmp_path / "ran"
    spy = f"sh -c 'touch {trace}; cat'"
    (changed / ".gitattributes").write_text("*.py filter=spy diff=spy\n")
    for key in ("filter.spy.clean", "filter.spy.smudge", "diff.spy.textconv", "diff.spy.command", "core.fsmonitor"):
        git(changed, "config", key, spy)
    (changed / "shop/lamp.py").write_text("def light(level):\n    return level + 4\n")
    blob = git(changed, "hash-object", "-w", "--no-filters", "shop/lamp.py").decode().strip()
    git(changed, "update-index", "--cacheinfo", f"100644,{blob},shop/lamp.py")
    trace.unlink(missing_ok=True)
    assert lines(run("test-scope", "--staged", cwd=changed)) == ["tests/test_lamp.py"]
    assert not trace.exists()


def test_null_ends_each_path_with_a_nul_byte(shop: Path, run: Run) -> None:
    assert run("test-scope", "shop/price.py", "-0", cwd=shop).out == "tests/test_rate.py\0tests/test_cart.py\0"


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["price", "--staged"],
        ["--diff", "no/such/file"],
        ["--diff", "nowhere..HEAD"],
        ["no_such_name"],
        ["price", "--depth", "0"],
        ["price", "--min-confidence", "7"],
        ["price", "--format", "{nothing}"],
    ],
)
def test_contradictory_changes_are_refused(arguments: list[str], shop: Path, run: Run) -> None:
    ran = run("test-scope", *arguments, cwd=shop)
    assert (ran.code, ran.out) == (WRONG, "")
    assert ran.err.startswith("codelens: error: ")


OTHERS = {
    "lamp.go": "package lamp\n\nfunc Light(x int) int { return x }\n",
    "lamp_test.go": 'package lamp\n\nimport "testing"\n\nfunc help(x int) int { return Light(x) }\n\n'
    "func TestLight(t *testing.T) { help(1) }\n\nfunc BenchmarkLight(b *testing.B) { Light(1) }\n",
    "src/Bulb.java": "package a;\npublic class Bulb { public static int glow(int x) { return x; } }\n",
    "test/BulbTest.java": "package a;\nimport org.junit.Test;\npublic class BulbTest {\n"
    "  @Test\n  public void glows() { Bulb.glow(1); }\n"
    "  int other() { return Bulb.glow(2); }\n}\n",
    "wick.js": "export function burn(x) { return x; }\n",
    "tests/wick.spec.js": "import { burn } from '../wick.js';\n\ndescribe('wick', () => { it('burns', () => { burn(1); }); });\n",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "tests"),
    [
        ("Light", ["lamp_test.go BenchmarkLight", "lamp_test.go TestLight"]),
        ("glow", ["test/BulbTest.java BulbTest", "test/BulbTest.java BulbTest.glows"]),
        ("burn", ["tests/wick.spec.js "]),
    ],
)
def test_tests_of_other_languages_are_found(target: str, tests: list[str], tmp_path: Path, run: Run) -> None:
    root = git_tree(tmp_path / "tree", OTHERS)
    indexed(root)
    assert lines(run("test-scope", target, "--format", "{path} {qualified_name}", cwd=root)) == tests

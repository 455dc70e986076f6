"""Shared by all tests: the --golden option, the reader of case files, and fixtures that run commands and make indexes."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from importlib.metadata import Distribution, requires
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from packaging.requirements import Requirement

from tests import tiers
from tests.commands import SAMPLES, Run, SpanRun

TESTS = Path(__file__).parent
SEPARATOR = "\n---\n"

# No test asserts a time: a busy machine draws examples slowly.
# The tiers draw the same examples each time, so that a change is judged by itself; campaigns draw others.
settings.register_profile(
    "codelens", deadline=None, derandomize=True, max_examples=20, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("all", settings.get_profile("codelens"), max_examples=40)
settings.register_profile("many", settings.get_profile("all"), derandomize=False)
settings.load_profile("codelens")

# The keys that mark indexes, and the lists of accepted ones, are not those of the person who runs the tests.
_home = Path(tempfile.mkdtemp(prefix="codelens-tests-"))
atexit.register(shutil.rmtree, _home, ignore_errors=True)
os.environ.setdefault("PLAYWRIGHT_BROWSERS_PATH", str(Path.home() / ".cache/ms-playwright"))
if (_git := Path.home() / ".gitconfig").is_file():  # the author of the commits that tests make
    shutil.copy(_git, _home)
os.environ.update({"HOME": str(_home), "LOCALAPPDATA": str(_home), "XDG_DATA_HOME": str(_home / "data")})
# What a test starts answers by itself; test_warm.py asks others.
os.environ["CODELENS_WARM"] = "false"

# Who starts the suite in the background has it ignore SIGINT, and what it starts too: then none could be interrupted.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--golden", action="store_true", help="rewrite expected texts; a person reads the diff")
    parser.addoption("--all", action="store_true", help="run tests marked slow too, and draw twice as many examples")
    parser.addoption(
        "--many",
        action="store_true",
        help="the same, with ten times as many examples, new ones each time: for campaigns",
    )
    parser.addoption("--slow", action="store_true", help="run only the tests marked slow, those that --all adds")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--many"):
        config.option.all, tiers.share = True, 1.0
    elif config.getoption("--all") or config.getoption("--slow"):
        tiers.share = 0.2
    if tiers.share > 0.1 and (missing := sorted(_missing_packages("dev"))):
        raise pytest.UsageError(
            f"tests would be skipped without {', '.join(missing)}: make test-all installs all packages"
        )
    settings.load_profile("many" if config.getoption("--many") else "all" if config.getoption("--all") else "codelens")


def _missing_packages(extra: str) -> Iterator[str]:
    """Names of the packages of an extra of codelens that are not installed."""
    for line in requires("codelens") or ():
        requirement = Requirement(line)
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        if requirement.name == "codelens":
            for inner in requirement.extras:
                yield from _missing_packages(inner)
        elif not [*Distribution.discover(name=requirement.name)]:
            yield requirement.name


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests marked `slow`, or all others with --slow, unless --all is given or a test is named on the command line."""
    if config.getoption("--all") or any("::" in argument for argument in config.args):
        return
    slow = [item for item in items if item.get_closest_marker("slow")]
    others = [item for item in items if not item.get_closest_marker("slow")]
    items[:], left_out = (slow, others) if config.getoption("--slow") else (others, slow)
    config.hook.pytest_deselected(items=left_out)


@pytest.fixture(scope="session", autouse=True)
def _shared_workers() -> Iterator[None]:
    """Builds in the process of the tests share workers, but in campaigns; commands that tests start have their own."""
    from tests.workers import LentWorkers, close_idle_workers

    with pytest.MonkeyPatch.context() as patch:
        if not tiers.many():
            patch.setattr("codelens.indexing.pipeline.KeptWorkers", LentWorkers)
            if hasattr(os, "register_at_fork"):  # a fork has none of the threads that serve workers
                os.register_at_fork(after_in_child=patch.undo)
        yield
    close_idle_workers()


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[Path, str], None]:
    """Compare a text with a golden file, or write it there under --golden."""

    def check(path: Path, actual: str) -> None:
        if request.config.getoption("--golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(actual, encoding="utf-8", newline="\n")
        assert path.read_text(encoding="utf-8") == actual

    return check


@pytest.fixture
def case(request: pytest.FixtureRequest) -> Callable[[Path, Callable[[str], str]], None]:
    """Check a case file: input, a line `---`, and the text that `render(input)` must give."""

    def check(path: Path, render: Callable[[str], str]) -> None:
        source, _, expected = path.read_text(encoding="utf-8").partition(SEPARATOR)
        actual = render(source + "\n")
        if request.config.getoption("--golden"):
            path.write_text(source + SEPARATOR + actual, encoding="utf-8", newline="\n")
        else:
            assert actual == expected

    return check


def case_files(folder: str) -> list[Path]:
    return sorted((TESTS / "cases" / folder).rglob("*.txt"))


@pytest.fixture
def plain_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No colour settings, no user's configuration, an empty cache, and a terminal of 100 columns."""
    for name in ("NO_COLOR", "FORCE_COLOR", "CODELENS_LIMIT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "no-config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("LINES", "40")


@pytest.fixture
def run(capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Run:
    """run(*arguments, cwd=…) → exit code and both streams, in this process."""
    from codelens.cli.main import main

    def go(*arguments: str, cwd: Path | None = None) -> SpanRun:
        if cwd is not None:
            monkeypatch.chdir(cwd)
        code = main(list(arguments))
        out, err = capsysbinary.readouterr()
        return SpanRun(code, out.decode("utf-8", "surrogateescape"), err.decode("utf-8", "replace"), out)

    return go


@pytest.fixture(scope="session")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with notes/ and shop/ in one index; tests do not change it."""
    from codelens.cli.main import main

    folder = tmp_path_factory.mktemp("samples")
    for name in ("notes", "shop"):
        shutil.copytree(SAMPLES / name / "repo", folder / name)
    code = main(
        ["index", str(folder / "notes"), str(folder / "shop"), "--db", str(folder / ".codelens/index.db"), "-q"]
    )
    assert code == 0
    return folder


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four indexed files, each with a word that its 200 functions hold: no word is so common that it is not ranked."""
    from codelens.index import Index
    from tests.search.trees import QUICK, functions

    folder = tmp_path_factory.mktemp("large")
    for number, word in enumerate(("widget", "mixer", "kettle", "toaster")):
        (folder / f"{number}.py").write_text(functions(200, word))
    ship = folder / "harbour/quay/ship.py"
    ship.parent.mkdir(parents=True)
    ship.write_text("def other():\n    return 1\n")
    (folder / ".codelens").mkdir()
    Index.build(folder / ".codelens/index.db", [folder], QUICK)
    return folder

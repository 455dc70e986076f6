from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the extra `serve` is not installed")

from starlette.testclient import TestClient

from codelens.config import Settings
from codelens.index import Index
from codelens.server.http.app import make_application
from codelens.server.http.desk import AnswerCache, QueryDesk
from codelens.server.http.gate import Buckets, Rules, make_rules

SAMPLES = Path(__file__).parents[3] / "sample_repos"
LOOPBACK = make_rules("127.0.0.1")
Serve = Callable[..., TestClient]


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of copies of the sample repositories, which no test changes."""
    folder = tmp_path_factory.mktemp("served")
    for name in ("shop", "notes"):
        shutil.copytree(SAMPLES / name / "repo", folder / name)
    Index.build(folder / "index.db", [folder / "shop", folder / "notes"], Settings(jobs=1))
    return folder / "index.db"


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Makes clients of servers in this process; each ends with the test."""
    started: list[tuple[TestClient, QueryDesk]] = []

    def start(
        index: Path,
        rules: Rules = LOOPBACK,
        keys: Path | None = None,
        settings: Settings | None = None,
        buckets: Buckets | None = None,
        answers: AnswerCache | None = None,
        workers: int = 0,
    ) -> TestClient:
        desk = QueryDesk(index, settings or Settings(), workers, answers)
        app = make_application(desk, rules, keys, buckets)
        client = TestClient(app, base_url="http://127.0.0.1:8640", raise_server_exceptions=False)
        started.append((client.__enter__(), desk))
        return client

    yield start
    for client, desk in started:
        client.__exit__(None, None, None)
        desk.close()


@pytest.fixture
def client(serve: Serve, built: Path) -> TestClient:
    return serve(built)

"""The OpenAPI document matches the server: each address gets requests that its schema allows, and some that it does not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from starlette.testclient import TestClient

from codelens.config import Settings
from codelens.server.http.answers import ENDPOINTS
from codelens.server.http.app import make_application
from codelens.server.http.desk import QueryDesk
from codelens.server.http.gate import Rules
from codelens.server.http.openapi import build_document

pytestmark = pytest.mark.slow

schemathesis = pytest.importorskip("schemathesis")
EXAMPLES = 3  # Of each operation and each kind, so that all of it takes some ten seconds


@pytest.fixture(scope="module")
def operations(built: Path) -> Iterator[Any]:
    """The operations of the served document. The gate has tests of its own, so it lets every Host pass here."""
    desk = QueryDesk(built, Settings())
    app = make_application(desk, Rules(False, None), None)
    # 400 is said of fields that make no sense together: no schema of fields can know that.
    accepted = {"checks": {"positive_data_acceptance": {"expected-statuses": [200, 400, 404]}}}
    yield schemathesis.openapi.from_asgi("/openapi.json", app, config=schemathesis.Config.from_dict(accepted))
    desk.close()


@pytest.mark.parametrize("wrong", [False, True], ids=["allowed", "not allowed"])
@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("name", sorted(ENDPOINTS))
def test_answers_are_as_described(operations: Any, name: str, method: str, wrong: bool) -> None:
    mode = schemathesis.GenerationMode.NEGATIVE if wrong else schemathesis.GenerationMode.POSITIVE

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operations[f"/api/{name}"][method].as_strategy(generation_mode=mode))
    def ask(case: Any) -> None:
        case.call_and_validate()

    ask()


def test_every_endpoint_is_described(client: TestClient) -> None:
    document = client.get("/openapi.json").json()
    assert set(document["paths"]) == {f"/api/{name}" for name in ENDPOINTS}
    assert document == build_document()
    for path in document["paths"].values():
        assert set(path) == {"get", "post"}
    search = {p["name"]: p["schema"] for p in document["paths"]["/api/search"]["get"]["parameters"]}
    assert (search["limit"]["default"], search["limit"]["maximum"]) == (20, 100)
    assert "q" in search
    for endpoint in ENDPOINTS.values():
        assert document["components"]["schemas"][endpoint.request_model.__name__]["additionalProperties"] is False

"""How many statements it takes to read rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from codelens.store.store import Store
from tests.steps import statements


@pytest.fixture
def index(indexed: Path) -> Path:
    return indexed / ".codelens/index.db"


def test_rows_of_documents_take_one_statement_whatever_their_number(index: Path) -> None:
    with Store.read(index) as store:
        ids = [row.id for row in store.documents.read_rows()]
    assert len(ids) > 20

    def read(number: int) -> int:
        def run() -> None:
            with Store.read(index) as store:
                assert [row.id for row in store.documents.read_rows(ids[:number])] == ids[:number]

        return statements(run)

    assert read(len(ids)) == read(1)


def test_an_index_that_cannot_change_is_asked_for_a_value_once(index: Path) -> None:
    def ask(times: int) -> int:
        def run() -> None:
            with Store.read(index) as store:
                assert len({store.read_meta("embedder") for _ in range(times)}) == 1
                assert [store.read_meta("no such key", "default") for _ in range(times)] == ["default"] * times

        return statements(run)

    assert ask(10) == ask(1)

"""Histories in the index are stored by path, independently of the documents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from codelens.model.history import History, HistoryRead
from codelens.store.documents import RepositoryRow
from codelens.store.store import Store
from tests.indexing.documents import derived

READ = HistoryRead("c0ffee", "terms", time=1000, commits=7, whole=True)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.write(tmp_path / "index.db") as store:
        yield store


@pytest.fixture
def repository(store: Store, tmp_path: Path) -> RepositoryRow:
    return store.documents.add_repositories([tmp_path / "tree"])[0]


def test_stored_histories_are_read_back(store: Store, repository: RepositoryRow) -> None:
    assert store.history.read(repository.id) is None
    with store.writing():
        store.history.replace(repository.id, READ, {"a.py": History(3, 900), "b.py": History(1, 20)})
    assert store.history.read(repository.id) == READ
    with store.writing():
        store.history.replace(repository.id, READ, {"a.py": History(4, 950), "c.py": History(1, 950)})
    assert store.history.by_path(repository.id) == {"a.py": History(4, 950), "c.py": History(1, 950)}


def test_histories_of_documents_are_found_by_path(store: Store, repository: RepositoryRow, tmp_path: Path) -> None:
    other = store.documents.add_repositories([tmp_path / "other"])[0]
    with store.writing():
        store.history.replace(repository.id, READ, {"a.py": History(3, 900), "gone.py": History(9, 20)})
        a = store.add_document(repository.id, derived("a.py", b"x = 1\n"))
        b = store.add_document(repository.id, derived("b.py", b"x = 1\n"))
        c = store.add_document(other.id, derived("a.py", b"x = 1\n"))
    assert store.history.of([c, b, a, a]) == {a: History(3, 900)}
    assert store.history.most_commits(repository.id) == 3, "a file that is gone does not count"
    assert store.history.most_commits(other.id) == 0
    with store.writing():
        store.remove_document(a)
    assert store.history.of([a]) == {}
    assert store.history.most_commits(repository.id) == 0

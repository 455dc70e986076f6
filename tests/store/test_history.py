"""Histories in the index are stored by path, independently of the documents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from codelens.model.history import MASS_CHANGE, FileHistory, HistoryRead, PastCommit
from codelens.store.documents import RepositoryRow
from codelens.store.store import Store
from codelens.worktree.history import collect_histories
from tests.indexing.documents import derived

READ = HistoryRead("c0ffee", "terms", time=1000, commits=7, whole=True)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.write(tmp_path / "index.db") as store:
        yield store


@pytest.fixture
def repository(store: Store, tmp_path: Path) -> RepositoryRow:
    return store.documents.add_repositories([tmp_path / "tree"])[0]


def commit(name: str, time: int, subject: str, *paths: str, body: str = "") -> PastCommit:
    return PastCommit(name * 40, time, subject, body, paths, ())


def store_commits(store: Store, repository: RepositoryRow, *commits: PastCommit) -> None:
    with store.writing():
        store.history.replace(
            repository.id, READ, commits, collect_histories(commits), store.history.read_commits(repository.id)
        )


def test_stored_histories_are_read_back(store: Store, repository: RepositoryRow) -> None:
    assert store.history.read(repository.id) is None
    first = commit("a", 20, "m", "a.py", "b.py")
    store_commits(store, repository, commit("b", 900, "m", "a.py"), first)
    assert store.history.read(repository.id) == READ
    moved = PastCommit("c" * 40, 950, "move", "body", ("a.py", "c.py"), (("a.py", "c.py"),))
    store_commits(store, repository, moved, first)
    assert set(store.history.read_commits(repository.id).values()) == {first, moved}
    assert store.history.list_newest_paths(repository.id, 9) == ["c.py", "b.py"]


def test_histories_of_documents_are_found_by_path(store: Store, repository: RepositoryRow, tmp_path: Path) -> None:
    other = store.documents.add_repositories([tmp_path / "other"])[0]
    store_commits(store, repository, commit("b", 900, "m", "a.py"), commit("a", 20, "m", "a.py", "gone.py"))
    with store.writing():
        a = store.add_document(repository.id, derived("a.py", b"x = 1\n"))
        b = store.add_document(repository.id, derived("b.py", b"x = 1\n"))
        c = store.add_document(other.id, derived("a.py", b"x = 1\n"))
    assert store.history.find_changes([c, b, a, a]) == {a: FileHistory(2, 900)}
    with store.writing():
        store.remove_document(a)
    assert store.history.find_changes([a]) == {}


def test_messages_are_found_by_their_words(store: Store, repository: RepositoryRow) -> None:
    commits = (
        commit("d", 40, "Rename everything", *(f"{n}.py" for n in range(MASS_CHANGE + 1))),
        commit("c", 30, "Reject expired coupons", "a.py", "b.py"),
        commit("b", 20, "Add coupons", "a.py", body="They expire after a month."),
        commit("a", 10, "Add fees", "b.py"),
    )
    store_commits(store, repository, *commits)
    with store.writing():
        a, b, c = (store.add_document(repository.id, derived(f"{name}.py", b"x = 1\n")) for name in "ab0")
    messages = store.messages
    assert messages.read_totals() == (4, 2, pytest.approx(2 + 2**0.5))
    assert [messages.count_messages(word) for word in ("expire", "coupon", "fees", "tide")] == [2, 2, 1, 0]
    found = messages.weigh_documents([a, b, c], {"expired": 2.0, "fees": 1.0})
    assert found.keys() == {a, b}
    assert found[a].terms == {"expired": pytest.approx(1 + 0.5**0.5)}
    assert (found[a].said, found[b].said) == (pytest.approx(1 + 0.5**0.5), pytest.approx(1 + 0.5**0.5))
    assert found[b].terms == {"expired": pytest.approx(0.5**0.5), "fees": 1.0}
    assert messages.read_commit(found[a].best) == (repository.name, commits[2])
    assert messages.read_commit(found[b].best) == (repository.name, commits[1])
    assert messages.weigh_documents([a], {"abᦰcd": 1.0}) == {}, "a term of several tokens of SQLite"
    store_commits(store, repository, *commits[2:])
    assert [messages.count_messages(word) for word in ("expire", "coupon", "fees", "rename")] == [1, 1, 1, 0]
    assert messages.weigh_documents([a, b, c], {"rename": 1.0}) == {}

import pytest

from notes.store import EditConflict, NoteStore


@pytest.fixture
def store():
    with NoteStore(":memory:") as opened:
        yield opened


def test_saving_keeps_the_old_text_as_a_revision(store):
    store.save_note("Home", "one", "ann")
    store.save_note("Home", "two", "bob")
    assert store.get_note("Home").body == "two"
    assert [author for author, _ in store.revisions("Home")] == ["ann"]


def test_conflict(store):
    first = store.save_note("Home", "one", "ann")
    store.save_note("Home", "two", "bob")
    with pytest.raises(EditConflict):
        store.save_note("Home", "three", "ann", seen=first.changed - 1)

"""Notes, as a client lists and reads them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from codelens.cli.main import main
from tests.server.conftest import EVERYTHING, Client, client_of

pytestmark = pytest.mark.slow


@pytest.fixture
def noted(bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """A server of a project with a note and a task."""
    monkeypatch.chdir(bare)
    assert main(["index", "-q", "--no-config"]) == 0
    long = "\n".join(f"line {n} of what there is to say about it" for n in range(300))
    assert main(["note", "add", "Why scrypt", "--at", "hash_password", "--tag", "security", "-m", long, "-q"]) == 0
    assert main(["note", "add", "Rotate the salt", "--task", "--at", "notes/auth.py:3", "-m", "soon", "-q"]) == 0
    with client_of(bare, tmp_path, "--no-index", *EVERYTHING) as client:
        yield client


def test_notes_are_listed_with_their_places(noted: Client) -> None:
    task, note = noted.gives("notes")["notes"]
    assert (task["id"], task["kind"], task["status"]) == ("rotate-the-salt", "task", "open")
    assert (note["id"], note["kind"], note["tags"]) == ("why-scrypt", "note", ["security"])
    assert (note["places"][0]["path"], note["places"][0]["lost"]) == ("notes/auth.py", False)


@pytest.mark.parametrize(
    ("asked", "ids"),
    [
        ({"kind": "task"}, ["rotate-the-salt"]),
        ({"status": "done"}, []),
        ({"tag": "security"}, ["why-scrypt"]),
        ({"lost": True}, []),
    ],
)
def test_notes_are_filtered_by_kind_status_and_tag(asked: dict[str, object], ids: list[str], noted: Client) -> None:
    assert [note["id"] for note in noted.gives("notes", **asked)["notes"]] == ids


def test_a_note_is_read_as_far_as_the_budget_holds(noted: Client) -> None:
    (whole,) = noted.gives("notes", id="why", budget=50_000)["notes"]
    assert whole["text"].count("\n") == 299
    cut = noted.gives("notes", id="why", budget=500)
    assert cut["cut"] > 0
    assert whole["text"].startswith(cut["notes"][0]["text"])
    assert "no notes are called nothing" in noted.fault("notes", id="nothing")


def test_a_search_finds_them_by_kind(noted: Client) -> None:
    found = noted.gives("search", query="kind:task salt")["results"]
    assert [hit["path"] for hit in found] == [".codelens/notes/rotate-the-salt.md"]

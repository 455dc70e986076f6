"""Notes among the hits whose places have moved, or are lost: said beside the answer, as the index knows it now."""

from __future__ import annotations

from collections.abc import Sequence

from codelens.model import Notice, UnitRow
from codelens.notes.finding import Finder, Standing
from codelens.notes.note import kind_of_path, read_note
from codelens.store.store import Store
from codelens.texts import Texts

MOST_TOLD = 10
"""Places. Chosen: `codelens note list --lost` tells all of them."""


def place_notices(units: Sequence[UnitRow], store: Store, texts: Texts) -> list[Notice]:
    """A notice for each place of these notes that is not where it was, in the order of the hits."""
    told: list[str] = []
    for document in store.documents.rows(dict.fromkeys(u.document for u in units)):
        if not kind_of_path(document.path):
            continue
        finder = Finder(store, document.repository)
        found = map(finder.find, read_note(texts.of(document).text, document.path).links)
        told += [f"{document.path}: {place.told}" for place in found if place.standing is not Standing.HERE]
    if len(told) > MOST_TOLD:
        told = [*told[:MOST_TOLD], f"{len(told) - MOST_TOLD} more places are not where they were: `codelens note list`"]
    return [Notice("note-place", text) for text in told]

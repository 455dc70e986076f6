"""Symbols that a pack wants → what may be written of them: the body and the signature, from the indexed text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from codelens.context.fit import Offer
from codelens.model import DocumentId, Freshness, UnitRow
from codelens.nouns import dataclass
from codelens.packed import Entry, Form
from codelens.store.documents import DocumentRow
from codelens.store.store import Store
from codelens.texts import Texts
from codelens.worktree.freshness import freshness

BESIDE = 120
"""Characters beside a symbol on its first and last line that are shown with it: indent, `export default`, a brace. Where
there are more, as in minified text, it is shown without its surroundings. Chosen, not measured."""
LONGEST_HEAD = 200
"""Characters of the first line that stand for what has no signature."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A symbol with its claim to a place."""

    unit: UnitRow
    score: float
    nearness: float = 1.0
    """1 for what was asked for, less for what a walk or an edge leads to."""
    relation: str = ""


def offers_of(wanted: Sequence[Wanted], store: Store, texts: Texts) -> list[Offer]:
    """In the same order. Each document is read once; what its file is now is told by `freshness`."""
    documents = {d.id: d for d in store.documents.rows({w.unit.document for w in wanted})}
    roots = {int(r.id): str(r.root) for r in store.documents.repositories()}
    states = document_states(documents.values(), store)
    made = []
    for one in wanted:
        unit, document = one.unit, documents[one.unit.document]
        body = _body(unit, document, texts)
        first = next((line for line in unit.doc.split("\n") if line.strip()), "")
        root, state = roots[document.repository], states[document.id]

        def entry(
            form: Form, doc: str, text: str, one: Wanted = one, root: str = root, state: Freshness = state
        ) -> Entry:
            return Entry(one.unit, root, form, doc, text, one.score, one.relation, state)

        made.append(
            Offer(
                entry(Form.BODY, "" if first.strip() in body else unit.doc, body),
                entry(Form.SIGNATURE, first.strip(), unit.signature or _head(body)),
                one.nearness,
            )
        )
    return made


def document_states(documents: Iterable[DocumentRow], store: Store) -> dict[DocumentId, Freshness]:
    """Document → whether its file still is what was indexed."""
    roots = {int(r.id): r.root for r in store.documents.repositories()}
    return {d.id: Freshness(freshness(roots[d.repository], d.os_path, d.stamp, d.content_hash)) for d in documents}


def _body(unit: UnitRow, document: DocumentRow, texts: Texts) -> str:
    """Its lines, or where much else stands on them its text alone."""
    alone = texts.of(document).slice(unit.span)
    lines = "\n".join(texts.lines(document)[unit.start_line - 1 : unit.end_line])
    return lines if len(lines) <= len(alone) + BESIDE else alone.replace("\r\n", "\n")


def _head(body: str) -> str:
    return next((line.strip() for line in body.split("\n") if line.strip()), "")[:LONGEST_HEAD]

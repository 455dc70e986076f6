"""What `why` was asked about: PATH:LINE or a symbol's name → the unit meant."""

from __future__ import annotations

from dataclasses import dataclass

from codelens.errors import TargetError
from codelens.model import CHUNK_KINDS, UnitRow
from codelens.store.documents import DocumentRow
from codelens.store.store import Store
from codelens.text.identifiers import fold_identifier

MOST_CANDIDATES = 20
SAME_NAME = 500


@dataclass(frozen=True, slots=True)
class Target:
    """What a person named. Without a unit, the stages before ranking lost it."""

    text: str
    unit: UnitRow | None
    document: DocumentRow | None
    path: str
    """As asked, where it was a path."""
    line: int | None


def resolve_target(text: str, store: Store) -> Target:
    """Raises TargetError where a name fits nothing, or several things."""
    head, colon, tail = text.rpartition(":")
    if colon and tail.isdigit() and head:
        return _at_line(text, head, int(tail), store)
    if documents := store.documents.by_path(text):
        return _one_document(text, documents, store)
    if "/" in text or "\\" in text:
        return Target(text, None, None, text, None)
    return Target(text, _by_name(text, store), None, "", None)


def _at_line(text: str, path: str, line: int, store: Store) -> Target:
    documents = store.documents.by_path(path)
    if not documents:
        return Target(text, None, None, path, line)
    if len(documents) > 1:
        raise TargetError(f"several repositories have {path}", hint="ask inside one of them")
    around = [u for u in store.units.of_document(documents[0].id) if u.start_line <= line <= u.end_line]
    innermost = max(around, key=lambda u: (u.start_line, -u.end_line), default=None)
    return Target(text, innermost, documents[0], path, line)


def _one_document(text: str, documents: list[DocumentRow], store: Store) -> Target:
    units = store.units.of_document(documents[0].id)
    return Target(text, units[0] if units else None, documents[0], text, None)


def _by_name(text: str, store: Store) -> UnitRow:
    wanted = text.replace("::", ".").replace("#", ".").removesuffix("()")
    last = wanted.rsplit(".", 1)[-1]
    rows = list(store.units.rows(store.units.named(fold_identifier(last), False, SAME_NAME)).values())
    named = (
        [u for u in rows if u.name == last and u.kind not in CHUNK_KINDS] or [u for u in rows if u.name == last] or rows
    )
    fitting = [u for u in named if f".{u.qualified_name}".endswith(f".{wanted}")] or (
        named if "." not in wanted else []
    )
    if not fitting:
        raise TargetError(f"nothing is named {text}", hint="name it as PATH:LINE, or search for it first")
    whole = [u for u in fitting if u.qualified_name == wanted]
    fitting = whole if len(whole) == 1 else fitting
    if len(fitting) > 1:
        places = sorted(f"{u.path}:{u.name_line}  {u.kind} {u.qualified_name}" for u in fitting)
        raise TargetError(f"{len(fitting)} things are named {text}", tuple(places[:MOST_CANDIDATES]))
    return fitting[0]

"""Resolve a user's PATH:LINE or symbol name to a unit.

A path is absolute or relative to a repository's root. If several repositories have the path, the repository's name precedes it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from codelens.errors import TargetError
from codelens.lang.registry import is_prose, languages
from codelens.model.code import CHUNK_KINDS, TYPE_KINDS, UnitRow
from codelens.model.fast_dataclass import dataclass
from codelens.store.documents import DocumentRow
from codelens.store.store import Store
from codelens.text.identifiers import fold_identifier

MOST_CANDIDATES = 20  # Limit on units listed for an ambiguous name: a screenful
MOST_ALIKE = 5  # Limit on similar names listed for an unknown name
SAME_NAME = 500  # Limit on units with the same name that are considered


class NothingNamed(TargetError):
    """Raised if no definition in the index has this name."""


@dataclass(frozen=True, slots=True)
class UserTarget:
    """A resolved target. Without a unit, the index does not hold the file or a unit at the line."""

    text: str
    unit: UnitRow | None
    document: DocumentRow | None
    path: str  # The path; empty if the target is a name
    line: int | None
    repository: str = ""  # The repository that the path names; empty for any


def resolve_target(text: str, store: Store, todos: bool = False) -> UserTarget:
    """Resolve a target; a column is ignored. `todos` prefers a TODO comment. Raises TargetError for no or several matches."""
    head, colon, tail = text.rpartition(":")
    line = int(tail) if colon and head and tail.isascii() and tail.isdigit() else None
    path, repository = _strip_root(head if line is not None else text, store)
    documents = find_documents(path, repository, store)
    if len(documents) > 1:
        names = {row.id: row.name for row in store.documents.list_repositories()}
        places = tuple(sorted(f"{names[d.repository]}/{path}" for d in documents))
        raise TargetError(f"several repositories have {path}", places, "put the repository's name before the path")
    if documents:
        units = store.units.list_in_document(documents[0].id)
        if line is None:
            unit = next(iter(units), None)
        else:
            aside = store.units.list_todos(documents[0].id) if todos else []
            around = [u for u in (*units, *aside) if u.start_line <= line <= u.end_line]
            unit = max(around, key=lambda u: (u.start_line, -u.end_line), default=None)
        return UserTarget(text, unit, documents[0], documents[0].path, line)
    if line is not None and re.fullmatch(r".+:\d+", head):  # path:line:column, as hits are printed
        return resolve_target(head, store, todos)
    if line is not None or "/" in path or "\\" in path:
        return UserTarget(text, None, None, path, line, repository)
    try:
        return UserTarget(text, _find_unit(text, store), None, "", None)
    except TargetError:
        if any(os.path.lexists(row.root / path) for row in store.documents.list_repositories() if path):
            return UserTarget(text, None, None, path, None, repository)
        raise


def _strip_root(path: str, store: Store) -> tuple[str, str]:
    """Split an absolute path into (path relative to a root, that repository's name); other paths are returned unchanged."""
    if not Path(path).is_absolute():
        return path, ""
    for row in sorted(store.documents.list_repositories(), key=lambda r: -len(str(r.root))):
        for root in (str(row.root), os.path.realpath(row.root)):
            if path.startswith(root + os.sep):
                return path.removeprefix(root + os.sep).replace(os.sep, "/"), row.name
    return path, ""


def find_documents(path: str, repository: str, store: Store) -> list[DocumentRow]:
    """Find documents with this path, or else with the path after a repository's name."""
    ids = {row.name: row.id for row in store.documents.list_repositories()}
    documents = [d for d in store.documents.find_by_path(path) if not repository or d.repository == ids[repository]]
    name = next((name for name in sorted(ids, reverse=True) if path.startswith(f"{name}/")), "")
    if documents or repository or not name:
        return documents
    return [d for d in store.documents.find_by_path(path.removeprefix(f"{name}/")) if d.repository == ids[name]]


def _find_unit(text: str, store: Store) -> UnitRow:
    """Find the only unit with this name. Raises TargetError for several, NothingNamed for no match."""
    fitting = find_units_named(text, store)
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        number = f"at least {SAME_NAME}" if len(fitting) >= SAME_NAME else len(fitting)
        raise TargetError(f"{number} things are named {text}", list_units(fitting, store))
    alike: tuple[str, ...] = ()
    if store.read_features().fuzzy:
        near = store.postings.find_names_resembling(fold_identifier(split_name(text)[1]), None, MOST_ALIKE)
        rows = store.units.read_rows([unit for unit, _ in near]).values()
        alike = list_units([unit for unit in rows if unit.kind not in CHUNK_KINDS], store)
    hint = "name it as PATH:LINE; if it is new, run `codelens index` first"
    raise NothingNamed(f"nothing is named {text or 'nothing'}", alike, hint)


def find_units_named(text: str, store: Store) -> list[UnitRow]:
    """Find the definitions that a name may mean. Case and underscores are ignored only if no exact match exists."""
    wanted, last = split_name(text)
    rows = list(store.units.read_rows(store.units.find_by_name(fold_identifier(last), None, SAME_NAME)).values())
    exact = [u for u in rows if u.name == last]
    named = [u for u in exact if u.kind not in CHUNK_KINDS] or exact or rows
    fitting = [u for u in named if f".{u.qualified_name}".endswith(f".{wanted}")]
    fitting = list(_drop_rivals(fitting or ([] if "." in wanted else named)))
    whole = [u for u in fitting if u.qualified_name == wanted and u.kind not in ("method", "property")]
    return whole if len(whole) == 1 else fitting


def split_name(text: str) -> tuple[str, str]:
    """Normalise a qualified name: (the name with dots, its last part)."""
    wanted = text.replace("::", ".").replace("#", ".").removesuffix("()")
    return wanted, wanted.rsplit(".", 1)[-1]


def _drop_rivals(units: Sequence[UnitRow]) -> Sequence[UnitRow]:
    """Drop definitions in prose if there are definitions in code, and keep only one of those that define the same thing.

    The latter are versions of a function for different builds in one file, and in C a struct and its typedef.
    """
    code = [u for u in units if not is_prose(u.language)] or units
    by_name: dict[str, list[UnitRow]] = {}
    for unit in sorted(code, key=lambda u: (u.kind == "type", u.content_order())):
        alike = by_name.setdefault(unit.qualified_name, [])
        if not any(is_same_thing(unit, other) for other in alike):
            alike.append(unit)
    ids = {unit.id for alike in by_name.values() for unit in alike}
    return [unit for unit in code if unit.id in ids]


def is_same_thing(unit: UnitRow, other: UnitRow) -> bool:
    """True if both units are versions of one definition in a file, or a typedef in C and the type of that name."""
    if unit.qualified_name != other.qualified_name or unit.repository != other.repository:
        return False
    if unit.document == other.document and unit.kind == other.kind and unit.parent == other.parent:
        return unit.language not in languages() or languages()[unit.language].family != "ecmascript"
    family = languages()[unit.language].family if unit.language in languages() else ""
    return unit.kind == "type" and other.kind in TYPE_KINDS and family == "c"


def list_units(units: Sequence[UnitRow], store: Store) -> tuple[str, ...]:
    """List units for a message, one line each: path and line, kind and name."""
    several = len(store.documents.list_repositories()) > 1
    listed = sorted(units, key=UnitRow.content_order)[:MOST_CANDIDATES]
    paths = (f"{u.repository}/{u.path}" if several else u.path for u in listed)
    places = zip(paths, listed, strict=True)
    return tuple(f"{path}:{u.name_line or u.start_line}  {u.kind} {u.qualified_name}" for path, u in places)

"""Renaming a name, where all of its places are certain."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from lsprotocol import types

from codelens.errors import UsageError
from codelens.lang.tokens import KEY, TEXT, UNPACK
from codelens.linking.facts import Definition
from codelens.model.code import Freshness
from codelens.model.graph import SURE
from codelens.server.lsp.names import IMPORTED, MODULE, NameMeaning
from codelens.server.lsp.navigation import find_references_of, find_same_names
from codelens.server.lsp.workspace import NameInFile, Reader, about_name
from codelens.store.documents import DocumentRow
from codelens.text.counts import quantity

_ALL = re.compile(rb"^__all__[^\[(]*[\[(][^\])]*", re.MULTILINE)
NAMED_ARGUMENTS = ("python", "kotlin", "csharp", "swift", "scala", "ruby", "php", "dart", "julia", "elixir")
"""Languages in which a call may name a parameter."""
Place = tuple[DocumentRow, int, int]  # (document, start, end)


@about_name
def prepare_rename(found: NameInFile, params: types.PrepareRenameParams) -> types.PrepareRenamePlaceholder:
    """The name to replace. Raises UsageError if it cannot be renamed."""
    source = found.names.source
    check_meaning(found.meaning)
    span = map(source.map.to_original, found.meaning.token[:2])
    return types.PrepareRenamePlaceholder(source.range(*span), found.meaning.reference.name)


def check_meaning(meaning: NameMeaning) -> None:
    """Raise UsageError unless a name means one thing whose places can be known."""
    if not meaning.is_known or meaning.key[0] in (MODULE, IMPORTED):
        raise UsageError("no definition of this workspace is named here, so it cannot be renamed")
    if meaning.is_guess or meaning.token.role == TEXT:
        raise UsageError(f"it is not certain what {meaning.reference.name} means here, so it cannot be renamed")


@about_name
def rename(found: NameInFile, params: types.RenameParams) -> types.WorkspaceEdit:
    """The edits. Raises UsageError unless every place is certain."""
    names, meaning, new = found.names, found.meaning, params.new_name
    if not re.fullmatch(r"[^\W\d]\w*[?!]?", new):
        raise UsageError(f"{new!r} is not a name")
    check_meaning(meaning)
    is_taken = any(_has_neighbour(d, new) for d in meaning.definitions)
    if is_taken or any(names.read(token, new).key == meaning.key for token in names.tokens(new)):
        raise UsageError(f"{new} is defined there already")
    edits = dict[str, list[types.TextEdit]]()
    places = find_local_places(found) if meaning.is_local else find_certain_places(found)
    for document, start, end in sorted(set(places), key=lambda place: (place[0].path, place[1])):
        where = found.reader.location(document, start, end)
        edits.setdefault(where.uri, []).append(types.TextEdit(where.range, new))
    return types.WorkspaceEdit(changes=edits)


def _has_neighbour(definition: Definition, name: str) -> bool:
    """True if the same type or file defines another thing of that name."""
    facts = definition.facts
    return bool(facts.members.get(definition.container, {}).get(name) if definition.container else facts.top.get(name))


def find_local_places(found: NameInFile) -> Iterator[Place]:
    """The places of a local name. Raises UsageError for a parameter that callers may name."""
    names, name, (_, unit, *_) = found.names, found.meaning.reference.name, found.meaning.key
    function = names.facts.definitions[unit] if isinstance(unit, int) else None
    in_head = function is not None and function.start <= found.meaning.declared[0][1] < names.bodies[function.id]
    if in_head and names.document.language in NAMED_ARGUMENTS:
        raise UsageError(f"{name} is a parameter, which calls may name: it cannot be renamed safely")
    for start, end, role in find_same_names(found):
        if role in (KEY, UNPACK):
            raise UsageError(f"{name} is also the name of a field or argument: it cannot be renamed safely")
        yield names.document, start, end


def find_certain_places(found: NameInFile) -> Iterator[Place]:
    """The places of a definition or field. Raises UsageError if one is uncertain, or its file has changed."""
    reader, answer, name = found.reader, find_references_of(found), found.meaning.reference.name
    places = [r for r in answer.relations if r.span.end] if answer else []
    if unsure := [r for r in places if r.certainty != SURE]:
        where = f"the first is {unsure[0].place.path}:{unsure[0].place.line}"
        raise UsageError(f"{quantity(len(unsure), 'place')} of {name} cannot be resolved with certainty; {where}")
    if reader.folder.upkeep.work().doing:
        raise UsageError("the index is being updated and may lack places: try again when it is done")
    if answer is None or any("not read" in notice.text for notice in answer.notices):
        raise UsageError(f"not all files that have the name {name} could be read, so it cannot be renamed safely")
    for unit in reader.units(d.id for d in found.meaning.definitions):
        yield reader.row(unit.document), unit.name_start, unit.name_end
        yield from _find_exports(reader, reader.row(unit.document), name)
    for relation in places:
        document = reader.document(Path(relation.place.root, relation.place.os_path))
        if relation.place.freshness is not Freshness.FRESH and document.id not in reader.store.edited:
            raise UsageError(f"{document.path} has changed since it was indexed: save all files and try again soon")
        yield document, relation.span.start, relation.span.end
        yield from _find_exports(reader, document, name)


def _find_exports(reader: Reader, document: DocumentRow, name: str) -> Iterator[Place]:
    """The name in a Python module's `__all__`."""
    text = reader.source(document).map
    for listed in _ALL.finditer(text.utf8) if document.language == "python" else ():
        for quoted in re.finditer(rb"""(["'])%s\1""" % re.escape(name.encode()), listed[0]):
            start = listed.start() + quoted.start() + 1
            yield document, text.to_original(start), text.to_original(start + len(name.encode()))

"""Renaming a name, where all of its places are certain."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from lsprotocol import types

from codelens.errors import UsageError
from codelens.lang.tokens import KEY, TEXT, UNPACK
from codelens.model.code import Freshness
from codelens.model.graph import SURE
from codelens.server.lsp.names import IMPORTED, MODULE
from codelens.server.lsp.navigation import find_places, find_same_names
from codelens.server.lsp.workspace import NameInFile, answers_about_name
from codelens.store.documents import DocumentRow
from codelens.text.counts import quantity

_ALL = re.compile(rb"^__all__[^\[(]*[\[(][^\])]*", re.MULTILINE)
NAMED_ARGUMENTS = ("python", "kotlin", "csharp", "swift", "scala", "ruby", "php", "dart", "julia", "elixir")
"""Languages in which a call may name a parameter."""
Place = tuple[DocumentRow, int, int]  # (document, start, end)


@answers_about_name("rename", types.TEXT_DOCUMENT_PREPARE_RENAME)
def prepare_rename(name: NameInFile, _: object) -> types.PrepareRenamePlaceholder:
    """The name to replace. Raises UsageError unless it means one thing whose places can be known."""
    meaning, source = name.meaning, name.names.source
    if not meaning.is_known or meaning.key[0] in (MODULE, IMPORTED):
        raise UsageError("no definition of this workspace is named here, so it cannot be renamed")
    if meaning.is_guess or meaning.token.role == TEXT:
        raise UsageError(f"it is not certain what {meaning.reference.name} means here, so it cannot be renamed")
    where = source.range(*map(source.map.to_original, meaning.token[:2]))
    return types.PrepareRenamePlaceholder(where, meaning.reference.name)


@answers_about_name("rename", types.TEXT_DOCUMENT_RENAME)
def rename(name: NameInFile, params: types.RenameParams) -> types.WorkspaceEdit:
    """The edits. Raises UsageError unless every place is certain."""
    names, meaning, new = name.names, name.meaning, params.new_name
    if not re.fullmatch(r"[^\W\d]\w*[?!]?", new):
        raise UsageError(f"{new!r} is not a name")
    prepare_rename(name, params)
    is_taken = any(names.read(token, new).key == meaning.key for token in names.tokens(new))
    if is_taken or any(d.facts.members.get(d.container, d.facts.top).get(new) for d in meaning.definitions):
        raise UsageError(f"{new} is defined there already")
    edits = dict[str, list[types.TextEdit]]()
    places = find_local_places(name) if meaning.is_local else find_certain_places(name)
    for document, start, end in sorted(set(places), key=lambda place: (place[0].path, place[1])):
        where = name.reader.location(document, start, end)
        edits.setdefault(where.uri, []).append(types.TextEdit(where.range, new))
    return types.WorkspaceEdit(changes=edits)


def find_local_places(name: NameInFile) -> Iterator[Place]:
    """The places of a local name. Raises UsageError for a parameter that callers may name."""
    names, word, (_, unit, *_) = name.names, name.meaning.reference.name, name.meaning.key
    function = names.facts.definitions[unit] if isinstance(unit, int) else None
    in_head = function is not None and function.start <= name.meaning.declared[0][1] < names.bodies[function.id]
    if in_head and names.document.language in NAMED_ARGUMENTS:
        raise UsageError(f"{word} is a parameter, which calls may name: it cannot be renamed safely")
    for start, end, role in find_same_names(name):
        if role in (KEY, UNPACK):
            raise UsageError(f"{word} is also the name of a field or argument: it cannot be renamed safely")
        yield names.document, start, end


def find_certain_places(name: NameInFile) -> Iterator[Place]:
    """The places of a definition or field. Raises UsageError if one is uncertain, or its file has changed."""
    reader, answer, word = name.reader, find_places(name), name.meaning.reference.name
    places = [r for r in answer.relations if r.span.end] if answer else []
    if unsure := [r for r in places if r.certainty != SURE]:
        where = f"the first is {unsure[0].place.path}:{unsure[0].place.line}"
        raise UsageError(f"{quantity(len(unsure), 'place')} of {word} cannot be resolved with certainty; {where}")
    if reader.folder.upkeep.work().doing:
        raise UsageError("the index is being updated and may lack places: try again when it is done")
    if answer is None or any("not read" in notice.text for notice in answer.notices):
        raise UsageError(f"not all files that have the name {word} could be read, so it cannot be renamed safely")
    certain = [(reader.row(unit.document), unit.name_start, unit.name_end) for unit in name.units]
    for relation in places:
        document = reader.document(Path(relation.place.root, relation.place.os_path))
        if relation.place.freshness is not Freshness.FRESH and document.id not in reader.edited:
            raise UsageError(f"{document.path} has changed since it was indexed: save all files and try again soon")
        certain.append((document, relation.span.start, relation.span.end))
    yield from certain
    for document in dict.fromkeys(document for document, *_ in certain if document.language == "python"):
        text = reader.source(document).map
        for exports in _ALL.finditer(text.utf8):
            for quoted in re.finditer(rb"""(?<=["'])%s(?=["'])""" % re.escape(word.encode()), exports[0]):
                start, end = (text.to_original(exports.start() + place) for place in quoted.span())
                yield document, start, end

"""Find the places to change when a name is replaced, if all of them are certain."""

from __future__ import annotations

import re
from collections.abc import Iterator

from codelens.errors import UsageError
from codelens.graph.meanings import NameReader, TokenMeaning
from codelens.graph.places import PlaceFinder, make_target
from codelens.graph.view import GraphView
from codelens.lang.tokens import Role
from codelens.model.code import UnitId
from codelens.store.documents import DocumentRow
from codelens.text.lines import TextMap

Place = tuple[int, int, int]  # (document, start, end)
NAMED_ARGUMENTS = ("python", "kotlin", "csharp", "swift", "scala", "ruby", "php", "dart", "julia", "elixir")
"""Languages in which a call may name a parameter."""
_ALL = re.compile(rb"^__all__[^\[(]*[\[(][^\])]*", re.MULTILINE)


def find_places_of_local(view: GraphView, names: NameReader, meaning: TokenMeaning) -> Iterator[Place]:
    """Find the places of a local name; for a parameter, also its name in calls. Raises UsageError if a place is uncertain."""
    word, (_, unit, *_) = names.name, meaning.key
    for token in names.find_same_tokens(meaning):
        if token.role in (Role.KEY, Role.UNPACK):
            raise UsageError(f"{word} is also the name of a field or argument: it cannot be renamed safely")
        yield names.make_place(token)
    if not isinstance(unit, int) or names.document.language not in NAMED_ARGUMENTS:
        return
    function = view.store.units.read_rows([UnitId(names.facts.definitions[unit].id)]).popitem()[1]
    if not function.start_byte <= meaning.declared[0][1] < function.body_start:
        return
    target = make_target(view, [function])
    finder = PlaceFinder(view, target._replace(name=word))
    for others, argument in finder.read_arguments(function):
        if not argument.is_known or target.family:
            where = f"{others.document.path}:{argument.reference.line}"
            raise UsageError(f"{word} is a parameter, which the call in {where} may name: it cannot be renamed safely")
        yield others.make_place(argument.token)
    if finder.unread:
        raise UsageError(f"not all files that have the name {word} could be read, so it cannot be renamed safely")


def find_exports(document: DocumentRow, text: TextMap, name: str) -> Iterator[Place]:
    """Find the places of a name in Python's `__all__`."""
    for exports in _ALL.finditer(text.utf8) if document.language == "python" else ():
        for quoted in re.finditer(rb"""(?<=["'])%s(?=["'])""" % re.escape(name.encode()), exports[0]):
            start, end = (text.to_original(exports.start() + place) for place in quoted.span())
            yield document.id, start, end

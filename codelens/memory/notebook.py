"""Records feedback in the memory file: pins, ratings, judgements, uses, answers and learned words.

Recording needs the setting `memory`; reading and forgetting always work. The index is read before the memory file is opened
for writing, so that a write holds its lock for milliseconds.

A judgement is stored with a digest of the unit and its direct neighbours in the graph, and is valid for this digest only: if
the unit, its users or what it uses change, the judgement no longer counts. A change elsewhere in the package does not matter.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from codelens.errors import MemoryFault, MemoryOff, TargetError, UsageError
from codelens.model.code import UnitId, UnitRow
from codelens.model.graph import NAME_OF_KIND, RESOLVED, TIER_OF_NUMBER, is_unit
from codelens.model.memory import FILE, AnsweredPlace, Feedback, Place, PlaceRecord, RecordedAnswer, make_place
from codelens.store.connection import remove_database
from codelens.store.records import Memory
from codelens.store.store import Store
from codelens.store.targets import UserTarget, resolve_target
from codelens.store.texts import Texts
from codelens.text.terms import tokens
from codelens.worktree.place import locate_memory

WIDEST = 64  # Most edges into a unit whose users are part of its digest


def compute_unit_digests(units: Iterable[UnitRow], store: Store, texts: Texts) -> dict[UnitId, str]:
    """Compute digests of units: unit → hash (32 hex digits) of its bytes, its neighbours' bytes and the kinds of their edges.

    Guessed edges are left out, because a namesake elsewhere would change them.
    """
    units_by_id = {unit.id: unit for unit in units}
    around: dict[UnitId, set[tuple[str, bool, UnitId]]] = {unit: set() for unit in units_by_id}
    for node, other, kind, tier, outgoing in store.edges.find_neighbours(units_by_id, WIDEST):
        if other != node and is_unit(other) and TIER_OF_NUMBER[tier].confidence > RESOLVED:
            around[UnitId(node)].add((NAME_OF_KIND[kind], bool(outgoing), UnitId(other)))
    for node, other, down in store.edges.find_nested(units_by_id):
        if not down:  # a unit's own bytes contain its inner units
            around[UnitId(node)].add(("contains", False, UnitId(other)))
    neighbours = {unit for relations in around.values() for _, _, unit in relations}
    rows = {**units_by_id, **store.units.read_rows(neighbours - units_by_id.keys())}
    documents = {row.id: row for row in store.documents.read_rows({unit.document for unit in rows.values()})}
    contents = {n: _hash(texts.read(documents[unit.document]).read_bytes(unit.span)) for n, unit in rows.items()}

    def describe(kind: str, outgoing: bool, unit: UnitId) -> str:
        """Describe a neighbour by names and content; its row number would depend on the index's history."""
        row = rows[unit]
        if kind == "contains":  # of a container only the signature, as its other members are not neighbours
            return "\0".join((kind, row.path, row.qualified_name, row.kind, row.signature))
        return "\0".join((kind, str(outgoing), row.path, row.qualified_name, row.kind, contents[unit]))

    digest_of_unit = {}
    for unit in units_by_id:
        relations = sorted(describe(*relation) for relation in around[unit] if relation[2] in rows)
        digest_of_unit[unit] = _hash("\n".join((contents[unit], *relations)).encode("utf-8", "surrogatepass"))
    return digest_of_unit


def _hash(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


MOST_PLACES = 50  # Most places of an answer that are recorded, best first
SHORTEST_NAME = 3  # Fewest letters of a name by which a diff shows that a place was used


class MemoryNotebook:
    """The memory of an open index. `now` is in unix seconds; None means the present time."""

    def __init__(self, store: Store, is_on: bool, session: str = "", now: int | None = None) -> None:
        self._store, self._on, self._session = store, is_on, session
        self._now = int(time.time()) if now is None else now
        self.path: Path = locate_memory(store.path)

    def pin(self, target: str) -> Place:
        """Pin a target. Raises TargetError if it is not in the index, and MemoryOff."""
        self._require_memory()
        place = self._resolve_place(target)
        with Memory.open_for_writing(self.path) as memory:
            memory.pin_place(place, self._now)
        return place

    def unpin(self, target: str) -> tuple[Place, bool]:
        """Unpin a target; returns its place, and True if it was pinned."""
        self._require_memory()
        place = self._resolve_place(target)
        with Memory.open_for_writing(self.path) as memory:
            return place, memory.unpin_place(place)

    def rate(self, target: str, rating: float) -> Place:
        """Rate a target from 0 to 10. Raises UsageError for other values."""
        self._require_memory()
        if not 0 <= rating <= 10:
            raise UsageError(f"a rating must be from 0 to 10, not {rating:g}")
        place = self._resolve_place(target)
        with Memory.open_for_writing(self.path) as memory:
            memory.rate_place(place, rating, self._now)
        return place

    def judge(self, hit: str, useful: bool, query: str | None = None, words: Sequence[str] = ()) -> Place:
        """Record whether a hit was useful. `hit` is its number in the last answer, or a target.

        `words` are those words of `query` to learn for it. Without a query, the last answer's are learned if it contains the hit.
        """
        self._require_memory()
        last = self.find_last_answer()
        by_number = hit.isascii() and hit.isdigit()
        place = self._find_hit(int(hit)).place if by_number else self._resolve_place(hit)
        answered = [shown for shown in last.places if shown.place == place] if last else []
        if query is None and last and answered:
            query, words = last.query, last.words
        digest = self.compute_digests([place]).get(place, "")
        with Memory.open_for_writing(self.path) as memory:
            memory.add_judgement(place, Feedback(useful, digest, query=query or ""), self._now)
            for word in words if useful else ():
                memory.learn_word(word, place, self._now)
            if last and useful:
                for shown in answered:
                    memory.mark_used(last.number, shown.rank)
        return place

    def record_answer(self, query: str, words: Sequence[str], results: Sequence[tuple[int, UnitRow, int]]) -> None:
        """Record an answer by (rank, unit, line) of its hits. Unused hits of the previous answer are now judged useless."""
        self._require_memory()
        places = tuple(AnsweredPlace(rank, make_place(unit), line) for rank, unit, line in results[:MOST_PLACES])
        with Memory.open_for_reading(self.path) as reader:
            answers = reader.find_unsettled(self._session)
        unused = [  # Without a recorded use no place counts as unused: perhaps uses are not reported
            dict.fromkeys(
                shown.place for shown in answer.places if not shown.used and any(p.used for p in answer.places)
            )
            for answer in answers
        ]
        known = self.compute_digests({place for unused_places in unused for place in unused_places})
        with Memory.open_for_writing(self.path) as memory:
            for answer, unused_places in zip(answers, unused, strict=True):
                for place in (place for place in unused_places if place in known):
                    memory.add_judgement(place, Feedback(False, known[place], True, answer.query), self._now)
                memory.settle_answer(answer.number)
            memory.add_answer(RecordedAnswer(query, tuple(words), self._now, places, self._session))
            for place in dict.fromkeys(shown.place for shown in places):
                memory.add_stamp(place, self._now)

    def record_use(self, targets: Sequence[str]) -> list[Place]:
        """Record which places of the last answer were used, given as PATH, PATH:LINE, name or hit number; returns these
        places. Each is judged useful and counted once per answer, and the answer's words are learned for it."""
        last = self._require_last_answer()
        meant: list[AnsweredPlace] = []
        for target in targets:
            named = [shown for shown in last.places if self._names_place(target, shown)]
            meant += named or ([self._find_hit(int(target))] if target.isdecimal() else [])
        return self._record_uses(last, sorted(set(meant)))

    def record_use_in_diff(self, diff: str) -> list[Place]:
        """Record as used those places of the last answer whose names occur in a diff's changed lines; returns these places."""
        last = self._require_last_answer()
        lines = (line[1:] for line in diff.splitlines() if line[:1] in ("+", "-") and line[:3] not in ("+++", "---"))
        names = {name for line in lines for name in tokens(line) if len(name) >= SHORTEST_NAME}
        return self._record_uses(last, [shown for shown in last.places if shown.place.name.rpartition(".")[2] in names])

    def open_hit(self, number: int) -> None:
        """Record a use of the last answer's hit with this number, even if it was used before."""
        last = self._require_last_answer()
        self._record_uses(last, [self._find_hit(number)], again=True)

    def _record_uses(self, answer: RecordedAnswer, places: Sequence[AnsweredPlace], again: bool = False) -> list[Place]:
        """Record uses of places of an answer; those used before only with `again`. Returns all the places."""
        opened = [shown for shown in places if again or not shown.used]
        known = self.compute_digests({shown.place for shown in opened})
        with Memory.open_for_writing(self.path) as memory:
            for place in dict.fromkeys(shown.place for shown in opened):
                memory.count_use(place, self._now)
                if all(not shown.used for shown in opened if shown.place == place):
                    memory.add_judgement(place, Feedback(True, known.get(place, ""), True, answer.query), self._now)
                    for word in answer.words:
                        memory.learn_word(word, place, self._now)
            for shown in opened:
                memory.mark_used(answer.number, shown.rank)
        return list(dict.fromkeys(shown.place for shown in places))

    def _require_last_answer(self) -> RecordedAnswer:
        """Find the last recorded answer of this session. Raises UsageError if there is no answer, and MemoryOff."""
        self._require_memory()
        if (last := self.find_last_answer()) is None:
            hint = "search first, with memory on; `codelens memory show` lists the records"
            raise UsageError("no answer is recorded", hint)
        return last

    def _find_hit(self, number: int) -> AnsweredPlace:
        last = self._require_last_answer()
        hits = {shown.rank: shown for shown in last.places}
        if number not in hits:
            ranks = f"{min(hits)} to {max(hits)}" if hits else "none"
            raise UsageError(f"the last answer has no hit {number}", f"its hits: {ranks}; it was {last.query!r}")
        return hits[number]

    def find_last_answer(self) -> RecordedAnswer | None:
        """Find the last recorded answer of this session."""
        with Memory.open_for_reading(self.path) as memory:
            return memory.read_last_answer(self._session)

    def export_records(self) -> dict[str, list[dict[str, Any]]]:
        """Export all records: kind of record → objects for JSON."""
        with Memory.open_for_reading(self.path) as memory:
            return memory.export_rows()

    def load_records(self, target: str | None = None) -> dict[Place, PlaceRecord]:
        """Load the records of all places, or of those that a target names: place → its records."""
        with Memory.open_for_reading(self.path) as memory:
            recalled = memory.read_records({place.path for place in memory.list_places()})
        meant = self._find_named_places(target, recalled.places) if target is not None else set(recalled.places)
        return {place: recalled.places[place] for place in sorted(meant) if place in recalled.places}

    def forget(self, target: str) -> list[Place]:
        """Remove all records about a target. Raises TargetError if nothing is recorded."""
        with Memory.open_for_reading(self.path) as memory:
            places = self._find_named_places(target, memory.list_places())
        if not places:
            raise TargetError(f"nothing is recorded about {target}", hint="`codelens memory show` lists what is")
        with Memory.open_for_writing(self.path) as memory:
            memory.forget_places(places)
        return sorted(places)

    def forget_all(self) -> bool:
        """Remove the memory file, even a damaged one; False if there was none."""
        try:
            return remove_database(self.path)
        except OSError as fault:
            raise MemoryFault(f"{self.path} cannot be removed: {fault.strerror}", "remove it yourself") from None

    def _find_named_places(self, target: str, among: Iterable[Place]) -> set[Place]:
        """Find the places in `among` that a target names: by their recorded names, else by the index."""
        wanted = target.replace("::", ".").replace("#", ".").removesuffix("()")
        meant = {p for p in among if target in (p.path, f"{p.repository}/{p.path}") or p.format_label() == target}
        if not meant:
            meant = {p for p in among if p.name and f".{p.name}".endswith(f".{wanted}")}
        if not meant:
            try:
                place = self._resolve_place(target)
            except TargetError:
                return set()
            meant = {p for p in among if p == place or (place.kind == FILE and p[:2] == place[:2])}
        return meant

    def _resolve_place(self, target: str) -> Place:
        """Resolve a target to a place: a unit for a symbol or PATH:LINE, a file for a PATH."""
        with self._store.reading():
            named: UserTarget = resolve_target(target, self._store)
            if named.document is not None and named.line is None:
                names = {row.id: row.name for row in self._store.documents.list_repositories()}
                return Place(names[named.document.repository], named.document.path, "", FILE)
        if named.unit is None:
            raise TargetError(f"{target} is not in the index", hint="name it as PATH, PATH:LINE or a symbol's name")
        return make_place(named.unit)

    def _names_place(self, target: str, one: AnsweredPlace) -> bool:
        """True if a target names this place of an answer: by its file, one of its lines or its name."""
        try:
            place = self._resolve_place(target)
        except TargetError as fault:
            if fault.candidates and one.place.name:  # an ambiguous name means its bearers in the answer
                return f".{one.place.name}".endswith(f".{target}")
            return False
        return place[:2] == one.place[:2] if place.kind == FILE else place == one.place

    def compute_digests(self, places: Collection[Place]) -> dict[Place, str]:
        """Compute the present digests of places: place → digest; places that are gone are left out."""
        with self._store.reading():
            units = {place: at_place[0] for place, at_place in find_units_at(places, self._store).items()}
            known = compute_unit_digests(units.values(), self._store, Texts(self._store))
        return {place: known[unit.id] for place, unit in units.items()}

    def _require_memory(self) -> None:
        if not self._on:
            raise MemoryOff("memory is off: nothing is recorded")


def find_units_at(places: Iterable[Place], store: Store) -> dict[Place, list[UnitRow]]:
    """Find the units of places: place → its units in order of content; files and places that are gone are left out."""
    wanted = {place for place in places if place.kind != FILE}
    units_of_place: dict[Place, list[UnitRow]] = {}
    for path in sorted({place.path for place in wanted}):
        for document in store.documents.find_by_path(path):
            for unit in store.units.list_in_document(document.id):
                if (place := make_place(unit)) in wanted:
                    units_of_place.setdefault(place, []).append(unit)
    return {place: sorted(units, key=UnitRow.content_order) for place, units in units_of_place.items()}

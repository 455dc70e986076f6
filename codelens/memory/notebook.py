"""What a front end says of results → rows of the memory file: pins, ratings, judgements, uses, answers, learned words.

Nothing is recorded unless the setting `memory` is on; looking and forgetting always work. The index is read before the memory
file is opened for writing, so that a record holds its lock for milliseconds.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from codelens.errors import MemoryFault, MemoryOff, TargetError, UsageError
from codelens.memory.neighbourhood import digests
from codelens.model import UnitRow
from codelens.remembered import FILE, Answer, Answered, Feedback, Place, Remembered, place_of
from codelens.store.memory import Memory, MemoryWriter, remove_memory
from codelens.store.store import Store
from codelens.targets import Target, resolve_target
from codelens.texts import Texts
from codelens.worktree.place import memory_place

MOST_PLACES = 50
"""Places of an answer that are recorded, best first. Chosen: nobody opens what comes later."""
NO_ANSWER = "search first, with memory on; `codelens memory show` tells what is recorded"


class Notebook:
    """The memory of one open index. `now` is in unix seconds; the clock's time where it is None."""

    def __init__(self, store: Store, on: bool, session: str = "", now: int | None = None) -> None:
        self._store, self._on, self._session, self._now = store, on, session, now
        self.path: Path = memory_place(store.path)

    # What people say

    def pin(self, target: str) -> Place:
        """Raises TargetError for what is not in the index, MemoryOff."""
        self._must_be_on()
        place = self._place(target)
        with self._recording() as memory:
            memory.pin(place, self._time())
        return place

    def unpin(self, target: str) -> tuple[Place, bool]:
        """The place, and whether it was pinned."""
        self._must_be_on()
        place = self._place(target)
        with self._recording() as memory:
            return place, memory.unpin(place)

    def rate(self, target: str, rating: float) -> Place:
        """`rating` is from 0 to 10. Raises UsageError for another."""
        self._must_be_on()
        if not 0 <= rating <= 10:
            raise UsageError(f"a rating is from 0 to 10, not {rating:g}")
        place = self._place(target)
        with self._recording() as memory:
            memory.rate(place, rating, self._time())
        return place

    def judge(self, hit: str, useful: bool, query: str | None = None, words: Sequence[str] = ()) -> Place:
        """Say that a hit was useful, or not: by its number in the last answer, or by what it is called.

        `words` are those of `query` that lead to it; without a query they are the last answer's where that held the hit.
        """
        self._must_be_on()
        last = self.last()
        by_number = hit.isascii() and hit.isdigit()
        place = self._numbered(int(hit), last).place if by_number else self._place(hit)
        held = last is not None and any(one.place == place for one in last.places)
        if query is None and last is not None and held:
            query, words = last.query, last.words
        digest = self._digests([place]).get(place, "")
        with self._recording() as memory:
            memory.judge(place, Feedback(useful, digest), query or "", self._time())
            for word in words if useful else ():
                memory.learn(word, place, self._time())
            if held and last is not None:
                for one in last.places:
                    if one.place == place and useful:
                        memory.set_used(last.number, one.rank)
        return place

    # What people do

    def record(self, query: str, words: Sequence[str], found: Sequence[tuple[int, UnitRow, int]]) -> None:
        """Record an answer: (rank, unit, line) of what it showed. What the one before showed in vain is judged now."""
        self._must_be_on()
        now, shown = self._time(), found[:MOST_PLACES]
        places = tuple(Answered(rank, place_of(unit), line) for rank, unit, line in shown)
        in_vain = self._in_vain()
        with self._recording() as memory:
            for answer, judged in in_vain:
                for place, digest in judged.items():
                    memory.judge(place, Feedback(False, digest, True), answer.query, now)
                memory.settle(answer.number)
            memory.add_answer(Answer(query, tuple(words), now, places, self._session))
            for place in dict.fromkeys(one.place for one in places):
                memory.stamp(place, now)

    def _in_vain(self) -> list[tuple[Answer, Mapping[Place, str]]]:
        """Answers of this session that are over, each with the unused places of those of which something was used.

        An answer of which nothing was used says nothing: perhaps nobody told us.
        """
        with Memory.reading(self.path) as memory:
            answers = memory.unsettled(self._session)
        unused = {
            a.number: [one.place for one in a.places if not one.used] if any(one.used for one in a.places) else []
            for a in answers
        }
        known = self._digests({place for places in unused.values() for place in places})
        return [(a, {place: known[place] for place in unused[a.number] if place in known}) for a in answers]

    def used(self, targets: Sequence[str]) -> list[Place]:
        """Of the places that the last answer held, those that were used: by PATH, PATH:LINE or name.

        Each is judged useful and counted once an answer, and the answer's words lead to it from now on.
        """
        self._must_be_on()
        last = self.last()
        if last is None:
            raise UsageError("no answer is recorded", NO_ANSWER)
        meant = [one for one in last.places if any(self._means(target, one) for target in targets)]
        self._use(last, [one for one in meant if not one.used])
        return list(dict.fromkeys(one.place for one in meant))

    def opened(self, number: int) -> None:
        """Count a use of the last answer's hit of this number."""
        self._must_be_on()
        last = self.last()
        one = self._numbered(number, last)
        if last is not None:
            self._use(last, [one])

    def _use(self, answer: Answer, opened: Collection[Answered]) -> None:
        known = self._digests({one.place for one in opened})
        now = self._time()
        with self._recording() as memory:
            for place in dict.fromkeys(one.place for one in opened):
                memory.use(place, now)
                if all(not one.used for one in opened if one.place == place):
                    memory.judge(place, Feedback(True, known.get(place, ""), True), answer.query, now)
                    for word in answer.words:
                        memory.learn(word, place, now)
            for one in opened:
                memory.set_used(answer.number, one.rank)

    def hit(self, number: int) -> tuple[Answered, Path]:
        """The last answer's hit of this number, and where its file is. Raises UsageError, MemoryOff."""
        self._must_be_on()
        one = self._numbered(number, self.last())
        with self._store.reading():
            roots = {row.name: row.root for row in self._store.documents.repositories()}
            documents = self._store.documents.by_path(one.place.path)
            names = {row.id: row.name for row in self._store.documents.repositories()}
        if one.place.repository not in roots:
            raise UsageError(f"{one.place.repository} is no longer in the index", "search again")
        os_path = next((d.os_path for d in documents if names[d.repository] == one.place.repository), one.place.path)
        return one, roots[one.place.repository] / os_path

    def _numbered(self, number: int, last: Answer | None) -> Answered:
        if last is None:
            raise UsageError("no answer is recorded", NO_ANSWER)
        found = next((one for one in last.places if one.rank == number), None)
        if found is None:
            ranks = [one.rank for one in last.places]
            held = f"{min(ranks)} to {max(ranks)}" if ranks else "none"
            raise UsageError(f"the last answer has no hit {number}", f"its hits: {held}; it was {last.query!r}")
        return found

    # Looking and forgetting

    def last(self) -> Answer | None:
        """The last recorded answer of this session."""
        with Memory.reading(self.path) as memory:
            return memory.last_answer(self._session)

    def everything(self) -> dict[str, list[dict[str, Any]]]:
        """All that is recorded, as objects."""
        with Memory.reading(self.path) as memory:
            return memory.everything()

    def known(self, target: str | None = None) -> dict[Place, Remembered]:
        """What is recorded of each place; of those that a target means where one is named."""
        with Memory.reading(self.path) as memory:
            recalled = memory.recall({place.path for place in memory.places()})
        meant = self._meant(target, recalled.places) if target is not None else set(recalled.places)
        return {place: recalled.places[place] for place in sorted(meant) if place in recalled.places}

    def current(self, places: Collection[Place]) -> dict[Place, str]:
        """Place → the digest of its neighbourhood as indexed now; a place that is gone has none."""
        return self._digests(places)

    def forget(self, target: str) -> list[Place]:
        """Remove all that is recorded of what a target means. Raises TargetError where that is nothing."""
        with Memory.reading(self.path) as memory:
            places = self._meant(target, memory.places())
        if not places:
            raise TargetError(f"nothing is recorded of {target}", hint="`codelens memory show` lists what is")
        with MemoryWriter.recording(self.path) as memory:
            memory.forget(places)
        return sorted(places)

    def forget_all(self) -> bool:
        """Remove the memory file, damaged or not; whether there was one."""
        try:
            return remove_memory(self.path)
        except OSError as fault:
            raise MemoryFault(f"{self.path} cannot be removed: {fault.strerror}", "remove it yourself") from None

    # Places

    def _meant(self, target: str, among: Iterable[Place]) -> set[Place]:
        """The recorded places that a target means: as the index has it, or, where that has it no more, as they are called."""
        wanted = target.replace("::", ".").replace("#", ".").removesuffix("()")
        found = {p for p in among if target in (p.path, f"{p.repository}/{p.path}") or p.told() == target}
        if not found:
            found = {p for p in among if p.name and f".{p.name}".endswith(f".{wanted}")}
        if not found:
            try:
                place = self._place(target)
            except TargetError:
                return set()
            found = {p for p in among if p == place or (place.kind == FILE and p[:2] == place[:2])}
        return found

    def _place(self, target: str) -> Place:
        """Of a symbol or PATH:LINE the unit; of a PATH the file."""
        with self._store.reading():
            found: Target = resolve_target(target, self._store)
            if found.document is not None and found.line is None:
                names = {row.id: row.name for row in self._store.documents.repositories()}
                return Place(names[found.document.repository], found.document.path, "", FILE)
        if found.unit is None:
            raise TargetError(f"{target} is not in the index", hint="name it as PATH, PATH:LINE or a symbol's name")
        return place_of(found.unit)

    def _means(self, target: str, one: Answered) -> bool:
        """Whether a target that was used is this place of an answer: its file, a line of it, or its name."""
        try:
            place = self._place(target)
        except TargetError as fault:
            if fault.candidates and one.place.name:  # a name that several things have: those in the answer are meant
                return f".{one.place.name}".endswith(f".{target}")
            return False
        return place[:2] == one.place[:2] if place.kind == FILE else place == one.place

    def _digests(self, places: Collection[Place]) -> dict[Place, str]:
        with self._store.reading():
            units = {place: found[0] for place, found in units_at(places, self._store).items()}
            known = digests(units.values(), self._store, Texts(self._store))
        return {place: known[unit.id] for place, unit in units.items()}

    # The rest

    def _time(self) -> int:
        return self._now if self._now is not None else int(time.time())

    def _must_be_on(self) -> None:
        if not self._on:
            raise MemoryOff("memory is off: nothing is recorded")

    def _recording(self) -> AbstractContextManager[MemoryWriter]:
        self._must_be_on()
        return MemoryWriter.recording(self.path)


def units_at(places: Iterable[Place], store: Store) -> dict[Place, list[UnitRow]]:
    """Place → the units that are called so, in order of content; a place that is gone, or a file, has none."""
    wanted = {place for place in places if place.kind != FILE}
    found: dict[Place, list[UnitRow]] = {}
    for path in sorted({place.path for place in wanted}):
        for document in store.documents.by_path(path):
            for unit in store.units.of_document(document.id):
                if (place := place_of(unit)) in wanted:
                    found.setdefault(place, []).append(unit)
    return {place: sorted(units, key=UnitRow.content_order) for place, units in found.items()}

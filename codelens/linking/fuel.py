"""Answer questions that may be circular, and keep the answers.

Each question gets one unit of fuel less than the question that asked it; without fuel the answer is None. An answer thus
depends only on the repository and the fuel, not on the order of questions. Each question is answered at most FUEL times, so the
work is linear in the number of questions, which is linear in the size of the text.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from codelens.linking.catalog import Catalog
from codelens.linking.facts import Key

FUEL = 24  # Depth of nested questions for one reference. 16 and 24 give the same edges on Django and Guava.
MOST_ANSWERS = 15_000  # Limit of answers kept in memory, at some 500 bytes each
T = TypeVar("T")


def cache_with_fuel(find: Callable[..., T]) -> Callable[..., T | None]:
    """Make a method a question: each call takes one unit of fuel, and its answer is kept with the keys that it depends on.

    A caller in another document than the one that the question is about passes that document's path as `home`. Its answer then
    depends on the document's offers as a whole; `Evaluator.collect_offered_keys` records the keys that these depend on.
    """
    name = find.__name__

    @wraps(find)
    def ask(self: Questions, *about: Any, home: str = "") -> T | None:
        key, catalog = (name, *about), self.catalog
        answer: T | None
        if (known := self._answers.get(key)) is not None and known[1] <= self._fuel:
            answer, needed, keys = known
            if needed > self._needed:  # `max` takes longer, and this is the line that runs most often
                self._needed = needed
            catalog.keys.update((("e", home),) if home else keys)
            return answer
        if not self._fuel:
            self.cut = True
            return None
        if self._cut_answers and (partial := self._cut_answers.get((self._fuel, *key))) is not None:
            self.cut = True
            answer, keys = partial
            catalog.keys.update(keys)
            return answer
        outer_keys, outer_needed, outer_cut = catalog.keys, self._needed, self.cut
        catalog.keys, self._needed, self.cut = set(), 0, False
        self._fuel -= 1
        self.steps += 1
        answer = find(self, *about)
        self._fuel += 1
        keys, catalog.keys = catalog.keys, outer_keys
        if self.cut:
            self._cut_answers[self._fuel, *key] = answer, keys
            outer_keys.update(keys)
            self._needed = outer_needed
            return answer
        self._answers[key] = answer, self._needed + 1, keys
        self._needed, self.cut = max(outer_needed, self._needed + 1), outer_cut
        outer_keys.update((("e", home),) if home else keys)
        return answer

    return ask


class Questions:
    """Answers to questions about one repository, kept with what each depends on; fuel limits how deep a question may lead."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.steps = 0  # Questions answered, without those whose answer was kept
        self.cut = False  # True if fuel ran out since this was last set to False
        self._fuel = FUEL
        self._needed = 0  # Fuel that the current question has used so far
        self._answers: dict[tuple[object, ...], tuple[Any, int, set[Key]]] = {}
        """Question → (answer, fuel that it needs, keys that it depends on)."""
        self._cut_answers: dict[tuple[object, ...], tuple[Any, set[Key]]] = {}
        """(amount of fuel that did not suffice, question) → (answer with that amount, keys that it depends on)."""

    def forget_answers(self) -> None:
        """Drop all answers. Asking again gives the same answers."""
        self._answers.clear()
        self._cut_answers.clear()

    def trim_answers(self) -> None:
        """Drop all answers if there are more than MOST_ANSWERS."""
        if len(self._answers) + len(self._cut_answers) > MOST_ANSWERS:
            self.forget_answers()

"""codelens memory: record pins, ratings and judgements of results; show, export and erase the records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from codelens.cli.declare import SYMBOLS, CommandGroup, argument, command, option, required_argument
from codelens.cli.flags import NOW, CommonFlags, JsonFlags, Texts
from codelens.cli.options import parse_time, read_diff
from codelens.cli.streams import inform, say, user_agrees, write, write_answer, write_json
from codelens.cli.workplace import Workplace, find_workplace, locate_target
from codelens.errors import MemoryFault, UsageError
from codelens.index import Index, select_learnable_words
from codelens.model.code import UnitRow
from codelens.model.memory import Place, PlaceRecord
from codelens.model.search import MEMORY_UNUSED, Notice
from codelens.render.records import to_json
from codelens.render.visible import escape_text
from codelens.text.counts import quantity

if TYPE_CHECKING:
    from codelens.memory.notebook import MemoryNotebook


class RecordingFlags(CommonFlags):
    now: str | None = NOW


def record_answer(
    index: Index,
    query: str,
    results: Sequence[tuple[int, UnitRow, int]],
    now: int | None,
    notices: Sequence[Notice],
    words: str | None = None,
) -> None:
    """Record an answer by (rank, unit, line) of its hits. If that fails, say so, unless one of `notices` does."""
    if any(notice.code == MEMORY_UNUSED for notice in notices):
        return
    try:
        index.record_answer(query, results, words=words, now=now)
    except MemoryFault as fault:
        say(f"note: not recorded: {fault}; {fault.hint}")


@contextmanager
def open_notebook(flags: CommonFlags) -> Iterator[tuple[MemoryNotebook, Workplace, Callable[[str], str]]]:
    """Open the memory of the nearest index, with its workplace and a function that resolves a TARGET."""
    place = find_workplace(flags)
    with place.open() as index:
        notebook = index.open_notebook(now=parse_time(getattr(flags, "now", None)))
        yield notebook, place, lambda target: locate_target(target, place, index)


class MemoryShowFlags(CommonFlags, JsonFlags):
    target: str | None = argument(
        "[TARGET]", "PATH, PATH:LINE or a symbol's name [default: everything]", values=SYMBOLS
    )


@command(epilog="Exit: 0 something is recorded, 1 nothing, 2 error, 3 no index.")
def show(flags: MemoryShowFlags) -> int:
    """List what is recorded. Shows pins, ratings, uses, judgements, results that contained it, and words that lead to it."""
    with open_notebook(flags) as (notebook, place, find_target):
        known = notebook.load_records(find_target(flags.target) if flags.target is not None else None)
        current = notebook.compute_digests(known)
        words: dict[Place, dict[str, int]] = {}  # Place → word → how often the place was used for it
        for row in notebook.export_records()["vocabulary"]:
            at_place = words.setdefault(Place(row["repository"], row["path"], row["name"], row["kind"]), {})
            at_place[row["word"]] = row["count"]
    rows = [(target, known[target], current.get(target, ""), words.get(target, {})) for target in known]
    is_on = place.settings.memory
    write_answer(
        flags,
        lambda: {"memory": is_on, "path": str(notebook.path), "places": [_build_record(*row) for row in rows]},
        lambda: (
            f"{escape_text(row[0].format_label())} ({row[0].kind}): {', '.join(_describe_place(*row[1:]))}\n"
            for row in rows
        ),
    )
    if not (known or flags.json):
        inform(flags, "nothing is recorded" + (f" about {flags.target}" if flags.target else ""))
    if not (is_on or flags.json):
        inform(flags, "note: memory is off: nothing is recorded or used")
    return 0 if known else 1


def _describe_place(known: PlaceRecord, current: str, words: dict[str, int]) -> Iterator[str]:
    """Yield the records of a place as phrases; `current` is the present digest of its code."""
    if known.pinned:
        yield "pinned"
    if known.rating is not None:
        yield f"rated {known.rating:g}"
    if known.uses:
        yield f"used {quantity(known.uses, 'time')}"
    if known.feedback:
        useful, judged = known.outcomes
        expired = _count_expired(known, current)
        yield f"useful {useful} of {quantity(judged, 'time')}" + (f" ({expired} expired)" if expired else "")
    if known.stamps:
        yield f"shown {quantity(len(known.stamps), 'time')}"
    if words:
        yield "for words " + ", ".join(f"{word}… {quantity(times, 'time')}" for word, times in words.items())


def _count_expired(known: PlaceRecord, current: str) -> int:
    """Count the judgements of code that has changed since."""
    return sum(judgement.digest != current for judgement in known.feedback)


def _build_record(place: Place, known: PlaceRecord, current: str, words: dict[str, int]) -> dict[str, Any]:
    """Build the JSON object of a place from its records; `current` is the present digest of its code."""
    useful, judged = known.outcomes
    return {
        **place._asdict(),
        "pinned": known.pinned,
        "rating": known.rating,
        "uses": known.uses,
        "useful": useful,
        "judged": judged,
        "expired": _count_expired(known, current),
        "stamps": list(known.stamps),
        "words": words,
    }


class ForgetFlags(CommonFlags):
    target: str | None = argument(
        "[TARGET]", "PATH, PATH:LINE or a symbol's name, in the index or no more", values=SYMBOLS
    )
    all: bool = option("--all", "Erase everything, and delete the file")
    yes: bool = option("-y --yes", "Do not ask before erasing everything")


@command(epilog="Exit: 0 forgotten, 1 kept, 2 nothing is recorded of it, 3 no index.")
def forget(flags: ForgetFlags) -> int:
    """Erase what is recorded about a symbol or file, or everything. Erases the queries that led to it, too."""
    if (flags.target is None) == (not flags.all):
        raise UsageError("forget what?", "`codelens memory forget TARGET`, or --all")
    with open_notebook(flags) as (notebook, _, find_target):
        if flags.target is not None:
            lines = [f"forgot {place.format_label()}" for place in notebook.forget(find_target(flags.target))]
        elif not notebook.path.is_file():
            lines = ["nothing was recorded"]
        elif flags.yes or user_agrees(f"remove {notebook.path}?", f"remove {notebook.path}"):
            notebook.forget_all()
            lines = [f"removed {notebook.path}"]
        else:
            lines = ["kept"]
    for line in lines:
        inform(flags, line)
    return 1 if lines == ["kept"] else 0


SCHEMA = 1  # Version of the export; its fields change only with this number


@command(epilog="Exit: 0 written, 2 the memory file is damaged, 3 no index.")
def export(flags: CommonFlags) -> int:
    """Write all that is recorded as one JSON object to stdout. Times are unix seconds."""
    with open_notebook(flags) as (notebook, _, _find):
        records = notebook.export_records()
    write_json([to_json({"schema": SCHEMA, **records}, indent=2)])
    return 0


class PinFlags(RecordingFlags):
    target: str = required_argument("TARGET", "PATH:LINE or a symbol's name; PATH for all of a file", values=SYMBOLS)


@command(epilog="Exit: 0 pinned, 2 no such target or memory is off, 3 no index.")
def pin(flags: PinFlags) -> int:
    """Pin a symbol or a file. It ranks higher in every search that finds it."""
    with open_notebook(flags) as (notebook, _, find_target):
        pinned = notebook.pin(find_target(flags.target))
    inform(flags, f"pinned {pinned.format_label()}")
    return 0


@command(epilog="Exit: 0 unpinned, 1 it was not pinned, 2 no such target or memory is off, 3 no index.")
def unpin(flags: PinFlags) -> int:
    """Remove a pin."""
    with open_notebook(flags) as (notebook, _, find_target):
        unpinned, was_pinned = notebook.unpin(find_target(flags.target))
    inform(flags, f"{'unpinned' if was_pinned else 'not pinned:'} {unpinned.format_label()}")
    return 0 if was_pinned else 1


class RateFlags(RecordingFlags):
    target: str = required_argument("TARGET", "PATH, PATH:LINE or a symbol's name", values=SYMBOLS)
    rating: float = required_argument("RATING", "0 to 10; 5 changes nothing")


@command(epilog="Exit: 0 rated, 2 no such target or memory is off, 3 no index.")
def rate(flags: RateFlags) -> int:
    """Rate a file or a symbol from 0 to 10. Replaces an earlier rating; a symbol's rating overrides its file's."""
    with open_notebook(flags) as (notebook, _, find_target):
        rated = notebook.rate(find_target(flags.target), flags.rating)
    inform(flags, f"rated {rated.format_label()} {flags.rating:g} of 10")
    return 0


class FeedbackFlags(RecordingFlags):
    hit: str = required_argument("HIT", "The hit's number in the last answer, PATH:LINE, or a symbol's name")
    verdict: str = required_argument("VERDICT", "useful or useless", choices=("useful", "useless"))
    query: str | None = option(
        "--query QUERY", "The query that found it [default: the last recorded query, if it found the hit]"
    )


@command(epilog="Exit: 0 recorded, 2 no such hit or memory is off, 3 no index.")
def feedback(flags: FeedbackFlags) -> int:
    """Mark a hit as useful or useless. This counts until the code around it changes.

    Later searches that share words with the query rank a useful hit higher.
    """
    words = select_learnable_words(flags.query) if flags.query is not None else ()
    with open_notebook(flags) as (notebook, _, find_target):
        hit = flags.hit if flags.hit.isdigit() else find_target(flags.hit)
        judged = notebook.judge(hit, flags.verdict == "useful", flags.query, words)
    inform(flags, f"{flags.verdict}: {judged.format_label()}")
    return 0


class UsedFlags(RecordingFlags):
    targets: Texts = argument(
        "FILE...", "Files that were read or changed, PATH:LINE, symbols' names, or numbers of hits"
    )
    diff: str | None = option("--diff FILE", "Everything that the changed lines of this diff name; `-` is stdin")


@command(epilog="Exit: 0 recorded, 1 nothing of the last answer was used, 2 no answer or memory is off, 3 no index.")
def used(flags: UsedFlags) -> int:
    """Record which results of the last search were used.

    Marks these places as useful. The other hits of that answer count as useless once the next search begins.
    """
    if bool(flags.targets) == (flags.diff is not None):
        hint = "`codelens memory used FILE...`, or `git diff | codelens memory used --diff -`"
        raise UsageError("what was used?", hint)
    with open_notebook(flags) as (notebook, workplace, find_target):
        if flags.diff is not None:
            places = notebook.record_use_in_diff(read_diff(flags.diff, workplace.cwd).decode("utf-8", "replace"))
        else:
            places = notebook.record_use([find_target(target) for target in flags.targets or ()])
    write(f"{escape_text(place.format_label())}\n" for place in places)
    if not places:
        inform(flags, "the last answer has no hit there")
    return 0 if places else 1


memory = CommandGroup(
    "memory",
    (show, pin, unpin, rate, feedback, used, forget, export),
    help="Pin, rate and judge results, and manage what is recorded about them.",
    epilog="Nothing is recorded unless the setting `memory` is on: in your own configuration, or CODELENS_MEMORY=1.",
)

"""codelens memory show: what is recorded, place by place."""

from collections.abc import Iterator
from typing import Annotated, Any

from codelens.cli.declare import argument, declare
from codelens.cli.flags import CommonFlags, JsonFlags
from codelens.cli.recorded import notebook_here
from codelens.cli.streams import say, write, write_json
from codelens.cli.workplace import target_here
from codelens.remembered import Place, Remembered


class ShowFlags(CommonFlags, JsonFlags):
    """Of what."""

    target: Annotated[str | None, argument("PATH, PATH:LINE or a symbol's name [default: everything]", "[TARGET]")] = (
        None
    )


def show(flags: ShowFlags) -> int:
    """List what is recorded of each place: pins, ratings, uses, judgements, answers that held it, words that lead to it."""
    with notebook_here(flags) as (notebook, index, place):
        target = target_here(flags.target, place, index) if flags.target is not None else None
        known = notebook.known(target)
        current = notebook.current(known)
        words = _words(notebook.everything()["vocabulary"])
        on, path = place.settings.memory, notebook.path
    if not flags.quiet and flags.json:
        from codelens.render.records import to_json

        records = [_record(one, said, current.get(one, ""), words.get(one, {})) for one, said in known.items()]
        write_json([to_json({"memory": on, "path": str(path), "places": records})])
    elif not flags.quiet:
        write(_line(one, said, current.get(one, ""), words.get(one, {})) for one, said in known.items())
        if not known:
            say("nothing is recorded" + (f" of {flags.target}" if flags.target else ""))
        if not on:
            say("note: memory is off: nothing is recorded, and what is recorded does not count")
    return 0 if known else 1


def _words(vocabulary: list[dict[str, Any]]) -> dict[Place, dict[str, int]]:
    """Place → word → how often the place was used for it."""
    found: dict[Place, dict[str, int]] = {}
    for row in vocabulary:
        place = Place(row["repository"], row["path"], row["name"], row["kind"])
        found.setdefault(place, {})[row["word"]] = row["count"]
    return found


def _line(place: Place, known: Remembered, current: str, words: dict[str, int]) -> str:
    return f"{place.told()} ({place.kind}): {', '.join(_parts(known, current, words))}\n"


def _parts(known: Remembered, current: str, words: dict[str, int]) -> Iterator[str]:
    if known.pinned:
        yield "pinned"
    if known.rating is not None:
        yield f"rated {known.rating:g}"
    if known.uses:
        yield f"used {_times(known.uses)}"
    if known.feedback:
        useful, judged = known.outcomes
        expired = sum(one.digest != current for one in known.feedback)
        yield f"useful {useful} of {_times(judged)}" + (f" ({expired} expired)" if expired else "")
    if known.stamps:
        yield f"shown {_times(len(known.stamps))}"
    if words:
        yield "for words " + ", ".join(f"{word}… {_times(times)}" for word, times in words.items())


def _times(number: int) -> str:
    return f"{number} time{'' if number == 1 else 's'}"


def _record(place: Place, known: Remembered, current: str, words: dict[str, int]) -> dict[str, Any]:
    useful, judged = known.outcomes
    return {
        **place._asdict(),
        "pinned": known.pinned,
        "rating": known.rating,
        "uses": known.uses,
        "useful": useful,
        "judged": judged,
        "expired": sum(one.digest != current for one in known.feedback),
        "stamps": list(known.stamps),
        "words": words,
    }


command = declare("show", ShowFlags, show, epilog="Exit: 0 something is recorded, 1 nothing, 2 error, 3 no index.")

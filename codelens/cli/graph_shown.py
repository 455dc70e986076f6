"""An answer of the graph → stdout in the form that the flags ask for, and what is to be said of it on stderr."""

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from codelens.cli.graph_flags import GraphFlags, PlaceFlags, relation_options
from codelens.cli.streams import colored, say, write, write_json
from codelens.cli.workplace import Workplace, reading_place, target_here
from codelens.errors import UsageError
from codelens.index import Index
from codelens.model import Freshness, Notice
from codelens.related import Related, RelationOptions
from codelens.render.paths import PathStyle

Ask = Callable[[Index, Sequence[str], RelationOptions], Related]


def ask_graph(
    flags: GraphFlags,
    targets: Sequence[str | None],
    below: Sequence[Path] | None,
    ask: Ask,
    members: bool = False,
) -> int:
    """One question from flags to stdout; the exit code. `targets` are as typed, None where one is missing."""
    named = [t for t in targets if t is not None]
    if len(named) < len(targets):
        raise UsageError("no target", "a target is PATH, PATH:LINE or a symbol's name")
    place = open_place(flags)
    with place.open() as index:
        asked = relation_options(flags, place, index, below or (), members)
        result = ask(index, [target_here(t, place, index) for t in named], asked)
        exit_code = 0 if result.relations else 1
        if not flags.quiet:
            _show(place.with_notices(result), flags, place, exit_code)
            say_notices(result.notices)
            _say_stale(result)
    return exit_code


def open_place(flags: PlaceFlags) -> Workplace:
    """The workplace, once it is clear that the forms of output agree."""
    chosen = [name for name in ("json", "jsonl", "dot") if getattr(flags, name, False)]
    if len(chosen) > 1:
        raise UsageError(f"--{chosen[0]} and --{chosen[1]} cannot both be had")
    return reading_place(flags, {"color": flags.color, "path_style": flags.path_style})


def on_screen(flags: PlaceFlags) -> bool:
    """Whether people read it."""
    return sys.stdout.isatty() or flags.pretty


def _show(result: Related, flags: GraphFlags, place: Workplace, exit_code: int) -> None:
    from codelens.render import relations
    from codelens.render.records import to_json

    if flags.json or flags.jsonl:
        record = relations.related_record(result, exit_code)
        write_json(relations.related_jsonl(result, exit_code) if flags.jsonl else [to_json(record)])
    elif flags.dot:
        write(relations.related_dot(result))
    else:
        write(_text(result, flags, place), styled=on_screen(flags))


def _text(result: Related, flags: GraphFlags, place: Workplace) -> Iterator[str]:
    paths = PathStyle(place.settings.path_style, str(place.cwd), result.index.repositories)
    if on_screen(flags):
        from codelens.render.relations_terminal import related_screen

        return related_screen(result, paths, colored(place.color, on_screen(flags)))
    from codelens.render.relations import related_lines

    return related_lines(result, paths)


def say_notices(notices: Sequence[Notice]) -> None:
    """What an answer cannot know, on stderr."""
    for notice in notices:
        say(f"note: {notice.text}")


def _say_stale(result: Related) -> None:
    old = sum(r.place.freshness is not Freshness.FRESH for r in result.relations)
    if old:
        say(f"warning: {old} of {len(result.relations)} lines are of files that changed since they were indexed")

"""codelens why: the same search, and an account of each rank in it."""

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from codelens.cli.asked import all_queries, joined_query, likeness, search_options, without_query
from codelens.cli.declare import argument, declare, option
from codelens.cli.flags import FILTERS, OUTPUT, ColorFlags, CommonFlags, JsonFlags, RankingFlags
from codelens.cli.streams import colored, say, write, write_json
from codelens.cli.workplace import Workplace, reading_place, scope_of, target_here
from codelens.errors import TargetError
from codelens.explained import NO_SUCH_FILE, WhyResult
from codelens.model import NOTHING_ASKED, Candidate
from codelens.render.explain_text import SameSearch, shell_quoted
from codelens.render.paths import PathStyle


class WhyFlags(CommonFlags, JsonFlags, ColorFlags, RankingFlags):
    """The search to account for, with the flags that rank as `search` has them, and what is asked about."""

    query: Annotated[str | None, argument("What was searched for; `-` reads it from stdin", "QUERY")] = None
    targets: Annotated[
        list[str] | None,
        argument("PATH:LINE or a symbol's name; two are put side by side [default: all hits]", "[TARGET]..."),
    ] = None
    below: Annotated[
        list[Path] | None,
        option("--below", section=FILTERS, metavar="PATH", help="Only below this, as PATH of a search; repeatable"),
    ] = None
    check: Annotated[
        bool, option("--check", section=OUTPUT, help="Compute every score again from the JSON; differences exit with 2")
    ] = False
    stats: Annotated[bool, option("--stats", section=OUTPUT, help="Say how long each channel took")] = False


def why(flags: WhyFlags) -> int:
    """Explain the ranks of a search: each contribution to a score with its reason.

    For something that is not among the results, say which stage lost it, and the smallest change that brings it in.
    """
    positional, names = flags.query, list(flags.targets or ())
    if without_query(flags) and positional is not None:
        names, positional = [positional, *names], None
    query, literal, regex = joined_query(all_queries(positional, flags), flags)
    settings = {
        "color": flags.color,
        "path_style": flags.path_style,
        "allow_network": flags.allow_network or None,
        "memory": flags.memory,
        "metadata": flags.metadata,
    }
    place = reading_place(flags, settings)
    with place.open() as index:
        scope = scope_of(index.info().repositories, place.cwd, flags.below or (), flags.root_scope)
        like = likeness(flags, place, index)
        options = search_options(flags, place.settings, scope, literal=literal, regex=regex, like=like)
        result = index.why(query, [target_here(t, place, index) for t in names], options)
    exit_code = _exit_code(result)
    if flags.check:
        return _check(result, exit_code, flags)
    if not flags.quiet:
        _show(result, place, exit_code, flags, two=len(names) == 2)
        for notice in result.search.notices:
            say(f"{'error' if notice.code == NOTHING_ASKED else 'note'}: {notice.text}")
    return exit_code


def _exit_code(result: WhyResult) -> int:
    if result.search.failed:
        return 2
    if not result.explanations:
        return 1
    if any(e.loss is not None and e.loss.stage == NO_SUCH_FILE for e in result.explanations):
        return TargetError.exit_code
    return 1 if any(e.loss is not None or e.candidate is None for e in result.explanations) else 0


def _show(result: WhyResult, place: Workplace, exit_code: int, flags: WhyFlags, two: bool) -> None:
    if flags.json:
        from codelens.render.explain import why_record
        from codelens.render.records import to_json

        told = replace(result, search=place.with_notices(result.search))
        write_json([to_json(why_record(told, exit_code, flags.stats))])
        return
    if not result.explanations:
        say("nothing was found, so there is nothing to explain")
    write(_texts(result, place, flags, two), styled=sys.stdout.isatty() or flags.pretty)


def _texts(result: WhyResult, place: Workplace, flags: WhyFlags, two: bool) -> Iterator[str]:
    paths = PathStyle(place.settings.path_style, str(place.cwd), result.search.index.repositories)
    roots = {r.name: r.root for r in result.search.index.repositories}

    def where(candidate: Candidate) -> str:
        unit = candidate.unit
        return f"{paths.of(roots.get(unit.repository, ''), unit.path)}:{unit.name_line or unit.start_line}"

    same = _same_search(flags)
    if sys.stdout.isatty() or flags.pretty:
        from codelens.render.explain_terminal import render_picture

        return render_picture(result, where, colored(place.color, sys.stdout.isatty() or flags.pretty), two, same)
    from codelens.render.explain_text import render_explanation

    return render_explanation(result, where, two, same)


def _same_search(flags: WhyFlags) -> SameSearch:
    """The flags that ask the same index about the same files."""
    before = [f"--db {shell_quoted(str(flags.db))}"] if flags.db else []
    before += ["--root-scope"] if flags.root_scope else []
    before += [f"--metadata {shell_quoted(flags.metadata)}"] if flags.metadata else []
    return SameSearch(tuple(before), tuple(shell_quoted(str(path)) for path in flags.below or ()))


def _check(result: WhyResult, exit_code: int, flags: WhyFlags) -> int:
    """Through the JSON text and back, so that only what is printed is used."""
    from codelens.render.explain import why_record
    from codelens.render.recompute import recompute
    from codelens.render.records import to_json

    text = to_json(why_record(result, exit_code, flags.stats))
    if flags.json:
        write_json([text])
    count, differences = recompute(json.loads(text))
    for line in differences:
        say(f"error: {line}")
    verdict = f"{count} scores recomputed, {'all equal' if not differences else f'{len(differences)} differences'}"
    if flags.json:
        say(verdict)
    elif not flags.quiet:
        write([f"{verdict}\n"])
    return 2 if differences else exit_code


command = declare(
    "why",
    WhyFlags,
    why,
    epilog="Exit: 0 ranked, 1 not among the results, 2 no such target or an ambiguous one, 3 no index.",
)

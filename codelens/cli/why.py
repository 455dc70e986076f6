"""codelens why: run a search again and explain the rank of each hit, or why a target is not among them."""

import json
from pathlib import Path

from codelens.cli.declare import SYMBOLS, argument, command
from codelens.cli.flags import BRIEF_QUERY, FILTERS, OUTPUT, ColorFlags, CommonFlags, JsonFlags, RankingFlags
from codelens.cli.freshness import open_current_index
from codelens.cli.options import (
    build_search_options,
    has_query_option,
    read_likeness,
    read_query,
)
from codelens.cli.streams import is_for_people, say, wants_color, write, write_json, write_record
from codelens.cli.workplace import Workplace, locate_target, resolve_scope
from codelens.model.fast_dataclass import replace
from codelens.model.search import NOTHING_ASKED, WhyResult
from codelens.render.why import WhyView, quote_for_shell, render_why
from codelens.text.counts import quantity


class WhyFlags(CommonFlags, JsonFlags, ColorFlags, RankingFlags):
    query: str | None = argument("QUERY", "The query of the search; `-` reads it from stdin", values=SYMBOLS)
    targets: list[str] | None = argument(
        "[TARGET]...", "PATH:LINE or a symbol's name; two are compared [default: all hits]", values=SYMBOLS
    )
    below: list[Path] | None = FILTERS("--below PATH", "Search only below PATH, like PATH of `search`; repeatable")
    check: bool = OUTPUT("--check", "Recompute every score from the JSON; exit with 2 if one differs")
    every_part: bool = OUTPUT("--all", "Show every part of each score, not groups of reasons (also: -v)")
    stats: bool = OUTPUT("--stats", "Print how long each step took")


BRIEF = (*BRIEF_QUERY, "below", "limit", "mode", "every_part", "check", "stats", "json", "color", "pretty")


@command(
    brief=BRIEF, epilog="Exit: 0 ranked, 1 not among the results, 2 no such target or an ambiguous one, 3 no index."
)
def why(flags: WhyFlags) -> int:
    """Explain why each hit has its rank, or why a target is missing.

    Reasons are grouped: fusion of ranks, words, names, meaning, file, graph, history, shape. For a missing target, it names
    the stage that lost it and a change to the query that would find it.
    """
    positional, names = flags.query, list(flags.targets or ())
    if has_query_option(flags) and positional is not None:
        names, positional = [positional, *names], None
    text = read_query(positional, flags)
    with open_current_index(flags) as (place, index):
        scope = resolve_scope(index.info().repositories, place.cwd, flags.below or (), flags.root_scope)
        like = read_likeness(flags, place, index)
        options = build_search_options(flags, place.settings, scope, text, like)
        query = index.parse(text.text, options)
        result = index.why(query, [locate_target(t, place, index) for t in names], options)
    if flags.check:
        return _check_scores(result, flags)
    if not flags.quiet:
        if query.asks_for_lines:
            say("note: search answers this query with all matching lines; the ranks are those of --sort score")
        _show_explanations(result, place, flags, are_compared=len(names) == 2)
        for notice in result.search.notices:
            say(f"{'error' if notice.code == NOTHING_ASKED else 'note'}: {notice.text}")
    return result.exit_code


def _show_explanations(result: WhyResult, place: Workplace, flags: WhyFlags, are_compared: bool) -> None:
    if flags.json:
        from codelens.render.why_json import build_why_record

        noticed = replace(result, search=place.add_notices(result.search))
        write_record(build_why_record(noticed, result.exit_code, flags.stats))
        return
    if not result.explanations:
        say("no results, so there is nothing to explain")
    options = [f"--db {quote_for_shell(str(flags.db))}"] if flags.db else []
    options += ["--root-scope"] if flags.root_scope else []
    options += [f"--metadata {quote_for_shell(flags.metadata)}"] if flags.metadata else []
    view = WhyView(
        paths=place.make_path_style(result.search.index.repositories),
        every_part=flags.every_part or flags.verbose,
        side_by_side=are_compared,
        flags=tuple(options),
        below=tuple(quote_for_shell(str(path)) for path in flags.below or ()),
        color=wants_color(place.color, is_for_people(flags)),
    )
    if is_for_people(flags):
        from codelens.render.why_terminal import draw_why

        write(draw_why(result, view), styled=True, paged=not flags.no_pager)
    else:
        write(render_why(result, view))


def _check_scores(result: WhyResult, flags: WhyFlags) -> int:
    """Recompute all scores from the JSON text, so that only printed numbers are used; returns the exit code."""
    from codelens.render.records import to_json
    from codelens.render.why_json import build_why_record, recompute_scores

    text = to_json(build_why_record(result, result.exit_code, flags.stats))
    if flags.json:
        write_json([text])
    count, differences = recompute_scores(json.loads(text))
    for line in differences:
        say(f"error: {line}")
    agreement = f"{len(differences)} differences" if differences else "all equal"
    verdict = f"{quantity(count, 'score')} recomputed, {agreement}"
    if flags.json:
        say(verdict)
    else:
        write([f"{verdict}\n"])
    return 2 if differences else result.exit_code

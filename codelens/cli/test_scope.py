"""codelens test-scope: the tests to run for a change."""

from codelens.cli.declare import SYMBOLS, argument, command
from codelens.cli.flags import FILTERS, OUTPUT, PATH_STYLE, ChangeFlags, CommonFlags, JsonFlags
from codelens.cli.freshness import current_index
from codelens.cli.options import only_one, read_change
from codelens.cli.relations import TARGET, UNRESOLVED
from codelens.cli.streams import say, say_notices, write, write_record
from codelens.cli.workplace import Workplace, reading_place, target_here
from codelens.errors import UsageError
from codelens.model.graph import ReachingTests, RelationAnswer
from codelens.render.paths import PathStyle
from codelens.text.counts import quantity


class ScopeFlags(ChangeFlags, CommonFlags, JsonFlags):
    """Options: the change, and the form of the output."""

    targets: list[str] | None = argument(None, "[TARGET]...", TARGET, values=SYMBOLS)
    depth: int | None = FILTERS.option(None, "--depth N", "Hops to follow [default: 6]", least=1)
    min_confidence: float | None = FILTERS.option(
        None, "--min-confidence X", "Only edges with at least this confidence, 0 to 1 [default: 0.5]", least=0, most=1
    )
    format: str = OUTPUT.option(
        "paths",
        "--format HOW",
        "paths, pytest, or a template: '{path}:{line} {name}' [default: paths]",
        values=("paths", "pytest"),
    )
    unresolved: bool = UNRESOLVED
    null: bool = OUTPUT.option(False, "-0 --null", "Print a NUL byte after each line")
    path_style: str | None = PATH_STYLE


@command(epilog="Exit: 0 a test, 1 none, 2 usage error or no such target, 3 no index.")
def test_scope(flags: ScopeFlags) -> int:
    """List the tests that a change may reach. Prints each test file once, nearest first; with --format, each test.

    It follows 6 hops of calls, uses and inheritance with a confidence of at least 0.5. Lookups at run time are invisible to it:
    use the list to choose which tests to run first, not which to skip.
    """
    _check(flags)
    place = reading_place(flags, {"path_style": flags.path_style})
    with current_index(place, flags) as index:
        targets = [target_here(target, place, index) for target in flags.targets or ()]
        request = read_change(flags, place.cwd) or targets
        if flags.unresolved:
            return _unresolved(
                index.graph.unresolved_in_scope(request, flags.depth, flags.min_confidence), flags, place
            )
        result = index.graph.tests_reaching(request, flags.depth, flags.min_confidence)
        paths = place.path_style(index.info().repositories)
    exit_code = 0 if result.tests else 1
    if not flags.quiet:
        _show(result, place, flags, paths, exit_code)
    return exit_code


def _unresolved(result: RelationAnswer, flags: ScopeFlags, place: Workplace) -> int:
    """Print the calls that could not be followed; returns the exit code."""
    from codelens.render.relations import FORMS, related_format, related_lines, related_record

    exit_code = 0 if result.relations else 1
    paths = place.path_style(result.index.repositories)
    if flags.quiet:
        return exit_code
    if flags.json:
        write_record(related_record(place.with_notices(result), exit_code))
    elif flags.format in FORMS:
        write(related_lines(result, paths))
    else:
        write(related_format(result, paths, flags.format))
    say_notices(result.notices)
    return exit_code


def _check(flags: ScopeFlags) -> None:
    only_one(flags, ("targets", "pr", "diff", "staged"), {"targets": "targets"})
    if not (flags.targets or flags.pr or flags.diff or flags.staged):
        raise UsageError("nothing to find tests for", "name files or symbols, or give --pr, --diff or --staged")


def _show(result: ReachingTests, place: Workplace, flags: ScopeFlags, paths: PathStyle, exit_code: int) -> None:
    from codelens.render.relations import reaching_lines, reaching_record

    if flags.json:
        write_record(reaching_record(place.with_notices(result), paths, exit_code))
    else:
        write(reaching_lines(result, paths, flags.format, flags.null))
    say_notices(result.notices)
    if not result.touched:
        say("nothing is staged that the index holds" if flags.staged else "the change touches nothing in the index")
    elif not result.tests:
        say("no test in the index reaches this")
    if flags.verbose:
        say(
            f"{quantity(len(result.tests), 'test')} for {quantity(len(result.touched), 'symbol or file', 'symbols or files')}"
        )

"""codelens test-scope: the tests to run for a change."""

from pathlib import Path
from typing import Annotated

from codelens.cli.declare import argument, declare, option
from codelens.cli.flags import FILTERS, OUTPUT, CommonFlags, JsonFlags
from codelens.cli.graph_flags import TARGET
from codelens.cli.graph_shown import say_notices
from codelens.cli.streams import say, stdin_bytes, write, write_json
from codelens.cli.workplace import Workplace, reading_place, target_here
from codelens.errors import UsageError
from codelens.index import Index
from codelens.packed import Change
from codelens.related import ReachingTests
from codelens.render.paths import PathStyle

SOURCE = "For"


class ScopeFlags(CommonFlags, JsonFlags):
    """What changes, and the form of the answer."""

    targets: Annotated[list[str] | None, argument(TARGET, "[TARGET]...")] = None
    diff: Annotated[
        str | None,
        option(
            "--diff",
            section=SOURCE,
            metavar="WHAT",
            help="BASE..HEAD, or the file of a unified diff; `-` is stdin",
        ),
    ] = None
    staged: Annotated[bool, option("--staged", section=SOURCE, help="What is staged in git")] = False
    depth: Annotated[
        int | None, option("--depth", section=FILTERS, metavar="N", help="Hops to follow [default: 6]")
    ] = None
    min_confidence: Annotated[
        float | None,
        option(
            "--min-confidence",
            section=FILTERS,
            metavar="X",
            help="Only edges at least this sure, 0 to 1 [default: 0.5]",
        ),
    ] = None
    format: Annotated[
        str,
        option(
            "--format",
            section=OUTPUT,
            metavar="HOW",
            help="paths, pytest, or a line of your own: '{path}:{line} {name}' [default: paths]",
        ),
    ] = "paths"
    null: Annotated[bool, option("-0", "--null", section=OUTPUT, help="A NUL byte after each line")] = False
    path_style: Annotated[
        str | None,
        option("--path-style", section=OUTPUT, metavar="STYLE", help="Paths: cwd, root or absolute [default: cwd]"),
    ] = None


def test_scope(flags: ScopeFlags) -> int:
    """List the tests that a change may reach. Each file of tests once, the nearest first; with --format each test.

    Goes 6 hops along calls, uses and inheritance, of .5 confidence or more. What is looked up while a program runs is not
    seen: this chooses what to run first, not what never to run.
    """
    _check(flags)
    place = reading_place(flags, {"path_style": flags.path_style})
    with place.open() as index:
        result = index.tests_reaching(_asked(flags, place, index), flags.depth, flags.min_confidence)
        paths = PathStyle(place.settings.path_style, str(place.cwd), index.info().repositories)
    exit_code = 0 if result.tests else 1
    if not flags.quiet:
        _show(result, place, flags, paths, exit_code)
    return exit_code


def _check(flags: ScopeFlags) -> None:
    sources = [flags.diff is not None, flags.staged, bool(flags.targets)]
    if sum(sources) != 1:
        said = "nothing to find tests for" if not any(sources) else "targets, --diff and --staged exclude each other"
        raise UsageError(said, "`codelens test-scope FILE…`, or a symbol, or --diff main..HEAD, or --staged")
    if flags.depth is not None and flags.depth < 1:
        raise UsageError(f"--depth is at least 1, not {flags.depth}")
    if flags.min_confidence is not None and not 0 <= flags.min_confidence <= 1:
        raise UsageError(f"--min-confidence is 0 to 1, not {flags.min_confidence}")


def _asked(flags: ScopeFlags, place: Workplace, index: Index) -> Change | list[str]:
    cwd = str(place.cwd)
    if flags.staged:
        return Change(staged=True, cwd=cwd)
    if flags.diff is None:
        return [target_here(target, place, index) for target in flags.targets or ()]
    if flags.diff == "-":
        return Change(stdin_bytes("`git diff | codelens test-scope --diff -`"), cwd=cwd)
    if ".." in flags.diff and not Path(flags.diff).is_file():
        return Change(revisions=flags.diff, cwd=cwd)
    try:
        return Change(Path(flags.diff).read_bytes(), cwd=cwd)
    except OSError as fault:
        raise UsageError(f"--diff {flags.diff}: {fault.strerror}", "a range is written BASE..HEAD") from None


def _show(result: ReachingTests, place: Workplace, flags: ScopeFlags, paths: PathStyle, exit_code: int) -> None:
    from codelens.render.reaching import reaching_lines, reaching_record

    if flags.json:
        from codelens.render.records import to_json

        write_json([to_json(reaching_record(place.with_notices(result), paths, exit_code))])
    else:
        write(reaching_lines(result, paths, flags.format, flags.null))
    say_notices(result.notices)
    if flags.verbose:
        say(f"{len(result.tests)} tests for {len(result.touched)} symbols and files")


command = declare(
    "test-scope", ScopeFlags, test_scope, epilog="Exit: 0 a test, 1 none, 2 usage error or no such target, 3 no index."
)

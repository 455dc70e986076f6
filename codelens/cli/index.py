"""codelens index: bring the index up to date with the trees, or say what that would do."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

from codelens.cli.declare import argument, declare, option
from codelens.cli.flags import AllowNetwork, CommonFlags, JsonFlags, ProgressFlags
from codelens.cli.progress import watcher
from codelens.cli.streams import say, say_plain, write, write_json
from codelens.cli.trees import Trees, trees_of
from codelens.cli.workplace import Workplace, reading_place
from codelens.config import LoadedSettings
from codelens.errors import FilesFailed, UsageError
from codelens.index import Index
from codelens.model import PARTLY, SeenFile, Skip, SkipReason
from codelens.runs import WRITTEN, IndexReport
from codelens.worktree.place import prepare_index_folder

WALK = "Files"
FAILED = (SkipReason.UNREADABLE, SkipReason.BROKEN_LINK)
"""Skips that are errors for --strict."""


class IndexFlags(ProgressFlags, JsonFlags, CommonFlags):
    """Which trees, how they are walked, and what is made of them."""

    roots: Annotated[
        list[Path] | None,
        argument(
            "Folders to index [default: those of the index that is there, else the top of the repository]", "[PATH]..."
        ),
    ] = None
    force: Annotated[bool, option("--force", help="Derive every file anew")] = False
    rebuild: Annotated[bool, option("--rebuild", help="Build a new index file and swap it in")] = False
    trust: Annotated[
        bool,
        option(
            "--trust",
            help="Accept the index that lies here, as it is, though it was not made here for you; index nothing",
        ),
    ] = False
    verify: Annotated[bool, option("--verify", help="Compare contents, not only size and time")] = False
    no_fuzzy: Annotated[
        bool, option("--no-fuzzy", help="No trigrams: smaller, but no substrings and no typing mistakes")
    ] = False
    no_vector: Annotated[bool, option("--no-vector", help="No vectors")] = False
    jobs: Annotated[
        int | None, option("-j", "--jobs", metavar="N", help="Worker processes [default: one a core, at most 8]")
    ] = None
    allow_network: AllowNetwork = False
    strict: Annotated[bool, option("--strict", help="Exit with 6 if files had errors")] = False
    hidden: Annotated[bool, option("--hidden", section=WALK, help="Also files whose name starts with a dot")] = False
    no_ignore: Annotated[bool, option("--no-ignore", section=WALK, help="Do not heed ignore files")] = False
    dry_run: Annotated[
        bool, option("--dry-run", section=WALK, help="List what would be indexed and skipped; write nothing")
    ] = False
    explain_path: Annotated[
        str | None,
        option(
            "--explain-path", section=WALK, metavar="PATH", help="Say which rule decides on this file; write nothing"
        ),
    ] = None


def index(flags: IndexFlags) -> int:
    """Bring the index up to date. What has not changed is not read again; a second run writes nothing then."""
    if flags.trust:
        return _trust(flags)
    place, roots, settings_of = _trees(flags)
    if flags.explain_path is not None:
        return _explain(Path(flags.explain_path), roots, place, settings_of)
    if flags.dry_run:
        return _dry_run(roots, place, settings_of, flags)
    prepare_index_folder(place.index_path)
    with watcher(flags.progress, flags.quiet) as progress:
        reports = Index.build(
            place.index_path,
            roots,
            place.settings,
            force=flags.force,
            rebuild=flags.rebuild,
            verify=flags.verify,
            progress=progress,
            settings_of=settings_of,
        )
    failed = _failures(reports)
    try:
        _report(reports, flags, FilesFailed.exit_code if flags.strict and failed else 0)
    except KeyboardInterrupt as ending:
        raise type(ending)(WRITTEN) from None
    if flags.strict and failed:
        raise FilesFailed(f"{failed} files had errors")
    return 0


def _trust(flags: IndexFlags) -> int:
    if flags.rebuild or flags.force or flags.roots:
        raise UsageError("--trust only accepts an index: name no folders, and neither --force nor --rebuild")
    index = reading_place(flags).index_path
    digest = Index.accept(index)
    if not flags.quiet:
        say(f"accepted {index} as it is (SHA-256 {digest}); `codelens index` brings it up to date")
    return 0


def _trees(flags: IndexFlags) -> Trees:
    overrides = {
        "hidden": flags.hidden or None,
        "no_ignore": flags.no_ignore or None,
        "fuzzy": False if flags.no_fuzzy else None,
        "vector": False if flags.no_vector else None,
        "jobs": flags.jobs,
        "allow_network": flags.allow_network or None,
    }
    return trees_of(flags, flags.roots or (), overrides)


def _failures(reports: Sequence[IndexReport]) -> int:
    """Files that could not be read, and grammars that hung or broke; a grammar that knows a file only in part is no error."""
    broken = sum(fault != PARTLY for r in reports for fault in r.faults.values())
    return broken + sum(r.skipped.get(str(reason), 0) for r in reports for reason in FAILED)


def _report(reports: Sequence[IndexReport], flags: IndexFlags, exit_code: int) -> None:
    from codelens.render.reports import index_run_record, summary_lines

    if flags.json:
        from codelens.render.records import to_json

        write_json([to_json(index_run_record(reports, exit_code))])
    elif not flags.quiet:
        say_plain(summary_lines(reports))
    if not flags.quiet:
        for notice in (n for r in reports for n in r.notices):
            say(f"note: {notice.text}")
    if flags.verbose and reports:
        say(f"index {reports[0].index}")


def _dry_run(
    roots: Sequence[Path], place: Workplace, settings_of: Callable[[Path], LoadedSettings], flags: IndexFlags
) -> int:
    from codelens.render.reports import plan_lines, plan_record

    planned = Index.plan(place.index_path, roots, settings_of)
    if flags.json:
        from codelens.render.records import to_json

        write_json([to_json(plan_record(planned))])
        return 0
    counts = {True: 0, False: 0}

    def counted() -> Iterator[SeenFile | Skip]:
        for _, entry in planned:
            counts[isinstance(entry, Skip)] += 1
            yield entry

    write(plan_lines(counted()))
    say(f"would index {counts[False]} files, skip {counts[True]}; written: nothing")
    return 0


def _explain(
    asked: Path, roots: Sequence[Path], place: Workplace, settings_of: Callable[[Path], LoadedSettings]
) -> int:
    """Which rule decides on one path: the nearest root that holds it is asked."""
    from codelens.render.reports import skip_text

    path = Path(os.path.normpath(place.cwd / asked))
    root = max((r for r in roots if path.is_relative_to(r)), key=lambda r: len(r.parts), default=roots[0])
    verdict = Index.explain_path(place.index_path, root, os.path.relpath(path, root), settings_of)
    if verdict is None:
        write([f"{asked}: a folder that is walked\n"])
    elif isinstance(verdict, Skip):
        through = f" (by {verdict.path})" if verdict.path.endswith("/") else ""
        write([f"{asked}: skipped: {skip_text(verdict)}{through}\n"])
    else:
        write([f"{asked}: indexed\n"])
    return 0


command = declare(
    "index",
    IndexFlags,
    index,
    epilog="Exit: 0 done, 2 error, 3 an index that cannot be used, 5 another process writes, 6 files had errors.",
)

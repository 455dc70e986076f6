"""codelens index: bring the index up to date with the trees, or show what that would do."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from codelens.cli.declare import Section, argument, command, option
from codelens.cli.flags import ALLOW_NETWORK, CommonFlags, JsonFlags, Paths, ProgressFlags
from codelens.cli.options import find_only_flag
from codelens.cli.progress import show_progress
from codelens.cli.streams import inform, say, say_without_prefix, user_agrees, write, write_record
from codelens.cli.workplace import (
    Trees,
    choose_index,
    choose_trees,
    find_working_folder,
    find_workplace,
    resolve_named_index,
)
from codelens.config import find_user_place
from codelens.errors import FilesFailed, IndexCorrupt, IndexNotTrusted, NoIndex, SchemaTooNew, UsageError
from codelens.index import Index
from codelens.model.code import PARTLY, SeenFile, Skip, SkipReason
from codelens.model.runs import UNFINISHED, WRITTEN, IndexReport
from codelens.render.visible import escape_text
from codelens.store.connection import is_index
from codelens.text.counts import quantity
from codelens.worktree.place import (
    INDEX_FOLDER,
    find_unfinished_index,
    locate_memory,
    locate_traces,
    prepare_index_folder,
)

WALK = Section("Files")
REMOVAL = Section("Removing")
FAILED = (SkipReason.UNREADABLE, SkipReason.BROKEN_LINK)  # Reasons for a skip that --strict treats as errors


class IndexFlags(ProgressFlags, JsonFlags, CommonFlags):
    roots: Paths = argument(
        "[PATH]...", "Folders to index [default: those of the index that is there, else the top of the repository]"
    )
    force: bool = option("--force", "Parse every file again")
    rebuild: bool = option("--rebuild", "Build a new index file and swap it in")
    copy_from: Path | None = option(
        "--from PATH",
        "Begin a new index with a copy of this one: an index file, or a folder with another clone of the repository",
    )
    trust: bool = option("--trust", "Accept an index that you did not create on this machine, and index nothing")
    verify: bool = option("--verify", "Compare the contents of files, not only size and time")
    no_fuzzy: bool = option("--no-fuzzy", "Leave out trigrams: no substrings or typing mistakes")
    no_vector: bool = option("--no-vector", "Leave out vectors")
    detect_encoding: bool | None = option(
        "--detect-encoding/--no-detect-encoding",
        "Detect encodings other than UTF-8 and UTF-16, or read such files as cp1252 or Latin-1 [default: detect]",
    )
    jobs: int | None = option("-j --jobs N", "Worker processes [default: one per core, at most 8]")
    allow_network: bool = ALLOW_NETWORK
    strict: bool = option("--strict", "Exit with 6 if any file had errors")
    hidden: bool = WALK("--hidden", "Include files whose name starts with a dot")
    no_ignore: bool = WALK("--no-ignore", "Do not apply ignore files")
    dry_run: bool = WALK("--dry-run", "List what would be indexed and skipped; write nothing")
    explain_path: str | None = WALK("--explain-path PATH", "Show which rule includes or skips this file; write nothing")
    remove: bool = REMOVAL("--remove", "Remove the index; your files stay")
    yes: bool = REMOVAL("-y --yes", "Do not ask before removing it")
    clear_cache: bool = REMOVAL("--clear-cache", "Remove the cached context packs and vectors of all indexes")


@command(
    epilog="Exit: 0 done, 1 not removed, 2 error, 3 an unusable index, 5 another process writes, 6 files had errors."
)
def index(flags: IndexFlags) -> int:
    """Bring the index up to date. Only new and changed files are read; without changes nothing is written."""
    instead = {"trust": _trust_index, "remove": _remove_index, "clear_cache": _clear_cache}
    if chosen := find_only_flag(flags, tuple(instead)):
        return instead[chosen](flags)
    overrides = {name: getattr(flags, name) or None for name in ("hidden", "no_ignore")}
    overrides |= {"detect_encoding": flags.detect_encoding, "jobs": flags.jobs}
    overrides |= {name: False for name in ("fuzzy", "vector") if getattr(flags, f"no_{name}")}
    trees = place, roots, settings_of = choose_trees(flags, flags.roots or (), overrides)
    if flags.explain_path is not None:
        return _explain_path(Path(flags.explain_path), trees)
    if flags.dry_run:
        return _show_plan(trees, flags)
    prepare_index_folder(place.index_path)
    reports: tuple[IndexReport, ...] = ()
    try:
        with show_progress(flags.progress, flags.quiet) as progress:
            choices = {name: getattr(flags, name) for name in ("force", "rebuild", "verify", "copy_from")}
            reports = Index.build(
                place.index_path, roots, place.settings, progress=progress, settings_of=settings_of, **choices
            )
        # A file that a grammar parses only in part is not an error.
        failed = sum(fault != PARTLY for r in reports for fault in r.faults.values())
        failed += sum(r.skipped.get(str(reason), 0) for r in reports for reason in FAILED)
        _report(reports, flags, FilesFailed.exit_code if flags.strict and failed else 0)
        if flags.strict and failed:
            raise FilesFailed(f"{quantity(failed, 'file')} had errors")
        return 0
    except KeyboardInterrupt as ending:
        raise type(ending)(*ending.args or (WRITTEN if reports else UNFINISHED,)) from None


def _trust_index(flags: IndexFlags) -> int:
    if flags.rebuild or flags.force or flags.roots:
        raise UsageError("--trust only accepts an index: leave out folders, --force and --rebuild")
    index = find_workplace(flags).index_path
    digest = Index.accept(index)
    inform(flags, f"accepted {index} as it is (SHA-256 {digest}); `codelens index` brings it up to date")
    return 0


def _clear_cache(flags: IndexFlags) -> int:
    from codelens.context.cache import PackCache

    packs, vectors = find_user_place("packs"), find_user_place("vectors.db")
    count = PackCache(packs).clear() if packs else 0
    if vectors:
        for suffix in ("", "-wal", "-shm"):
            vectors.with_name(vectors.name + suffix).unlink(missing_ok=True)
    inform(flags, f"removed {quantity(count, 'pack')}")
    return 0


def _remove_index(flags: IndexFlags) -> int:
    """Remove the index file, and nothing that is not an index."""
    from codelens.indexing.build import remove_index

    cwd = find_working_folder()
    index = resolve_named_index(flags) or choose_index(cwd)
    if index.is_file():
        try:
            Index.open(index).close()
        except (SchemaTooNew, IndexCorrupt, IndexNotTrusted) as fault:  # but .codelens/index.db can only be an index
            if not (is_index(index) or (index.parent.name == INDEX_FOLDER and index.name == "index.db")):
                text = f"{index} is not a codelens index: {fault}"
                raise UsageError(text, "if it is one, remove the file yourself") from None
    elif not find_unfinished_index(index):
        raise NoIndex(f"no index at {index}" if flags.db else f"no index in {cwd} or above it")
    if not flags.yes and not user_agrees(f"remove {index}?", f"remove {index}"):
        say("kept")
        return 1
    remove_index(index)
    folder = index.parent
    if folder.name == INDEX_FOLDER and {p.name for p in folder.iterdir()} <= {".gitignore"}:
        with suppress(OSError):
            (folder / ".gitignore").unlink(missing_ok=True)
            folder.rmdir()
    inform(flags, f"removed {index}")
    if (memory := locate_memory(index)).is_file():
        inform(flags, f"note: the memory of its results stays in {memory}")
    if (traces := locate_traces(index)).is_file():
        inform(flags, f"note: its traces stay in {traces}")
    return 0


def _report(reports: Sequence[IndexReport], flags: IndexFlags, exit_code: int) -> None:
    from codelens.render.reports import build_run_record, format_summary

    if flags.json:
        write_record(build_run_record(reports, exit_code))
    elif not flags.quiet:
        say_without_prefix(format_summary(reports))
    for notice in (n for r in reports for n in r.notices):
        inform(flags, f"note: {notice.text}")
    if flags.verbose and reports:
        say(f"index {reports[0].index}")


def _show_plan(trees: Trees, flags: IndexFlags) -> int:
    from codelens.indexing.status import plan_files
    from codelens.render.reports import build_plan_record, format_plan

    planned = plan_files(trees.place.index_path, trees.roots, trees.settings_of)
    if flags.json:
        write_record(build_plan_record(planned))
        return 0
    counts: Counter[bool] = Counter()  # True → number of skipped entries, False → of indexed ones

    def count_skipped() -> Iterator[SeenFile | Skip]:
        for _, entry in planned:
            counts[isinstance(entry, Skip)] += 1
            yield entry

    write(format_plan(count_skipped()))
    inform(flags, f"would index {quantity(counts[False], 'file')} and skip {counts[True]}; nothing was written")
    return 0


def _explain_path(named: Path, trees: Trees) -> int:
    """Print the rule that includes or excludes one path, in the innermost root that contains it."""
    from codelens.indexing.status import explain_file
    from codelens.render.reports import format_skip

    path = Path(os.path.normpath(trees.place.cwd / named))
    root = max((r for r in trees.roots if path.is_relative_to(r)), key=lambda r: len(r.parts), default=trees.roots[0])
    verdict = explain_file(trees.place.index_path, root.resolve(), os.path.relpath(path, root), trees.settings_of)
    what = "a folder that is walked" if verdict is None else "indexed"
    if isinstance(verdict, Skip):
        through = f" (by {verdict.path})" if verdict.path.endswith("/") else ""
        what = f"skipped: {format_skip(verdict)}{through}"
    write([f"{escape_text(str(named))}: {what}\n"])
    return 0

"""codelens watch: keep the index fresh until it is stopped."""

import signal
from pathlib import Path
from types import FrameType

from codelens.cli.answerer import answer_searches
from codelens.cli.declare import argument, command, option
from codelens.cli.flags import ALLOW_NETWORK, CommonFlags, ProgressFlags
from codelens.cli.progress import watcher
from codelens.cli.streams import say, say_plain
from codelens.cli.workplace import trees_of
from codelens.model.runs import WatchEvent, WatchSink, WatchStep
from codelens.processes.child import end_at_eof
from codelens.watching.watch import DEBOUNCE_SECONDS, Watch, WatchOptions
from codelens.worktree.place import prepare_index_folder


class WatchFlags(ProgressFlags, CommonFlags):
    """Which trees, and when to look at them."""

    roots: list[Path] | None = argument(
        None,
        "[PATH]...",
        "Folders to watch [default: those of the index that is there, else the top of the repository]",
    )
    debounce: int = option(
        int(DEBOUNCE_SECONDS * 1000),
        "--debounce MS",
        "Update once nothing has changed for this long [default: 500]",
        least=0,
    )
    poll: float = option(
        0.0,
        "--poll SECONDS",
        "Check for changes every SECONDS instead of using file events, for network drives and small inotify limits",
        least=0,
    )
    until_eof: bool = option(
        False, "--until-eof", "End when stdin closes, and so with the program that started this one"
    )
    allow_network: bool = ALLOW_NETWORK


@command(epilog="Exit: 0 ended by SIGTERM, 2 error, 3 the index was removed or cannot be used, 130 ended by Ctrl-C.")
def watch(flags: WatchFlags) -> int:
    """Keep the index fresh. Updates it now and after each change, until Ctrl-C."""
    place, roots, settings_of = trees_of(flags, flags.roots or (), {"allow_network": flags.allow_network or None})
    prepare_index_folder(place.index_path)
    with watcher(flags.progress, flags.quiet) as progress:
        watch = Watch(
            place.index_path,
            roots,
            place.settings,
            WatchOptions(flags.debounce / 1000, flags.poll, settings_of),
            report=_make_reporter(flags),
            progress=progress,
        )
        with answer_searches(place.index_path, place.settings):
            return _until_stopped(watch, flags.until_eof)


def _until_stopped(watch: Watch, until_eof: bool) -> int:
    """SIGTERM ends it in peace, also in the midst of an update, which then did not happen; Ctrl-C as everywhere."""
    stopped = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal stopped
        stopped = True
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        if until_eof:
            end_at_eof(signal.SIGTERM)
        watch.run()
    except KeyboardInterrupt:
        if not stopped:
            raise
    finally:
        signal.signal(signal.SIGTERM, before)
    return 0


def _make_reporter(flags: WatchFlags) -> WatchSink:
    from codelens.render.records import to_json
    from codelens.render.reports import watch_line, watch_record

    def as_json(event: WatchEvent) -> None:
        say_plain([to_json(watch_record(event))])

    def as_text(event: WatchEvent) -> None:
        if event.step is WatchStep.LOOKED and not flags.verbose:
            return
        say(watch_line(event))
        if not flags.quiet:
            for notice in (n for report in event.reports for n in report.notices):
                say(f"note: {notice.text}")

    def only_faults(event: WatchEvent) -> None:
        if event.step in (WatchStep.FAULT, WatchStep.GONE):
            as_text(event)

    return as_json if flags.progress == "json" else only_faults if flags.quiet else as_text

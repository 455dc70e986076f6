"""codelens watch: keep the index fresh until it is stopped."""

import signal
from types import FrameType

from codelens.cli.answerer import answer_searches
from codelens.cli.declare import argument, command, option
from codelens.cli.flags import ALLOW_NETWORK, CommonFlags, Paths, ProgressFlags
from codelens.cli.progress import show_progress
from codelens.cli.streams import inform, say, say_without_prefix
from codelens.cli.workplace import choose_trees
from codelens.model.runs import WatchEvent, WatchStep
from codelens.processes.child import end_at_eof
from codelens.render.records import to_json
from codelens.render.reports import build_watch_record, format_watch_event
from codelens.watching.watch import DEBOUNCE_SECONDS, Watch, WatchOptions
from codelens.worktree.place import prepare_index_folder


class WatchFlags(ProgressFlags, CommonFlags):
    roots: Paths = argument(
        "[PATH]...", "Folders to watch [default: those of the index that is there, else the top of the repository]"
    )
    debounce: int = option(
        "--debounce MS",
        "Update once nothing has changed for this long [default: 500]",
        default=int(DEBOUNCE_SECONDS * 1000),
        least=0,
    )
    poll: float = option(
        "--poll SECONDS",
        "Check for changes every SECONDS instead of using file events, for network drives and small inotify limits",
        default=0.0,
        least=0,
    )
    until_eof: bool = option("--until-eof", "End when stdin closes, and so with the program that started this one")
    allow_network: bool = ALLOW_NETWORK


@command(epilog="Exit: 0 ended by SIGTERM, 2 error, 3 the index was removed or cannot be used, 130 ended by Ctrl-C.")
def watch(flags: WatchFlags) -> int:
    """Keep the index fresh. Updates it now and after each change, until Ctrl-C."""
    place, roots, settings_of = choose_trees(flags, flags.roots or ())
    prepare_index_folder(place.index_path)
    options = WatchOptions(flags.debounce / 1000, flags.poll, settings_of)
    is_stopped = False

    def report(event: WatchEvent) -> None:
        if flags.progress == "json":
            say_without_prefix([to_json(build_watch_record(event))])
        elif event.step is WatchStep.LOOKED and not flags.verbose:
            return
        elif event.step in (WatchStep.FAULT, WatchStep.GONE) or not flags.quiet:
            say(format_watch_event(event))
            for notice in (n for report in event.reports for n in report.notices):
                inform(flags, f"note: {notice.text}")

    def stop(number: int, frame: FrameType | None) -> None:
        """End normally. An update that is under way is rolled back."""
        nonlocal is_stopped
        is_stopped = True
        raise KeyboardInterrupt

    with show_progress(flags.progress, flags.quiet) as progress:
        watch = Watch(place.index_path, roots, place.settings, options, report=report, progress=progress)
        with answer_searches(place.index_path, place.settings):
            before = signal.signal(signal.SIGTERM, stop)
            try:
                if flags.until_eof:
                    end_at_eof(signal.SIGTERM)
                watch.run()
            except KeyboardInterrupt:
                if not is_stopped:
                    raise
            finally:
                signal.signal(signal.SIGTERM, before)
    return 0

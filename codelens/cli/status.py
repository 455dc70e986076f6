"""codelens status: show what the index holds, what it left out, and which files have changed since."""

from codelens.cli.declare import command, option
from codelens.cli.flags import CommonFlags, JsonFlags
from codelens.cli.streams import say_notices, write, write_record
from codelens.cli.workplace import find_workplace
from codelens.errors import StaleIndex


class StatusFlags(CommonFlags, JsonFlags):
    skipped: bool = option("--skipped", "List every file that was left out or parsed only in part, with the reason")
    no_check: bool = option("--no-check", "Do not walk the trees for new and changed files")
    require_fresh: bool = option("--require-fresh", "Exit with 4 if any file changed since it was indexed")


@command(epilog="Exit: 0, 2 error, 3 no index, 4 not fresh (--require-fresh).")
def status(flags: StatusFlags) -> int:
    """Show the state of the index. Lists what it holds, what was skipped and why, and which files have changed since."""
    from codelens.render.reports import build_status_record, format_faults, format_skipped, format_status

    place = find_workplace(flags)
    with place.open() as index:
        report = index.status(check=not flags.no_check)
        stale = any(r.is_stale for r in report.repositories)
        exit_code = StaleIndex.exit_code if stale and flags.require_fresh else 0
        if flags.quiet:
            return exit_code
        if flags.json:
            skipped = index.list_skips() if flags.skipped else None
            write_record(build_status_record(place.add_notices(report), exit_code, skipped))
        elif flags.skipped:
            write(format_skipped(index.list_skips(), len(report.repositories) > 1))
            write(format_faults(report))
        else:
            write(format_status(report))
        say_notices(report.notices)
    return exit_code

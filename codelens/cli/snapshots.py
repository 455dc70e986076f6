"""codelens snapshots: what the index was."""

from codelens.cli.declare import declare
from codelens.cli.flags import CommonFlags, JsonFlags
from codelens.cli.streams import write, write_json
from codelens.cli.workplace import reading_place


class SnapshotsFlags(CommonFlags, JsonFlags):
    """The form of the list."""


def snapshots(flags: SnapshotsFlags) -> int:
    """List the states that runs left, the newest first. As @{0}, @{1} …, with digest, Merkle root and counts.

    The symbols and edges of the last ones are kept for `diff`: the setting snapshots_kept says how many.
    """
    from codelens.render.past import log_lines, log_record

    with reading_place(flags).open() as index:
        log = index.snapshots()
    exit_code = 0 if log else 1
    if flags.quiet:
        return exit_code
    if flags.json:
        from codelens.render.records import to_json

        write_json([to_json(log_record(log, exit_code))])
    else:
        write(log_lines(log))
    return exit_code


command = declare("snapshots", SnapshotsFlags, snapshots, epilog="Exit: 0 some, 1 none, 3 no index.")

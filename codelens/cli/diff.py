"""codelens diff: which symbols and edges lie between two states."""

from typing import Annotated

from codelens.cli.declare import argument, declare, option
from codelens.cli.flags import OUTPUT, CommonFlags, JsonFlags
from codelens.cli.states import HINT, facts_of_states
from codelens.cli.streams import say, write, write_json
from codelens.cli.workplace import reading_place, working_folder
from codelens.errors import NoIndex, UsageError


class DiffFlags(CommonFlags, JsonFlags):
    """The two states, and the form of the answer."""

    old: Annotated[str | None, argument("@{1}, a snapshot's digest, an index file, or a revision of git", "OLD")] = None
    new: Annotated[str | None, argument("The same; if it is left out, what is indexed now", "[NEW]")] = None
    edges: Annotated[bool, option("--edges", section=OUTPUT, help="Edges too; JSON has them anyway")] = False


def diff(flags: DiffFlags) -> int:
    """Tell two states apart by their symbols. Added +, removed -, moved >, with another signature ~.

    A revision is read from git's objects into a temporary index; nothing that the repository configures is run.
    """
    from codelens.snapshots.compare import compare

    if flags.old is None:
        raise UsageError("no state to compare with", HINT)
    cwd = working_folder()
    try:
        place = reading_place(flags)
    except NoIndex:
        if flags.db is not None or flags.new is None:
            raise
        place = None  # two revisions, or two index files, need none
    old, new = facts_of_states([flags.old, flags.new or ""], place, cwd)
    difference = compare(old, new)
    exit_code = 1 if difference.empty else 0
    if flags.quiet:
        return exit_code
    from codelens.render.past import difference_lines, difference_record

    if flags.json:
        from codelens.render.records import to_json

        write_json([to_json(difference_record(difference, exit_code))])
    else:
        write(difference_lines(difference, flags.edges))
        if hidden := 0 if flags.edges else len(difference.edges_added) + len(difference.edges_removed):
            say(f"note: {hidden} edges differ too; --edges shows them")
    return exit_code


command = declare("diff", DiffFlags, diff, epilog="Exit: 0 something differs, 1 nothing, 2 no such state, 3 no index.")

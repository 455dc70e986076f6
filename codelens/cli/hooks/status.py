"""codelens hooks status: which of git's hooks have the block."""

from codelens.cli.declare import declare
from codelens.cli.flags import CommonFlags
from codelens.cli.streams import write
from codelens.cli.workplace import working_folder
from codelens.worktree.hooks import NAMES, hooks_of, is_installed


def show_hooks(flags: CommonFlags) -> int:
    """Show which hooks are installed, and where they lie."""
    folder = hooks_of(working_folder()).folder
    there = {name: is_installed(folder / name) for name in NAMES}
    if not flags.quiet:
        write(f"{name}\t{'installed' if there[name] else 'not installed'}\t{folder / name}\n" for name in NAMES)
    return 0 if all(there.values()) else 1


command = declare("status", CommonFlags, show_hooks, epilog="Exit: 0 all are installed, 1 not all, 2 error.")

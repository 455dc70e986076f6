"""codelens hooks remove: take the block out of git's hooks."""

from codelens.cli.declare import declare
from codelens.cli.flags import CommonFlags
from codelens.cli.streams import say
from codelens.cli.workplace import working_folder
from codelens.worktree.hooks import NAMES, hooks_of, remove


def remove_hooks(flags: CommonFlags) -> int:
    """Remove the hooks. What else is in them stays; a hook that holds nothing else goes."""
    folder = hooks_of(working_folder()).folder
    removed = [name for name in NAMES if remove(folder / name)]
    if not flags.quiet:
        say(f"{', '.join(removed)} removed from {folder}" if removed else f"nothing of codelens in {folder}")
    return 0


command = declare("remove", CommonFlags, remove_hooks, epilog="Exit: 0 there are none now, 2 error.")

"""codelens hooks install: a block in git's hooks."""

from typing import Annotated

from codelens.cli.declare import declare, option
from codelens.cli.flags import CommonFlags
from codelens.cli.streams import say
from codelens.cli.workplace import named_index, working_folder
from codelens.errors import UsageError
from codelens.processes.python import codelens_command
from codelens.worktree.hooks import NAMES, block_for, hooks_of, install
from codelens.worktree.place import find_index


class InstallFlags(CommonFlags):
    """Where to."""

    shared: Annotated[
        bool, option("--shared", help="Also where core.hooksPath names a folder that serves other repositories too")
    ] = False


def install_hooks(flags: InstallFlags) -> int:
    """Install the hooks. Where there is no index, as in a new worktree, they do nothing: make it once yourself."""
    cwd = working_folder()
    hooks, index = hooks_of(cwd), named_index(flags)
    if hooks.is_shared and not flags.shared:
        raise UsageError(
            f"core.hooksPath leads to {hooks.folder}, which may serve other repositories too",
            "with --shared they go there; they do nothing in a repository without an index",
        )
    block = block_for([*codelens_command(), "hooks", "run", *(["--db", str(index)] if index else [])])
    install(hooks.folder, block)
    if not flags.quiet:
        say(f"{', '.join(NAMES)} installed in {hooks.folder}")
        if hooks.folder.is_relative_to(hooks.repository.top) and hooks.folder.parts[-2:] != (".git", "hooks"):
            say("note: they lie in the work tree: mind what you commit, they name a program of this machine")
        if not (index or find_index(cwd)):
            say("note: there is no index here yet: `codelens index` makes it")
    return 0


command = declare("install", InstallFlags, install_hooks, epilog="Exit: 0 installed, 2 error.")

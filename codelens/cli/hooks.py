"""codelens hooks: have git bring the index up to date."""

import time

from codelens.cli.declare import CommandGroup, command, option
from codelens.cli.flags import CommonFlags
from codelens.cli.streams import inform, say, write
from codelens.cli.workplace import find_working_folder, load_settings_at, locate_index, resolve_named_index
from codelens.errors import IndexBusy, UsageError
from codelens.index import Index
from codelens.processes.python import build_codelens_command
from codelens.render.paths import quote_path
from codelens.worktree.hooks import NAMES, Hooks, add_blocks, cut_block, find_hooks, has_block
from codelens.worktree.place import find_git_top


class HookFolderFlags(CommonFlags):
    shared: bool = option("--shared", "Also in a folder outside of this repository, which others may share")


@command("install", epilog="Exit: 0 installed, 2 error.")
def install_hooks(flags: HookFolderFlags) -> int:
    """Install the hooks. They do nothing where there is no index: run `codelens index` once, also in a new worktree."""
    cwd = find_working_folder()
    hooks = _find_own_hooks(flags, "--shared installs them there; they do nothing in a repository without an index")
    index = resolve_named_index(flags)
    add_blocks(hooks, [*build_codelens_command(), "hooks", "run", *(["--db", str(index)] if index else [])])
    if not flags.quiet:
        say(f"{', '.join(NAMES)} installed in {hooks.folder}")
        if hooks.folder.is_relative_to(hooks.repository.top) and hooks.folder.parts[-2:] != (".git", "hooks"):
            say("note: the hooks are in the work tree and name a program on this machine: do not commit them")
        if not (index or locate_index(cwd)):
            say("note: there is no index here yet: `codelens index` creates it")
    return 0


@command("remove", epilog="Exit: 0 removed, or not installed, 2 error.")
def remove_hooks(flags: HookFolderFlags) -> int:
    """Remove the hooks. Other lines in them stay; a hook without other lines is deleted."""
    hooks = _find_own_hooks(flags, "--shared removes them there, for all repositories that it serves")
    removed = [name for name in NAMES if cut_block(hooks.locate(name))]
    where = hooks.folder
    inform(flags, f"{', '.join(removed)} removed from {where}" if removed else f"no hooks of codelens in {where}")
    return 0


def _find_own_hooks(flags: HookFolderFlags, hint: str) -> Hooks:
    """Find the hooks of the working directory's repository. Raises UsageError if other repositories may share them, without
    --shared."""
    hooks = find_hooks(find_working_folder())
    if not (hooks.tops or flags.shared):
        raise UsageError(f"git runs the hooks in {hooks.folder}, which may serve other repositories too", hint)
    return hooks


PATIENCE_SECONDS = 1800.0  # Seconds to wait for another writer, which may build a very large index
RETRY_SECONDS = 1.0


@command(epilog="Exit: 0 done or nothing to do, 2 error, 3 no usable index, 5 busy.")
def run(flags: CommonFlags) -> int:
    """Update this repository in the index. Waits for another writer; does nothing without an index."""
    cwd = find_working_folder()
    top = (find_git_top(cwd) or cwd).resolve()
    index = resolve_named_index(flags) or locate_index(cwd)
    if index is None or not index.is_file():
        return 0
    settings = load_settings_at(cwd, index, flags).values
    with Index.open(index, settings) as opened:
        roots = [r for r in opened.roots() if r.is_dir() and (r.is_relative_to(top) or top.is_relative_to(r))]
    end = time.monotonic() + PATIENCE_SECONDS
    while roots:
        try:
            Index.build(index, roots, settings, settings_of=lambda root: load_settings_at(root, index, flags))
            break
        except IndexBusy:
            if time.monotonic() > end:
                raise
            time.sleep(RETRY_SECONDS)
    return 0


@command("status", epilog="Exit: 0 all are installed, 1 not all, 2 error.")
def show_hooks(flags: CommonFlags) -> int:
    """Show which hooks are installed, and where."""
    hooks = find_hooks(find_working_folder())
    missing = [name for name in NAMES if not has_block(hooks.locate(name))]
    for name in NAMES:
        state = "not installed" if name in missing else "installed"
        write([f"{name}\t{state}\t{quote_path(str(hooks.folder / name))}\n"])
    return 1 if missing else 0


hooks = CommandGroup(
    "hooks",
    (install_hooks, remove_hooks, show_hooks, run),
    help="Keep the index fresh with git hooks.",
    epilog="The hooks run after checkout, merge, commit and rebase; other lines in them stay as they are.",
)

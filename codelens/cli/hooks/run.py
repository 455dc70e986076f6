"""codelens hooks run: what the hooks call, in the background."""

import time
from collections.abc import Callable
from pathlib import Path

from codelens.cli.declare import declare
from codelens.cli.flags import CommonFlags
from codelens.cli.workplace import named_index, settings_at, working_folder
from codelens.config import LoadedSettings, Settings
from codelens.errors import IndexBusy
from codelens.index import Index
from codelens.worktree.place import find_index, git_top

PATIENCE_SECONDS = 1800.0
"""How long another writer is waited for: a first build of a very large tree. Chosen."""
RETRY_SECONDS = 1.0


def run(flags: CommonFlags) -> int:
    """Bring the index up to date in what it holds of this repository. Another writer is waited for; without an index: nothing."""
    cwd = working_folder()
    top = (git_top(cwd) or cwd).resolve()
    index = named_index(flags) or find_index(cwd)
    if index is None or not index.is_file():
        return 0
    settings = settings_at(cwd, index, flags).values
    with Index.open(index, settings) as opened:
        roots = [r for r in opened.roots() if r.is_dir() and (r.is_relative_to(top) or top.is_relative_to(r))]
    if roots:
        _update(index, roots, settings, lambda root: settings_at(root, index, flags))
    return 0


def _update(index: Path, roots: list[Path], settings: Settings, settings_of: Callable[[Path], LoadedSettings]) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            Index.build(index, roots, settings, settings_of=settings_of)
            return
        except IndexBusy:
            if time.monotonic() > end:
                raise
            time.sleep(RETRY_SECONDS)


command = declare("run", CommonFlags, run, epilog="Exit: 0 done or nothing to do, 2 error, 3 no usable index, 5 busy.")

"""codelens files: `search --files-only` by a name of its own."""

from codelens.cli.declare import declare
from codelens.cli.search import search
from codelens.cli.search_flags import SearchFlags


def files(flags: SearchFlags) -> int:
    """Find files: by name and path, by what they define and import, and by meaning. The same as `search --files-only`.

    What -l, -c and the other flags of output do, they do to files; one hit is one file.
    """
    flags.files_only = True
    return search(flags)


command = declare("files", SearchFlags, files, epilog="Exit: 0 files, 1 none, 2 error, 3 no index, 4 not fresh.")

"""codelens memory export: all that is recorded, as JSON."""

import json

from codelens.cli.declare import declare
from codelens.cli.flags import CommonFlags
from codelens.cli.recorded import notebook_here
from codelens.cli.streams import write_json

SCHEMA = 1
"""Of what is written; fields change only with it."""


def export(flags: CommonFlags) -> int:
    """Write all that is recorded as one JSON object to stdout. Times are unix seconds."""
    with notebook_here(flags) as (notebook, _, _place):
        told = {"schema": SCHEMA, **notebook.everything()}
    if not flags.quiet:
        write_json([json.dumps(told, ensure_ascii=False, indent=2) + "\n"])
    return 0


command = declare("export", CommonFlags, export, epilog="Exit: 0 written, 2 the memory file is damaged, 3 no index.")

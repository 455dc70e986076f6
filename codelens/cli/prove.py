"""codelens prove: that a document is in this snapshot."""

from typing import Annotated

from codelens.cli.declare import argument, declare
from codelens.cli.flags import CommonFlags
from codelens.cli.streams import write_json
from codelens.cli.workplace import reading_place, target_here
from codelens.errors import UsageError


class ProveFlags(CommonFlags):
    """The document."""

    file: Annotated[str | None, argument("An indexed file", "PATH")] = None


def prove(flags: ProveFlags) -> int:
    """Print a proof that a file is in the index as it is. As JSON, for `codelens verify`, which needs no index.

    A Merkle tree over all documents (RFC 6962, SHA-256): the proof holds the digests beside the way from the file to the root.
    """
    if flags.file is None:
        raise UsageError("no file", "`codelens prove PATH`")
    from codelens.render.records import to_json

    place = reading_place(flags)
    with place.open() as index:
        path, repository = target_here(flags.file, place, index), ""
        for known in index.info().repositories:
            for before in (f"{known.root}/", f"{known.name}/"):
                if len(index.info().repositories) > 1 and path.startswith(before):
                    path, repository = path.removeprefix(before), known.name
        record = index.prove(path, repository)
    if not flags.quiet:
        write_json([to_json(record)])
    return 0


command = declare("prove", ProveFlags, prove, epilog="Exit: 0 proved, 2 not indexed or ambiguous, 3 no index.")

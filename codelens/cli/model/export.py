"""codelens model export: a model as a file of its own, for another machine or another program."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

from codelens.cli.declare import argument, declare, option
from codelens.cli.flags import CommonFlags
from codelens.cli.model.named import model_file
from codelens.cli.streams import say
from codelens.cli.workplace import working_folder
from codelens.errors import CannotWrite, UsageError

FORMATS = ("model", "npz", "text")
ENDINGS = {".npz": "npz", ".txt": "text", ".vec": "text"}


class ExportFlags(CommonFlags):
    """What, where to, and how."""

    model: Annotated[str | None, argument("A model's name or file", "MODEL")] = None
    out: Annotated[Path | None, argument("The file to write", "OUT")] = None
    format: Annotated[
        str | None,
        option(
            "--format",
            metavar="HOW",
            help="model, npz (numpy's arrays) or text (word2vec's) [default: by OUT's ending, else model]",
        ),
    ] = None
    force: Annotated[bool, option("--force", help="Write over a file that is there")] = False


def export(flags: ExportFlags) -> int:
    """Write a model to a file. In its own form it can be used where it is copied to: `codelens model use ./OUT`."""
    if flags.model is None or flags.out is None:
        raise UsageError("which model, and to which file?", "as in `codelens model export codelens table.npz`")
    how = flags.format or ENDINGS.get(flags.out.suffix, "model")
    if how not in FORMATS:
        raise UsageError(f"--format is {', '.join(FORMATS)}, not '{how}'")
    out = working_folder() / flags.out
    if out.is_dir():
        raise UsageError(f"{flags.out} is a folder", f"name a file, as {flags.out / 'table.model'}")
    if out.exists() and not flags.force:
        raise UsageError(f"{flags.out} is there already", "--force writes over it")
    _write(flags.model, out, how)
    if not flags.quiet:
        say(f"{flags.out}: {out.stat().st_size} bytes")
    return 0


def _write(model: str, out: Path, how: str) -> None:
    file = model_file(model)
    beside = out.with_name(out.name + ".part")
    try:
        if how == "model":
            shutil.copyfile(file.path, beside)
        else:
            from codelens.embed.exported import write_npz, write_text

            (write_npz if how == "npz" else write_text)(file, beside)
        beside.replace(out)
    except OSError as fault:
        beside.unlink(missing_ok=True)
        raise CannotWrite(f"{out}: {fault.strerror or fault}", "name a file in a folder that can be written") from None


command = declare("export", ExportFlags, export, epilog="Exit: 0 written, 2 no such model, or OUT cannot be written.")

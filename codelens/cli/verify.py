"""codelens verify: whether a proof of `codelens prove` holds."""

import hashlib
from pathlib import Path
from typing import Annotated

from codelens.cli.declare import argument, declare, option
from codelens.cli.streams import say, stdin_bytes, write
from codelens.errors import UsageError

LEAST_DIGITS = 16
"""Of a root that is shortened: 64 bits, so that nobody finds another tree for it in passing. Chosen."""


class VerifyFlags:
    """The proof, and what it is to be held against. No index is read."""

    proof: Annotated[str | None, argument("The file of a proof; `-` is stdin", "PROOF")] = None
    root: Annotated[
        str | None,
        option("--root", metavar="DIGEST", help="The root that the snapshot is known to have, or how it begins"),
    ] = None
    file: Annotated[Path | None, option("--file", metavar="FILE", help="This file must be the one that is proved")] = (
        None
    )
    quiet: Annotated[bool, option("-q", "--quiet", help="Print nothing but errors; the exit code is the answer")] = (
        False
    )
    debug: Annotated[bool, option("--debug", help="Show tracebacks")] = False


def verify(flags: VerifyFlags) -> int:
    """Check a proof that a file was in a snapshot. Without --root it is only known to be sound in itself.

    Works anywhere: it reads neither the index nor the tree.
    """
    from codelens.merkle import holds
    from codelens.snapshots.proofs import from_json

    proof = from_json(_read(flags.proof), flags.proof if flags.proof not in (None, "-") else "this")
    if flags.root is not None and len(flags.root) < LEAST_DIGITS:
        raise UsageError(f"--root wants at least {LEAST_DIGITS} digits", "`codelens snapshots` shows whole roots")
    if flags.root is not None and not proof.root.startswith(flags.root.lower()):
        return _told(flags, False, f"the proof is of another snapshot, whose root is {proof.root}")
    if flags.file is not None:
        try:
            found = hashlib.sha256(flags.file.read_bytes()).hexdigest()
        except OSError as fault:
            raise UsageError(f"--file {flags.file}: {fault.strerror}") from None
        if found != proof.sha256:
            return _told(flags, False, f"{flags.file} is not the file that was proved")
    if not holds(proof):
        return _told(flags, False, "the digests do not lead from the file to the root")
    return _told(flags, True, f"{proof.path} is one of {proof.size} files of the snapshot with the root {proof.root}")


def _read(name: str | None) -> bytes:
    if name is None:
        raise UsageError("no proof", "`codelens prove PATH > proof.json`, then `codelens verify proof.json`")
    if name == "-":
        return stdin_bytes("`codelens prove PATH | codelens verify -`")
    try:
        return Path(name).read_bytes()
    except OSError as fault:
        raise UsageError(f"{name}: {fault.strerror}") from None


def _told(flags: VerifyFlags, good: bool, text: str) -> int:
    if not flags.quiet:
        write([f"{text}\n"]) if good else say(text)
    return 0 if good else 1


command = declare("verify", VerifyFlags, verify, epilog="Exit: 0 it holds, 1 it does not, 2 no proof.")

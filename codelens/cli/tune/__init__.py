"""codelens tune: weights learned from a repository's own history; or the shipped ones, made anew from the manifest."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from codelens.cli.declare import argument, declare, option
from codelens.cli.flags import CommonFlags, JsonFlags, ProgressFlags
from codelens.errors import UsageError

SHIPPED = "The shipped weights made anew"


class TuneFlags(ProgressFlags, JsonFlags, CommonFlags):
    """Of which repository, and what to keep."""

    repo: Annotated[
        Path | None, argument("A clone with its history; a bare one too [default: this repository]", "[REPO]")
    ] = None
    keep: Annotated[
        Path | None,
        option("--keep", metavar="FILE", help="Write the weights there, if the newest tasks gained by them"),
    ] = None
    head: Annotated[str, option("--head", metavar="REV", help="The last commit that is asked for [default: HEAD]")] = (
        "HEAD"
    )
    clones: Annotated[
        Path | None,
        option("--clones", section=SHIPPED, metavar="FOLDER", help="Clones of the manifest's repositories lie there"),
    ] = None
    manifest: Annotated[
        Path | None,
        option(
            "--manifest", section=SHIPPED, metavar="FILE", help="Which, at which commits [default: the shipped one]"
        ),
    ] = None
    work: Annotated[
        Path | None,
        option("--work", section=SHIPPED, metavar="FOLDER", help="Keep there what took long, to go on after a break"),
    ] = None
    out: Annotated[
        Path | None,
        option("--out", section=SHIPPED, metavar="FILE", help="Write weights.toml with the learned features"),
    ] = None
    jobs: Annotated[int, option("--jobs", section=SHIPPED, metavar="N", help="Processes [default: 1]")] = 1
    folds: Annotated[
        int, option("--folds", section=SHIPPED, metavar="N", help="Cross-validate too, by folds of whole repositories")
    ] = 0


def tune(flags: TuneFlags) -> int:
    """Learn the weights of the ranking from your own history. What its older commits teach is measured on its newest fifth.

    Tasks, trees and indexes are made in a temporary folder; nothing of the repository is run. With --clones the weights that
    codelens ships are made anew, from the repositories of its manifest.
    """
    from codelens.evaluation.learning.fitting import need_scipy
    from codelens.evaluation.metrics import measures

    need_scipy()  # before any work, if they are not installed
    measures()
    if flags.clones is not None:
        from codelens.cli.tune.shipped import make_shipped

        if flags.repo is not None or flags.keep is not None:
            raise UsageError("--clones goes neither with REPO nor with --keep", "--out names the file of all weights")
        return make_shipped(flags)
    from codelens.cli.tune.own import tune_here

    if flags.manifest or flags.work or flags.out or flags.folds or flags.jobs != 1:
        raise UsageError("--manifest, --work, --out, --folds and --jobs are of --clones", "--keep FILE keeps your own")
    return tune_here(flags)


command = declare(
    "tune",
    TuneFlags,
    tune,
    epilog='Exit: 0 measured, or written; 1 no gain to keep, or too few tasks; 2 error. `weights = "FILE"` in a configuration\n'
    "file makes a search rank by it.",
)

"""`python -m codelens.training.repeat FOLDER`: the whole way from the manifest to the model, by one command.

Fetches the packages, mines their pairs, leaves out copies, trains, and says how far the held-out score is from that of the
shipped model. Each step goes on where it was interrupted, but for the training; what is ready is not made again.
"""

from __future__ import annotations

import argparse
import sys
from importlib.resources import files
from pathlib import Path

from codelens.embed import shipped_model
from codelens.embed.model_file import ModelFile
from codelens.training import build, duplicates, fetch, pairs

TOLERANCE = 0.01
"""Of MRR: about what another seed moves, and far more than another BLAS does."""


def main(arguments: list[str] | None = None) -> int:
    """Returns 0 where the score is the shipped one's within TOLERANCE, else 1, or what the step returned that failed."""
    parser = argparse.ArgumentParser(
        prog="python -m codelens.training.repeat",
        description="Makes the shipped model anew.",
        epilog="Other options are those of `python -m codelens.training.build`.",
    )
    parser.add_argument("folder", type=Path, help="where archives, trees, pairs and the model go: some 20 GB")
    parser.add_argument("--manifest", type=Path, help="a manifest other than the shipped one")
    parser.add_argument("--against", nargs="*", default=[], help="trees whose definitions must not be learnt from")
    parser.add_argument("--jobs", default="2", help="packages that are mined at once")
    asked, training = parser.parse_known_args(arguments)
    chosen = ["--manifest", str(asked.manifest)] if asked.manifest else []
    against = ["--against", *asked.against] if asked.against else []
    mined, clean, model = asked.folder / "pairs", asked.folder / "clean", asked.folder / "codelens.model"
    excluded = str(files("codelens.training").joinpath("excluded.txt"))
    steps = (
        (fetch.main, [str(asked.folder), *chosen]),
        (pairs.main, [str(asked.folder / "trees"), str(mined), "--excluded", excluded, "--jobs", asked.jobs, *against]),
        (duplicates.main, [str(mined), str(clean), *against]),
        (build.main, [str(clean), str(model), *chosen, *training]),
    )
    for step, given in steps:
        if failed := step(given):
            return failed
    return _compared(ModelFile(model))


def _compared(made: ModelFile) -> int:
    shipped = shipped_model()
    score = float(made.header["held_out"]["mrr"])
    if shipped is None:
        print(f"held out: {score:.4f}; this installation has no shipped model to compare with")
        return 1
    other = float(ModelFile(shipped).header["held_out"]["mrr"])
    print(f"held out: {score:.4f}; the shipped model: {other:.4f}; difference {score - other:+.4f}")
    return int(abs(score - other) > TOLERANCE)


if __name__ == "__main__":
    sys.exit(main())

"""Make the shipped embedding again: `python -m tools.model FOLDER`.

Fetches the packages of the manifest, mines their pairs, drops copies, trains, and compares the held-out score with that of the
shipped model. Each step except the training resumes where it was interrupted.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from codelens.embed.model_file import ModelFile
from codelens.embed.registry import find_shipped_model
from tools.model import build, duplicates, fetch, pairs

TOLERANCE = 0.01  # Tolerated difference of MRR: about what another seed changes, and far more than another BLAS does


def main(arguments: list[str] | None = None) -> int:
    """Return 0 if the score is within TOLERANCE of the shipped one's, else 1 or the failed step's code."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.model",
        description="Make the shipped model again.",
        epilog="Other options are those of `python -m tools.model.build`.",
    )
    parser.add_argument("folder", type=Path, help="where archives, trees, pairs and the model go: some 20 GB")
    parser.add_argument("--manifest", type=Path, help="a manifest other than the shipped one")
    parser.add_argument("--against", nargs="*", default=[], help="trees whose definitions must not be learnt from")
    parser.add_argument("--jobs", default="2", help="packages that are mined at once")
    parsed, training = parser.parse_known_args(arguments)
    chosen = ["--manifest", str(parsed.manifest)] if parsed.manifest else []
    against = ["--against", *parsed.against] if parsed.against else []
    mined, clean, model = parsed.folder / "pairs", parsed.folder / "clean", parsed.folder / "codelens.model"
    excluded = str(Path(__file__).with_name("excluded.txt"))
    steps = (
        (fetch.main, [str(parsed.folder), *chosen]),
        (
            pairs.main,
            [str(parsed.folder / "trees"), str(mined), "--excluded", excluded, "--jobs", parsed.jobs, *against],
        ),
        (duplicates.main, [str(mined), str(clean), *against]),
        (build.main, [str(clean), str(model), *chosen, *training]),
    )
    for step, given in steps:
        if failed := step(given):
            return failed
    return _compared(ModelFile(model))


def _compared(model: ModelFile) -> int:
    shipped = find_shipped_model()
    score = float(model.header["held_out"]["mrr"])
    if shipped is None:
        print(f"held out: {score:.4f}; this installation has no shipped model to compare with")
        return 1
    other = float(ModelFile(shipped).header["held_out"]["mrr"])
    print(f"held out: {score:.4f}; the shipped model: {other:.4f}; difference {score - other:+.4f}")
    return int(abs(score - other) > TOLERANCE)


if __name__ == "__main__":
    sys.exit(main())

"""Measured tasks ↔ a file of numpy's: what took minutes for each repository is not measured again when a run goes on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from zipfile import BadZipFile

from codelens.evaluation.learning.measured import Measured


def write_measured(path: Path, fingerprint: str, measured: Sequence[Measured]) -> None:
    """Written beside and renamed, so that nobody reads half of it. Raises OSError."""
    import numpy as np

    rows = [[m.task, m.repository, m.kind, m.shares, m.entries, len(m.credits)] for m in measured]
    said = json.dumps({"fingerprint": fingerprint, "rows": rows}).encode()
    beside = path.with_suffix(".part")
    with beside.open("wb") as file:
        np.savez_compressed(
            file,
            said=np.frombuffer(said, np.uint8),
            values=np.concatenate([m.values for m in measured]),
            credits=np.concatenate([m.credits for m in measured]),
            aside=np.concatenate([m.aside for m in measured]),
        )
    beside.replace(path)


def read_measured(path: Path, fingerprint: str) -> list[Measured] | None:
    """None where there is no such file, or one of something else."""
    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as held:
            said = json.loads(held["said"].tobytes())
            if said["fingerprint"] != fingerprint:
                return None
            values, credits, aside = held["values"], held["credits"], held["aside"]
    except (OSError, ValueError, KeyError, EOFError, BadZipFile):
        return None
    found, at = [], 0
    for task, repository, kind, shares, entries, rows in said["rows"]:
        own = slice(at, at + rows)
        found.append(Measured(task, repository, kind, tuple(shares), entries, values[own], credits[own], aside[own]))
        at += rows
    return found

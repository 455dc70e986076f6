"""Bags of a corpus → one sparse matrix of their words' shares, which scipy multiplies.

numpy alone would gather a row for each word of each text and take most of a step's time; scipy takes a tenth of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from codelens.errors import UsageError
from codelens.training.corpus import Corpus

Floats = npt.NDArray[np.float32]
Whole = npt.NDArray[np.int64]


def places_of(starts: Whole, bags: Whole) -> tuple[Whole, Whole]:
    """The places of these bags' words, one bag after the other, and each bag's length."""
    first, lengths = starts[bags], starts[bags + 1] - starts[bags]
    before = np.cumsum(lengths) - lengths
    return np.repeat(first - before, lengths) + np.arange(int(lengths.sum())), lengths


def matrix(corpus: Corpus, bags: Whole) -> tuple[Any, Whole]:
    """A scipy matrix [bags × used rows] of √count over the root of the text's length; and the rows of the table that it uses."""
    places, lengths = places_of(corpus.starts, bags)
    counts = corpus.counts[places].astype(np.float32)
    ends = np.concatenate([[0], np.cumsum(lengths)])
    totals = np.add.reduceat(np.append(counts, np.float32(0)), ends[:-1]) * (lengths > 0)
    norms = np.sqrt(np.maximum(totals, 1)).astype(np.float32)
    used, local = np.unique(corpus.ids[places], return_inverse=True)
    values = np.sqrt(counts) / np.repeat(norms, lengths)
    return sparse().csr_matrix((values, local, ends), shape=(len(bags), len(used))), used.astype(np.int64)


def sparse() -> Any:
    """The module of scipy. Raises UsageError without scipy."""
    try:
        from scipy import sparse as found
    except ImportError:
        raise UsageError("training needs scipy", "pip install 'codelens[train]'") from None
    return found

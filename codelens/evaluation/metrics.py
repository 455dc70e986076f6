"""What was judged → figures for each task, by ir-measures (trec_eval's own code behind it).

TREC's metrics know documents, and ours are about entries of a truth, each of which may be found in several ways. So runs
and qrels are made of what was judged, each with binary gains, and there are four such pairs:

* strict: a hit stands in the run as the entry that it is credited with, or as a document of its own that nobody judged. The
  qrels are the entries. So each counts once, and the ideal order of nDCG has them all.
* loose: a hit is a document of its own, and the right ones are the qrels. For recall the entries found are the run.
* files: as loose, for hits in a file of the truth.
* candidates: the entries found anywhere in the order are the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from codelens.errors import UsageError
from codelens.evaluation.judging import CUTOFF, Judged

METRICS = (
    *("P@10", "R@10", "MRR", "hit@10"),
    *("sP@10", "sR@10", "sMRR", "snDCG@10", "shit@10"),
    *("file@10", "candidates"),
)
"""As `score.py` of the development tasks names them: first the loose rule's, those with `s` the strict rule's."""

Values = dict[str, dict[str, float]]
"""Task's key → metric → value; file@10 only where the truth names a file."""

Documents = Mapping[str, float]
"""Document → gain in qrels, score in a run."""


def measures() -> Any:
    """The library. Raises UsageError where it is not installed."""
    try:
        import ir_measures
    except ImportError:
        raise UsageError("measuring needs ir-measures", "pip install 'codelens[eval]'") from None
    return ir_measures


def figures(judged: Mapping[str, Judged]) -> Values:
    """Of tasks by their keys. Raises UsageError where the library is not installed."""
    m = measures()
    k, found = CUTOFF, Values()
    names: Mapping[str, Mapping[Any, str]] = {
        "strict": {m.P @ k: "sP@10", m.R @ k: "sR@10", m.RR: "sMRR", m.nDCG @ k: "snDCG@10", m.Success @ k: "shit@10"},
        "loose": {m.P @ k: "P@10", m.RR: "MRR", m.Success @ k: "hit@10"},
        "loose entries": {m.SetR: "R@10"},
        "files": {m.Success @ k: "file@10"},
        "candidates": {m.SetR: "candidates"},
    }
    pairs = {key: dict(_pairs(answer)) for key, answer in judged.items()}
    for picture, named in names.items():
        qrels = {key: pair[picture][0] for key, pair in pairs.items() if picture in pair}
        run = {key: pair[picture][1] for key, pair in pairs.items() if picture in pair}
        for figure in m.iter_calc(list(named), qrels, run) if qrels else ():
            found.setdefault(figure.query_id, {})[named[figure.measure]] = figure.value
    return {key: {name: found[key][name] for name in METRICS if name in found[key]} for key in judged}


def _pairs(answer: Judged) -> Iterator[tuple[str, tuple[dict[str, int], Documents]]]:
    """(picture, (qrels, run)) of one task."""
    entries = {f"entry {i}": 1 for i in range(answer.entries)}
    ranked = [f"hit {rank}" if i is None else f"entry {i}" for rank, i in enumerate(answer.credited)]
    yield "strict", (entries, _run(ranked))
    yield "loose", _of_hits(answer.loosely_right)
    yield "loose entries", (entries, _run([f"entry {i}" for i in answer.loosely_found]))
    if answer.in_files is not None:
        yield "files", _of_hits(answer.in_files)
    yield "candidates", (entries, _run([f"entry {i}" for i in answer.among_candidates]))


def _of_hits(right: Sequence[bool]) -> tuple[dict[str, int], Documents]:
    """Where no hit is right, one that was not found is: a topic without a relevant document would not be counted."""
    qrels = {f"hit {rank}": 1 for rank, is_right in enumerate(right) if is_right}
    return qrels or {"not found": 1}, _run([f"hit {rank}" for rank in range(len(right))])


def _run(documents: Sequence[str]) -> Documents:
    return {name: -float(rank) for rank, name in enumerate(documents)}

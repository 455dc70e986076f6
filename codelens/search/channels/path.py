"""The channel for places: finds units in files and folders that the query's words name, and units at a query like PATH:LINE."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial

from codelens.model.code import UnitId, UnitRow
from codelens.model.search import Match, QueryTarget
from codelens.search.channels import ChannelResult
from codelens.search.run import SearchRun
from codelens.search.terms import choose_rarest
from codelens.store.documents import DocumentRow
from codelens.text.counts import quantity

COMMON_ON_PATHS = 0.1  # Share of all units: a word on the paths of more names the project, and not a place in it
COLUMNS: Mapping[str, float] = {"path": 1.0, "concepts": 1.0}
"""Column → weight in BM25: `path` has the folders above, `concepts` the file's name with its folder; both count the same."""
_PLACE = re.compile(r"(?P<path>\S*?[^\s:#])(?:(?::|#L)(?P<line>\d{1,9})(?::(?P<column>\d{1,9}))?)?:?")
MOST_FILES = 20  # Most files whose paths end in the query's path
AROUND, IN_FILE = 0.9, 0.5
"""Factor for each step outward from the innermost unit at the line, and most value of other units of the file; order counts."""
OTHER_FILE = 0.9  # Factor for a file if the query has only the end of its path


def find_by_path(run: SearchRun, limit: int) -> ChannelResult:
    """Find units at the place that the query names, then units whose path contains a word of the query that is not too common.

    The raw score is BM25, above 0; for units at a place it is above all of these.
    """
    query, store = run.terms, run.store
    most = COMMON_ON_PATHS * store.units.count()
    frequencies = store.postings.count_units_by_term((t.text for t in query.words), tuple(COLUMNS))
    telling = {term: n for term, n in frequencies.items() if 0 < n <= most}
    proposing, columns = choose_rarest(telling), tuple(COLUMNS)
    scores = store.postings.rank_by_bm25([*telling], COLUMNS, run.within, limit, columns, proposing) if telling else []
    best = max((score for _, score in scores), default=0.0)
    at = sorted(run.places.items(), key=lambda item: -item[1].value)  # stable: equal ones stay in order of place
    matches = [Match(unit, best + target.value, target.reason) for unit, target in at]
    matches += [Match(unit, score, f"path BM25 {score:.2f}") for unit, score in scores if unit not in run.places]
    return ChannelResult(matches[:limit])


def find_places(run: SearchRun) -> dict[UnitId, QueryTarget]:
    """Find the units of the files that a query like PATH, PATH:LINE or PATH:LINE:COLUMN names; empty for any other query.

    A PATH may be a file's path or the end of it. Without a line it must contain a dot or a slash, to be no name.
    """
    texts = [part.text for part in run.query.ranking_texts]
    asked = _PLACE.fullmatch(texts[0]) if len(texts) == 1 and not run.likeness else None
    if asked is None or not (asked["line"] or "." in asked["path"].strip(".") or "/" in asked["path"].strip("/")):
        return {}
    path = re.sub(r"^(?:\.{1,2}/)+", "", asked["path"])
    line, column = int(asked["line"] or 0), int(asked["column"] or 0)
    may_be_found = run.make_scope_test()

    def find_in_file(document: DocumentRow, below: str) -> dict[UnitId, QueryTarget]:
        lines, units = run.store.run_tasks(
            partial(run.texts.read_lines, document), partial(run.store.units.list_in_document, document.id)
        )
        if line > len(lines):
            run.add_notice("place", f"{document.path} has {quantity(len(lines), 'line')}")
        units = [unit for unit in units if may_be_found(unit.id)]
        share = 1.0 if document.path == below else OTHER_FILE
        return {u.id: QueryTarget(share * value, text, line, column) for u, value, text in _place_units(line, units)}

    targets = run.store.run_tasks(*(partial(find_in_file, *file) for file in _find_files(path, run)))
    return {unit: target for of_file in targets for unit, target in of_file.items()}


def _find_files(path: str, run: SearchRun) -> list[tuple[DocumentRow, str]]:
    """Find files by a path or the end of one: (document, the query's path below the root)."""
    for row in run.store.documents.list_repositories():
        if path.startswith(f"{row.root.as_posix()}/"):
            path = path.removeprefix(f"{row.root.as_posix()}/")
            return [(d, path) for d in run.store.documents.find_by_path(path) if d.repository == row.id]
    return [(document, path) for document in run.store.documents.find_ending_in(path, MOST_FILES)]


def _place_units(line: int, units: Sequence[UnitRow]) -> list[tuple[UnitRow, float, str]]:
    """Value the units of a file by a line, 0 for none: (unit, value from 0 to 1, reason). The innermost at the line is best."""
    if not line:
        return [(unit, 1.0, f"the query is {unit.path}") for unit in units]
    around = sorted((u for u in units if u.start_line <= line <= u.end_line), key=lambda u: (-u.start_line, u.end_line))
    placed = [(u, AROUND**depth, f"line {line} is in it") for depth, u in enumerate(around)]
    others = [(max(u.start_line - line, line - u.end_line), -u.start_line, u) for u in units if u not in around]
    for place, (lines, _, unit) in enumerate(sorted(others, key=lambda other: other[:2]), start=1):
        value = IN_FILE * (1.0 + 1.0 / place) / 2
        placed.append((unit, value, f"{quantity(lines, 'line')} from line {line}"))
    return placed

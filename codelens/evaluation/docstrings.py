"""Measure how well the first sentence of a definition's documentation finds it, with the documentation removed.

Comments above definitions are blanked and doc strings emptied, so that all other lines keep their numbers. Up to CANDIDATES
documented definitions of a tree are drawn, and up to QUESTIONS of their sentences are searched: MRR of the first ten, for each
channel alone, for their fusions, and for the whole search.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import xxhash

from codelens.config import Settings
from codelens.indexing.extract import definitions
from codelens.indexing.files import ReadText, read_text
from codelens.lang.comments import clean_comment
from codelens.lang.registry import detect_language, languages
from codelens.model.code import SeenFile, UnitId
from codelens.model.extraction import DecodedText, Unit
from codelens.model.fast_dataclass import dataclass
from codelens.model.request import SearchOptions
from codelens.model.search import Match
from codelens.search.fuse import fuse
from codelens.search.pipeline import rank
from codelens.store.store import Store
from codelens.text.lines import TextMap
from codelens.training.mining import ASKED_KINDS
from codelens.training.phrases import sentence
from codelens.worktree.classify import path_roles
from codelens.worktree.walk import walk

_DOC_STRING = re.compile(r"([rRuUbBfF]{0,2})(\"\"\"|'''|\"|')(?:\\.|(?!\2).)*\2", re.DOTALL)
_NOT_A_LINE_END = re.compile(r"[^\n\r]")
_MARKS_ALONE = re.compile(r"/\*+!?|\**\*/|\*+|//+!?|#+|--+")
_ANNOTATION = re.compile(r"\s*(?:@\w|\[|#\[)")


def undocumented(text: str, language: str) -> tuple[str, dict[int, str]]:
    """The text without documentation, and line of a definition's name → first sentence of its documentation."""
    before = TextMap(DecodedText(text, "utf-8", 1.0, 0))
    units = [unit for unit in definitions(before, language) if unit.doc]
    bare = blanked(before, units)
    return bare, dict(questions(units, bare, language))


def questions(units: Sequence[Unit], bare: str, language: str) -> Iterator[tuple[int, str]]:
    """(line of the name, sentence) of documented `units` that are still found in `bare` and have no documentation left there."""
    after = {unit.name_line: unit for unit in definitions(TextMap(DecodedText(bare, "utf-8", 1.0, 0)), language)}
    lowered = bare.lower()
    for unit in units:
        left = after.get(unit.name_line)
        if unit.local or unit.kind not in ASKED_KINDS or left is None or left.name != unit.name or left.doc:
            continue
        query = sentence(unit.doc, unit.name)
        if query and query.lower() not in lowered:
            yield unit.name_line, query


def blanked(text: TextMap, units: Sequence[Unit]) -> str:
    """The text without the documentation of these definitions, all of which have one."""
    lines = text.utf8.decode("utf-8").split("\n")
    for unit in units:
        wanted = set(filter(None, map(str.strip, unit.doc.split("\n"))))
        first = text.line_column(unit.span.start)[0] - 1
        _blank_above(lines, first, wanted)
        last = min(text.line_column(max(unit.span.start, unit.span.end - 1))[0], first + 400)
        inside = "\n".join(lines[first:last])
        found = _DOC_STRING.search(inside)
        if (
            found
            and (body := clean_comment([found[0]]))
            and set(filter(None, map(str.strip, body.split("\n")))) <= wanted
        ):
            kept = (
                found[1]
                + found[2]
                + _NOT_A_LINE_END.sub("", found[0][len(found[1]) + len(found[2]) : -len(found[2])])
                + found[2]
            )
            lines[first:last] = (inside[: found.start()] + kept + inside[found.end() :]).split("\n")
    return "\n".join(lines)


def _blank_above(lines: list[str], first: int, wanted: set[str]) -> None:
    """Blank the comment lines above line `first`, except annotations between them."""
    for at in range(first - 1, -1, -1):
        line = lines[at].strip()
        comment = clean_comment([line.removesuffix("*/")]).strip()
        if not line:
            return
        if (
            comment in wanted
            or _MARKS_ALONE.fullmatch(line)
            or (comment != line and any(comment in one for one in wanted))
        ):
            lines[at] = ""
        elif not _ANNOTATION.match(line):
            return


CANDIDATES, QUESTIONS = 2000, 150  # Limits per tree. The second is chosen for the time that searching takes.
CUTOFF = 10
FUSED = {
    "rrf 1:1": ("rrf", 1.0, 1.0),
    "rrf 1:2": ("rrf", 1.0, 2.0),
    "minmax .4:.6": ("minmax", 0.4, 0.6),
}
"""Name → fusion of the word and vector channels, and their weights."""

Questions = dict[tuple[str, int], str]  # (path, line of a definition's name) → query


@dataclass(frozen=True, slots=True)
class Package:
    """A tree without documentation, and the sentences that documented its definitions."""

    name: str
    root: Path
    questions: Questions


def without_documentation(tree: Path, into: Path, settings: Settings) -> Package:
    """Write the code of a tree, without its documentation, to a new folder. `settings` decide which files are read."""
    questions: Questions = {}
    for seen in sorted((s for s in walk(tree, settings) if isinstance(s, SeenFile)), key=lambda s: s.path):
        language = languages().get(detect_language(seen.path))
        read = read_text(tree, seen, settings)
        is_code = (
            language is not None
            and language.grammar
            and language.chunks == "code"
            and "test" not in path_roles(seen.path)
        )
        if language is None or not is_code or not isinstance(read, ReadText):
            continue
        bare, by_line = undocumented(read.decoded.text, language.name)
        place = into / seen.path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(bare, encoding="utf-8", newline="")
        questions.update({(seen.path, line): first for line, first in by_line.items()})
    return Package(tree.name, into, _drawn(questions, CANDIDATES))


def _drawn(questions: Questions, most: int) -> Questions:
    """A sample of the questions by hash, without sentences that two definitions share."""
    counts = Counter(questions.values())
    single = [place for place, query in questions.items() if counts[query] == 1]
    chosen = sorted(single, key=lambda place: xxhash.xxh3_64_intdigest(repr(place).encode()))[:most]
    return {place: questions[place] for place in chosen}


def ask(package: Package, index: Path, settings: Settings) -> dict[str, list[float]]:
    """Way of ranking → reciprocal rank of each answer, 0 below the first ten."""
    found: dict[str, list[float]] = {}
    options = SearchOptions(limit=CUTOFF)
    with Store.read(index) as store, store.reading():
        places = _candidates(store, package.questions)
        units = {place: unit for unit, place in places.items()}
        for place in list(package.questions)[:QUESTIONS]:
            if place not in units:
                continue
            ranking = rank(package.questions[place], store, options, settings)
            rows = dict(_rows(ranking.trace.rankings, store))
            rows["codelens"] = [c.unit.id for c in ranking.candidates]
            for row, order in rows.items():
                among = [unit for unit in dict.fromkeys(order) if unit in places][:CUTOFF]
                found.setdefault(row, []).append(1 / (among.index(units[place]) + 1) if units[place] in among else 0.0)
    return found


def _candidates(store: Store, questions: Questions) -> dict[UnitId, tuple[str, int]]:
    """Unit → place, for the units that are asked for."""
    documents = {row.path: row.id for row in store.documents.rows()}
    found: dict[UnitId, tuple[str, int]] = {}
    for path in sorted({path for path, _ in questions} & set(documents)):
        for unit in store.units.of_document(documents[path]):
            if (path, unit.name_line) in questions:
                found.setdefault(unit.id, (path, unit.name_line))
    return found


def _rows(rankings: Mapping[str, Sequence[Match]], store: Store) -> Iterator[tuple[str, list[UnitId]]]:
    words, vectors = rankings.get("exact", ()), rankings.get("vector", ())
    yield "words (BM25)", [m.unit for m in words]
    yield "vectors", [m.unit for m in vectors]
    rows = store.units.rows({m.unit for m in (*words, *vectors)})
    for name, (fusion, word, vector) in FUSED.items():
        fused = fuse({"exact": words, "vector": vectors}, {"exact": word, "vector": vector}, 60, rows, fusion)
        yield name, [c.unit.id for c in sorted(fused, key=lambda c: (-c.score, c.unit.content_order()))]

"""Measure how well the first sentence of a definition's documentation finds it in a tree without documentation.

Comments above definitions are blanked and doc strings emptied, so that all other lines keep their numbers. Up to CANDIDATES
documented definitions of a tree are drawn, and up to QUESTIONS of their sentences are searched. MRR@10 is computed for each
channel alone, for fusions of both, and for the whole search.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from codelens.config import Settings
from codelens.evaluation.tasks import PlacedUnit, Row, TaskDraft, sample_rows
from codelens.evaluation.trees import TreeText
from codelens.files import write_new
from codelens.indexing.extract import extract_definitions
from codelens.indexing.files import ReadText, read_text
from codelens.lang.comments import clean_comment
from codelens.lang.registry import detect_language
from codelens.model.code import SeenFile
from codelens.model.extraction import Unit
from codelens.model.request import SearchOptions
from codelens.search.fuse import fuse_rankings
from codelens.search.pipeline import rank
from codelens.store.store import Store
from codelens.text.lines import TextMap, map_text
from codelens.training.mining import ASKED_KINDS, draw_number, is_code
from codelens.training.phrases import extract_first_sentence
from codelens.worktree.classify import find_roles
from codelens.worktree.walk import walk_tree

_DOC_STRING = re.compile(r"([rRuUbBfF]{0,2})(\"\"\"|'''|\"|')(?:\\.|(?!\2).)*\2", re.DOTALL)
_NOT_A_LINE_END = re.compile(r"[^\n\r]")
_MARKS_ALONE = re.compile(r"/\*+!?|\**\*/|\*+|//+!?|#+|--+")
_ANNOTATION = re.compile(r"\s*(?:@\w|\[|#\[)")


def remove_documentation(text: str, language: str) -> tuple[str, dict[int, str]]:
    """Remove the documentation from a text; return the text, and name line → first sentence of each definition's documentation."""
    before = map_text(text)
    units = [unit for unit in extract_definitions(before, language) if unit.doc]
    bare = blank_documentation(before, units)
    return bare, dict(find_questions(units, bare, language))


def find_questions(units: Sequence[Unit], bare: str, language: str) -> Iterator[tuple[int, str]]:
    """Yield (name line, first sentence) of documented units that `bare` still defines, but without their documentation."""
    after = {unit.name_line: unit for unit in extract_definitions(map_text(bare), language)}
    lowered = bare.lower()
    for unit in units:
        left = after.get(unit.name_line)
        if unit.local or unit.kind not in ASKED_KINDS or left is None or left.name != unit.name or left.doc:
            continue
        query = extract_first_sentence(unit.doc, unit.name)
        if query and query.lower() not in lowered:
            yield unit.name_line, query


def blank_documentation(text: TextMap, units: Sequence[Unit]) -> str:
    """Blank the documentation of these definitions, each of which must have some, in a text."""
    lines = text.utf8.decode("utf-8").split("\n")
    for unit in units:
        wanted = _list_stripped_lines(unit.doc)
        first = text.find_line_column(unit.span.start)[0] - 1
        for at in range(first - 1, -1, -1):  # the comment lines above, except annotations between them
            line = lines[at].strip()
            comment = clean_comment([line.removesuffix("*/")]).strip()
            if line and (
                comment in wanted
                or (comment != line and any(comment in text for text in wanted))
                or _MARKS_ALONE.fullmatch(line)
            ):
                lines[at] = ""
            elif not line or not _ANNOTATION.match(line):
                break
        last = min(text.find_line_column(max(unit.span.start, unit.span.end - 1))[0], first + 400)
        inside = "\n".join(lines[first:last])
        string = _DOC_STRING.search(inside)
        if string and (body := clean_comment([string[0]])) and _list_stripped_lines(body) <= wanted:
            prefix, quotes = string[1], string[2]
            line_ends = _NOT_A_LINE_END.sub("", string[0][len(prefix + quotes) : -len(quotes)])
            bare = f"{inside[: string.start()]}{prefix}{quotes}{line_ends}{quotes}{inside[string.end() :]}"
            lines[first:last] = bare.split("\n")
    return "\n".join(lines)


def _list_stripped_lines(text: str) -> set[str]:
    return set(filter(None, map(str.strip, text.split("\n"))))


def write_undocumented_tree(name: str, texts: Sequence[TreeText], into: Path, wanted: int) -> list[Row]:
    """Write a tree without documentation to a new folder, and make tasks of the documentation. Raises OSError.

    A task asks for a definition by the first sentence of its documentation. Sentences that two definitions share, or that
    the written tree still contains, are dropped.
    """
    drafts: list[TaskDraft] = []
    bare_files: dict[str, tuple[str, str]] = {}  # Path → text and language of a file that had documentation
    readable: list[str] = []
    into.mkdir(parents=True)
    for file in texts:
        bare, raw = file.text, file.raw
        units = file.defined.units if is_code(file.defined.language) else ()
        if documented := [unit for unit in units if unit.doc]:
            bare = blank_documentation(file.defined.text, documented)
            bare_files[file.path], raw = (bare, file.defined.language), bare.encode("utf-8")
            for unit in file.answers:
                if unit.doc and unit.kind in ASKED_KINDS and (query := extract_first_sentence(unit.doc, unit.name)):
                    seed = f"docs {file.path} {unit.qualified_name}"
                    drafts.append(TaskDraft(query, (PlacedUnit(file.path, unit),), seed))
        write_new(into / file.path, raw)
        readable.append(_fold_words(bare))
    words = "".join(readable)

    def is_usable(draft: TaskDraft) -> bool:
        (answer,) = draft.answers
        questions = find_questions([answer.unit], *bare_files[answer.path])
        return _fold_words(draft.query) not in words and (answer.unit.name_line, draft.query) in questions

    return sample_rows(name, "documentation", drafts, wanted, fold=_fold_words, is_usable=is_usable)


def _fold_words(text: str) -> str:
    words = re.sub(r"[^a-z0-9]+", " ", text.lower()).strip()
    return f" {words} "


CANDIDATES, QUESTIONS = 2000, 150  # Limits per tree. The second is chosen to limit the time of searching.
CUTOFF = 10
# Name → method of fusion, and the weights of the word channel and the vector channel
FUSED = {"rrf 1:1": ("rrf", 1.0, 1.0), "rrf 1:2": ("rrf", 1.0, 2.0), "minmax .4:.6": ("minmax", 0.4, 0.6)}

Questions = dict[tuple[str, int], str]  # (path, line of a definition's name) → query


def write_code_without_documentation(tree: Path, into: Path, settings: Settings) -> Questions:
    """Write the code of a tree without its documentation to a new folder. `settings` select the files.

    Returns at most CANDIDATES questions, drawn by hash, without sentences that two definitions share.
    """
    questions: Questions = {}
    for seen in sorted((s for s in walk_tree(tree, settings) if isinstance(s, SeenFile)), key=lambda s: s.path):
        language = detect_language(seen.path)
        read = read_text(tree, seen, settings)
        if not is_code(language) or "test" in find_roles(seen.path) or not isinstance(read, ReadText):
            continue
        bare, sentence_by_line = remove_documentation(read.decoded.text, language)
        write_new(into / seen.path, bare.encode())
        questions.update({(seen.path, line): query for line, query in sentence_by_line.items()})
    counts = Counter(questions.values())
    single = [place for place, query in questions.items() if counts[query] == 1]
    drawn = sorted(single, key=lambda place: draw_number(repr(place)))[:CANDIDATES]
    return {place: questions[place] for place in drawn}


def ask_questions(questions: Questions, index: Path, settings: Settings) -> dict[str, list[float]]:
    """Search the questions; return, for each way of ranking, the reciprocal ranks of the answers, 0 below rank ten."""
    reciprocal_ranks: dict[str, list[float]] = {}
    options = SearchOptions(limit=CUTOFF)
    with Store.read(index) as store, store.reading():
        documents = {row.path: row.id for row in store.documents.read_rows()}
        units = {  # Place → its unit
            (path, unit.name_line): unit.id
            for path in sorted({path for path, _ in questions} & set(documents))
            for unit in store.units.list_in_document(documents[path])
            if (path, unit.name_line) in questions
        }
        asked = set(units.values())
        for place in list(questions)[:QUESTIONS]:
            if place not in units:
                continue
            ranking = rank(questions[place], store, options, settings)
            rankings = ranking.run.trace.rankings
            words, vectors = rankings.get("exact", ()), rankings.get("vector", ())
            orders = {"words (BM25)": [m.unit for m in words], "vectors": [m.unit for m in vectors]}
            rows = store.units.read_rows({match.unit for match in (*words, *vectors)})
            for way, (fusion, word_weight, vector_weight) in FUSED.items():
                weights = {"exact": word_weight, "vector": vector_weight}
                fused = fuse_rankings({"exact": words, "vector": vectors}, weights, 60, rows, fusion)
                orders[way] = [c.unit.id for c in sorted(fused, key=lambda c: (-c.score, c.unit.content_order()))]
            orders["codelens"] = [c.unit.id for c in ranking.candidates]
            for way, order in orders.items():
                top = [unit for unit in dict.fromkeys(order) if unit in asked][:CUTOFF]
                answer = units[place]
                reciprocal_ranks.setdefault(way, []).append(1 / (top.index(answer) + 1) if answer in top else 0.0)
    return reciprocal_ranks

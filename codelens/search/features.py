"""The features of a candidate: each has a value and a sentence that explains it.

A score is the sum of weight × value of the features, added to the channels' ranks; weights.toml has the weights by kind of
query. Values are about 0 to 1, so that weights can be compared. A value of 0 contributes nothing.

A search measures dozens of features of a thousand candidates, so each feature is computed as a column: for all of them at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TypeVar

from codelens.model.budget import TimeBudget
from codelens.model.code import CHUNK_KINDS, NOTE_KINDS, TODO, TYPE_KINDS, UnitId, UnitRow
from codelens.model.fast_dataclass import dataclass
from codelens.model.search import Candidate, add_features
from codelens.search.evidence import Evidence
from codelens.text.counts import format_day, quantity
from codelens.text.identifiers import fold_identifier, is_short_for, split_cached, split_qualified

Value = TypeVar("Value")
_fold = lru_cache(maxsize=20_000)(fold_identifier)
"""`fold_identifier` with a cache: the candidates of one search share names with those of the next."""


class Pool:
    """The candidates that are measured together, with the values that several features need."""

    def __init__(self, units: Sequence[UnitRow]) -> None:
        self.units = units
        self.ids = [unit.id for unit in units]
        self.documents = [unit.document for unit in units]
        self.symbols = [unit if unit.kind not in CHUNK_KINDS else None for unit in units]
        """For each candidate the unit, or None for a piece of text, whose name is that of a file or heading."""
        self.names = [unit.name if unit else "" for unit in self.symbols]
        self.roles = frozenset[str]().union(*{unit.roles for unit in units})  # The roles that any of them has

    @cached_property
    def folded(self) -> list[str]:
        """The folded name of each symbol; empty for pieces of text."""
        return self.map_names(_fold)

    def map_names(self, function: Callable[[str], Value]) -> list[Value]:
        """Apply a function to the name of each candidate, "" for pieces of text; it is called once for each different name."""
        known = {name: function(name) for name in set(self.names)}
        return [known[name] for name in self.names]


Column = Callable[[Pool, Evidence], Sequence[float]]  # The values of all candidates, in order; empty if all are 0
Sentence = Callable[[UnitRow, Evidence, float], str]


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature: its name, the function that measures it, and the function that explains a value."""

    name: str
    column: Column
    explain: Sentence
    channel: str = ""  # The channel whose evidence it uses; the feature is left out if that channel did not run


ROLE_WORDS: Mapping[str, frozenset[str]] = {
    role: frozenset(words.split())
    for role, words in (
        ("test", "test tests testing tested unittest pytest spec specs fixture fixtures mock mocks"),
        ("example", "example examples sample samples demo demos"),
        ("vendored", "vendor vendored"),
        ("docs", "doc docs documentation readme changelog guide tutorial"),
        ("generated", "generated"),
    )
}  # Role of a path → words of a query that ask for files of this role
ROLE_SAID = {
    "test": "in tests or benchmarks",
    "example": "in an example",
    "docs": "in documentation",
    "vendored": "in vendored code, a copy of another project's",
}  # Role of a path that is a feature → its sentence
FUNCTION_KINDS = ("function", "method")
OTHER_CONTAINER = 0.5
"""Value of an exact name if the query names another container: for `Class.method`, the method of another class."""
SHORT_HOLDER = 0.75
"""Value of a qualified name if the query's part before the name may be short for its container, as `ctx.JSON` for Context.JSON.
Of 200 such names drawn from eight repositories .425 were first without it, .735 at .5, .810 at .75."""
OTHER_SPELLING = 0.8
"""Value of a name that differs from the query's only in case and separators, as `view` for `View`."""
CERTAIN_CLASS = 0.9
"""Least weight of an equivalence class whose strong matches go to the top; only a user's own classes reach it."""
LONGEST_NAME = 80  # Most characters of a query that may be one name as a whole
SHORTEST_PART = 4  # Fewest letters of a part of a name
MOST_OF_A_PART = 2.0  # The raw score of a fragment that occurs as typed in a name (search/channels/fuzzy.py)
SHORT, LONG = 15, 60  # Most lines of a definition that is called short, fewest of one that is called long
SHORT_NAME = 2  # Most words of a name that is called short
SHORT_COMMIT = 7  # Digits of a commit's id in a sentence
ALL_BUT = 0.9999  # Shares above this are called the whole
MOST_PARTS = 6  # Words of a name that count; further ones add nothing. From a fitted prototype.


def _look_up_values(find_values: Callable[[Evidence], Mapping[UnitId, float]]) -> Column:
    """Make a column of the values of units; units without a value have 0."""

    def measure(pool: Pool, e: Evidence) -> Sequence[float]:
        values = find_values(e)
        return [values.get(unit, 0.0) for unit in pool.ids] if values else ()

    return measure


def _look_up_typed(token: bool) -> Column:
    return _look_up_values(lambda e: {unit: find.value for unit, find in e.verbatim.items() if find.token == token})


def _divide_values(find_values: Callable[[Evidence], tuple[Mapping[UnitId, float], float]]) -> Column:
    """Make a column of the values of units, divided by a whole; empty if the whole is 0."""

    def measure(pool: Pool, e: Evidence) -> Sequence[float]:
        values, whole = find_values(e)
        return [values.get(unit, 0.0) / whole for unit in pool.ids] if whole else ()

    return measure


def _square_column(column: Column) -> Column:
    return lambda pool, e: [value**2 for value in column(pool, e)]


_NEARNESS = _divide_values(lambda e: (e.cosine, e.best_cosine))


def _measure_exact_name(pool: Pool, e: Evidence) -> Sequence[float]:
    names = {folded: term for folded, term in e.names.items() if term.tier != "pair"}

    def score_unit(unit: UnitRow, origin: str) -> float:
        ends_so = fold_identifier(unit.qualified_name).endswith(fold_identifier(origin))
        if not ends_so and not unit.is_called(".".join(split_qualified(origin))):
            return OTHER_CONTAINER
        return 1.0 if unit.name in origin else OTHER_SPELLING

    return [
        score_unit(unit, names[folded].origin) if folded in names and unit else 0.0
        for unit, folded in zip(pool.symbols, pool.folded, strict=True)
    ]


def _explain_exact_name(unit: UnitRow, evidence: Evidence, value: float) -> str:
    origin = evidence.names[fold_identifier(unit.name)].origin
    but = f", but is not {origin}" if value == OTHER_CONTAINER else f", as {origin} but for spelling"
    return f"is named {unit.name}{but if value < 1.0 else ''}"


def _measure_whole_name(pool: Pool, e: Evidence) -> Sequence[float]:
    whole, text, qualified = e.folded, e.query.text, e.qualified
    if not whole or len(text) > LONGEST_NAME:
        return ()

    def score_unit(unit: UnitRow | None, folded: str) -> float:
        if unit is None:
            return 0.0
        if qualified and unit.is_called(qualified):
            return 1.0
        if folded != whole:
            # The container's letters come before the name's, of which there may be none: `_`.
            last = unit.container.rpartition(".")[2] if whole.endswith(folded) or not folded.isalnum() else ""
            if not last or fold_identifier(last + unit.name) != whole:
                holder, _, name = qualified.rpartition(".")
                short = name == unit.name and is_short_for(holder.rpartition(".")[2], unit.container.rpartition(".")[2])
                return SHORT_HOLDER if short else 0.0
        return 1.0 if unit.name in text else OTHER_SPELLING

    return list(map(score_unit, pool.symbols, pool.folded))


def _explain_whole_name(unit: UnitRow, evidence: Evidence, value: float) -> str:
    if value == SHORT_HOLDER:
        holder = evidence.qualified.rpartition(".")[0]
        return f"the query is its name, if {holder} is short for {unit.container}"
    return "the query is its name" + (", spelled differently" if value < 1.0 else "")


def _measure_name_match(pool: Pool, e: Evidence) -> Sequence[float]:
    def score_name(name: str) -> float:
        """Compute the F1 score of a name's words against the query's words."""
        words, matched = e.split_name(name)
        precision, recall = (len(matched) / len(words), e.compute_rarity(matched)) if matched else (0.0, 0.0)
        return 2 * precision * recall / (precision + recall) if precision and recall else 0.0

    return pool.map_names(score_name)


def _measure_name_part(pool: Pool, e: Evidence) -> Sequence[float]:
    """Measure the longest part of each name that the query contains, as a share of the name.

    A whole name counts here only if the query is a single name, as `c.JSON`, so that longer names do not get ahead of it.
    """
    parts, alone = [part for part in e.parts if len(part) >= SHORTEST_PART], e.is_one_name

    def score_name(folded: str) -> float:
        lengths = [len(part) for part in parts if part in folded and (alone or len(part) < len(folded))]
        return max(lengths) / len(folded) if lengths else 0.0

    return list(map(score_name, pool.folded)) if parts else ()


def _measure_file_name(pool: Pool, e: Evidence) -> Sequence[float]:
    """Measure the share of the words of a file's name that the query contains."""
    shares = {}
    for document, path in {unit.document: unit.path for unit in pool.units}.items():
        words, matched = e.split_name(path.rpartition("/")[2].partition(".")[0])
        shares[document] = len(matched) / len(words) if matched else 0.0
    return [shares[document] for document in pool.documents]


def _count_lines(unit: UnitRow) -> int:
    return unit.end_line - unit.start_line + 1


def _explain_lines(unit: UnitRow, _: Evidence, __: float) -> str:
    lines = _count_lines(unit)
    size = "short" if lines <= SHORT else "long" if lines >= LONG else "of medium length"
    return f"{size} ({quantity(lines, 'line')})"


def _explain_parts(unit: UnitRow, _: Evidence, __: float) -> str:
    words = len(split_cached(unit.name))
    return f"{'short' if words <= SHORT_NAME else 'long'} name ({quantity(words, 'word')})"


def _explain_messages(unit: UnitRow, e: Evidence, _: float) -> str:
    commit = e.find_message(unit.document)
    return f"its file was changed by {commit.name[:SHORT_COMMIT]} '{commit.subject}', {format_day(commit.time)}"


def _explain_coverage(_: UnitRow, __: Evidence, square: float) -> str:
    if (share := math.sqrt(square)) > ALL_BUT:
        return "has all words of the query, except common ones"
    return f"has {share:.0%} of the query's words (rare ones count more, related ones less)"


def _explain_nearness(_: UnitRow, __: Evidence, share: float) -> str:
    return "the closest in meaning" if share > ALL_BUT else f"{share:.0%} as close in meaning as the closest"


def _say_text(text: str) -> Sentence:
    return lambda _, __, ___: text


def _say_share(what: str, noun: str = "hit") -> Sentence:
    """Make a sentence that gives the value as a share of the best one."""
    return lambda _, __, v: f"{what} best" if v == 1.0 else f"{what} {v:.0%} as well as the best {noun}"


def _make_role_feature(role: str) -> Feature:
    """Make a feature that is 1 for paths with this role, unless the query or the original of `--like` asks for the role."""

    def measure_role(pool: Pool, e: Evidence) -> Sequence[float]:
        if role not in pool.roles or ROLE_WORDS[role] & e.query_words or role in e.roles_of_original:
            return ()
        return [1.0 if role in unit.roles else 0.0 for unit in pool.units]

    return Feature(role, measure_role, _say_text(ROLE_SAID[role]))


def _make_kind_feature(name: str, kinds: Sequence[str], explain: Sentence) -> Feature:
    values = dict.fromkeys(kinds, 1.0)
    return Feature(name, lambda pool, _: [values.get(unit.kind, 0.0) for unit in pool.units], explain)


_TABLE = (
    # Words
    Feature("bm25", _divide_values(lambda e: (e.bm25, e.best_bm25)), _say_share("matches the words"), "exact"),
    Feature(
        "related_words",
        _divide_values(lambda e: (e.related, e.best_related)),
        _say_share("matches related words"),
        "exact",
    ),
    Feature("verbatim", _look_up_typed(False), lambda u, e, v: f"has '{e.verbatim[u.id].text}' as typed", "fuzzy"),
    Feature("token", _look_up_typed(True), lambda u, e, v: f"has {e.verbatim[u.id].text} as typed", "fuzzy"),
    Feature(
        "fragment",
        _divide_values(lambda e: ({unit: match.raw_score for unit, match in e.fragments.items()}, MOST_OF_A_PART)),
        lambda u, e, v: e.fragments[u.id].reason,
        "fuzzy",
    ),
    Feature("coverage", _square_column(_look_up_values(lambda e: e.said)), _explain_coverage, "exact"),
    Feature(
        "file",
        lambda p, e: [e.files.get(file, 0.0) / e.best_file for file in p.documents] if e.best_file else (),
        _say_share("its file matches the words", "file"),
        "exact",
    ),
    # Names and paths
    Feature("exact_name", _measure_exact_name, _explain_exact_name),
    Feature("whole_name", _measure_whole_name, _explain_whole_name),
    Feature(
        "name_match",
        _measure_name_match,
        lambda u, e, v: f"its name shares {', '.join(e.split_name(u.name)[1])} with the query",
    ),
    Feature(
        "related_name",
        _look_up_values(lambda e: e.related_names),
        lambda u, e, v: f"its name and the names around it have words related to {v:.0%} of the query",
    ),
    Feature("resemblance", _look_up_values(lambda e: e.resemblance), _say_text("its name is in the query, misspelled")),
    Feature("name_part", _measure_name_part, lambda u, e, v: f"a part of the query is {v:.0%} of its name"),
    Feature(  # targets of a user's own class are the answer, regardless of words and ranks
        "own_class",
        _look_up_values(
            lambda e: {unit: 1.0 for unit, match in e.concepts.items() if match.raw_score >= CERTAIN_CLASS}
        ),
        lambda u, e, v: e.concepts[u.id].reason,
    ),
    Feature("file_name", _measure_file_name, lambda u, e, v: f"the query has {v:.0%} of the words of its file's name"),
    Feature(
        "scope",
        lambda p, e: [e.compute_scope_share(unit) for unit in p.units] if e.scope else (),
        lambda u, e, v: f"its place and name have {v:.0%} of {' '.join(e.scope)}",
    ),
    *map(_make_role_feature, ROLE_SAID),
    # Vectors; the last one counts as far as no candidate contains the query's words
    Feature("nearness", _NEARNESS, _explain_nearness, "vector"),
    Feature("nearest", _square_column(_NEARNESS), lambda u, e, v: _explain_nearness(u, e, math.sqrt(v)), "vector"),
    Feature(
        "near_unmet",
        lambda p, e: [square * (1.0 - e.best_found) for square in _square_column(_NEARNESS)(p, e)],
        lambda u, e, v: f"meaning counts more, because the best match of words is {e.best_found:.0%} of a perfect one",
        "vector",
    ),
    # Kinds of units
    _make_kind_feature("type", TYPE_KINDS, lambda u, e, v: u.kind),
    _make_kind_feature("function", FUNCTION_KINDS, lambda u, e, v: u.kind),
    _make_kind_feature("chunk", ("toplevel", "text"), _say_text("text outside of definitions")),
    _make_kind_feature(
        "section",
        ("section", *NOTE_KINDS, TODO),
        lambda u, e, v: "a section of a document" if u.kind == "section" else f"a {u.kind}",
    ),
    Feature("local", lambda p, e: [float(unit.local) for unit in p.units], lambda u, e, v: f"local to {u.container}"),
    # A definition in the code that a document quotes
    Feature("quoted", lambda p, e: [float(unit.is_quoted) for unit in p.units], _say_text("quoted by a document")),
    Feature("lines", lambda p, e: [math.log1p(_count_lines(unit)) / 5 for unit in p.units], _explain_lines),
    Feature(
        "parts",
        lambda p, e: p.map_names(lambda name: min(len(split_cached(name)), MOST_PARTS) / MOST_PARTS),
        _explain_parts,
    ),
    # History, and the rest of the code
    Feature(
        "messages",
        lambda p, e: [e.messages[file][0] if file in e.messages else 0.0 for file in p.documents],
        _explain_messages,
    ),
    Feature(
        "uses",
        _look_up_values(lambda e: {UnitId(unit): min(1.0, math.log1p(files) / 4) for unit, files in e.uses.items()}),
        lambda u, e, v: f"connected with {quantity(e.uses[int(u.id)], 'other file')}, not counting tests",
    ),
)
FEATURES: Mapping[str, Feature] = {feature.name: feature for feature in _TABLE}
"""Name → feature. search/walk.py adds the feature of the walk over the graph, then search/company.py adds its features."""


def measure_features(
    candidates: Sequence[Candidate],
    evidence: Evidence,
    weights: Mapping[str, float],
    budget: TimeBudget,
    explainers: Mapping[str, Callable[[UnitRow], str]] = {},
) -> None:
    """Add to these candidates, in place, the features that have a weight and whose channel ran.

    `explainers` explain features that are measured elsewhere. Raises OutOfTime before any feature is added.
    """
    pool = Pool([candidate.unit for candidate in candidates])

    def explain(unit: UnitRow, name: str, value: float) -> str:
        return FEATURES[name].explain(unit, evidence, value) if name in FEATURES else explainers[name](unit)

    for candidate in candidates:
        candidate.write_reason = explain
    columns: list[tuple[str, float, Sequence[float]]] = []
    for name, feature in FEATURES.items():
        if (weight := weights.get(name)) and (not feature.channel or feature.channel in evidence.channels):
            budget.check()
            columns.append((name, weight, feature.column(pool, evidence)))
    add_features(candidates, columns)

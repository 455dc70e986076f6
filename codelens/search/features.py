"""The features of a candidate: each a value and the sentence that explains it.

A score is the sum of weight × value over these, in addition to the channels' ranks; the weights are in weights.toml, by the
kind of query. Values are about 0 to 1, so that weights compare. A value of 0 is not part of the sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from codelens.model.budget import TimeBudget
from codelens.model.code import CHUNK_KINDS, NOTE_KINDS, QUOTING, TODO, TYPE_KINDS, UnitRow
from codelens.model.fast_dataclass import dataclass
from codelens.model.search import Candidate
from codelens.search.evidence import Evidence
from codelens.text.identifiers import fold_identifier, split_identifier, split_qualified

Value = Callable[[UnitRow, Evidence], float]
Sentence = Callable[[UnitRow, Evidence, float], str]


@dataclass(frozen=True, slots=True)
class Feature:
    """One row of the table below."""

    name: str
    value: Value
    says: Sentence
    channel: str = ""
    """The channel whose evidence it uses: without that channel the feature is left out."""


_ROLE_WORDS = {
    "test": "test tests testing tested unittest pytest spec specs fixture fixtures mock mocks",
    "example": "example examples sample samples demo demos",
    "vendored": "vendor vendored",
    "docs": "doc docs documentation readme changelog guide tutorial",
    "generated": "generated",
}
ROLE_WORDS: Mapping[str, frozenset[str]] = {role: frozenset(words.split()) for role, words in _ROLE_WORDS.items()}
"""Role of a path → words of a query that ask for just that."""
CONSTANT_KINDS = ("constant", "variable", "property", "macro")
FUNCTION_KINDS = ("function", "method")
_PROSE = ("section", *NOTE_KINDS, TODO)
OTHER_CONTAINER = 0.5
"""Value of an exact name, of 1, if the query names another container: `Class.method`, and this is another class's.
Chosen, not measured."""
OTHER_SPELLING = 0.8
"""Value of a name, of 1, that is the query's but for case and separators: `view` where `View` was asked for. Chosen."""
CERTAIN_CLASS = 0.9
"""Weight of an equivalence class from which on a strong match goes to the top; only a person's own classes have it
(knowing's figure)."""
LONGEST_NAME = 80
"""Characters of a query that may be a name as a whole."""
SHORTEST_PART = 4
"""Letters of a part of a name. Chosen."""
MOST_OF_A_PART = 2.0
"""The raw score of a fragment that stands as typed in a name (search/channels/fuzzy.py)."""
MOST_PARTS = 6
"""Words of a name after which further ones add nothing. From a fitted prototype."""


# What the words say


def _bm25(unit: UnitRow, e: Evidence) -> float:
    return e.bm25.get(unit.id, 0.0) / e.best_bm25 if e.best_bm25 else 0.0


def _found(unit: UnitRow, e: Evidence) -> float:
    return e.bm25.get(unit.id, 0.0) / e.of_words if e.of_words else 0.0


def _bm25_unmet(unit: UnitRow, e: Evidence) -> float:
    """The best BM25F says little where no candidate has much of what the words could give."""
    return _bm25(unit, e) * (1.0 - e.best_found)


def _coverage(unit: UnitRow, e: Evidence) -> float:
    return e.share_said(unit.id) ** 2


def _file(unit: UnitRow, e: Evidence) -> float:
    return e.files[unit.document] / e.best_file if e.best_file else 0.0


def _file_coverage(unit: UnitRow, e: Evidence) -> float:
    return e.share_in_file(unit.document) ** 2


# What the name says


def _exact_name(unit: UnitRow, e: Evidence) -> float:
    if unit.kind in CHUNK_KINDS:
        return 0.0
    term = e.names.get(fold_identifier(unit.name))
    if term is None or term.tier == "pair":
        return 0.0
    held = fold_identifier(unit.qualified_name).endswith(fold_identifier(term.origin))
    if not held and not unit.is_called(".".join(split_qualified(term.origin))):
        return OTHER_CONTAINER
    return 1.0 if unit.name in term.origin else OTHER_SPELLING


def _whole_name(unit: UnitRow, e: Evidence) -> float:
    if unit.kind in CHUNK_KINDS or not e.folded or len(e.query.text) > LONGEST_NAME:
        return 0.0
    last = unit.container.rpartition(".")[2]
    if e.qualified and unit.is_called(e.qualified):
        return 1.0
    if e.folded not in (fold_identifier(unit.name), fold_identifier(last + unit.name) if last else ""):
        return 0.0
    return 1.0 if unit.name in e.query.text else OTHER_SPELLING


def _pair_name(unit: UnitRow, e: Evidence) -> float:
    term = e.names.get(fold_identifier(unit.name)) if unit.kind not in CHUNK_KINDS else None
    return 1.0 if term is not None and term.tier == "pair" else 0.0


def _container_named(unit: UnitRow, e: Evidence) -> float:
    if not unit.container or unit.kind in CHUNK_KINDS:
        return 0.0
    last = fold_identifier(unit.container.rpartition(".")[2])
    return 1.0 if last in e.names or last in e.place else 0.0


def _name_precision(unit: UnitRow, e: Evidence) -> float:
    if unit.kind in CHUNK_KINDS:
        return 0.0
    words, matched = e.words_of_name(unit.name)
    return len(matched) / len(words) if words else 0.0


def _name_match(unit: UnitRow, e: Evidence) -> float:
    if unit.kind in CHUNK_KINDS:
        return 0.0
    words, matched = e.words_of_name(unit.name)
    if not matched:
        return 0.0
    precision, recall = len(matched) / len(words), e.rarity_of(matched)
    return 2 * precision * recall / (precision + recall) if recall else 0.0


def _named(unit: UnitRow, e: Evidence) -> float:
    return e.share_named(unit.id)


def _resemblance(unit: UnitRow, e: Evidence) -> float:
    return e.resemblance.get(unit.id, 0.0)


def _name_part(unit: UnitRow, e: Evidence) -> float:
    """The longest part of a name that the query has, as a share of the name.

    A whole name is `exact_name`'s; only where the query is one name, as `c.JSON`, it counts here too: no longer one is before it.
    """
    if unit.kind in CHUNK_KINDS:
        return 0.0
    folded = fold_identifier(unit.name)
    most = len(folded) if e.is_one_name else len(folded) - 1
    held = (len(part) for part in e.parts if SHORTEST_PART <= len(part) <= most and part in folded)
    return max(held, default=0) / len(folded) if folded else 0.0


def _own_class(unit: UnitRow, e: Evidence) -> float:
    """knowing's injection: the targets of a user's own class are the answer, whatever words and ranks say."""
    match = e.concepts.get(unit.id)
    return 1.0 if match and match.raw_score >= CERTAIN_CLASS else 0.0


# What stands there as it was typed


def _run_of_words(unit: UnitRow, e: Evidence) -> float:
    find = e.verbatim.get(unit.id)
    return find.value if find and not find.token else 0.0


def _token(unit: UnitRow, e: Evidence) -> float:
    find = e.verbatim.get(unit.id)
    return find.value if find and find.token else 0.0


def _fragment(unit: UnitRow, e: Evidence) -> float:
    return e.fragments[unit.id].raw_score / MOST_OF_A_PART if unit.id in e.fragments else 0.0


# What the path says


def _stem_precision(unit: UnitRow, e: Evidence) -> float:
    words, matched = e.words_of_name(unit.path.rpartition("/")[2].partition(".")[0])
    return len(matched) / len(words) if words else 0.0


def _role(role: str) -> Value:
    """1 on such a path, where the query does not ask for just that."""
    return lambda unit, e: float(role in unit.roles and not ROLE_WORDS[role] & e.query_words)


def _asked_role(role: str) -> Value:
    """1 on such a path, where the query asks for it."""
    return lambda unit, e: float(role in unit.roles and bool(ROLE_WORDS[role] & e.query_words))


# What vectors say


def _nearness(unit: UnitRow, e: Evidence) -> float:
    return e.cosine.get(unit.id, 0.0) / e.best_cosine if e.best_cosine else 0.0


def _nearest(unit: UnitRow, e: Evidence) -> float:
    return _nearness(unit, e) ** 2


def _near_unmet(unit: UnitRow, e: Evidence) -> float:
    """The nearest, so far as the query's words are not found in any candidate."""
    return _nearest(unit, e) * (1.0 - e.best_found)


def _near_beside(unit: UnitRow, e: Evidence) -> float:
    return e.nearest_beside(unit) ** 2


# What kind of thing it is


def _kinds(kinds: Sequence[str]) -> Value:
    return lambda unit, _: float(unit.kind in kinds)


def _local(unit: UnitRow, _: Evidence) -> float:
    return float(unit.local)


def _quoted(unit: UnitRow, _: Evidence) -> float:
    """1 for a definition in the code that a document quotes."""
    return float(unit.local and unit.language in QUOTING)


def _lines(unit: UnitRow, _: Evidence) -> float:
    return math.log1p(unit.end_line - unit.start_line + 1) / 5


def _parts(unit: UnitRow, _: Evidence) -> float:
    return 0.0 if unit.kind in CHUNK_KINDS else min(len(split_identifier(unit.name)), MOST_PARTS) / MOST_PARTS


# What the rest of the code says


def _uses(unit: UnitRow, e: Evidence) -> float:
    return min(1.0, math.log1p(e.uses.get(int(unit.id), 0)) / 4)


def _aged(which: int) -> Value:
    def value(unit: UnitRow, e: Evidence) -> float:
        aged = e.aged.get(unit.document, (None, None))[which]
        return aged.value if aged else 0.0

    return value


def _aged_said(which: int) -> Sentence:
    def says(unit: UnitRow, e: Evidence, _: float) -> str:
        aged = e.aged[unit.document][which]
        return aged.reason if aged else ""

    return says


def _kind_said(unit: UnitRow, _: Evidence, __: float) -> str:
    return unit.kind


def _of_roles() -> Iterable[Feature]:
    for role in ROLE_WORDS:
        yield Feature(role, _role(role), _constant(f"{role} path"))


def _constant(text: str) -> Sentence:
    return lambda _, __, ___: text


def _many(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


FEATURES: Mapping[str, Feature] = {
    feature.name: feature
    for feature in (
        Feature("bm25", _bm25, lambda u, e, v: f"{v:.0%} of the best BM25F", "exact"),
        Feature("found", _found, lambda u, e, v: f"BM25F is {v:.0%} of what the words could give", "exact"),
        Feature(
            "bm25_unmet",
            _bm25_unmet,
            lambda u, e, v: f"no candidate has more than {e.best_found:.0%} of the words",
            "exact",
        ),
        Feature("verbatim", _run_of_words, lambda u, e, v: f"holds '{e.verbatim[u.id].text}' as typed", "fuzzy"),
        Feature("token", _token, lambda u, e, v: f"holds {e.verbatim[u.id].text} as typed", "fuzzy"),
        Feature("fragment", _fragment, lambda u, e, v: e.fragments[u.id].reason, "fuzzy"),
        Feature("coverage", _coverage, lambda u, e, v: f"holds {math.sqrt(v):.0%} of the words by rarity", "exact"),
        Feature("file", _file, lambda u, e, v: f"its file has {v:.0%} of the best file's BM25", "exact"),
        Feature(
            "file_coverage", _file_coverage, lambda u, e, v: f"its file holds {math.sqrt(v):.0%} of the words", "exact"
        ),
        Feature("exact_name", _exact_name, lambda u, e, v: f"is named {e.names[fold_identifier(u.name)].origin}"),
        Feature("whole_name", _whole_name, _constant("the whole query is its name")),
        Feature(
            "pair_name", _pair_name, lambda u, e, v: f"is named by '{e.names[fold_identifier(u.name)].origin}' joined"
        ),
        Feature("container_named", _container_named, lambda u, e, v: f"query says {u.container}"),
        Feature(
            "name_precision",
            _name_precision,
            lambda u, e, v: f"query says {', '.join(e.words_of_name(u.name)[1])} of its name",
        ),
        Feature("name_match", _name_match, lambda u, e, v: f"name and query agree by {v:.0%} (F1)"),
        Feature("named", _named, lambda u, e, v: f"name and container say {v:.0%} of the query"),
        Feature("resemblance", _resemblance, _constant("its name is one of the query's but for slips")),
        Feature("name_part", _name_part, lambda u, e, v: f"the query is {v:.0%} of its name"),
        Feature("own_class", _own_class, lambda u, e, v: e.concepts[u.id].reason),
        Feature("file_name", _stem_precision, lambda u, e, v: f"query says {v:.0%} of the file's name"),
        Feature(
            "scope",
            lambda u, e: e.share_in_scope(u),
            lambda u, e, v: f"place and name say {v:.0%} of {' '.join(e.scope)}",
        ),
        *_of_roles(),
        Feature("asked_test", _asked_role("test"), _constant("test path, which the query asks for")),
        Feature("nearness", _nearness, lambda u, e, v: f"{v:.0%} of the best cosine", "vector"),
        Feature("nearest", _nearest, lambda u, e, v: f"{math.sqrt(v):.0%} of the best cosine, squared", "vector"),
        Feature("near_unmet", _near_unmet, lambda u, e, v: "meaning counts more: the words are hardly found", "vector"),
        Feature(
            "near_beside",
            _near_beside,
            lambda u, e, v: f"a neighbour in its file has cosine {math.sqrt(v):.3f}",
            "vector",
        ),
        Feature("type", _kinds(TYPE_KINDS), _kind_said),
        Feature("function", _kinds(FUNCTION_KINDS), _kind_said),
        Feature("constant", _kinds(CONSTANT_KINDS), _kind_said),
        Feature("chunk", _kinds(("toplevel", "text")), lambda u, e, v: f"{u.kind} text, no definition"),
        Feature(
            "section",
            _kinds(_PROSE),
            lambda u, e, v: "a section of a document" if u.kind == "section" else f"a {u.kind}",
        ),
        Feature("local", _local, lambda u, e, v: f"local to {u.container}"),
        Feature("quoted", _quoted, _constant("quoted by a document")),
        Feature("lines", _lines, lambda u, e, v: f"{_many(u.end_line - u.start_line + 1, 'line')}, ln(1 + lines) / 5"),
        Feature("parts", _parts, lambda u, e, v: f"{_many(len(split_identifier(u.name)), 'word')} in its name"),
        Feature("recency", _aged(0), _aged_said(0)),
        Feature("churn", _aged(1), _aged_said(1)),
        Feature("uses", _uses, lambda u, e, v: f"used by {_many(e.uses[int(u.id)], 'other file')}"),
    )
}
"""Name → feature. That of the walk over the graph is added by search/walk.py, once it has walked."""


def measure(
    candidates: Iterable[Candidate], evidence: Evidence, weights: Mapping[str, float], budget: TimeBudget
) -> None:
    """Write the features of these candidates, in place: those that have a weight and whose channel takes part.

    Raises OutOfTime with some of them measured.
    """
    features = [
        (name, feature.value, weights[name])
        for name, feature in FEATURES.items()
        if weights.get(name) and (not feature.channel or feature.channel in evidence.channels)
    ]

    def says(unit: UnitRow, name: str, value: float) -> str:
        if name in FEATURES:
            return FEATURES[name].says(unit, evidence, value)
        return evidence.ways.to(unit) if evidence.ways else ""

    for candidate in candidates:
        budget.check()
        unit = candidate.unit
        candidate.says = says
        for name, value_of, weight in features:
            if value := value_of(unit, evidence):
                candidate.measured.append((name, weight, value))

"""Hand-made results for the renderers: two hits with odd paths and texts, and a candidate below them."""

from __future__ import annotations

from codelens.model.code import DocumentId, Freshness, IndexInfo, RepositoryInfo, UnitId, UnitRow
from codelens.model.request import SearchOptions
from codelens.model.search import (
    Candidate,
    Contribution,
    Explanation,
    Hit,
    Loss,
    Match,
    SearchResult,
    SnippetLine,
    Trace,
    WhyResult,
)

ROOT = "/srv/tree"


def unit(number: int, name: str, path: str, kind: str = "function", container: str = "", line: int = 10) -> UnitRow:
    return UnitRow(
        id=UnitId(number),
        document=DocumentId(number),
        kind=kind,
        name=name,
        container=container,
        parent=None,
        start_byte=100,
        end_byte=200,
        name_start=104,
        name_end=104 + len(name),
        body_start=120,
        start_line=line,
        end_line=line + 8,
        name_line=line,
        name_column=5,
        signature=f"def {name}():",
        doc="Says what it does.",
        path=path,
        language="python",
        repository="tree",
    )


def candidate(row: UnitRow, rank: int, bonus: float, factor: float = 1.0) -> Candidate:
    found = Candidate(row, {"exact": rank})
    found.recorded.append(
        Contribution("exact", 1.0 / (60 + rank), f"rank {rank}: parse", "rrf", {"weight": 1.0, "k": 60, "rank": rank})
    )
    found.recorded.append(
        Contribution("coverage", 0.01 * bonus, "holds 2 of 2 words", "bonus", {"weight": 0.01, "value": bonus})
    )
    so_far = found.score
    if factor != 1.0:
        operands = {"factor": factor, "of": so_far}
        found.recorded.append(Contribution("test", (factor - 1.0) * so_far, "test path", "factor", operands))
    return found


CANDIDATES = (
    candidate(unit(1, "parse_config", "src/conf.py", container="Loader", kind="method"), 1, 1.0),
    candidate(unit(2, "parse", "src/n\\xff b.py", line=3), 2, 0.5),
    candidate(unit(3, "test_parse", "tests/test_conf.py"), 3, 0.5, factor=0.3),
)

SNIPPETS = (
    (
        SnippetLine(9, "    # löst \x1b[31mrot\x1b[0m aus\n"),
        SnippetLine(10, "    def parse_config(self):\n", ((8, 13), (14, 20))),
    ),
    (SnippetLine(3, "def parse(text):  # \udc80 \u202e\r\n", ((4, 9),)), SnippetLine(7, "\treturn text\n", ())),
)


def hit(place: int) -> Hit:
    found = CANDIDATES[place]
    return Hit(
        rank=place + 1,
        unit=found.unit,
        score=found.score,
        channels=found.channels,
        contributions=tuple(found.contributions),
        freshness=(Freshness.FRESH, Freshness.CHANGED)[place],
        root=ROOT,
        line=found.unit.name_line,
        column=(9, 5)[place],
        column_utf16=(9, 5)[place],
        snippet=SNIPPETS[place],
        path_bytes=(None, b"src/n\xff b.py")[place],
    )


def result(hits: int = 2) -> SearchResult:
    trace = Trace(
        terms=[("word", "parse", "parse"), ("word", "config", "config")],
        rankings={"exact": tuple(Match(c.unit.id, -1.5, "parse") for c in CANDIDATES)},
        cuts={"exact": 300},
        candidates=list(CANDIDATES),
    )
    return SearchResult(
        query="parse config",
        hits=tuple(hit(i) for i in range(hits)),
        total=3 if hits else 0,
        channels=("exact",),
        notices=(),
        index=IndexInfo(f"{ROOT}/.codelens/index.db", 1, "abc", "hashing-256", (RepositoryInfo("tree", ROOT, 3, 900),)),
        options=SearchOptions(limit=2),
        trace=trace,
    )


def why() -> WhyResult:
    first, second, third = CANDIDATES
    loss = Loss("beaten", "rank 3 of 3", "-m 3", "parse config `test_parse`")
    return WhyResult(
        result(),
        (
            Explanation("parse_config", first, 1, None, second, None),
            Explanation("test_parse", third, 3, second, None, loss),
        ),
    )

"""A search result → SARIF 2.1.0, so that editors and code hosts can show hits as annotations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from codelens import __version__
from codelens.model import Hit, SearchResult
from codelens.render.paths import real_path
from codelens.render.records import Record, to_json

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_RULE = "codelens/hit"


def render_sarif(result: SearchResult, exit_code: int) -> Iterator[str]:
    """One run; hits are results of level `note`, in the order of their rank."""
    roots = {r.name: r.root for r in result.index.repositories}
    run = {
        "tool": {"driver": {"name": "codelens", "version": __version__, "rules": [_rule()]}},
        "invocations": [{"executionSuccessful": exit_code in (0, 1), "exitCode": exit_code}],
        "originalUriBaseIds": {name: {"uri": Path(root).as_uri() + "/"} for name, root in sorted(roots.items())},
        "columnKind": "utf16CodeUnits",
        "results": [_result(hit, result.query) for hit in result.hits],
    }
    yield to_json({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1)


def _rule() -> Record:
    return {"id": _RULE, "shortDescription": {"text": "A place that a search found"}}


def _result(hit: Hit, query: str) -> Record:
    uri = quote(real_path(hit).encode("utf-8", "surrogateescape"))
    region = {"startLine": hit.line, "startColumn": hit.column_utf16}
    unit = hit.unit
    context = {"startLine": unit.start_line, "endLine": max(unit.start_line, unit.end_line)}
    return {
        "ruleId": _RULE,
        "ruleIndex": 0,
        "level": "note",
        "rank": 100.0 / hit.rank,
        "message": {"text": f"{unit.kind} {unit.qualified_name} answers '{query}'"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": uri, "uriBaseId": unit.repository},
                    "region": region,
                    "contextRegion": context,
                },
                "logicalLocations": [{"fullyQualifiedName": unit.qualified_name, "kind": unit.kind}],
            }
        ],
        "properties": {"score": hit.score, "rank": hit.rank, "freshness": str(hit.freshness)},
    }

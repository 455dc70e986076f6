"""python -m tools.fuzz [--only NAME...] [--count N] [--seed S] [--out FILE.json]"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from codelens.config import Settings
from tools.campaign import ROOT, Campaign, Report, main
from tools.fuzz import derive, http, mcp, readers

BUDGET = getattr(Settings(), "query_seconds", 2.0)


def _queries(count: int, seed: int, folder: Path, report: Report) -> None:
    """Queries number `seed` and those after it, about the source of codelens itself."""
    queries = import_module("tools.fuzz.queries")

    def tell(row: dict[str, Any]) -> None:
        with report.attempt(row["number"]):
            report.counts[f"exit {row['code']}"] += 1
            if row["code"] < 0:
                report.fail(row["number"], row["trace"])
            elif row["seconds"] > BUDGET * queries.TOLERANCE:
                report.fail(row["number"], f"{row['seconds']} CPU s: {row['shape']}, {row['query']!r}")

    queries.run(queries.Series(count, 1, first=seed), ROOT / "codelens", tell, folder / "index.db")


CAMPAIGNS = (
    Campaign("queries", _queries, 100_000, "queries of every shape, in process"),
    *derive.CAMPAIGNS,
    *readers.CAMPAIGNS,
    *http.CAMPAIGNS,
    *mcp.CAMPAIGNS,
)

if __name__ == "__main__":
    sys.exit(main("tools.fuzz", CAMPAIGNS))

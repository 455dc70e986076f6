"""Hand-made entries with odd texts, for layouts and budgets."""

from __future__ import annotations

from dataclasses import replace

from codelens.context.counters import estimate_tokens
from codelens.context.pack import Offer, Offers
from codelens.model.code import DocumentId, Freshness, IndexInfo, RepositoryInfo
from codelens.model.context import TASK, ContextRequest, Counter, Entry, Form, Forms
from codelens.model.request import SearchOptions
from codelens.model.search import Notice
from codelens.render.context import FORMATS, make_layout
from codelens.render.paths import PathStyle
from tests.render.results import ROOT, unit

CHARS = Counter("chars/4", estimate_tokens)
WORDS = Counter("words", lambda text: len(text.split()))
LENGTHS = Counter("odd", lambda text: len(text) - 2 * text.count("\n\n") + text.count("  "))
"""Not additive: a blank line costs less than its characters, two blanks more, also across the border of entries."""
INFO = IndexInfo(f"{ROOT}/.codelens/index.db", 2, "abc", "hashing-256", (RepositoryInfo("tree", ROOT, 3, 900),))
STATE = b"state."
LAYOUTS = {name: make_layout(name, PathStyle("root", ROOT)) for name in FORMATS}


def offer(number: int, score: float, body: str, signature: str = "def f():", doc: str = "", **more: object) -> Offer:
    """One symbol, alone in its file."""
    row = unit(number, f"f{number}", f"src/f{number}.py")
    row = row._replace(document=DocumentId(number), start_byte=0, end_byte=10, doc=doc)
    row = row._replace(**more)  # type: ignore[arg-type]
    made = Entry(row, ROOT, Form.BODY, doc, body, score, "", Freshness.FRESH)
    short = replace(made, form=Form.SIGNATURE, doc=doc.split("\n")[0], text=signature)
    return Offer(made, short)


def offers(*made: Offer, notices: tuple[Notice, ...] = ()) -> Offers:
    return Offers(made, notices, INFO, STATE)


def request(budget: int, forms: Forms = Forms.AUTO, counter: Counter = CHARS) -> ContextRequest:
    return ContextRequest(TASK, counter, SearchOptions(), budget, forms)

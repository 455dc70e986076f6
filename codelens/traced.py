"""The nouns of run-time traces: what a span says of the code that ran, and what is kept of a symbol that did."""

from __future__ import annotations

from typing import NamedTuple


class Ran(NamedTuple):
    """The code that one span names, as it names it, and when it ran."""

    name: str
    """Of the function, with or without what it lies in."""
    namespace: str
    path: str
    """On the machine where it ran, so that only its end may be known here."""
    line: int | None
    at: int
    """Unix seconds of the span's end."""


class Observed(NamedTuple):
    """How often a symbol was seen to run, and when last."""

    times: int
    last: int
    """Unix seconds."""


class Ingested(NamedTuple):
    """What came of reading files of spans."""

    spans: int
    matched: int
    symbols: int
    """Different ones among the matched."""
    nameless: int
    """Spans that name no code, or no time."""
    unknown: int
    """Spans whose code is not indexed, or fits several symbols."""
    known: tuple[str, ...]
    """Files whose very bytes were read before, and are not counted twice."""

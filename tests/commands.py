"""The result of a command that a test runs in its own process, and the sample repositories that it runs on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

SAMPLES = Path(__file__).parents[1] / "sample_repos"


@dataclass(frozen=True, slots=True)
class SpanRun:
    """Exit code and both streams; `raw` is stdout before decoding."""

    code: int
    out: str
    err: str
    raw: bytes


Run = Callable[..., SpanRun]

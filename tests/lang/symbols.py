"""Extraction for the case files of languages, some of which need the extra `languages`."""

from __future__ import annotations

import pytest

from codelens.lang.captures import extract_symbols
from codelens.lang.parser import GrammarMissing, load_grammar
from codelens.lang.registry import languages
from codelens.model.extraction import Extraction

FULL = (
    *("python", "javascript", "typescript", "tsx", "go", "rust", "java", "c", "cpp", "csharp"),
    *("ruby", "php", "kotlin", "swift", "scala", "lua", "bash"),
)


def extracted(source: str, language: str) -> Extraction:
    """The symbols of a text; skips the test if the wheel of the language's grammar is not installed."""
    try:
        load_grammar(language)
    except GrammarMissing as missing:
        if "is not installed" in str(missing) and language not in FULL:
            pytest.skip(str(missing))
        if languages()[language].grammar:
            raise
    return extract_symbols(source.encode(), language)

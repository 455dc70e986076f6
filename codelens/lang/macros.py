"""Macros of C and C++ that a grammar takes for something else: before the name of a type, around a namespace, after
parameters, between statements.

They are replaced by spaces before a text is parsed, so that all places stay as they are.
"""

from __future__ import annotations

import re

from codelens.lang.registry import languages

_MACRO = rb"[A-Z_][A-Z0-9_]{2,} (?:[ \t]*\((?:[^()\n]|\([^()\n]*\))*\))?"
_BEFORE_NAME = re.compile(
    rb"\n[ \t]* (?:typedef\s+|template[^\n]*>\s*)? (?:class|struct|union|enum (?:\s+(?:class|struct))?) (?:\s+\[\[[^][]*\]\])?"
    rb"((?:\s+" + _MACRO + rb")+) (?=(?:\s+\[\[[^][]*\]\])? \s+[A-Za-z_][\w:]* (?:<[^;{}<>]*>)? (?:\s+final)? \s*[:{])",
    re.VERBOSE,
)
_AROUND_NAMESPACE = re.compile(
    rb"\n[ \t]* ((?=\w*(?:NAMESPACE|DECLS)) (?=\w*(?:BEGIN|END|OPEN|CLOSE))" + _MACRO + rb") [ \t]*\r?(?=\n)",
    re.VERBOSE,
)
_ATTRIBUTES = (b"LOCK", b"GUARDED", b"ATTRIBUTE", b"NOEXCEPT")
_AFTER_PARAMETERS = re.compile(
    rb"\b (?<=[)\w]\s) (?<!return\s) (?=[A-Z_]*(?:LOCKS?_|GUARDED|ATTRIBUTE|NOEXCEPT)) ("
    + _MACRO
    + rb") (?=\s*(?:[;{=A-Z]|->|(?:const|override|final)\b))",
    re.VERBOSE,
)
_ALONE = re.compile(rb"\n ((?:[ \t]*" + _MACRO + rb"[ \t]*\r?\n)+) (?!\s*(?:[,}=({\[|&+?*<>.-]|/[^/*]))", re.VERBOSE)
MOST_COMMENT_LINES = 20  # Lines of comments before a macro that are looked through


def blank_macros(utf8: bytes, language: str) -> bytes:
    """The text with spaces in place of such macros, as the language's row says."""
    kinds = languages()[language].macros
    if not kinds:
        return utf8
    patterns = [_BEFORE_NAME]
    if b"NAMESPACE" in utf8 or b"DECLS" in utf8:
        patterns.append(_AROUND_NAMESPACE)
    if kinds == "lines" and any(word in utf8 for word in _ATTRIBUTES):
        patterns.append(_AFTER_PARAMETERS)
    spans = [macro.span(1) for pattern in patterns for macro in pattern.finditer(utf8)]
    if kinds == "lines":
        spans += [macro.span(1) for macro in _ALONE.finditer(utf8) if _is_between_statements(utf8, macro.start())]
    if not spans:
        return utf8
    blanked = bytearray(utf8)
    for start, end in spans:
        blanked[start:end] = re.sub(rb"\S", b" ", utf8[start:end])
    return bytes(blanked)


def _is_between_statements(utf8: bytes, end: int) -> bool:
    """True if the last line before `end` that is not a comment ends a statement or begins a block."""
    for _ in range(MOST_COMMENT_LINES):
        start = utf8.rfind(b"\n", 0, end) + 1
        line = utf8[start:end].strip()
        if line and not line.startswith(b"//"):
            return line.endswith((b";", b"{", b"}", b":"))
        if not start:
            break
        end = start - 1
    return False

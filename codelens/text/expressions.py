"""Parses expressions and types of any language: indexing shortens them, and linking splits them into steps.

One small parser serves all languages: `.`, `->`, `::` and `?.` select a member, parentheses call, brackets select an element. An
expression that it cannot parse has no steps.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

_OPEN, _CLOSE = "([{", ")]}"
_BRACKET = re.compile(r"[()\[\]{}]")
_CALLED = re.compile(r"[\w$\]>)?!]")


class ExpressionStep(NamedTuple):
    """One step of an expression. `how` is name, member, call, index, or type for a cast to the type `text`."""

    how: str
    text: str = ""


class TypeText(NamedTuple):
    """A parsed type: its dotted name, and its type arguments as text."""

    head: str
    arguments: tuple[str, ...] = ()


def remove_arguments(text: str) -> str:
    """Remove the arguments of calls and the content of braces, and join the lines: 'f(a, b).c' → 'f().c'.

    Parentheses that are not a call keep their content. If the text ends inside arguments, the closing bracket is added.
    """
    parts: list[str] = []
    depth = at = 0
    closing = ""
    for found in _BRACKET.finditer(text):
        bracket, place = found[0], found.start()
        if depth:
            depth += 1 if bracket in _OPEN else -1
            if not depth:
                at = place
        elif bracket == "{" or (bracket == "(" and _CALLED.match(text[at:place].rstrip()[-1:])):
            parts.append(text[at : place + 1])
            depth, closing = 1, ")" if bracket == "(" else "}"
    parts.append(closing if depth else text[at:])
    return " ".join("".join(parts).split())


_PREFIX = re.compile(r"(?:await|yield|return|new|move|unsafe|try[!?]?|&mut|&|\*|!|-|\.\.\.)\s*(?=[\w$@(\[*&])")
_NAME = re.compile(
    r"[A-Za-z_$@\u0080-\U0010ffff][\w$\u0080-\U0010ffff]*[?!]?(?![\w=.])|[A-Za-z_$@\u0080-\U0010ffff][\w$]*"
)
_DOT = re.compile(r"\s*(?::(?=[A-Za-z_])|\?\.|!!?\.|&\.|\?->|->|::|\.)\s*(?:#?)(?:type\b|template\b)?\s*")
_CAST = re.compile(r"\s+(?:as[?!]?|satisfies)\s+(.+)$")
_ELSE = re.compile(r"\s*(?:\bor\b|\|\||\?\?|\?:|\bif\b)")
_STRING = re.compile(r"""[rbfuRBFU]{0,2}(["'`]).*?\1""")


@lru_cache(maxsize=20_000)
def split_steps(text: str) -> tuple[ExpressionStep, ...]:
    """Split an expression without call arguments into steps: 'a.f()' → a, f, call. Empty if it cannot name a definition."""
    text = text.strip()
    constructed = text.startswith("new ")
    while match := _PREFIX.match(text):
        text = text[match.end() :]
    if text.startswith("("):
        end = _find_closing(text, 0)
        inner, rest = text[1 : end - 1], text[end:].lstrip()
        if rest and (rest[0].isalnum() or rest[0] in "_$(&*"):
            return (ExpressionStep("type", inner),)  # a cast, then its operand
        first = split_steps(inner)
        return (*first, *_read_following(rest)) if first else ()
    if cast := _CAST.search(text):
        return (ExpressionStep("type", cast[1]),) if ")" not in cast[1] else ()
    match = _NAME.match(text)
    if not match:
        return ()
    found = (ExpressionStep("name", match[0]), *_read_following(text[match.end() :]))
    return found if not constructed or found[-1].how == "call" else (*found, ExpressionStep("call"))


def _read_following(rest: str) -> tuple[ExpressionStep, ...]:
    """Parse the steps after the first; returns _NOTHING if a part cannot be parsed."""
    found: list[ExpressionStep] = []
    while rest := rest.strip():
        dot = _DOT.match(rest)
        rest = rest[dot.end() :] if dot else rest
        opener = rest[:1]
        if dot and (name := _NAME.match(rest)):
            found.append(ExpressionStep("member", name[0]))
            rest = rest[name.end() :]
        elif opener in (("<", "(") if dot else ("<", "(", "{", "[")):
            end = _find_closing(rest, 0)
            if dot and opener == "(":  # Go's type assertion; `<` is Rust's turbofish
                found.append(ExpressionStep("type", rest[1 : end - 1]))
            elif opener == "[":
                found.append(ExpressionStep("index"))
            elif opener == "(" or (opener == "{" and not (found and found[-1].how == "call")):
                found.append(ExpressionStep("call"))  # braces after a call are its last argument
            rest = rest[end:]
        elif not dot and opener in "!?" and rest[:2] not in ("!=", "?:", "??"):
            rest = rest[1:]
        elif not dot and _ELSE.match(rest):
            break
        else:
            return _NOTHING
    return tuple(found)


_NOTHING = (ExpressionStep("index"), ExpressionStep("index"), ExpressionStep("index"))  # Steps that lead nowhere


def _find_closing(text: str, start: int) -> int:
    """Find the position after the bracket that closes the bracket at `start`; the end of the text if it is not closed."""
    depth = 0
    for at in range(start, len(text)):
        if text[at] in "([{<":
            depth += 1
        elif text[at] in ")]}" or (text[at] == ">" and text[at - 1] not in "-="):
            depth -= 1
            if not depth:
                return at + 1
    return len(text)


_TYPE_PREFIX = re.compile(
    r"(?:\*|&|=>|'\w+\s+|\?|\^|(?:mut|const|readonly|final|struct|enum|class|union|dyn|impl|unsigned|signed|volatile|static|"
    r"typename|out|ref|in|inout|some|any|keyof|typeof|@\w+)\b\s*)\s*"
)
_NOBODY = frozenset(("None", "null", "undefined", "nil", "void", "NoneType", "false", "False"))
_PATH = re.compile(r"\\?[A-Za-z_$\u0080-\U0010ffff][\w$\u0080-\U0010ffff]*(?:\s*(?:\.|::|\\)\s*[A-Za-z_$][\w$]*)*")


@lru_cache(maxsize=20_000)
def parse_type(text: str) -> TypeText:
    """Parse a declared type without pointers, options and modifiers. An array's head is '[]'. Empty if it cannot be parsed."""
    text = text.strip().strip("\"'`").strip().removeprefix(":").strip()
    parts = [part for part in _split_outside_brackets(text, "|") if part.strip() not in _NOBODY]
    if not parts:
        return TypeText("")
    text = parts[0].strip()
    while True:
        if text.startswith(("[]", "[...")):
            return TypeText("[]", (text[text.index("]") + 1 :],))
        if text.startswith("[") and text.endswith("]"):
            return TypeText("[]", (_split_outside_brackets(text[1:-1], ";")[0].rpartition(":")[2],))
        if text.startswith("map["):
            return TypeText("[]", (text[_find_closing(text, 3) :],))
        if text.startswith("chan "):
            return TypeText("[]", (text[5:],))
        if text.startswith("(") and _find_closing(text, 0) == len(text):
            first = _split_outside_brackets(text[1:-1], ",")[0].strip()  # Go's results, with or without names
            text = first.rpartition(" ")[2] if " " in first and "[" not in first and "=>" not in first else first
        elif match := _TYPE_PREFIX.match(text):
            text = text[match.end() :]
        else:
            break
    if text.endswith("[]"):
        return TypeText("[]", (text[:-2],))
    match = _PATH.match(text)
    if not match:
        return TypeText("")
    head = re.sub(r"\s*(?:::|\\)\s*", ".", match[0].replace("\\", ".")).strip(".")
    rest = text[match.end() :].lstrip()
    if rest.startswith("[]"):
        return TypeText("[]", (head,))
    if rest.startswith(("<", "[")):
        inside = rest[1 : _find_closing(rest, 0) - 1]
        return TypeText(head, tuple(part.strip() for part in _split_outside_brackets(inside, ",")))
    return TypeText("" if rest.startswith(("=>", "->")) else head)


def count_parameters_and_results(signature: str, name: str) -> tuple[int, int]:
    """Count (parameters, results) in a signature: 'Write(p []byte, n int) error' → (2, 1)."""
    at = signature.find(f"{name}(")
    if at < 0:
        return 0, 0
    start = at + len(name)
    end = _find_closing(signature, start)
    inside, after = signature[start + 1 : end - 1], signature[end:].strip()
    listed = after[1:-1] if after.startswith("(") and after.endswith(")") else after
    return _count_parts(inside), _count_parts(listed)


def _count_parts(text: str) -> int:
    return len(_split_outside_brackets(text, ",")) if text.strip() else 0


def _split_outside_brackets(text: str, mark: str) -> list[str]:
    """Split a text at the marks that are outside of brackets."""
    parts, depth, start = [], 0, 0
    for at, character in enumerate(text):
        if character in "([{<":
            depth += 1
        elif character in ")]}" or (character == ">" and text[at - 1 : at] not in ("-", "=")):
            depth -= 1
        elif character == mark and not depth:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]

r"""The query language: a text → a tree of conditions and words that rank. Prose never fails: what does not fit is text.

    query      = [ either ] ;
    either     = both { "OR" both } ;                        (* at least one of these *)
    both       = part { [ "AND" ] part } ;                   (* all of these; AND binds before OR *)
    part       = { "NOT" | "-" } ( "(" either ")" | leaf ) ;  (* "-" touches what it negates *)
    leaf       = phrase | identifier | pattern | filter | word ;
    phrase     = '"' { character | '\"' | '\\' } '"' ;       (* must occur as it stands *)
    identifier = "`" character { character } "`" ;           (* a name, the strongest term; one line *)
    pattern    = "/" character { character | "\/" } "/" ;    (* a regular expression; one line, ends its word *)
    filter     = field ":" value { "," value } ;             (* one of the values fits *)
    field      = "lang" | "path" | "file" | "sym" | "kind" | "repo" | "content" | "is" | "meta" | "case"
               | "after" | "before" | "author" ;             (* of the last change; a day as 2026-01-31, 2026-01, 2026 *)
    value      = phrase | bare ;                             (* path, file, repo: a part of it, or a glob; meta: NAME=VALUE *)
    bare       = character { character } ;                   (* neither space nor comma *)
    word       = character { character } [ "*" ] ;           (* no space; its own parentheses pair up *)

Words and identifiers at the top only rank; in an OR or under a negation they must occur, as whole words, in the text,
name or path. `word*`, a star behind two letters or more and no other in the word, is any word that begins so; any other
star is a character that ranks nothing: alone, in `a*b`, `**kwargs` or `f(*args)`, between quotes and in back-ticks.
OR, AND and NOT are operators in capitals only. Text, with a notice, are: an operator without operand, a quote or
parenthesis without its partner, `word:` that is no filter, a filter with an unknown value, a pattern that does not
compile, and groups over 50 deep. A "-" negates where it begins a word before two letters, "_", a quotation, a pattern or
a group: -1, -x, --flag, -> and a-b are words. /…/ is a pattern if it begins a word and its next slash ends that word:
/usr/local/bin is a word. `case:yes`, `case:no` and `case:auto` hold for the whole query.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from codelens.search.faults import Faults
from codelens.search.lexer import Lexer, Token
from codelens.search.nodes import (
    And,
    Filter,
    Identifier,
    Leaf,
    Node,
    Not,
    Or,
    Pattern,
    Phrase,
    Query,
    Word,
    describe,
    positive_leaves,
)
from codelens.search.patterns import check_pattern

__all__ = [
    "And",
    "Filter",
    "Identifier",
    "Leaf",
    "Node",
    "Not",
    "Or",
    "Pattern",
    "Phrase",
    "Query",
    "Word",
    "describe",
    "parse_query",
    "positive_leaves",
]


def parse_query(
    text: str,
    *,
    strict: bool = False,
    literal: bool = False,
    regex: bool = False,
    case: str = "auto",
    known_languages: Collection[str] = (),
) -> Query:
    """Read a query; see the grammar above.

    `literal` takes the whole text as one phrase, `regex` as one pattern. `known_languages` are lower-case names, or a
    mapping from every accepted name to the one that documents carry. Raises QueryError if `strict`, for the first fault
    in the text, and if `regex`, for a pattern that cannot be used.
    """
    if not text or literal:
        return Query(text, Phrase(text) if text else None, case=case)
    if regex:
        check_pattern(text)
        return Query(text, Pattern(text), case=case)
    faults = Faults(text)
    lexer = Lexer(text, faults, known_languages)
    tokens = _demote(_settle(text, lexer.run(), lexer.unpaired(), faults), text, faults)
    if strict:
        faults.raise_first()
    cases = [token.leaf.values[0] for token in tokens if isinstance(token.leaf, Filter) and token.leaf.field == "case"]
    operands = [token for token in tokens if not _is_case(token)]
    node = _Parser(operands).either() if operands else None
    return Query(text, node, faults.notices(), cases[-1] if cases else case)


def _is_case(token: Token) -> bool:
    return isinstance(token.leaf, Filter) and token.leaf.field == "case"


_LOOSE = Word("")
"""Stands for text that may still grow."""


def _settle(text: str, tokens: list[Token], unpaired: set[int], faults: Faults) -> list[Token]:
    """Makes text of parentheses that open and never close, and of groups that hold nothing, joined to the next word."""
    settled: list[Token] = []
    loose = -1  # where a token of such text ended, to which a touching word is joined
    for index, token in enumerate(tokens):
        last = settled[-1] if settled else None
        start = token.start
        if index in unpaired:
            faults.add("parenthesis", start, lambda: "a '(' is not closed; searched as text")
        elif token.kind == "close" and last is not None and last.kind == "open":
            faults.add("parenthesis", last.start, lambda: "the parentheses hold nothing; searched as text")
            start = settled.pop().start
            last = settled[-1] if settled else None
        elif not isinstance(token.leaf, Word) or loose != start:
            settled.append(token)
            continue
        if last is not None and last.end == start and (loose == start or text[last.start : last.end] == "-"):
            start = settled.pop().start
        settled.append(Token("leaf", start, token.end, _LOOSE))
        loose = token.end
    return [replace(t, leaf=Word(text[t.start : t.end], t.start)) if t.leaf is _LOOSE else t for t in settled]


def _demote(tokens: list[Token], text: str, faults: Faults) -> list[Token]:
    """Makes words of the operators that lack an operand; what is left fits the grammar."""
    kept: list[Token] = []
    begins = _operand_begins(tokens)
    ended = False  # whether the token before ends an operand
    for token, follows in zip(tokens, begins[1:], strict=True):
        lacks = not follows or (token.kind != "not" and not ended)
        ended = token.kind == "close" or (token.kind == "leaf" and not _is_case(token))
        if token.kind in ("or", "and", "not") and lacks:
            token = _as_word(token, text, faults)
        kept.append(token)
    return kept


def _operand_begins(tokens: list[Token]) -> list[bool]:
    """For each token, and for the end, whether an operand begins there."""
    begins = [False]
    for token in reversed(tokens):
        operand = token.kind == "open" or (token.kind == "leaf" and not _is_case(token))
        begins.append(operand or (token.kind == "not" and begins[-1]))
    return begins[::-1]


def _as_word(token: Token, text: str, faults: Faults) -> Token:
    said = text[token.start : token.end]
    faults.add(
        "operator",
        token.start,
        lambda: f"{said} lacks something to {'negate' if said == 'NOT' else 'join'}; searched as text",
    )
    return Token("leaf", token.start, token.end, Word(said, token.start))


class _Parser:
    """Recursive descent over tokens that are known to fit; groups are at most MAX_DEPTH deep, so no stack overflows."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.at = 0

    def _kind(self) -> str:
        return self.tokens[self.at].kind if self.at < len(self.tokens) else ""

    def either(self) -> Node:
        parts = [self._both()]
        while self._kind() == "or":
            self.at += 1
            parts.append(self._both())
        flat = [inner for part in parts for inner in (part.parts if isinstance(part, Or) else (part,))]
        distinct = {describe(inner): inner for inner in reversed(flat)}
        flat = list(distinct.values())[::-1]
        return flat[0] if len(flat) == 1 else Or(tuple(flat))

    def _both(self) -> Node:
        parts: list[Node] = []
        while self._kind() not in ("or", "close", ""):
            if self._kind() == "and":
                self.at += 1
            part = self._part()
            parts += part.parts if isinstance(part, And) else (part,)
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def _part(self) -> Node:
        """An operand. Negations cancel in pairs, but a last pair stays: NOT NOT word demands the word."""
        negations = 0
        while self._kind() == "not":
            negations += 1
            self.at += 1
        part = self._operand()
        for _ in range(negations if negations < 2 else 2 - negations % 2):
            part = Not(part)
        return part

    def _operand(self) -> Node:
        token = self.tokens[self.at]
        self.at += 1
        if token.leaf is not None:
            return token.leaf
        node = self.either()
        self.at += 1  # the closing parenthesis
        return node

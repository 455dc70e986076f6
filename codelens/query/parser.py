r"""Parses a query into a tree of conditions and ranking words. It never fails on prose: text that does not fit is a word.

    query      = [ either ] ;
    either     = both { "OR" both } ;                        (* at least one of these *)
    both       = part { [ "AND" ] part } ;                   (* all of these; AND binds before OR *)
    part       = { "NOT" | "-" } ( "(" either ")" | leaf ) ;  (* no space after "-" *)
    leaf       = phrase | identifier | pattern | filter | word ;
    phrase     = '"' { character | '\"' | '\\' } '"' ;       (* must occur exactly *)
    identifier = "`" character { character } "`" ;           (* a name, the strongest kind of term; one line *)
    pattern    = "/" character { character | "\/" } "/" ;    (* a regular expression; one line, ends its word *)
    filter     = field ":" value { "," value } ;             (* one of the values matches *)
    field      = "lang" | "path" | "file" | "sym" | "kind" | "repo" | "content" | "is" | "meta" | "case"
               | "after" | "before" | "author" ;             (* of the last change; a day is 2026-01-31, 2026-01 or 2026 *)
    value      = phrase | bare ;                             (* path, file, repo: a part of it, or a glob; meta: NAME=VALUE *)
    bare       = character { character } ;                   (* no space, no comma *)
    word       = character { character } [ "*" ] ;           (* no space; its own parentheses pair up *)

Words and identifiers at the top level only rank. In an OR or a negation they must occur, as whole words, in the text, name
or path. `word*` matches any word with that prefix: the star ends the word, is its only one and follows at least two letters.
Any other star is plain text and does not rank: alone, in `a*b`, `**kwargs` or `f(*args)`, in quotes and in back-ticks.

OR, AND and NOT are operators in capitals only. These are searched as text, with a notice: an operator without an operand, an
unpaired quote or parenthesis, `word:` that is not a filter, a filter with an unknown value, an invalid pattern, and groups
nested over 50 deep.

"-" negates at the start of a word, before two letters, "_", a quotation, a pattern or a group; -1, -x, --flag, -> and a-b
are words. /…/ is a pattern if it begins a word and its next slash ends that word; /usr/local/bin is a word. `case:yes`,
`case:no` and `case:auto` apply to the whole query.
"""

from __future__ import annotations

from collections.abc import Collection

from codelens.model.fast_dataclass import replace
from codelens.query.lexer import Faults, Lexer, QueryToken
from codelens.query.nodes import And, Filter, Node, Not, Or, Pattern, Phrase, Query, Word, describe
from codelens.query.patterns import parse_tree


def parse_query(
    text: str,
    *,
    strict: bool = False,
    literal: bool = False,
    regex: bool = False,
    case: str = "auto",
    known_languages: Collection[str] = (),
) -> Query:
    """Parse a query; see the grammar above.

    `literal` takes the whole text as one phrase, `regex` as one pattern. `known_languages` are lower-case names, or a
    mapping from every accepted name to the name in documents. Raises QueryError for the first fault if `strict`, and for an
    invalid pattern if `regex`.
    """
    if not text or literal:
        return Query(text, Phrase(text) if text else None, case=case)
    if regex:
        parse_tree(text)
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


def _is_case(token: QueryToken) -> bool:
    return isinstance(token.leaf, Filter) and token.leaf.field == "case"


_LOOSE = Word("")  # Placeholder for text that later tokens may extend


def _settle(text: str, tokens: list[QueryToken], unpaired: set[int], faults: Faults) -> list[QueryToken]:
    """Turn unclosed parentheses and empty groups into text, joined to a word that touches them."""
    settled: list[QueryToken] = []
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
        settled.append(QueryToken("leaf", start, token.end, _LOOSE))
        loose = token.end
    return [replace(t, leaf=Word(text[t.start : t.end], t.start)) if t.leaf is _LOOSE else t for t in settled]


def _demote(tokens: list[QueryToken], text: str, faults: Faults) -> list[QueryToken]:
    """Turn operators that lack an operand into words, so that the tokens fit the grammar."""
    kept: list[QueryToken] = []
    begins = _operand_begins(tokens)
    ended = False  # the previous token ends an operand
    for token, follows in zip(tokens, begins[1:], strict=True):
        lacks = not follows or (token.kind != "not" and not ended)
        ended = token.kind == "close" or (token.kind == "leaf" and not _is_case(token))
        if token.kind in ("or", "and", "not") and lacks:
            token = _as_word(token, text, faults)
        kept.append(token)
    return kept


def _operand_begins(tokens: list[QueryToken]) -> list[bool]:
    """A flag for each token and for the end: an operand begins there."""
    begins = [False]
    for token in reversed(tokens):
        operand = token.kind == "open" or (token.kind == "leaf" and not _is_case(token))
        begins.append(operand or (token.kind == "not" and begins[-1]))
    return begins[::-1]


def _as_word(token: QueryToken, text: str, faults: Faults) -> QueryToken:
    word = text[token.start : token.end]
    faults.add(
        "operator",
        token.start,
        lambda: f"{word} lacks something to {'negate' if word == 'NOT' else 'join'}; searched as text",
    )
    return QueryToken("leaf", token.start, token.end, Word(word, token.start))


class _Parser:
    """Recursive descent over tokens that fit the grammar. Groups nest at most MAX_DEPTH deep, so the stack suffices."""

    def __init__(self, tokens: list[QueryToken]) -> None:
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
        """An operand. Pairs of negations cancel, except a last pair: NOT NOT word makes the word a condition."""
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

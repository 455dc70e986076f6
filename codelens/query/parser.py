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

The lexer splits a query into tokens: every character that is not a space belongs to exactly one leaf or operator. The start of a
word decides what is special, so that code and prose pass: `x->y`, `f(a, b)`, `it's` and `std::vector` are words. A parenthesis at
the start of a word opens a group; a group closes where no parenthesis of the word itself is open.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from codelens.errors import QueryError
from codelens.model.fast_dataclass import dataclass, field, frozen_dataclass, replace
from codelens.model.search import Notice
from codelens.query.filters import (
    ACCEPTED,
    FIELD_TESTS,
    MISTAKEN,
    BadValueError,
    make_filter,
    shorten,
    suggest_nearest,
)
from codelens.query.nodes import (
    NEGATED_WORD,
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
    format_node,
)
from codelens.query.patterns import parse_tree

AS_TEXT = "; searched as text"  # Ends the notice of a fault. A strict query raises QueryError instead.
MOST = 8  # Most notices of one kind, so that a pasted text does not produce a page of notices


@dataclass(slots=True)
class Faults:
    """The faults of one query, at most MOST per code. They become notices, or an error in a strict query."""

    query: str
    notes: list[tuple[int, Notice]] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, code: str, position: int, text: str) -> None:
        self.counts[code] = self.counts.get(code, 0) + 1
        if self.counts[code] <= MOST:
            self.notes.append((position, Notice(code, text)))

    def list_notices(self) -> tuple[Notice, ...]:
        """The notices without duplicates, in the order of the text."""
        ordered = [notice for _, notice in sorted(self.notes, key=lambda fault: fault[0])]
        return tuple(dict.fromkeys(ordered))[:MOST]


MOST_PATTERNS = 32  # Most patterns in one query. Each runs on the text of every unit that the other conditions admit
MAX_DEPTH = 50  # Most nested groups. Deeper parentheses are text.

_SPACE = re.compile(r"\s*")
_RUN = re.compile(r"[^\s()]*")
_VALUE = re.compile(r"[^\s(),]*")
_NEGATION = re.compile(rf'-(?={NEGATED_WORD}|[rf]:|["`/(])')
_QUOTED = re.compile(r'"((?:[^"\\]++|\\.)*+)"', re.DOTALL)
_TICKED = re.compile(r"`(?=[^\s`])([^`\n]+)`")
_SLASHED = re.compile(r"/(?![\s/])((?:\\.|\[\^?+\]?+(?:\\.|[^\]\\\n]){0,200}+\]|[^/\\\n])++)(?<!\s)/")
_FIELD = re.compile(r"([A-Za-z][A-Za-z_-]+|[rf]):(?!:|//)")  # r: and f: are Sourcegraph's
_OPERATORS = {"OR": "or", "AND": "and", "NOT": "not"}


@frozen_dataclass
class QueryToken:
    """A token of a query. `kind` is leaf, open, close, or, and, not; only the kind leaf has a `leaf`."""

    kind: str
    start: int
    end: int
    leaf: Leaf | None = None

    @property
    def is_case(self) -> bool:
        """True for `case:`, which applies to the whole query."""
        return isinstance(self.leaf, Filter) and self.leaf.field == "case"


class Lexer:
    """Splits a query into tokens in one pass. `open` has an entry for each open parenthesis: the index of its token, or None if
    it is part of a word. Both kinds pair up, so f(a, b) in a group does not end the group."""

    def __init__(self, text: str, faults: Faults, languages: Collection[str]) -> None:
        self.text, self.faults, self.languages = text, faults, languages
        self.tokens: list[QueryToken] = []
        self.open: list[int | None] = []
        self.depth = self.patterns = 0
        self.position = 0

    def split(self) -> list[QueryToken]:
        """Split the whole query; returns all tokens in order. Unclosed parentheses stay in `open`."""
        while (start := _find_end(_SPACE, self.text, self.position)) < len(self.text):
            self.position = start
            last = self.tokens[-1] if self.tokens else None
            is_closing = self.text[start] == ")"
            if last is not None and last.kind == "leaf" and last.end == start and not is_closing:
                self._add_word(start, start)  # no special token begins directly after a quotation
            elif is_closing and self._closes_group():
                self.open.pop()
                self.depth -= 1
                self._add("close", start, start + 1)
            else:
                self._read_unit(start)
        return self.tokens

    def _closes_group(self) -> bool:
        return bool(self.open) and self.open[-1] is not None

    def _add(self, kind: str, start: int, end: int, leaf: Leaf | None = None) -> None:
        self.tokens.append(QueryToken(kind, start, end, leaf))
        self.position = end

    def _read_unit(self, start: int) -> None:
        """Add a leaf, or a negated one. If the leaf is not valid, the dash becomes part of its text."""
        dash = _NEGATION.match(self.text, start)
        at = dash.end() if dash else start
        if self.text[at] == "(" and self.depth < MAX_DEPTH:
            if dash:
                self._add("not", start, at)
            self.open.append(len(self.tokens))
            self.depth += 1
            return self._add("open", at, at + 1)
        if self.text[at] == "(":
            self.faults.add("depth", at, f"groups go over {MAX_DEPTH} deep; searched as text")
            return self._add_word(start, at)
        if special := self._read_special(at, negated=bool(dash)):
            leaf, end = special
            if dash:
                self._add("not", start, at)
            return self._add("leaf", at, end, leaf)
        if dash and self.position <= at and self.text[at] not in '"`/':
            self._add("not", start, at)
            return self._add_word(at, at)
        return self._add_word(start, max(at, self.position))

    def _add_word(self, start: int, scanned: int) -> None:
        """Add the word that begins at `start`. The part before `scanned` has been read already."""
        end = self._find_run_end(scanned, _RUN)
        run = self.text[start:end]
        last = self.tokens[-1] if self.tokens else None
        after_dash = last is not None and last.kind == "not" and last.end == start
        if run in _OPERATORS and not after_dash:
            return self._add(_OPERATORS[run], start, end)
        if run == "-":
            self.faults.add("operator", start, "a lone '-' negates nothing; searched as text")
        return self._add("leaf", start, end, Word(run, start))

    def _find_run_end(self, at: int, plain: re.Pattern[str]) -> int:
        """Find where a run ends: before a space or a parenthesis that closes a group. Parentheses within the run pair up."""
        while (at := _find_end(plain, self.text, at)) < len(self.text):
            if self.text[at] == "(":
                self.open.append(None)
            elif self.text[at] != ")" or self._closes_group():
                break
            elif self.open:
                self.open.pop()
            else:
                self.faults.add("parenthesis", at, "a ')' closes nothing; searched as text")
            at += 1
        return at

    def _read_special(self, at: int, negated: bool) -> tuple[Leaf, int] | None:
        """Read the leaf that begins here with a quote, a slash or a field; returns it and its end, or None for a word."""
        match self.text[at]:
            case '"':
                quoted = _QUOTED.match(self.text, at)
                if quoted is None:
                    self.faults.add("quote", at, "a '\"' is not closed; searched as text")
                elif quoted[1]:
                    return Phrase(unescape_quotes(quoted[1])), quoted.end()
                else:
                    self.faults.add("quote", at, "the quotes hold nothing; searched as text")
                    self.position = quoted.end()
                return None
            case "`":
                if ticked := _TICKED.match(self.text, at):
                    return Identifier(ticked[1].strip()), ticked.end()
                self.faults.add("quote", at, "a '`' is not closed, or holds nothing; searched as text")
                return None
            case "/":
                return self._read_pattern(at)
        return self._read_filter(at, negated)

    def _read_pattern(self, at: int) -> tuple[Leaf, int] | None:
        """Read a pattern in /…/, if its first unescaped slash ends the word and it parses. An invalid one with spaces is
        prose, without a notice."""
        match = _SLASHED.match(self.text, at)
        rest = self.text[match.end() : match.end() + 1] if match else ""
        if match is None or not (not rest or rest.isspace() or (rest == ")" and self._closes_group())):
            return None
        source = match[1]
        if self.patterns >= MOST_PATTERNS:
            self.faults.add("limit", at, f"a query has {MOST_PATTERNS} patterns at most; others are searched as text")
            return None
        try:
            parse_tree(source)
        except QueryError as fault:
            if not re.search(r"\s", source):
                self.faults.add("pattern", at + 1 + fault.position, f"/{shorten(source)}/: {fault}; searched as text")
            return None
        self.patterns += 1
        return Pattern(source), match.end()

    def _read_filter(self, at: int, negated: bool) -> tuple[Leaf, int] | None:
        match = _FIELD.match(self.text, at)
        if match is None:
            return None
        name = ACCEPTED.get(match[1], match[1])
        if name not in FIELD_TESTS:
            meant = (
                suggest_nearest(name, tuple(FIELD_TESTS), MISTAKEN)
                if self.faults.counts.get("filter", 0) < MOST
                else ""
            )
            hint = f", did you mean '{meant}:'?" if meant else ";"
            self.faults.add("filter", at, f"'{shorten(name)}:' is not a filter{hint} searched as text")
            return None
        values = self._read_values(match.end())
        if values is None:
            return None
        try:
            filtered: Filter = make_filter(name, values, self.languages, outside=not (negated or self.depth))
        except BadValueError as fault:
            self.faults.add("value", at, f"{fault} searched as text")
            return None
        return filtered, self.position

    def _read_values(self, at: int) -> list[str] | None:
        """Read a comma list of values, and move the position behind it; None if a quote is not closed."""
        values = []
        while True:
            quoted = _QUOTED.match(self.text, at) if self.text.startswith('"', at) else None
            if quoted is None and self.text.startswith('"', at):
                self.faults.add("quote", at, "a '\"' is not closed; searched as text")
                self.position = at
                return None
            self.position = quoted.end() if quoted else self._find_run_end(at, _VALUE)
            values.append(unescape_quotes(quoted[1]) if quoted else self.text[at : self.position])
            if not self.text.startswith(",", self.position):
                return [value for value in values if value]
            at = self.position + 1


def unescape_quotes(quoted: str) -> str:
    r"""Read the text between quotes, with \" and \\ unescaped. Other backslashes stay, as in "C:\new"."""
    return re.sub(r'\\(["\\])', r"\1", quoted)


def _find_end(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at


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
    tokens = lexer.split()
    unpaired = {index for index in lexer.open if index is not None}
    tokens = _demote_operators(_make_loose_text(text, tokens, unpaired, faults), text, faults)
    if strict and faults.notes:
        position, notice = min(faults.notes, key=lambda fault: fault[0])
        raise QueryError(notice.text.removesuffix(AS_TEXT), text, min(position, len(text)))
    cases = [t.leaf.values[0] for t in tokens if isinstance(t.leaf, Filter) and t.leaf.field == "case"]
    operands = [token for token in tokens if not token.is_case]
    node = _Parser(operands).parse_choice() if operands else None
    return Query(text, node, faults.list_notices(), cases[-1] if cases else case)


_LOOSE = Word("")  # Placeholder for text that later tokens may extend


def _make_loose_text(text: str, tokens: list[QueryToken], unpaired: set[int], faults: Faults) -> list[QueryToken]:
    """Turn unclosed parentheses and empty groups into text, joined to a word that touches them."""
    settled: list[QueryToken] = []
    loose = -1  # end of the last token made of such text; a word that starts there is joined to it
    for index, token in enumerate(tokens):
        last = settled[-1] if settled else None
        start = token.start
        if index in unpaired:
            faults.add("parenthesis", start, "a '(' is not closed; searched as text")
        elif token.kind == "close" and last is not None and last.kind == "open":
            faults.add("parenthesis", last.start, "the parentheses hold nothing; searched as text")
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


def _demote_operators(tokens: list[QueryToken], text: str, faults: Faults) -> list[QueryToken]:
    """Turn operators that lack an operand into words, so that the tokens fit the grammar."""
    begins = [False]  # True where an operand begins: for the end, then for each token from the last
    for token in reversed(tokens):
        operand = token.kind == "open" or (token.kind == "leaf" and not token.is_case)
        begins.append(operand or (token.kind == "not" and begins[-1]))
    demoted: list[QueryToken] = []
    ended = False  # the previous token ends an operand
    for token, follows in zip(tokens, begins[-2::-1], strict=True):
        lacks = not follows or (token.kind != "not" and not ended)
        ended = token.kind == "close" or (token.kind == "leaf" and not token.is_case)
        if token.kind in ("or", "and", "not") and lacks:
            word = text[token.start : token.end]
            message = f"{word} lacks something to {'negate' if word == 'NOT' else 'join'}; searched as text"
            faults.add("operator", token.start, message)
            token = QueryToken("leaf", token.start, token.end, Word(word, token.start))
        demoted.append(token)
    return demoted


class _Parser:
    """Recursive descent over tokens that fit the grammar. Groups nest at most MAX_DEPTH deep, so the stack suffices."""

    def __init__(self, tokens: list[QueryToken]) -> None:
        self.tokens = tokens
        self.at = 0

    def _peek_kind(self) -> str:
        return self.tokens[self.at].kind if self.at < len(self.tokens) else ""

    def parse_choice(self) -> Node:
        parts = [self._parse_sequence()]
        while self._peek_kind() == "or":
            self.at += 1
            parts.append(self._parse_sequence())
        flat = [inner for part in parts for inner in (part.parts if isinstance(part, Or) else (part,))]
        distinct = {format_node(inner): inner for inner in reversed(flat)}
        flat = list(distinct.values())[::-1]
        return flat[0] if len(flat) == 1 else Or(tuple(flat))

    def _parse_sequence(self) -> Node:
        parts: list[Node] = []
        while self._peek_kind() not in ("or", "close", ""):
            if self._peek_kind() == "and":
                self.at += 1
            part = self._parse_operand()
            parts += part.parts if isinstance(part, And) else (part,)
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def _parse_operand(self) -> Node:
        """Parse an operand. Pairs of negations cancel, except a last pair: NOT NOT word makes the word a condition."""
        negations = 0
        while self._peek_kind() == "not":
            negations += 1
            self.at += 1
        leaf = self.tokens[self.at].leaf
        self.at += 1
        part = leaf or self.parse_choice()
        self.at += leaf is None  # the closing parenthesis
        for _ in range(negations if negations < 2 else 2 - negations % 2):
            part = Not(part)
        return part

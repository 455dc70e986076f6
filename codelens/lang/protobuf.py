"""The text of a .proto file → its services, remote procedures, messages and enums.

No grammar of Protocol Buffers is linked: its only wheels are for old Pythons. A reader of words and brackets is enough, since
all that is looked for stands at the beginning of a statement; what else a statement says is skipped, in proto2 as in proto3.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from codelens.derived import Extraction, Import, Reference, Unit
from codelens.lang.comments import clean_comment
from codelens.model import PARTLY, Span

RULES = "protobuf 1"
"""Change the number with anything that changes what a file yields."""
MAX_SIGNATURE = 300
MAX_DOC = 4000
"""Characters of both; as of the other languages."""
DEEPEST = 50
"""Messages in one another. Chosen; a guard: each name holds all those around it."""
_COMMENT = re.compile(rb"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_TOKEN = re.compile(
    _COMMENT.pattern
    + rb"|\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\\n])*'?|\.?[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*|[{}();<>=,\[\]]",
    re.DOTALL,
)
_KINDS = {b"service": "interface", b"message": "struct", b"enum": "enum"}


class Token(NamedTuple):
    """A word (dotted names are one), a string or a bracket."""

    text: bytes
    start: int
    end: int


@dataclass(slots=True)
class _Block:
    """What a pair of braces holds: a definition, or what is only skipped (`kind` empty)."""

    kind: str = ""
    path: str = ""
    unit: int | None = None


@dataclass(slots=True)
class _Draft:
    """A definition whose end is not yet read."""

    kind: str
    container: str
    parent: int | None
    head: list[Token]
    body: int
    doc: str
    end: int = -1


@dataclass(slots=True)
class _Reader:
    """One pass over the tokens of a text."""

    utf8: bytes
    namespace: str = ""
    drafts: list[_Draft] = field(default_factory=list)
    imports: list[Token] = field(default_factory=list)
    used: list[tuple[int, Token]] = field(default_factory=list)
    """(procedure, the message that it takes or gives)."""
    broken: bool = False
    _open: list[_Block] = field(default_factory=list)
    _said: list[Token] = field(default_factory=list)
    """The statement so far."""
    _comments: list[Token] = field(default_factory=list)
    """Those since the last token that is none, and then those before the statement."""

    def read(self) -> None:
        comments: list[Token] = []
        for found in _TOKEN.finditer(self.utf8):
            token = Token(found[0], found.start(), found.end())
            if token.text.startswith((b"//", b"/*")):
                comments.append(token)
                continue
            if not self._said:
                self._comments = comments
            comments = []
            if token.text not in (b"{", b"}", b";"):
                self._said.append(token)
                continue
            if token.text == b"{":
                self._begin(token)
            elif token.text == b"}":
                self._end(token)
            else:
                self._statement(token)
            self._said = []
        self.broken = self.broken or bool(self._open)
        for draft in self.drafts:
            draft.end = draft.end if draft.end >= 0 else len(self.utf8.rstrip())

    def _begin(self, brace: Token) -> None:
        block = _Block()
        words = [token.text for token in self._said]
        around = self._open[-1] if self._open else _Block("struct")
        if words[:1] == [b"rpc"]:
            block = self._procedure(brace.start) or block
        elif len(words) == 2 and around.kind == "struct" and (kind := _KINDS.get(words[0])) and _is_name(words[1]):
            is_inside = kind == "interface" and self._open
            block = block if is_inside or len(self._open) >= DEEPEST else self._define(kind, around, brace.start)
        self._open.append(block)

    def _end(self, brace: Token) -> None:
        if not self._open:
            self.broken = True
            return
        if (unit := self._open.pop().unit) is not None:
            self.drafts[unit].end = brace.end

    def _statement(self, semicolon: Token) -> None:
        words = [token.text for token in self._said]
        if words[:1] == [b"rpc"] and (block := self._procedure(semicolon.end)) and block.unit is not None:
            self.drafts[block.unit].end = semicolon.end
        elif not self._open and words[:1] == [b"package"] and len(words) == 2:
            self.namespace = _text(words[1])
        elif not self._open and words[:1] == [b"import"] and words[-1][:1] in (b'"', b"'"):
            self.imports.append(self._said[-1])

    def _procedure(self, body: int) -> _Block | None:
        """`rpc M (stream Req) returns (stream Res)` directly in a service."""
        words = [token.text for token in self._said]
        if not self._open or self._open[-1].kind != "interface" or len(words) < 3 or words[2] != b"(":
            return None
        if not _is_name(words[1]):
            return None
        block = self._define("method", self._open[-1], body)
        assert block.unit is not None
        for before, token, after in zip(self._said[2:], self._said[3:], self._said[4:], strict=False):
            if after.text == b")" and before.text in (b"(", b"stream"):
                self.used.append((block.unit, token))
        return block

    def _define(self, kind: str, around: _Block, body: int) -> _Block:
        name = _text(self._said[1].text)
        self.drafts.append(_Draft(kind, around.path, around.unit, self._said, body, self._doc()))
        return _Block(kind, f"{around.path}.{name}" if around.path else name, len(self.drafts) - 1)

    def _doc(self) -> str:
        """The comments that touch the statement from above, without one that trails the line of code before them."""
        kept: list[str] = []
        below = self._said[0].start
        for comment in reversed(self._comments):
            line = self.utf8.rfind(b"\n", 0, comment.start) + 1
            if self.utf8.count(b"\n", comment.end, below) > 1 or self.utf8[line : comment.start].strip():
                break
            kept.insert(0, comment.text.decode("utf-8", "replace"))
            below = comment.start
        return clean_comment(kept)[:MAX_DOC]


def read_protobuf(utf8: bytes) -> Extraction:
    """Services are interfaces and their procedures methods; messages are structs. Offsets count UTF-8 bytes."""
    reader = _Reader(utf8)
    reader.read()
    starts = [0, *(found.end() for found in re.finditer(rb"\n", utf8))]
    return Extraction(
        namespace=reader.namespace,
        units=tuple(_unit(draft, utf8, starts) for draft in reader.drafts),
        references=tuple(_reference(unit, token, starts) for unit, token in reader.used),
        imports=tuple(
            Import(_text(one.text).strip("\"'"), "*", "", one.start, bisect_right(starts, one.start))
            for one in reader.imports
        ),
        fault=PARTLY if reader.broken else "",
    )


def _unit(draft: _Draft, utf8: bytes, starts: Sequence[int]) -> Unit:
    start, name = draft.head[0].start, draft.head[1]
    head = _COMMENT.sub(b" ", utf8[start : draft.body]).decode("utf-8", "replace")
    line = bisect_right(starts, name.start)
    return Unit(
        kind=draft.kind,
        name=_text(name.text),
        container=draft.container,
        parent=draft.parent,
        span=Span(start, draft.end),
        name_span=Span(name.start, name.end),
        body_start=min(draft.body, draft.end),
        start_line=bisect_right(starts, start),
        end_line=bisect_right(starts, draft.end - 1),
        name_line=line,
        name_column=name.start - starts[line - 1] + 1,
        signature=" ".join(head.split())[:MAX_SIGNATURE].rstrip("{; "),
        doc=draft.doc,
    )


def _reference(unit: int, token: Token, starts: Sequence[int]) -> Reference:
    receiver, _, name = token.text.rpartition(b".")
    start = token.end - len(name)
    return Reference("type", _text(name), _text(receiver).strip("."), unit, start, bisect_right(starts, start))


def _is_name(word: bytes) -> bool:
    return re.fullmatch(rb"[A-Za-z_]\w*", word) is not None


def _text(word: bytes) -> str:
    return word.decode("utf-8", "replace")

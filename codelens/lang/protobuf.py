"""The text of a .proto file → its services, remote procedures, messages and enums.

The grammar of Protocol Buffers has wheels only for old Pythons. A reader of words and brackets is enough, since
declarations start a statement, in proto2 as in proto3; the rest of a statement is skipped.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from codelens.lang.comments import clean_comment
from codelens.model.code import MAX_SIGNATURE, PARTLY, Span
from codelens.model.extraction import Extraction, Import, Reference, Unit
from codelens.model.fast_dataclass import dataclass, field

RULES = "protobuf 1"  # Increase the number when the result for a file changes
MAX_DOC = 4000  # Characters, as for the other languages
DEEPEST = 50  # Nesting of messages. Chosen; a limit because each qualified name contains the enclosing ones.
_COMMENT = re.compile(rb"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_TOKEN = re.compile(
    _COMMENT.pattern
    + rb"|\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\\n])*'?|\.?[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*|[{}();<>=,\[\]]",
    re.DOTALL,
)
_KINDS = {b"service": "interface", b"message": "struct", b"enum": "enum"}


class ProtoToken(NamedTuple):
    """A word (dotted names are one), a string or a bracket."""

    text: bytes
    start: int
    end: int


@dataclass(slots=True)
class _Braces:
    """An open pair of braces; `kind` is empty if its content is skipped."""

    kind: str = ""
    path: str = ""
    unit: int | None = None


@dataclass(slots=True)
class _ProtoDraft:
    """A definition whose end may still be unknown."""

    kind: str
    container: str
    parent: int | None
    head: list[ProtoToken]
    body: int
    doc: str
    end: int = -1


@dataclass(slots=True)
class _ProtoReader:
    """One pass over the tokens of a text."""

    utf8: bytes
    namespace: str = ""
    drafts: list[_ProtoDraft] = field(default_factory=list)
    imports: list[ProtoToken] = field(default_factory=list)
    used: list[tuple[int, ProtoToken]] = field(default_factory=list)  # (procedure, its request or response message)
    broken: bool = False
    _open: list[_Braces] = field(default_factory=list)
    _words: list[ProtoToken] = field(default_factory=list)  # The statement so far
    _comments: list[ProtoToken] = field(default_factory=list)  # The comments before the statement

    def read(self) -> None:
        comments: list[ProtoToken] = []
        for found in _TOKEN.finditer(self.utf8):
            token = ProtoToken(found[0], found.start(), found.end())
            if token.text.startswith((b"//", b"/*")):
                comments.append(token)
                continue
            if not self._words:
                self._comments = comments
            comments = []
            if token.text not in (b"{", b"}", b";"):
                self._words.append(token)
                continue
            if token.text == b"{":
                self._begin(token)
            elif token.text == b"}":
                self._end(token)
            else:
                self._statement(token)
            self._words = []
        self.broken = self.broken or bool(self._open)
        for draft in self.drafts:
            draft.end = draft.end if draft.end >= 0 else len(self.utf8.rstrip())

    def _begin(self, brace: ProtoToken) -> None:
        block = _Braces()
        words = [token.text for token in self._words]
        around = self._open[-1] if self._open else _Braces("struct")
        if words[:1] == [b"rpc"]:
            block = self._procedure(brace.start) or block
        elif len(words) == 2 and around.kind == "struct" and (kind := _KINDS.get(words[0])) and _is_name(words[1]):
            is_inside = kind == "interface" and self._open
            block = block if is_inside or len(self._open) >= DEEPEST else self._define(kind, around, brace.start)
        self._open.append(block)

    def _end(self, brace: ProtoToken) -> None:
        if not self._open:
            self.broken = True
            return
        if (unit := self._open.pop().unit) is not None:
            self.drafts[unit].end = brace.end

    def _statement(self, semicolon: ProtoToken) -> None:
        words = [token.text for token in self._words]
        if words[:1] == [b"rpc"] and (block := self._procedure(semicolon.end)) and block.unit is not None:
            self.drafts[block.unit].end = semicolon.end
        elif not self._open and words[:1] == [b"package"] and len(words) == 2:
            self.namespace = _text(words[1])
        elif not self._open and words[:1] == [b"import"] and words[-1][:1] in (b'"', b"'"):
            self.imports.append(self._words[-1])

    def _procedure(self, body: int) -> _Braces | None:
        """`rpc M (stream Req) returns (stream Res)` directly in a service."""
        words = [token.text for token in self._words]
        if not self._open or self._open[-1].kind != "interface" or len(words) < 3 or words[2] != b"(":
            return None
        if not _is_name(words[1]):
            return None
        block = self._define("method", self._open[-1], body)
        assert block.unit is not None
        for before, token, after in zip(self._words[2:], self._words[3:], self._words[4:], strict=False):
            if after.text == b")" and before.text in (b"(", b"stream"):
                self.used.append((block.unit, token))
        return block

    def _define(self, kind: str, around: _Braces, body: int) -> _Braces:
        name = _text(self._words[1].text)
        self.drafts.append(_ProtoDraft(kind, around.path, around.unit, self._words, body, self._doc()))
        return _Braces(kind, f"{around.path}.{name}" if around.path else name, len(self.drafts) - 1)

    def _doc(self) -> str:
        """The comments directly above the statement, without one at the end of a line of code."""
        kept: list[str] = []
        below = self._words[0].start
        for comment in reversed(self._comments):
            line = self.utf8.rfind(b"\n", 0, comment.start) + 1
            if self.utf8.count(b"\n", comment.end, below) > 1 or self.utf8[line : comment.start].strip():
                break
            kept.insert(0, comment.text.decode("utf-8", "replace"))
            below = comment.start
        return clean_comment(kept)[:MAX_DOC]


def read_protobuf(utf8: bytes) -> Extraction:
    """Services are interfaces and their procedures methods; messages are structs. Offsets count UTF-8 bytes."""
    reader = _ProtoReader(utf8)
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


def _unit(draft: _ProtoDraft, utf8: bytes, starts: Sequence[int]) -> Unit:
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


def _reference(unit: int, token: ProtoToken, starts: Sequence[int]) -> Reference:
    receiver, _, name = token.text.rpartition(b".")
    start = token.end - len(name)
    return Reference("type", _text(name), _text(receiver).strip("."), unit, start, bisect_right(starts, start))


def _is_name(word: bytes) -> bool:
    return re.fullmatch(rb"[A-Za-z_]\w*", word) is not None


def _text(word: bytes) -> str:
    return word.decode("utf-8", "replace")

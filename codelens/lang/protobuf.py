"""Read the services, remote procedures, messages and enums of a .proto file.

The grammar of Protocol Buffers has wheels only for old versions of Python. Reading words and brackets is enough, since in
proto2 and proto3 each declaration starts a statement; the rest of a statement is skipped.
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
DEEPEST = 50  # Limit of nested messages: each qualified name contains the enclosing ones
_COMMENT = re.compile(rb"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_TOKEN = re.compile(
    _COMMENT.pattern
    + rb"|\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\\n])*'?|\.?[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*|[{}();<>=,\[\]]",
    re.DOTALL,
)
_KINDS = {b"service": "interface", b"message": "struct", b"enum": "enum"}


class ProtoToken(NamedTuple):
    """A word (a dotted name is one word), a string or a bracket."""

    text: bytes
    start: int
    end: int


@dataclass(slots=True)
class _ProtoBlock:
    """A block whose closing brace was not read yet; `kind` is empty if its content is skipped."""

    kind: str = ""
    path: str = ""
    unit: int | None = None


@dataclass(slots=True)
class _ProtoDraft:
    """A draft of a definition, whose end may still be unknown."""

    kind: str
    container: str
    parent: int | None
    head: list[ProtoToken]
    body: int
    doc: str
    end: int = -1


@dataclass(slots=True)
class _ProtoReader:
    """A reader of definitions, in one pass over the tokens of a text."""

    utf8: bytes
    namespace: str = ""
    drafts: list[_ProtoDraft] = field(default_factory=list)
    imports: list[ProtoToken] = field(default_factory=list)
    used: list[tuple[int, ProtoToken]] = field(
        default_factory=list
    )  # (number of a procedure, its request or response message)
    broken: bool = False
    _open: list[_ProtoBlock] = field(default_factory=list)
    _words: list[ProtoToken] = field(default_factory=list)  # The statement so far
    _comments: list[ProtoToken] = field(default_factory=list)  # The comments before the statement

    def read(self) -> None:
        comments: list[ProtoToken] = []
        for match in _TOKEN.finditer(self.utf8):
            token = ProtoToken(match[0], match.start(), match.end())
            if token.text.startswith((b"//", b"/*")):
                comments.append(token)
                continue
            if not self._words:
                self._comments = comments
            comments = []
            if token.text not in (b"{", b"}", b";"):
                self._words.append(token)
            elif token.text == b"}":
                self.broken = self.broken or not self._open
                if self._open and (unit := self._open.pop().unit) is not None:
                    self.drafts[unit].end = token.end
                self._words = []
            else:
                self._read_statement(token)
                self._words = []
        self.broken = self.broken or bool(self._open)
        for draft in self.drafts:
            draft.end = draft.end if draft.end >= 0 else len(self.utf8.rstrip())

    def _read_statement(self, end: ProtoToken) -> None:
        """Read the statement before an opening brace or a semicolon."""
        words = [token.text for token in self._words]
        around = self._open[-1] if self._open else _ProtoBlock("struct")
        named = [word for word in words[1:2] if re.fullmatch(rb"[A-Za-z_]\w*", word)]
        block = _ProtoBlock()
        if words[:1] == [b"rpc"]:  # `rpc M (stream Req) returns (stream Res)` directly in a service
            if self._open and around.kind == "interface" and named and words[2:3] == [b"("]:
                block = self._define("method", around, end.start if end.text == b"{" else end.end)
                assert block.unit is not None
                for before, token, after in zip(self._words[2:], self._words[3:], self._words[4:], strict=False):
                    if after.text == b")" and before.text in (b"(", b"stream"):
                        self.used.append((block.unit, token))
                if end.text == b";":
                    self.drafts[block.unit].end = end.end
        elif end.text == b"{":
            kind = _KINDS.get(words[0]) if len(words) == 2 and named and around.kind == "struct" else None
            is_inner_service = kind == "interface" and self._open
            if kind and not is_inner_service and len(self._open) < DEEPEST:
                block = self._define(kind, around, end.start)
        elif not self._open and words[:1] == [b"package"] and len(words) == 2:
            self.namespace = _decode(words[1])
        elif not self._open and words[:1] == [b"import"] and words[-1][:1] in (b'"', b"'"):
            self.imports.append(self._words[-1])
        if end.text == b"{":
            self._open.append(block)

    def _define(self, kind: str, around: _ProtoBlock, body: int) -> _ProtoBlock:
        name, comments = _decode(self._words[1].text), list[str]()
        below = self._words[0].start
        for comment in reversed(self._comments):  # directly above the statement, none at the end of a line of code
            line = self.utf8.rfind(b"\n", 0, comment.start) + 1
            if self.utf8.count(b"\n", comment.end, below) > 1 or self.utf8[line : comment.start].strip():
                break
            comments.insert(0, _decode(comment.text))
            below = comment.start
        doc = clean_comment(comments)[:MAX_DOC]
        self.drafts.append(_ProtoDraft(kind, around.path, around.unit, self._words, body, doc))
        return _ProtoBlock(kind, f"{around.path}.{name}" if around.path else name, len(self.drafts) - 1)


def read_protobuf(utf8: bytes) -> Extraction:
    """Read a .proto file. Services become interfaces, procedures methods, messages structs. Offsets count UTF-8 bytes."""
    reader = _ProtoReader(utf8)
    reader.read()
    starts = [0, *(newline.end() for newline in re.finditer(rb"\n", utf8))]
    references = []
    for unit, token in reader.used:
        receiver, _, name = token.text.rpartition(b".")
        start = token.end - len(name)
        line = bisect_right(starts, start)
        references.append(Reference("type", _decode(name), _decode(receiver).strip("."), unit, start, line))
    imports = [
        Import(_decode(token.text).strip("\"'"), "*", "", token.start, bisect_right(starts, token.start))
        for token in reader.imports
    ]
    return Extraction(
        namespace=reader.namespace,
        units=tuple(_make_unit(draft, utf8, starts) for draft in reader.drafts),
        references=tuple(references),
        imports=tuple(imports),
        fault=PARTLY if reader.broken else "",
    )


def _make_unit(draft: _ProtoDraft, utf8: bytes, starts: Sequence[int]) -> Unit:
    start, name = draft.head[0].start, draft.head[1]
    head = _decode(_COMMENT.sub(b" ", utf8[start : draft.body]))
    line = bisect_right(starts, name.start)
    return Unit(
        kind=draft.kind,
        name=_decode(name.text),
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


def _decode(word: bytes) -> str:
    return word.decode("utf-8", "replace")

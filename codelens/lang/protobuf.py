"""Read the services, remote procedures, messages and enums of a .proto file.

The grammar of Protocol Buffers has wheels only for old versions of Python. Reading words and brackets is enough, since in
proto2 and proto3 each declaration starts a statement; the rest of a statement is skipped.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

from codelens.lang.comments import clean_comment
from codelens.model.code import MAX_SIGNATURE, PARTLY, Span
from codelens.model.extraction import Extraction, Import, Reference, Unit
from codelens.model.fast_dataclass import dataclass

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


Token = re.Match[bytes]  # A word (a dotted name is one word), a string or a bracket


@dataclass(slots=True)
class _ProtoDraft:
    """A draft of a definition, whose end may still be unknown."""

    kind: str
    around: _ProtoDraft | None
    number: int
    head: list[Token]  # Its words before a brace or semicolon; the second is its name
    body: int
    doc: str
    end: int = -1

    @property
    def path(self) -> str:
        """The qualified name."""
        name = _decode(self.head[1][0])
        return f"{self.around.path}.{name}" if self.around else name


class _ProtoReader:
    """A reader of definitions, in one pass over the tokens of a text."""

    def __init__(self, utf8: bytes) -> None:
        self.utf8, self.namespace, self.broken = utf8, "", False
        self.drafts: list[_ProtoDraft] = []
        self.imports: list[Token] = []
        self.used: list[tuple[int, Token]] = []  # (number of a procedure, its request or response message)
        self._open: list[_ProtoDraft | None] = []
        """The blocks whose closing brace was not read yet; None if the content is skipped."""
        self._words: list[Token] = []  # The statement so far
        self._comments: list[Token] = []  # The comments before the statement

    def read(self) -> None:
        comments: list[Token] = []
        for token in _TOKEN.finditer(self.utf8):
            if token[0].startswith((b"//", b"/*")):
                comments.append(token)
                continue
            if not self._words:
                self._comments = comments
            comments = []
            if token[0] not in (b"{", b"}", b";"):
                self._words.append(token)
                continue
            if token[0] != b"}":
                self._read_statement(token)
            elif not self._open:
                self.broken = True
            elif draft := self._open.pop():
                draft.end = token.end()
            self._words = []
        self.broken = self.broken or bool(self._open)
        for draft in self.drafts:
            draft.end = draft.end if draft.end >= 0 else len(self.utf8.rstrip())

    def _read_statement(self, end: Token) -> None:
        """Read the statement before an opening brace or a semicolon."""
        words = [token[0] for token in self._words]
        around, is_block, draft = self._open[-1] if self._open else None, end[0] == b"{", None
        is_named = len(words) > 1 and re.fullmatch(rb"[A-Za-z_]\w*", words[1]) is not None
        if words[:1] == [b"rpc"]:  # `rpc M (stream Req) returns (stream Res)` directly in a service
            if around is not None and around.kind == "interface" and is_named and words[2:3] == [b"("]:
                draft = self._add_draft("method", end.start() if is_block else end.end())
                for before, token, after in zip(self._words[2:], self._words[3:], self._words[4:], strict=False):
                    if after[0] == b")" and before[0] in (b"(", b"stream"):
                        self.used.append((draft.number, token))
                draft.end = -1 if is_block else end.end()
        elif is_block:
            kind = _KINDS.get(words[0]) if len(words) == 2 and is_named else None
            fits = not self._open or (around is not None and around.kind == "struct" and kind != "interface")
            if kind and fits and len(self._open) < DEEPEST:
                draft = self._add_draft(kind, end.start())
        elif not self._open and words[:1] == [b"package"] and len(words) == 2:
            self.namespace = _decode(words[1])
        elif not self._open and words[:1] == [b"import"] and words[-1][:1] in (b'"', b"'"):
            self.imports.append(self._words[-1])
        if is_block:
            self._open.append(draft)

    def _add_draft(self, kind: str, body: int) -> _ProtoDraft:
        comments, below = list[str](), self._words[0].start()
        for comment in reversed(self._comments):  # directly above the statement, none at the end of a line of code
            line = self.utf8.rfind(b"\n", 0, comment.start()) + 1
            if self.utf8.count(b"\n", comment.end(), below) > 1 or self.utf8[line : comment.start()].strip():
                break
            comments.insert(0, _decode(comment[0]))
            below = comment.start()
        around, doc = self._open[-1] if self._open else None, clean_comment(comments)[:MAX_DOC]
        self.drafts.append(_ProtoDraft(kind, around, len(self.drafts), self._words, body, doc))
        return self.drafts[-1]


def read_protobuf(utf8: bytes) -> Extraction:
    """Read a .proto file. Services become interfaces, procedures methods, messages structs. Offsets count UTF-8 bytes."""
    reader = _ProtoReader(utf8)
    reader.read()
    starts = [0, *(newline.end() for newline in re.finditer(rb"\n", utf8))]
    references, imports = list[Reference](), list[Import]()
    for unit, token in reader.used:
        receiver, _, name = token[0].rpartition(b".")
        start = token.end() - len(name)
        line = bisect_right(starts, start)
        references.append(Reference("type", _decode(name), _decode(receiver).strip("."), unit, start, line))
    for token in reader.imports:
        line = bisect_right(starts, token.start())
        imports.append(Import(_decode(token[0]).strip("\"'"), "*", "", token.start(), line))
    units = tuple(_make_unit(draft, utf8, starts) for draft in reader.drafts)
    fault = PARTLY if reader.broken else ""
    return Extraction(reader.namespace, units, tuple(references), tuple(imports), fault=fault)


def _make_unit(draft: _ProtoDraft, utf8: bytes, starts: Sequence[int]) -> Unit:
    start, name = draft.head[0].start(), draft.head[1]
    head = _decode(_COMMENT.sub(b" ", utf8[start : draft.body]))
    line = bisect_right(starts, name.start())
    return Unit(
        kind=draft.kind,
        name=_decode(name[0]),
        container=draft.around.path if draft.around else "",
        parent=draft.around.number if draft.around else None,
        span=Span(start, draft.end),
        name_span=Span(*name.span()),
        body_start=min(draft.body, draft.end),
        start_line=bisect_right(starts, start),
        end_line=bisect_right(starts, draft.end - 1),
        name_line=line,
        name_column=name.start() - starts[line - 1] + 1,
        signature=" ".join(head.split())[:MAX_SIGNATURE].rstrip("{; "),
        doc=draft.doc,
    )


def _decode(word: bytes) -> str:
    return word.decode("utf-8", "replace")

"""Mine a tree for training pairs: a question, and the fields of its answer as the index embeds them.

The indexing code makes the fields after the question's text is removed. Tests, vendored and generated files, and local
definitions give no pairs. Files of a large tree are drawn by a hash of their paths, until MOST_BYTES are read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from heapq import nsmallest
from itertools import pairwise
from pathlib import Path

import xxhash

from codelens.config import Settings
from codelens.embed.base import EmbeddedFields
from codelens.indexing.embedding import cut_pieces
from codelens.indexing.extract import extract_definitions, list_own_texts
from codelens.indexing.files import ReadText, read_text
from codelens.lang.comments import clean_comment
from codelens.lang.registry import detect_language, languages
from codelens.model.code import SeenFile
from codelens.model.extraction import Unit
from codelens.model.fast_dataclass import frozen_dataclass, replace
from codelens.text.identifiers import fold_identifier, split_identifier
from codelens.text.lines import TextMap
from codelens.text.terms import tokens
from codelens.training.phrases import extract_first_sentence
from codelens.worktree.classify import find_roles
from codelens.worktree.walk import walk_tree

FEWEST_LINES = 3  # Minimum lines of a commented block
MOST_LINES = 40  # Maximum lines of a commented block

_COMMENT = re.compile(r"([ \t]*)(?://+|#+|--+|;;+)[ \t]+(\S.*)")


def find_commented_blocks(body: str) -> Iterator[tuple[str, str, int]]:
    """Find comments in a body and yield (comment, block below it, the comment's first line from 0), in order.

    A block ends at a blank line, at the next comment with the same indent, or at a line with a smaller indent.
    """
    lines = body.split("\n")
    at = 0
    while at < len(lines):
        comment = _COMMENT.fullmatch(lines[at])
        if not comment:
            at += 1
            continue
        first, words = at, []
        while at < len(lines) and (more := _COMMENT.fullmatch(lines[at])) and more[1] == comment[1]:
            words.append(more[2])
            at += 1
        end = at
        while end < len(lines) and lines[end].strip() and lines[end].startswith(comment[1]):
            next_comment = _COMMENT.fullmatch(lines[end])
            if next_comment and next_comment[1] == comment[1]:
                break
            end += 1
        if FEWEST_LINES <= end - at <= MOST_LINES:
            yield "\n".join(words), "\n".join(lines[at:end]), first


CAPS = {"doc": 6000, "value": 1000, "name": 2000, "comment": 1000}
"""Kind → maximum number of pairs of a package, so that no package dominates. Chosen, not measured."""
MOST_BYTES = 16_000_000
"""Maximum source bytes read per package: about as much as the caps need. Chosen to limit the time of mining."""
MAX_FILE = 400_000  # Bytes. A larger file is generated, or a whole library in one file.
MOST_FOUND = 24_000
"""Number of pairs after which no more files are read: over twice the sum of CAPS. Chosen to limit the time of mining."""
FEWEST_TOKENS = 8  # Minimum number of distinct tokens in the body of a function that is asked for by its name. Chosen
FEWEST_COMMENT_WORDS = 4  # Minimum words of a comment inside a function
LEAK = 6  # Leading words of a question that must not appear together in its answer
ASKED_KINDS = frozenset({"function", "method", "class", "struct", "interface", "trait", "enum", "type", "macro"})
VALUE_KINDS = frozenset({"property", "constant", "variable"})
"""Kinds whose documentation makes questions of kind `value`, which are weighted separately, because their bodies are short."""
NAMED_KINDS = frozenset({"function", "method"})
LEFT_OUT = frozenset({"test", "vendored", "generated"})  # Roles of paths that give no pairs
_DOC_STRING = re.compile(r"\s*[rRuUbBfF]{0,2}(\"\"\"|'''|\"|')(?:\\.|(?!\1).)*\1[ \t]*;?\n?", re.DOTALL)
SEED = "codelens pairs 1"


@frozen_dataclass
class Pair:
    """A question and the fields of its answer. `kind` is the question's origin: doc of a definition, value (the doc of a value),
    name of a function, comment inside a function, or history."""

    kind: str
    query: str
    fields: EmbeddedFields
    language: str
    path: str
    line: int

    def make_record(self) -> dict[str, str | int]:
        """Return the pair as a JSON object."""
        f = self.fields
        texts = {"name": f.name, "context": f.context, "signature": f.signature, "body": f.body}
        place: dict[str, str | int] = {"language": self.language, "path": self.path, "line": self.line}
        return {"kind": self.kind, "query": self.query} | texts | place


def mine_tree(
    root: Path, known: Collection[bytes], excluded: Collection[str], counts: Counter[str], no_ignore: bool = True
) -> list[Pair]:
    """Mine the pairs of a tree, without duplicates, sorted by position, at most CAPS of each kind.

    Files whose content hash is in `known` and folders whose folded name is in `excluded` are skipped. `counts` counts what is
    left out. Set `no_ignore` for a package; a work tree needs its ignore rules, because it may have build output.
    """
    settings = Settings(no_ignore=no_ignore, max_file_size=MAX_FILE)
    seen = [f for f in walk_tree(root, settings) if isinstance(f, SeenFile) and _is_source(f.path, excluded, counts)]
    pairs: list[Pair] = []
    unread = MOST_BYTES
    for file in sorted(seen, key=lambda f: (draw_number(f"{SEED} {f.path}"), f.path)):
        if unread < file.stamp.size or len(pairs) > MOST_FOUND:
            counts["files: over the size of a package"] += 1
            continue
        unread -= file.stamp.size
        try:
            read = read_text(root, file, settings)
        except OSError:
            counts["files: unreadable"] += 1
            continue
        if not isinstance(read, ReadText) or read.content_hash in known:
            counts["files: held out" if isinstance(read, ReadText) else f"files: {getattr(read, 'reason', '')}"] += 1
            continue
        pairs += mine_text(TextMap(read.decoded), file.path, detect_language(file.path, read.raw), counts)
    unique = _drop_repeated(sorted(pairs, key=_sort_key), counts)
    sample: list[Pair] = []
    for kind, cap in CAPS.items():
        of_kind = [pair for pair in unique if pair.kind == kind]
        counts[f"{kind}: over the cap of a package"] += max(0, len(of_kind) - cap)
        sample += nsmallest(
            cap, of_kind, key=lambda p: (draw_number(f"{SEED} {p.path} {p.line} {p.query}"), _sort_key(p))
        )
    return sorted(sample, key=_sort_key)


def _is_source(path: str, excluded: Collection[str], counts: Counter[str]) -> bool:
    if not is_code(detect_language(path)) or path.endswith(".pyi"):
        return False
    why = next(iter(sorted(find_roles(path) & LEFT_OUT)), "")
    if any(fold_identifier(folder) in excluded for folder in path.split("/")[:-1]):
        why = "excluded by its folder"
    counts[f"files: {why}" if why else "files"] += 1
    return not why


def draw_number(text: str) -> int:
    """Draw a number below 2 ** 64 by the hash of a text, the same on every machine."""
    return xxhash.xxh3_64_intdigest(text.encode("utf-8", "surrogatepass"))


def mine_text(text: TextMap, path: str, language: str, counts: Counter[str]) -> list[Pair]:
    """Make all pairs of one file's text."""
    units = extract_definitions(text, language)
    pairs: list[Pair] = []
    for unit, own in zip(units, list_own_texts(text, units), strict=True):
        if unit.local or unit.kind not in ASKED_KINDS | VALUE_KINDS:
            continue
        bare = replace(unit, doc="")
        body = remove_doc_string(own, unit.doc)
        for kind, query, fields in _make_unit_questions(path, unit, bare, body):
            start = " ".join(tokens(query.lower())[:LEAK])
            answers = (" ".join(tokens(text.lower())) for text in (fields.name, fields.signature, fields.body))
            if any(f" {start} " in f" {answer} " for answer in answers):
                counts[f"{kind}: the answer holds the question"] += 1
            else:
                pairs.append(Pair(kind, query, fields, language, path, unit.name_line))
        if unit.kind in NAMED_KINDS:
            inside = text.utf8[unit.body_start : unit.span.end].decode("utf-8", "replace")
            for comment, block, line in find_commented_blocks(inside):
                query = extract_first_sentence(comment)
                if len(query.split()) >= FEWEST_COMMENT_WORDS:
                    fields = next(cut_pieces(path, replace(unit, name="", signature="", doc=""), block))
                    start_line = text.find_line_column(unit.body_start)[0]
                    pairs.append(Pair("comment", query, fields, language, path, start_line + line))
    return pairs


def is_code(language: str) -> bool:
    """Test whether codelens has a grammar that finds definitions in the language."""
    row = languages().get(language)
    return row is not None and bool(row.grammar) and row.chunks == "code"


def _make_unit_questions(path: str, unit: Unit, bare: Unit, body: str) -> Iterator[tuple[str, str, EmbeddedFields]]:
    fields = next(cut_pieces(path, bare, body))
    if unit.doc and (query := extract_first_sentence(unit.doc, unit.name)):
        yield "value" if unit.kind in VALUE_KINDS else "doc", query, fields
    if unit.kind in NAMED_KINDS and unit.body_start < unit.span.end and (query := _make_name_query(unit)):
        nameless = remove_name(fields, unit.name)
        if len(set(tokens(nameless.body))) >= FEWEST_TOKENS:
            yield "name", query, nameless


def _make_name_query(unit: Unit) -> str:
    words = [word for word in split_identifier(unit.name) if word.isascii() and word.isalpha()]
    words = words[len(words[0]) == 1 :] if words else words  # C's s_, m_, g_
    if len(words) < 2 or unit.name.startswith("__") or unit.name == unit.container.rpartition(".")[2]:
        return ""
    return " ".join(words) if sum(len(word) > 2 for word in words) >= 2 else ""


def remove_name(fields: EmbeddedFields, name: str) -> EmbeddedFields:
    """Remove a definition's name from its signature, from recursive calls in its body, and from its file's name."""
    container, _, path = fields.context.partition(" ")
    folder, slash, file = path.rpartition("/")
    stem, dot, ending = file.partition(".")
    if fold_identifier(stem) == fold_identifier(name):
        stem = ""
    return EmbeddedFields(
        "",
        _remove_word(f"{container} {folder}{slash}{stem}{dot}{ending}", name),
        _remove_word(fields.signature, name),
        _remove_word(fields.body, name),
    )


def _remove_word(text: str, word: str) -> str:
    """Remove a word from a text, except inside longer words. (A regular expression for each name would be slow.)"""
    parts = text.split(word)
    text_kept = parts[0]
    for before, after in pairwise(parts):
        is_inside = any(character == "_" or character.isalnum() for character in (before[-1:], after[:1]))
        text_kept += (word if is_inside else "") + after
    return text_kept


def remove_doc_string(body: str, doc: str) -> str:
    string = _DOC_STRING.match(body) if doc else None
    is_doc = string and clean_comment([string[0].strip().rstrip(";")])[:200] == doc[:200]
    return body[string.end() :] if string and is_doc else body


def _sort_key(pair: Pair) -> tuple[str, int, str, str]:
    return (pair.path, pair.line, pair.kind, pair.query)


def _drop_repeated(pairs: Iterable[Pair], counts: Counter[str]) -> list[Pair]:
    """Drop pairs if an earlier one of the same kind has the same query and name, or the same code; count them in `counts`."""
    seen: set[tuple[str, str, str]] = set()
    answered: set[tuple[str, str, str]] = set()
    unique: list[Pair] = []
    for pair in pairs:
        question = (pair.kind, pair.query.lower(), pair.fields.name)
        answer = (pair.kind, " ".join(tokens(pair.fields.signature)), " ".join(tokens(pair.fields.body)))
        if question in seen or answer in answered:
            counts[f"{pair.kind}: again in its package"] += 1
            continue
        seen.add(question)
        answered.add(answer)
        unique.append(pair)
    return unique

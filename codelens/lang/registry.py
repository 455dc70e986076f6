"""Read the rows of languages.toml, and detect a file's language."""

from __future__ import annotations

import fnmatch
import re
import tomllib
from codecs import BOM_UTF8
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from codelens.errors import UsageError
from codelens.model.fast_dataclass import dataclass

PLAIN_TEXT = "text"  # The language of files that match no row

_SHEBANG = re.compile(rb"#!\s*(?:\S*/)?(?:env(?:\s+-\S+|\s+\w+=\S+)*\s+)?([\w.+-]+)")


@dataclass(frozen=True, slots=True)
class Language:
    """A row of languages.toml; the head of that file explains the columns."""

    name: str
    extensions: tuple[str, ...] = ()
    filenames: tuple[str, ...] = ()
    shebangs: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    grammar: str = ""
    queries: tuple[str, ...] = ()
    chunks: str = "code"
    prose: bool = False
    embed: bool = True
    comments: frozenset[str] = frozenset()
    attributes: frozenset[str] = frozenset()
    wrappers: frozenset[str] = frozenset()
    functions: frozenset[str] = frozenset()
    sigils: str = ""
    tagged_docs: bool = False
    family: str = ""
    modules: str = ""
    index_files: frozenset[str] = frozenset()
    package: str = ""
    open_types: str = ""
    implicit_self: bool = False
    assignment_declares: bool = False
    calls_no_fields: bool = False
    structural: bool = False
    fixtures: str = ""
    self_names: frozenset[str] = frozenset()
    super_names: frozenset[str] = frozenset()
    constructors: frozenset[str] = frozenset()
    makers: frozenset[str] = frozenset()
    bare_calls: bool = False
    prototypes: bool = False
    macros: str = ""
    headers: str = ""

    @property
    def kin(self) -> str:
        """The key shared by languages that can use each other's names."""
        return self.family or self.name


NO_LANGUAGE = Language("")


@cache
def languages() -> Mapping[str, Language]:
    """Read the languages, once: name → row, in the order of languages.toml."""
    table = tomllib.loads(Path(__file__).with_name("languages.toml").read_text(encoding="utf-8"))
    rows = {}
    for name, row in table.items():
        fallback = row.pop("fallback", {})
        if fallback and find_spec(row["grammar"].partition(":")[0]) is None:
            row |= fallback
        for column, value in row.items():
            if isinstance(value, list):
                is_set = Language.__annotations__[column] == "frozenset[str]"
                row[column] = frozenset(value) if is_set else tuple(value)
        rows[name] = Language(name=name, **row)
    return rows


def find_family(language: str) -> str:
    """Find the family of a language, whose languages can use each other's names; the language itself if it has none."""
    row = languages().get(language)
    return row.kin if row else language


def is_prose(language: str) -> bool:
    """True if documents in this language are prose, as plain text is."""
    row = languages().get(language)
    return row.prose if row else language == PLAIN_TEXT


@cache
def _map_extensions() -> Mapping[str, str]:
    return {e: lang.name for lang in languages().values() for e in lang.extensions}


@cache
def _map_filenames() -> tuple[Mapping[str, str], Sequence[tuple[re.Pattern[str], str]]]:
    """Map file names to languages: (exact name → language, (pattern, language) pairs of names with a star)."""
    rows = [(f, lang.name) for lang in languages().values() for f in lang.filenames]
    globs = [(re.compile(fnmatch.translate(f)), n) for f, n in rows if "*" in f]
    return {f: n for f, n in rows if "*" not in f}, globs


@cache
def _map_shebangs() -> Mapping[str, str]:
    return {s: lang.name for lang in languages().values() for s in lang.shebangs}


HEAD = 50_000  # Bytes at the start of a file that are read to detect its language
_NOT_CODE = re.compile(
    rb"""/\*.*?(?:\*/|\Z) | //[^\n]* | "(?:\\.|[^"\\\n])*"
    | ^[ \t]*\#[ \t]*if[^\n]*\b__cplusplus\b.*?(?:^[ \t]*\#[ \t]*endif|\Z)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)  # Comments, strings, and code for C++ compilers only, which a C header may have too


def detect_language(path: str, head: bytes = b"") -> str:
    """Detect a file's language by its name, then by its longest known extension, then by the #! line at the start of `head`.

    A .h file is in the first language whose `headers` matches its code, if any. `head` has the file's first HEAD bytes.
    """
    name = path.rsplit("/", 1)[-1]
    exact, globs = _map_filenames()
    if name in exact:
        return exact[name]
    for pattern, language in globs:
        if pattern.match(name):
            return language
    parts = name.split(".")
    for i in range(1, len(parts)):
        if language := _map_extensions().get(".".join(parts[i:]).lower(), ""):
            if parts[i:] != ["h"]:
                return language
            code = _NOT_CODE.sub(b"", head[:HEAD])
            rows = (row for row in languages().values() if row.headers)
            return next((row.name for row in rows if re.search(row.headers.encode(), code, re.M)), language)
    if match := _SHEBANG.match(head.removeprefix(BOM_UTF8)[:200]):
        program = match[1].decode("ascii", "replace")
        return _map_shebangs().get(program) or _map_shebangs().get(program.rstrip("0123456789."), PLAIN_TEXT)
    return PLAIN_TEXT


def resolve_language(name: str) -> str:
    """Find the language for a name, alias or extension, like `py`, `python` or `.py`. Raises UsageError."""
    if language := map_accepted_names().get(name.lower().lstrip(".")):
        return language
    raise UsageError(f"unknown language '{name}'", "`codelens search --type-list` lists them")


@cache
def map_accepted_names() -> Mapping[str, str]:
    """Map every name, alias and extension of a language to its name."""
    names = {e.lstrip("."): lang.name for lang in languages().values() for e in (*lang.extensions, *lang.aliases)}
    return names | {name: name for name in (*languages(), PLAIN_TEXT)}

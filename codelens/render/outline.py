"""Writes the symbols of one file as an outline, a JSON object or lines for a tags file. Also writes lists of files and commits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from codelens.model.code import SYMBOL_KINDS, IndexedFile, IndexInfo, SourceFile, UnitId, UnitRow
from codelens.model.history import LastChange, PastCommit
from codelens.render.records import SCHEMA, Record, build_index_record, build_unit_record, encode_path, pick_fields
from codelens.render.visible import escape_text
from codelens.text.counts import format_day

Changes = Mapping[UnitId, LastChange]


def select_symbols(units: Sequence[UnitRow]) -> list[UnitRow]:
    """Select the units of an outline: symbols, and the sections of a document with headings."""
    return [u for u in units if u.kind in SYMBOL_KINDS or u.kind == "section"]


def build_outline_record(path: str, units: Sequence[UnitRow], exit_code: int, last: Changes | None = None) -> Record:
    """Build the object of `symbols --json`. `path` is as indexed, with escapes for bytes that are not UTF-8. With `last` each
    symbol has its last change, or null if it is not known."""
    symbols = []
    for unit in select_symbols(units):
        place = {"container": unit.container, "line": unit.name_line, "column": unit.name_column}
        symbol = build_unit_record(unit) | place | pick_fields(unit, "signature doc local repository")
        if last is not None:
            change = last.get(unit.id)
            symbol["changed"] = change and pick_fields(change, "time exact author commits")
        symbols.append(symbol)
    return {"schema": SCHEMA, "path": path, **encode_path(path), "symbols": symbols, "exit_code": exit_code}


def format_outline_with_changes(units: Sequence[UnitRow], last: Changes) -> Iterator[str]:
    """Write for each symbol its day of change, number of commits, author, line, kind and name; ~DAY means that day or earlier."""
    for unit in select_symbols(units):
        change = last.get(unit.id)
        day = format_day(change.time) if change else "-"
        sign = "~" if change and not change.exact else " "
        author = escape_text(change.author.partition(" <")[0]) if change else ""
        commits = change.commits if change else 0
        yield f"{sign}{day:<10} {commits:>4}  {author:<24}  {unit.name_line:>5}  {unit.kind} {escape_text(unit.qualified_name)}\n"


def format_outline(units: Sequence[UnitRow]) -> Iterator[str]:
    """Write line, kind and signature of each symbol, indented by its nesting."""
    known = {u.qualified_name for u in units}
    for unit in select_symbols(units):
        depth = sum(".".join(unit.container.split(".")[:i]) in known for i in range(1, unit.container.count(".") + 2))
        head = " ".join(unit.signature.split()) or unit.name
        yield f"{unit.name_line:>5}  {'  ' * (depth if unit.container else 0)}{unit.kind} {escape_text(head)}\n"


def format_ctags(units: Sequence[UnitRow], path: str) -> Iterator[str]:
    """Write Universal Ctags' format 2, sorted by name. Addresses are line numbers, because the file may have changed."""
    yield "!_TAG_FILE_FORMAT\t2\t/extended format/\n"
    yield "!_TAG_FILE_SORTED\t1\t/0=unsorted, 1=sorted, 2=foldcase/\n"
    for unit in sorted(select_symbols(units), key=lambda u: (u.name.encode("utf-8", "surrogatepass"), u.name_line)):
        scope = f"\tscope:{escape_text(unit.container)}" if unit.container else ""
        name, file = (escape_text(text).replace("\t", "\\t") for text in (unit.name, path))
        fields = f"kind:{unit.kind}\tline:{unit.name_line}{scope}\tend:{unit.end_line}\tlanguage:{unit.language}"
        yield f'{name}\t{file}\t{unit.name_line};"\t{fields}\n'


def build_files_record(files: Sequence[IndexedFile], total: int, index: IndexInfo) -> Record:
    """Build the object of a part of a list of files; `total` is the number of all files."""
    ending = {"total": total, "index": build_index_record(index), "exit_code": 0 if files else 1}
    return {"schema": SCHEMA, "files": list(map(build_file_record, files)), **ending}


def format_commit(commit: PastCommit, repository: str = "") -> str:
    """Write a commit's short id, its day (UTC), the repository's name if one is given, and its subject."""
    parts = (commit.name[:12], format_day(commit.time), repository, commit.subject)
    return escape_text(" ".join(filter(None, parts))) + "\n"


def build_commits_record(commits: Sequence[tuple[float, str, PastCommit]], total: int, index: IndexInfo) -> Record:
    """Build the object of a part of a list of commits; `total` is the number of all commits."""
    rows = []
    for score, repository, commit in commits:
        names = {"repository": repository, "commit": commit.name}
        rows.append(names | pick_fields(commit, "time subject body paths") | {"score": score})
    ending = {"total": total, "index": build_index_record(index), "exit_code": 0 if commits else 1}
    return {"schema": SCHEMA, "commits": rows, **ending}


def build_file_record(file: IndexedFile) -> Record:
    place = pick_fields(file, "repository root path") | encode_path(file.path)
    return place | pick_fields(file, "language bytes roles")


def build_source_record(source: SourceFile, index: IndexInfo) -> Record:
    """Build the object of a file with its lines and the outline of `symbols --json`."""
    return {
        "schema": SCHEMA,
        **build_file_record(source.file),
        "freshness": str(source.freshness),
        "lines": list(source.lines),
        "symbols": build_outline_record(source.file.path, source.units, 0)["symbols"],
        "index": build_index_record(index),
        "exit_code": 0,
    }

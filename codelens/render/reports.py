"""Writes reports of index runs, the state of an index or a fleet, and snapshots, as JSON objects and lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from codelens.model.code import SeenFile, Skip
from codelens.model.history import EdgePlace, HistoryRead, SnapshotDifference, SymbolChange, SymbolPlace
from codelens.model.runs import FleetStatus, IndexReport, Status, WatchEvent, WatchStep
from codelens.render.records import SCHEMA, Record, build_index_record, build_notice_record, encode_path, pick_fields
from codelens.render.visible import escape_column, escape_text
from codelens.store.snapshots import LoggedSnapshot
from codelens.text.counts import format_day, quantity

_REPORT_FIELDS = (
    "root seen indexed added changed renamed removed unchanged symbols chunks skipped encodings encoding_errors languages "
    "faults source_bytes index_bytes seconds wrote resumed references cpu_seconds"
)


def build_run_record(reports: Sequence[IndexReport], exit_code: int) -> Record:
    """Build the object of `index --json`, with one element of `repositories` for each root."""
    index = reports[0].index if reports else ""
    return {"schema": SCHEMA, "index": index, "repositories": _build_report_records(reports), "exit_code": exit_code}


def _build_report_records(reports: Sequence[IndexReport]) -> list[Record]:
    return [pick_fields(r, _REPORT_FIELDS) | {"notices": [build_notice_record(n) for n in r.notices]} for r in reports]


def format_summary(reports: Sequence[IndexReport]) -> Iterator[str]:
    """Write a line for each repository, then counts of skipped files and of files with faults."""
    for r in reports:
        moves = "; ".join(filter(None, (_format_moves(r), "went on with an unfinished build" * r.resumed)))
        yield (
            f"{escape_text(r.root)}: {quantity(r.indexed, 'file')} indexed ({moves or 'nothing changed'}), "
            f"{quantity(r.symbols, 'symbol')}, {quantity(r.chunks, 'chunk')}, {r.seconds:.1f} s, "
            f"{format_size(r.index_bytes)}\n"
        )
        if r.skipped:
            yield f"  skipped {sum(r.skipped.values())} of {r.seen} seen: {_format_counts(r.skipped)}\n"
        if odd := {k: v for k, v in r.encodings.items() if k not in ("utf-8", "ascii")}:
            yield f"  encodings other than UTF-8: {_format_counts(odd)}\n"
        if r.faults:
            yield f"  {quantity(len(r.faults), 'file')} parsed only in part; their text is indexed\n"
        if r.wrote and any(r.references.values()):
            yield f"  references: {format_references(r.references)}\n"


def format_watch_event(event: WatchEvent) -> str:
    """Write an event of a watch as a line, without its line break."""
    seconds = f"{sum(r.seconds for r in event.reports):.1f} s"
    moves = {Path(r.root).name: _format_moves(r) for r in event.reports}
    named = [f"{escape_text(name)} {text}" if len(moves) > 1 else text for name, text in moves.items() if text]
    changes = "; ".join(named) or "nothing changed in files"
    match event.step:
        case WatchStep.WATCHING:
            files = quantity(sum(r.indexed for r in event.reports), "file")
            return f"watching {event.text}: {files} indexed ({changes}, {seconds})"
        case WatchStep.UPDATED:
            return f"updated: {changes} ({seconds})"
        case WatchStep.LOOKED:
            return f"looked: nothing had changed ({seconds})"
        case WatchStep.WAITING:
            return f"waiting: {event.text}"
        case WatchStep.FAULT:
            return f"error: {event.text}; it is tried again"
    return f"note: {event.text}"


def build_watch_record(event: WatchEvent) -> Record:
    """Build the object of a watch event, of type `watch`; only updates have `repositories`."""
    record: Record = {"type": "watch", "event": str(event.step), "text": event.text}
    return record | ({"repositories": _build_report_records(event.reports)} if event.reports else {})


def _format_moves(report: IndexReport) -> str:
    moves = {"new": report.added, "changed": report.changed, "renamed": report.renamed, "removed": report.removed}
    return _format_counts(moves)


def _format_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in counts.items() if number)


def format_size(count: int) -> str:
    """Write a number of bytes in MB, or in kB below 0.1 MB."""
    return f"{count / 1e6:.1f} MB" if count >= 100_000 else f"{count / 1e3:.1f} kB"


def format_plan(entries: Iterable[SeenFile | Skip]) -> Iterator[str]:
    """Write the output of `index --dry-run`: each file and folder that the walk saw, and whether it would be indexed."""
    for entry in entries:
        if isinstance(entry, Skip):
            yield f"skip\t{escape_column(entry.path)}\t{format_skip(entry)}\n"
        else:
            yield f"index\t{escape_column(entry.path)}\n"


def build_plan_record(entries: Iterable[tuple[Path, SeenFile | Skip]]) -> Record:
    """Build the object of `index --dry-run --json`."""
    files = []
    for root, entry in entries:
        files.append({"root": str(root), "path": entry.path} | encode_path(entry.path) | {"action": "index"})
        if isinstance(entry, Skip):
            files[-1] |= {"action": "skip"} | pick_fields(entry, "reason detail")
    skipped = sum(file["action"] == "skip" for file in files)
    return {"schema": SCHEMA, "files": files, "indexed": len(files) - skipped, "skipped": skipped, "exit_code": 0}


def format_skip(skip: Skip) -> str:
    """Write why a file is skipped: the reason and its detail, or only the detail if that begins with the reason."""
    detail = escape_text(skip.detail)
    return detail if detail.startswith(str(skip.reason)) else f"{skip.reason}: {detail}" if detail else str(skip.reason)


def format_skipped(skips: Iterable[tuple[str, Skip]], with_repository: bool) -> Iterator[str]:
    """Write the skipped files for `status --skipped`: path, tab, reason."""
    for repository, skip in skips:
        path = f"{repository}/{skip.path}" if with_repository else skip.path
        yield f"{escape_column(path)}\t{format_skip(skip)}\n"


def format_faults(status: Status) -> Iterator[str]:
    """Write for `status --skipped` the files whose text is indexed, but whose symbols are missing or incomplete."""
    for r in status.repositories:
        for path, fault in r.faults.items():
            name = f"{r.name}/{path}" if len(status.repositories) > 1 else path
            yield f"{escape_column(name)}\tparsed in part: {escape_text(fault)}\n"


def build_status_record(status: Status, exit_code: int, skips: Iterable[tuple[str, Skip]] | None = None) -> Record:
    """Build the object of `status --json`. `skips` are (repository, skip) pairs; the field is left out if they are None."""
    names = "name root documents units languages encodings skipped faults source_bytes references stale"
    repositories = [
        pick_fields(r, names)
        | {"changes": r.changes if r.changes is None else pick_fields(r.changes, "new changed deleted")}
        | {"history": r.history and pick_fields(r.history, "head time commits whole fault"), "gone": r.gone}
        for r in status.repositories
    ]
    record: Record = {
        "schema": SCHEMA,
        "index": build_index_record(status.index),
        **pick_fields(status, "file_bytes tables journal_mode unfinished"),
        "repositories": repositories,
        "notices": [build_notice_record(n) for n in status.notices],
    }
    if skips is not None:
        named = ((name, pick_fields(skip, "path reason detail") | encode_path(skip.path)) for name, skip in skips)
        record["skipped"] = [{"repository": name} | skip for name, skip in named]
    return record | {"exit_code": exit_code}


def format_status(status: Status) -> Iterator[str]:
    """Write `status` for people: the index file, a paragraph for each repository, the largest tables."""
    yield f"index       {escape_text(status.index.path)}\n"
    yield f"            schema {status.index.schema}, {format_size(status.file_bytes)}, journal {status.journal_mode}\n"
    yield f"embedder    {status.index.embedder or 'none'}\n"
    if status.unfinished:
        yield f"unfinished  {escape_text(status.unfinished)}: `codelens index` finishes it\n"
    for r in status.repositories:
        yield f"\nrepository  {escape_text(r.name)}: {escape_text(r.root)}\n"
        yield f"files       {r.documents}, {format_size(r.source_bytes)}\n"
        for label, counts in (("units", r.units), ("languages", r.languages), ("encodings", r.encodings)):
            yield f"{label:11} {_format_counts(counts) or 'none'}\n"
        yield f"references  {format_references(r.references)}\n"
        yield f"skipped     {_format_counts(r.skipped) or 'none'}\n"
        if r.faults:
            yield f"faults      {quantity(len(r.faults), 'file')} parsed only in part\n"
            first = list(r.faults.items())[:5]
            yield from (f"            {escape_column(path)}: {escape_text(fault)}\n" for path, fault in first)
        if r.stale:
            made = f"{quantity(r.stale, 'file')} made by another version"
            yield f"stale       {made}: the next index run derives them again\n"
        yield f"history     {escape_text(format_history(r.history))}\n"
        on_disk = "the folder is gone" if r.gone else "not checked"
        if r.changes is not None and not r.gone:
            moves = {kind: len(getattr(r.changes, kind)) for kind in ("new", "changed", "deleted")}
            on_disk = _format_counts(moves) or "nothing changed"
        yield f"against disk {on_disk}\n"
    if status.tables:
        largest = list(status.tables.items())[:8]
        yield f"\ntables      {', '.join(f'{name} {format_size(size)}' for name, size in largest)}\n"


def format_references(counts: Mapping[str, int]) -> str:
    """Write counts of references. References out of fuel also count as guessed or unresolved, so they come last."""
    named = {name.replace("_", " "): number for name, number in counts.items()}
    starved = named.pop("out of fuel", 0)
    return (_format_counts(named) or "none") + (f" ({starved} gave up after the step limit)" if starved else "")


def format_history(history: HistoryRead | None) -> str:
    """Write how much of git's history is known, or why it is not."""
    if history is None:
        return "unknown: the next index run reads it"
    if history.fault:
        return f"unknown: {history.fault}"
    read = quantity(history.commits, "commit")
    return f"{read if history.whole else f'the last {read}'} read, up to {history.head[:12]}"


def format_difference(difference: SnapshotDifference, edges: bool) -> Iterator[str]:
    """Write sign, place, kind and name of changed symbols: + added, - removed, > moved (from → to), ~ signature (old → new)."""
    yield from (f"+ {_format_symbol(symbol)}\n" for symbol in difference.added)
    yield from (f"- {_format_symbol(symbol)}\n" for symbol in difference.removed)
    for change in difference.moved:
        yield f"> {_format_symbol(change.old)} → {_format_symbol(change.new)}\n"
    for change in difference.changed:
        signatures = f"{change.old.symbol.signature} → {change.new.symbol.signature}"
        yield f"~ {_format_symbol(change.new)}: {escape_text(signatures)}\n"
    for sign, places in (("+", difference.edges_added), ("-", difference.edges_removed)) if edges else ():
        for place in places:
            edge = place.edge
            target = f"{edge.path}:{edge.target}" if edge.path and edge.path != place.path else edge.target or edge.path
            text = f"{escape_column(place.path)} {edge.source or place.path} {edge.kind} {target}"
            yield f"{sign} {escape_text(text)}\n"


def _format_symbol(place: SymbolPlace) -> str:
    return escape_text(f"{escape_column(place.path)}:{place.symbol.line} {place.symbol.kind} {place.symbol.name}")


def build_difference_record(difference: SnapshotDifference, exit_code: int) -> Record:

    def build_file_record(place: SymbolPlace | EdgePlace) -> Record:
        return pick_fields(place, "repository path") | encode_path(place.path)

    def build_symbol_record(place: SymbolPlace) -> Record:
        kind, name, line, signature = place.symbol
        return build_file_record(place) | {"line": line, "kind": kind, "qualified_name": name, "signature": signature}

    def build_edge_record(place: EdgePlace) -> Record:
        edge = place.edge
        ends = {"source": edge.source, "kind": edge.kind, "target_path": edge.path, "target": edge.target}
        return build_file_record(place) | ends

    def build_change_record(change: SymbolChange) -> Record:
        return {"old": build_symbol_record(change.old), "new": build_symbol_record(change.new)}

    return {
        "schema": SCHEMA,
        "added": list(map(build_symbol_record, difference.added)),
        "removed": list(map(build_symbol_record, difference.removed)),
        "moved": list(map(build_change_record, difference.moved)),
        "changed": list(map(build_change_record, difference.changed)),
        "edges_added": list(map(build_edge_record, difference.edges_added)),
        "edges_removed": list(map(build_edge_record, difference.edges_removed)),
        "exit_code": exit_code,
    }


def format_log(log: Sequence[LoggedSnapshot]) -> Iterator[str]:
    """Write for each snapshot @{n}, digest, day of the newest commit, counts and Merkle root; pruned snapshots are marked."""
    for back, line in enumerate(log):
        day = format_day(line.time) if line.time else "-"
        counted = ((line.documents, "file"), (line.symbols, "symbol"), (line.edges, "edge"))
        counts = ", ".join(quantity(count, what) for count, what in counted)
        gone = "" if line.kept else "\tnot kept"
        yield f"@{{{back}}}\t{line.snapshot}\t{day}\t{counts}\t{line.root}{gone}\n"


def build_log_record(log: Sequence[LoggedSnapshot], exit_code: int) -> Record:
    names = "snapshot root time documents symbols edges kept"
    snapshots = [{"back": back} | pick_fields(line, names) for back, line in enumerate(log)]
    return {"schema": SCHEMA, "snapshots": snapshots, "exit_code": exit_code}


MOST_LISTED = 20  # Most repositories of one state that the text lists; --json lists all


def build_fleet_record(status: FleetStatus, exit_code: int) -> Record:
    """Build the object of `cluster index --json` and `cluster status --json`."""
    from dataclasses import asdict

    return {"schema": SCHEMA, **asdict(status), "exit_code": exit_code}


def format_fleet(status: FleetStatus) -> Iterator[str]:
    """Write the state of a fleet's store for people."""
    yield f"store         {status.store}\n"
    yield f"repositories  {len(status.repositories)}, {status.searched} searched, {format_size(status.source_bytes)} of source\n"
    yield f"shards        {len(status.shards)}, {format_size(status.bytes)}\n"
    if status.superseded_bytes:
        yield f"superseded    {format_size(status.superseded_bytes)}, removed an hour after their replacement\n"
    if missing := [shard.file for shard in status.shards if shard.missing]:
        yield f"damaged       {', '.join(missing)}: `codelens cluster index FLEET --verify` builds them again\n"
    yield f"checked       {'all bytes' if status.verified else 'sizes; --verify reads all bytes'}\n"
    if not status.recipe_is_current:
        yield "recipe        another one than this codelens and its settings have: the next run builds every shard again\n"
    failed = [(row.name, row.failure) for row in status.repositories if row.failure]
    stale = [(row.name, row.stale) for row in status.repositories if row.stale and not row.failure]
    for label, reasons in (("failed", failed), ("stale", stale)):
        if reasons:
            yield f"{label:14}{len(reasons)}\n"
        yield from (f"  {name}: {reason}\n" for name, reason in reasons[:MOST_LISTED])
        if len(reasons) > MOST_LISTED:
            yield f"  … and {len(reasons) - MOST_LISTED} more: --json lists them\n"
    if status.not_looked_at:
        yield f"not compared  {len(status.not_looked_at)} that have a URL: `codelens cluster index` asks it\n"

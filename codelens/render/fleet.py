"""The state of a fleet's store, as text and as a record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from codelens.model.fast_dataclass import names_of, values_of
from codelens.model.fleet import FleetRepositoryStatus, FleetStatus
from codelens.render.records import SCHEMA, Record
from codelens.render.reports import megabytes

MOST_LISTED = 20  # Repositories of one kind that the text lists; --json has all


def fleet_record(status: FleetStatus, exit_code: int) -> Record:
    """The object of `cluster index --json` and `cluster status --json`."""
    fields = {name: _plain(value) for name, value in _fields(status)}
    return {"schema": SCHEMA, **fields, "exit_code": exit_code}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [dict(_fields(one)) if hasattr(type(one), "__slots__") else one for one in value]
    return value


def _fields(noun: Any) -> Iterator[tuple[str, Any]]:
    return zip(names_of(type(noun)), values_of(noun), strict=True)


def fleet_lines(status: FleetStatus) -> Iterator[str]:
    """For people."""
    yield f"store         {status.store}\n"
    yield f"repositories  {len(status.repositories)}, {status.searched} searched, {megabytes(status.source_bytes)} of source\n"
    yield f"shards        {len(status.shards)}, {megabytes(status.bytes)}\n"
    if status.superseded_bytes:
        yield f"superseded    {megabytes(status.superseded_bytes)}, removed an hour after their replacement\n"
    if missing := [shard.file for shard in status.shards if shard.missing]:
        yield f"missing       {', '.join(missing)}: `codelens cluster index` builds them again\n"
    if not status.recipe_is_current:
        yield "recipe        another one than this codelens and its settings have: the next run builds every shard again\n"
    yield from _listed("failed", [r for r in status.repositories if r.failure], lambda r: r.failure)
    yield from _listed("stale", [r for r in status.repositories if r.stale and not r.failure], lambda r: r.stale)
    if status.not_looked_at:
        yield f"not compared  {len(status.not_looked_at)} that have a URL: `codelens cluster index` asks it\n"


def _listed(label: str, rows: Sequence[FleetRepositoryStatus], reason: Any) -> Iterator[str]:
    if not rows:
        return
    yield f"{label:14}{len(rows)}\n"
    for row in rows[:MOST_LISTED]:
        yield f"  {row.name}: {reason(row)}\n"
    if len(rows) > MOST_LISTED:
        yield f"  … and {len(rows) - MOST_LISTED} more: --json lists them\n"

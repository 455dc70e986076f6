"""codelens traces: which symbols ran, by the spans of OpenTelemetry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from codelens.cli.declare import argument, declare, option
from codelens.cli.flags import CommonFlags, JsonFlags
from codelens.cli.streams import say, stdin_bytes, write, write_json
from codelens.cli.workplace import reading_place
from codelens.errors import UsageError
from codelens.remembered import Place
from codelens.traced import Ingested, Observed


class TracesFlags(CommonFlags, JsonFlags):
    """Which files, or that all is to be forgotten."""

    files: Annotated[
        list[str] | None,
        argument("OTLP as JSON, one object or one a line; `-` is stdin [default: list what is kept]", "[FILE]..."),
    ] = None
    forget: Annotated[bool, option("--forget", help="Remove all that is kept of traces")] = False


def traces(flags: TracesFlags) -> int:
    """Read spans of OpenTelemetry, and keep of each symbol that they name how often it ran, and when last.

    `--profile knowing` and `context --files` rank by it. Without FILE, list what is kept, the last seen first.
    """
    if flags.forget and flags.files:
        raise UsageError("--forget takes no FILE", "`codelens traces --forget` removes what every file said")
    with reading_place(flags).open() as index:
        kept = index.traces()
        if flags.forget:
            was = kept.forget()
            if not flags.quiet:
                say(f"removed {kept.path}" if was else "nothing was kept")
            return 0
        if flags.files:
            came = kept.ingest((name, _read(name)) for name in flags.files)
            _tell(came, flags)
            return 0 if came.matched or came.known else 1
        held = kept.everything()
    if not flags.quiet and flags.json:
        _write_json({"symbols": [{**place._asdict(), **seen._asdict()} for place, seen in held.items()]})
    elif not flags.quiet:
        write(_lines(held))
        if not held:
            say("no trace was read")
    return 0 if held else 1


def _read(name: str) -> bytes:
    if name == "-":
        return stdin_bytes("pipe the spans in: `codelens traces - <FILE`")
    try:
        return Path(name).read_bytes()
    except OSError as fault:
        raise UsageError(f"{name}: {fault.strerror}") from None


def _tell(came: Ingested, flags: TracesFlags) -> None:
    if flags.quiet:
        return
    if flags.json:
        _write_json(came._asdict())
        return
    for name in came.known:
        say(f"note: {name} was read before, and counts no second time")
    said = f"read {_many(came.spans, 'span')}: {came.matched} of {_many(came.symbols, 'symbol')}"
    said += f", {came.nameless} without a function or a time" if came.nameless else ""
    said += f", {came.unknown} of nothing that is indexed, or of several things" if came.unknown else ""
    say(said)


def _many(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _lines(held: Mapping[Place, Observed]) -> Iterator[str]:
    for place, seen in held.items():
        last = datetime.fromtimestamp(seen.last, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        yield f"{place.told()} ({place.kind}): ran {_many(seen.times, 'time')}, last {last}\n"


def _write_json(record: dict[str, object]) -> None:
    from codelens.render.records import to_json

    write_json([to_json(record)])


command = declare(
    "traces",
    TracesFlags,
    traces,
    epilog="Exit: 0 read, listed or removed, 1 nothing fits the index or nothing is kept, 2 error, 3 no index.",
)

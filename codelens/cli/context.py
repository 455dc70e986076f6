"""codelens context: what a task, some files or a change is about, within a budget of tokens."""

from pathlib import Path
from typing import Annotated

from codelens.cli.asked import languages_named, moment
from codelens.cli.declare import argument, declare, option
from codelens.cli.flags import (
    OUTPUT,
    AllowNetwork,
    CommonFlags,
    Globs,
    JsonFlags,
    MemoryFlags,
    RootScope,
    Types,
    TypesNot,
)
from codelens.cli.recorded import record
from codelens.cli.streams import say, stdin_bytes, write_json
from codelens.cli.workplace import Scope, Workplace, reading_place, scope_of
from codelens.context.counters import counter_of
from codelens.errors import UsageError
from codelens.index import Index
from codelens.model import SearchOptions
from codelens.packed import BUDGETS, CHANGE, FILES, TASK, ContextRequest, Forms, PackedText
from codelens.render.context import FORMATS, layout_of
from codelens.render.paths import PathStyle

SOURCE = "For"
EVERYTHING = 1_000_000_000
"""The limit where none was given: the budget is one."""


class ContextFlags(MemoryFlags, CommonFlags, JsonFlags):
    """What the pack is for, how large it may be, and its form."""

    task: Annotated[str | None, argument("What is to be done; `-` reads it from stdin", "[TASK]")] = None
    paths: Annotated[list[Path] | None, argument("Only below these files and folders", "[PATH]...")] = None
    files: Annotated[
        bool, option("--files", section=SOURCE, help="The arguments are files: their symbols, and who calls them")
    ] = False
    pr: Annotated[
        str | None,
        option("--pr", section=SOURCE, metavar="BASE..HEAD", help="What lies between two commits, and what it touches"),
    ] = None
    diff: Annotated[
        str | None, option("--diff", section=SOURCE, metavar="FILE", help="The same of a unified diff; `-` is stdin")
    ] = None
    allow_network: AllowNetwork = False
    types: Types = None
    types_not: TypesNot = None
    globs: Globs = None
    root_scope: RootScope = False
    budget: Annotated[
        int | None,
        option("--budget", section=OUTPUT, metavar="N", help="Tokens in all [default: 50000, of a change 8000]"),
    ] = None
    counter: Annotated[
        str, option("--counter", section=OUTPUT, metavar="HOW", help="What counts tokens: auto, chars or tiktoken")
    ] = "auto"
    limit: Annotated[
        int | None, option("-m", "--limit", section=OUTPUT, metavar="N", help="At most the N best symbols")
    ] = None
    auto: Annotated[bool, option("--auto", section=OUTPUT, help="Bodies, and signatures of the rest [default]")] = False
    bodies: Annotated[bool, option("--bodies", section=OUTPUT, help="Bodies alone")] = False
    signatures: Annotated[bool, option("--signatures", section=OUTPUT, help="Signatures alone")] = False
    format: Annotated[
        str | None,
        option("--format", section=OUTPUT, metavar="HOW", help="markdown, xml, json or compact [default: markdown]"),
    ] = None
    path_style: Annotated[
        str | None,
        option("--path-style", section=OUTPUT, metavar="STYLE", help="Paths: cwd, root or absolute [default: cwd]"),
    ] = None
    no_cache: Annotated[bool, option("--no-cache", help="Neither read nor keep a written pack")] = False


def context(flags: ContextFlags) -> int:
    """Collect the code that a task, some files or a change is about, within a budget of tokens.

    The densest symbols come first: score by token. What found no room is listed.
    """
    source = _source(flags)
    format = _format(flags)
    settings = {
        "path_style": flags.path_style,
        "allow_network": flags.allow_network or None,
        "memory": flags.memory,
    }
    place = reading_place(flags, settings)
    with place.open() as index:
        request = _request(flags, source, place, index)
        layout = layout_of(format, PathStyle(place.settings.path_style, str(place.cwd), index.info().repositories))
        packed = index.context(request, layout, keep=not flags.no_cache)
        if request.options.memory:
            places = [
                (rank, unit, unit.name_line or unit.start_line) for rank, unit in enumerate(packed.units, start=1)
            ]
            record(index, request.query, places, request.options.now)
    if not flags.quiet:
        write_json([packed.text])
        _say_about(packed, request, flags)
    return packed.exit_code


def _source(flags: ContextFlags) -> str:
    asked = [name for name in ("files", "pr", "diff") if getattr(flags, name) not in (False, None)]
    if len(asked) > 1:
        raise UsageError(f"--{asked[0]} and --{asked[1]} cannot both be had")
    return {"files": FILES, "pr": CHANGE, "diff": CHANGE}[asked[0]] if asked else TASK


def _format(flags: ContextFlags) -> str:
    if flags.json and flags.format not in (None, "json"):
        raise UsageError(f"--json and --format {flags.format} cannot both be had")
    format = "json" if flags.json else flags.format or "markdown"
    if format not in FORMATS:
        raise UsageError(f"no format '{format}'", f"formats: {', '.join(FORMATS)}")
    return format


def _request(flags: ContextFlags, source: str, place: Workplace, index: Index) -> ContextRequest:
    """Files and changes are looked at wherever they lie; a task only below the working directory, as by a search."""
    arguments = [Path(flags.task)] if source != TASK and flags.task is not None else []
    arguments += flags.paths or ()
    query = _task(flags) if source == TASK else ""
    if source == FILES and not arguments:
        raise UsageError("no files", "`codelens context --files FILE...`")
    gone = [path for path in arguments if source != FILES and not path.exists()]
    if gone:
        raise UsageError(f"no such file or folder: {gone[0]}", "a task of several words wants quotes around it")
    whole = flags.root_scope or source != TASK
    scope: Scope = scope_of(index.info().repositories, place.cwd, arguments, whole)
    return ContextRequest(
        source=source,
        counter=counter_of(flags.counter),
        options=_options(flags, place, scope),
        budget=BUDGETS[source] if flags.budget is None else flags.budget,
        forms=_forms(flags),
        query=query,
        diff=_diff(flags.diff) if flags.diff is not None else None,
        revisions=flags.pr or "",
        cwd=str(place.cwd),
    )


def _options(flags: ContextFlags, place: Workplace, scope: Scope) -> SearchOptions:
    """What is filtered is said by flags, how a task is ranked by the settings."""
    limit = EVERYTHING if flags.limit is None else flags.limit
    if limit < 1:
        raise UsageError(f"-m is at least 1, not {limit}")
    return SearchOptions(
        limit=limit,
        mode=place.settings.mode,
        profile=place.settings.profile,
        memory=place.settings.memory,
        now=moment(flags.now),
        languages=languages_named(flags.types or ()),
        languages_not=languages_named(flags.types_not or ()),
        globs=tuple(flags.globs or ()),
        paths=scope.paths,
        repositories=scope.repositories,
    )


def _task(flags: ContextFlags) -> str:
    text = flags.task if flags.task != "-" else stdin_bytes("pipe the task in").decode("utf-8", "replace").strip()
    if text is None or not text.strip():
        raise UsageError("no task", "`codelens context TASK`, or --files, --pr or --diff")
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _diff(name: str) -> bytes:
    if name == "-":
        return stdin_bytes("`git diff | codelens context --diff -`")
    try:
        return Path(name).read_bytes()
    except OSError as fault:
        raise UsageError(f"--diff {name}: {fault.strerror}") from None


def _forms(flags: ContextFlags) -> Forms:
    asked = [form for form in Forms if getattr(flags, form.value)]
    if len(asked) > 1:
        raise UsageError(f"--{asked[0]} and --{asked[1]} cannot both be had")
    return asked[0] if asked else Forms.AUTO


def _say_about(packed: PackedText, request: ContextRequest, flags: ContextFlags) -> None:
    for notice in packed.notices:
        say(f"note: {notice.text}")
    if packed.changed:
        say(f"warning: {len(packed.changed)} files in it changed since they were indexed")
    if not packed.total:
        say("nothing was found")
    elif not packed.symbols:
        say(f"nothing fits into {request.budget} tokens")
    if flags.verbose:
        counted = f"{packed.symbols} of {packed.total} symbols, {packed.tokens} tokens by {request.counter.name}"
        say(f"{counted}{', as kept' if packed.cached else ''}")


command = declare(
    "context", ContextFlags, context, epilog="Exit: 0 something is packed, 1 nothing, 2 error, 3 no index."
)

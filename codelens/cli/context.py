"""codelens context: collect the code for a task, for files or for a change, within a token budget."""

from pathlib import Path
from typing import Any

from codelens.cli.declare import Section, argument, command, option
from codelens.cli.flags import (
    ALLOW_NETWORK,
    GLOBS,
    OUTPUT,
    PATH_STYLE,
    PROFILE,
    ROOT_SCOPE,
    TYPES,
    TYPES_NOT,
    ChangeFlags,
    CommonFlags,
    FleetFlags,
    JsonFlags,
    MemoryFlags,
    Paths,
    Texts,
)
from codelens.cli.freshness import is_behind, open_current_index
from codelens.cli.memory import record_answer
from codelens.cli.options import FILE_FILTERS, collect_given_options, find_only_flag, read_change
from codelens.cli.streams import read_stdin, say, say_notices, write_json
from codelens.cli.workplace import Workplace, resolve_scope
from codelens.context.counters import KINDS, open_counter
from codelens.context.parts import continue_request, resume_request
from codelens.errors import UsageError
from codelens.index import Index
from codelens.model.context import BUDGETS, CHANGE, EVERYTHING, FILES, TASK, Change, ContextRequest, Forms, PackedText
from codelens.model.request import SearchOptions
from codelens.render.context import FORMATS, NEXT_OF_FLEET, NEXT_PART, make_layout
from codelens.text.counts import quantity

SOURCE = Section("For")


class ContextFlags(ChangeFlags, MemoryFlags, CommonFlags, JsonFlags):
    task: str | None = argument("[TASK]", "The task in words; `-` reads it from stdin")
    paths: Paths = argument("[PATH]...", "Only below these files and folders")
    files: bool = SOURCE("--files", "The arguments are files: their symbols, and who calls them")
    profile: str | None = PROFILE
    allow_network: bool = ALLOW_NETWORK
    languages: Texts = TYPES
    languages_not: Texts = TYPES_NOT
    globs: Texts = GLOBS
    root_scope: bool = ROOT_SCOPE
    budget: int | None = OUTPUT("--budget N", "Tokens in all [default: 50000, of a change 8000]")
    counter: str = OUTPUT("--counter HOW", "What counts tokens: auto, chars or tiktoken", default="auto", choices=KINDS)
    limit: int | None = OUTPUT("-m --limit N", "At most the N best symbols", least=1)
    auto: bool = OUTPUT("--auto", "Bodies, and signatures of the rest [default]")
    bodies: bool = OUTPUT("--bodies", "Bodies alone")
    signatures: bool = OUTPUT("--signatures", "Signatures alone")
    format: str | None = OUTPUT("--format HOW", "markdown, xml, json or compact [default: markdown]", choices=FORMATS)
    path_style: str | None = PATH_STYLE
    more: str | None = OUTPUT(
        "--more TOKEN", "The next part of a pack, by the token at its end; TASK and filters may be left out"
    )
    no_cache: bool = option("--no-cache", "Neither read nor keep a written pack")


@command(epilog="Exit: 0 something is packed, 1 nothing, 2 error, 3 no index.")
def context(flags: ContextFlags) -> int:
    """Collect the code for a task within a token budget.

    For a task in words, for files, or for a change. Symbols with the best score per token come first; the rest is listed.
    """
    source = {"": TASK, "files": FILES}.get(find_only_flag(flags, ("files", "pr", "diff", "staged")), CHANGE)
    if flags.json and flags.format not in (None, "json"):
        raise UsageError(f"use either --json or --format {flags.format}, not both")
    with open_current_index(flags) as (place, index):
        request = _make_request(flags, source, place, index)
        paths = place.make_path_style(index.info().repositories)
        next_part = NEXT_OF_FLEET if isinstance(flags, FleetFlags) else NEXT_PART
        layout = make_layout("json" if flags.json else flags.format or "markdown", paths, next_part)
        packed = index.context(request, layout, keep=not flags.no_cache)
        if request.options.memory:
            ranked = enumerate(packed.units, start=1)
            places = [(rank, unit, unit.name_line or unit.start_line) for rank, unit in ranked]
            record_answer(index, request.query, places, request.options.now, packed.notices)
        if not flags.quiet:
            write_json([packed.text])
            _report_pack(packed, request, flags, is_behind(index.info()))
    return packed.exit_code


def _make_request(flags: ContextFlags, source: str, place: Workplace, index: Index) -> ContextRequest:
    """Make the request. Only a task is limited to the working directory, as a search is; files and changes may lie anywhere."""
    form = find_only_flag(flags, [form.value for form in Forms])
    if flags.more is not None and source == TASK and flags.task is None:  # the token contains the request
        given = (name for name in (*FILE_FILTERS, "profile", "limit") if getattr(flags, name))
        root_scope = flags.root_scope and not isinstance(flags, FleetFlags)
        if name := form or next(given, "root_scope" if root_scope else ""):
            flag = {"languages": "type", "languages_not": "type-not", "globs": "glob"}.get(name, name.replace("_", "-"))
            raise UsageError(f"--more without a task takes no --{flag}", "the token holds the filters of its pack")
        return resume_request(flags.more, open_counter(flags.counter), flags.budget, str(place.cwd))
    arguments = [Path(flags.task)] if source != TASK and flags.task is not None else []
    arguments += flags.paths or ()
    query = flags.task or ""
    if source == TASK:
        query = read_stdin("pipe the task in").decode("utf-8", "replace").strip() if query == "-" else query
        if not query.strip():
            raise UsageError("no task", "`codelens context TASK`, or --files, --pr or --diff")
    if source == FILES and not arguments:
        raise UsageError("no files", "`codelens context --files FILE...`")
    gone = [path for path in arguments if source != FILES and not path.exists()]
    if gone:
        raise UsageError(f"no such file or folder: {gone[0]}", "put quotes around a task of several words")
    whole = flags.root_scope or source != TASK
    scope = resolve_scope(index.info().repositories, place.cwd, arguments, whole)
    change = read_change(flags, place.cwd) or Change()
    # Flags choose the filters; the settings choose how a task is ranked.
    values: dict[str, Any] = {"limit": EVERYTHING, "mode": place.settings.mode, "profile": place.settings.profile}
    values |= collect_given_options(flags)
    values |= {"paths": scope.paths, "repositories": scope.repositories, "memory": place.settings.memory}
    request = ContextRequest(
        source=source,
        counter=open_counter(flags.counter),
        options=SearchOptions(**values),
        budget=BUDGETS[source] if flags.budget is None else flags.budget,
        forms=Forms(form) if form else Forms.AUTO,
        query=query.encode("utf-8", "surrogateescape").decode("utf-8", "replace") if source == TASK else "",
        diff=change.diff,
        revisions=change.revisions,
        staged=change.staged,
        cwd=str(place.cwd),
    )
    return request if flags.more is None else continue_request(request, flags.more)


def _report_pack(packed: PackedText, request: ContextRequest, flags: ContextFlags, behind: bool) -> None:
    """Print to stderr what a reader of the pack should know: notices, changed files, why it is empty."""
    say_notices(packed.notices)
    if packed.changed and not behind:
        say(f"warning: {quantity(len(packed.changed), 'file')} in it changed since they were indexed")
    if not packed.total:
        say("nothing was found")
    elif not packed.symbols:
        say(f"nothing fits into {request.budget} tokens")
    if flags.verbose:
        counts = f"{packed.symbols} of {quantity(packed.total, 'symbol')}, {packed.tokens} tokens"
        say(f"{counts} by {request.counter.name}{', as kept' if packed.cached else ''}")

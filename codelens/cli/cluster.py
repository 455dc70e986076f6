"""codelens cluster: index a fleet of repositories into shards, and ask them as one index."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from codelens.cli.declare import declare, group, option
from codelens.cli.flags import CommonFlags, FleetFlags, SearchFlags
from codelens.cli.outlines import SymbolsFlags, symbols
from codelens.cli.search import BRIEF, search, search_files
from codelens.cli.why import BRIEF as WHY_BRIEF
from codelens.cli.why import WhyFlags, why
from codelens.cli.workplace import Workplace, settings_at, working_folder
from codelens.errors import UsageError
from codelens.fleet.open import FleetPlace

ONE_INDEX = ("db", "refresh", "require_fresh")
"""Options about the file and the trees of one index."""
SHOWN = ("store", "scheduler", "require_complete")


class FleetSearchFlags(FleetFlags, SearchFlags):
    """Those of `search`, for a fleet."""

    root_scope: bool = option(True, "--root-scope", hidden=True, help="The default")
    refresh: bool = option(False, "--refresh", hidden=True, help="Not for fleets")
    require_fresh: bool = option(False, "--require-fresh", hidden=True, help="Not for fleets")


class FleetWhyFlags(FleetFlags, WhyFlags):
    """Those of `why`, for a fleet."""

    root_scope: bool = option(True, "--root-scope", hidden=True, help="The default")


class FleetSymbolsFlags(FleetFlags, SymbolsFlags):
    """Those of `symbols`, for a fleet."""


def fleet_meant(flags: FleetFlags, overrides: Mapping[str, Any] | None) -> Workplace:
    """The store that a command is to read. Raises UsageError."""
    if flags.store is None:
        raise UsageError("no store", "--store PLACE: where `codelens cluster index` wrote")
    for name in ONE_INDEX:
        if getattr(flags, name, None):
            said = f"--{name.replace('_', '-')}"
            raise UsageError(f"{said} is about one index", "`codelens cluster index` brings a fleet up to date")
    if not 0 < flags.timeout < 1e6:
        raise UsageError(f"--timeout must be above 0, not {flags.timeout:g}")
    place = fleet_at(flags, flags.store, flags.scheduler, overrides)
    assert place.fleet
    return place._replace(
        fleet=place.fleet._replace(seconds=flags.timeout, require_complete=flags.require_complete)
    )


def fleet_at(
    flags: CommonFlags, store: str, scheduler: str | None, overrides: Mapping[str, Any] | None = None
) -> Workplace:
    """A store, with the settings of the working directory. Nothing is remembered of the use of fleets."""
    cwd = working_folder()
    settings = settings_at(cwd, None, flags, {**(overrides or {}), "memory": False})
    url = store if "://" in store else str(cwd / store)
    return Workplace(cwd, Path(url), settings, FleetPlace(url, scheduler or ""))


CODES = "7 not complete"
command_of = {
    "search": declare(
        "search",
        FleetSearchFlags,
        search,
        brief=(*SHOWN, *(name for name in BRIEF if name not in (*ONE_INDEX, "root_scope"))),
        epilog=f"Exit: 0 hits, 1 none, 2 error, 3 no store, {CODES}.",
    ),
    "files": declare(
        "files",
        FleetSearchFlags,
        search_files,
        brief=(*SHOWN, *(name for name in BRIEF if name not in (*ONE_INDEX, "root_scope"))),
        epilog=f"Exit: 0 files, 1 none, 2 error, 3 no store, {CODES}.",
    ),
    "why": declare(
        "why",
        FleetWhyFlags,
        why,
        brief=(*SHOWN, *(name for name in WHY_BRIEF if name != "root_scope")),
        epilog=f"Exit: 0 ranked, 1 not among the results, 2 no such target or an ambiguous one, 3 no store, {CODES}.",
    ),
    "symbols": declare(
        "symbols",
        FleetSymbolsFlags,
        symbols,
        epilog=f"Exit: 0 symbols, 1 none, 2 not indexed, 3 no store, {CODES}.",
    ),
}
search_command, files_command = command_of["search"], command_of["files"]
why_command, symbols_command = command_of["why"], command_of["symbols"]
command = group(
    "cluster",
    {name: f"codelens.cli.cluster:{name}_command" for name in command_of},
    help="Index many repositories into shards, on one machine or many, and ask them as one index.",
)

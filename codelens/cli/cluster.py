"""codelens cluster: index a fleet of repositories into shards, and ask them as one index."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from codelens.cli.context import command as context
from codelens.cli.declare import Command, argument, declare, group, option
from codelens.cli.flags import SCHEDULER, STORE, CommonFlags, FleetFlags, JsonFlags
from codelens.cli.outlines import symbols_command as symbols
from codelens.cli.relations import callees, callers, impact, refs
from codelens.cli.search import command as search
from codelens.cli.search import files
from codelens.cli.streams import say, write, write_record
from codelens.cli.why import command as why
from codelens.cli.workplace import Workplace, settings_at, working_folder
from codelens.errors import FilesFailed, UsageError
from codelens.fleet.open import FleetPlace
from codelens.text.counts import quantity

ONE_INDEX = {
    "root_scope": option(True, "--root-scope", hidden=True, help="The default"),
    "refresh": option(False, "--refresh", hidden=True, help="Not for fleets"),
    "require_fresh": option(False, "--require-fresh", hidden=True, help="Not for fleets"),
}
"""Options about the file and the trees of one index."""
SHOWN = ("store", "scheduler", "require_complete")


def fleet_meant(flags: FleetFlags, overrides: Mapping[str, Any] | None) -> Workplace:
    """The store that a command is to read. Raises UsageError."""
    for name in ("refresh", "require_fresh"):
        if getattr(flags, name, None):
            said = f"--{name.replace('_', '-')}"
            raise UsageError(f"{said} is about one index", "`codelens cluster index` brings a fleet up to date")
    if not 0 < flags.timeout < 1e6:
        raise UsageError(f"--timeout must be above 0, not {flags.timeout:g}")
    place = fleet_at(flags, flags.store, flags.scheduler, overrides)
    assert place.fleet
    return place._replace(fleet=place.fleet._replace(seconds=flags.timeout, require_complete=flags.require_complete))


def fleet_at(
    flags: CommonFlags, store: str | None, scheduler: str | None, overrides: Mapping[str, Any] | None = None
) -> Workplace:
    """A store, else that of the settings, with the settings of the working directory. Raises UsageError.

    Nothing is remembered of the use of fleets.
    """
    if flags.db is not None:
        raise UsageError("--db is about one index", "a fleet is named with --store")
    cwd = working_folder()
    settings = settings_at(cwd, None, flags, {**(overrides or {}), "memory": False, "store": store})
    if not (store := settings.values.store):
        raise UsageError("no store", "--store PLACE or the setting `store`: where `codelens cluster index` writes")
    url = store if "://" in store else str(cwd / store)
    return Workplace(cwd, Path(url), settings, FleetPlace(url, scheduler or ""))


class FleetIndexFlags(CommonFlags, JsonFlags):
    """The list of repositories, where their index goes, and who builds it."""

    fleet: Path | None = argument(
        None, "A folder of clones, or a list: TOML ([[repository]] name, path or url, ref), or JSON Lines", "FLEET"
    )
    store: str | None = STORE
    scheduler: str | None = SCHEDULER
    workers: int | None = option(
        None, "--workers", metavar="N", help="Processes on this machine, without --scheduler [default: one per core]"
    )
    allow_network: bool = option(False, "--allow-network", help="Let git fetch the repositories that have a URL")
    db: Path | None = option(None, "--db", hidden=True, help="Not for fleets")


def index(flags: FleetIndexFlags) -> int:
    """Bring a fleet's store up to date. Shards whose repositories have changed are built again, one worker each.

    An unchanged repository costs one look-up. A repository that cannot be indexed is listed, and the others are built. A run
    that was interrupted continues where it stopped.
    """
    from codelens.fleet.build import index_fleet
    from codelens.fleet.sources import read_fleet
    from codelens.fleet.status import fleet_status
    from codelens.fleet.workers import client_of
    from codelens.render.fleet import fleet_record

    if flags.fleet is None:
        raise UsageError("no fleet", "`codelens cluster index FLEET --store PLACE`: a folder of clones, or a list")
    if flags.workers is not None and not 1 <= flags.workers <= 256:
        raise UsageError(f"--workers must be from 1 to 256, not {flags.workers}")
    place = fleet_at(flags, flags.store, flags.scheduler)
    assert place.fleet
    fleet = read_fleet(place.cwd / flags.fleet, besides=place.index_path)
    told = (lambda line: None) if flags.quiet or flags.json else say
    with client_of(flags.scheduler or "", flags.workers or os.cpu_count() or 1) as client:
        manifest = index_fleet(
            client, fleet, place.fleet.store, place.settings, allow_network=flags.allow_network, told=told
        )
    exit_code = FilesFailed.exit_code if manifest.failures else 0
    if flags.json:
        write_record(fleet_record(fleet_status(place.fleet.store, place.settings, looking=False), exit_code))
    elif not flags.quiet:
        shards = quantity(len(manifest.shards), "shard")
        say(
            f"{len(manifest.searched)} of {quantity(len(manifest.repositories), 'repository', 'repositories')} in {shards}"
        )
    return exit_code


class FleetStatusFlags(CommonFlags, JsonFlags):
    """The store, and whether sources are compared with it."""

    store: str | None = STORE
    no_check: bool = option(False, "--no-check", help="Do not check whether repositories have changed")
    db: Path | None = option(None, "--db", hidden=True, help="Not for fleets")


def status(flags: FleetStatusFlags) -> int:
    """Show what a fleet's store holds. Lists repositories, shards, sizes, failures, and what has changed since."""
    from codelens.fleet.status import fleet_status
    from codelens.render.fleet import fleet_lines, fleet_record

    place = fleet_at(flags, flags.store, None)
    assert place.fleet
    found = fleet_status(place.fleet.store, place.settings, looking=not flags.no_check)
    if flags.json:
        write_record(fleet_record(found, 0))
    elif not flags.quiet:
        write(fleet_lines(found))
    return 0


def adapt_for_fleet(command: Command) -> Command:
    """The command for a fleet: the same, with the options about a store in place of those about one index."""
    hidden = {name: hides for name, hides in ONE_INDEX.items() if hasattr(command.flags, name)}
    flags = type(f"Fleet{command.flags.__name__}", (FleetFlags, command.flags), hidden)
    brief = (*SHOWN, *(name for name in command.brief if name not in hidden)) if command.brief else ()
    epilog = command.epilog.replace(", 4 not fresh", "").replace("3 no index", "3 no store, 7 not complete")
    return declare(command.name, flags, command.run, epilog, brief)


index_command = declare(
    "index",
    FleetIndexFlags,
    index,
    epilog="Exit: 0 done, 2 error, 5 another process writes, 6 repositories failed, 130 interrupted.",
)
status_command = declare("status", FleetStatusFlags, status, epilog="Exit: 0, 2 error, 3 no store.")
search_command, files_command, why_command, symbols_command = map(adapt_for_fleet, (search, files, why, symbols))
refs_command, callers_command, callees_command = map(adapt_for_fleet, (refs, callers, callees))
impact_command, context_command = map(adapt_for_fleet, (impact, context))
ASKING = ("search", "files", "why", "symbols", "refs", "callers", "callees", "impact", "context")
command = group(
    "cluster",
    {name: f"codelens.cli.cluster:{name}_command" for name in ("index", *ASKING, "status")},
    help="Index many repositories, and search them as one.",
)

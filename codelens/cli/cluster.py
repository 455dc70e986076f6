"""codelens cluster: index a fleet of repositories into shards, and search them as one index."""

import os
from pathlib import Path

from codelens.cli.context import context
from codelens.cli.declare import Command, CommandGroup, command, option, required_argument
from codelens.cli.flags import SCHEDULER, STORE, CommonFlags, FleetFlags, JsonFlags
from codelens.cli.relations import callees, callers, impact, refs, symbols
from codelens.cli.search import search, search_files
from codelens.cli.streams import say, write, write_record
from codelens.cli.why import why
from codelens.cli.workplace import find_fleet_workplace
from codelens.errors import FilesFailed
from codelens.text.counts import quantity

ONE_INDEX = {  # Options about the file and the trees of one index
    "root_scope": option("--root-scope", "The default", default=True, is_hidden=True),
    "refresh": option("--refresh", "Not for fleets", is_hidden=True),
    "require_fresh": option("--require-fresh", "Not for fleets", is_hidden=True),
}
SHOWN = ("store", "scheduler", "require_complete")


class FleetIndexFlags(CommonFlags, JsonFlags):
    fleet: Path = required_argument(
        "FLEET", "A folder of clones, or a list: TOML ([[repository]] name, path or url, ref), or JSON Lines"
    )
    store: str | None = STORE
    scheduler: str | None = SCHEDULER
    workers: int | None = option(
        "--workers N", "Processes on this machine, without --scheduler [default: one per core]", least=1, most=256
    )
    may_fetch: bool = option("--allow-network", "Let git fetch the repositories that have a URL")
    verify: bool = option(
        "--verify", "Read the shards of a bucket, too, and build damaged ones again; a folder's always are"
    )
    db: Path | None = option("--db", "Not for fleets", is_hidden=True)


@command(epilog="Exit: 0 done, 2 error, 5 another process writes, 6 repositories failed, 130 interrupted.")
def index(flags: FleetIndexFlags) -> int:
    """Bring a fleet's store up to date. Shards that are damaged or whose repositories have changed are built again, one
    worker each.

    An unchanged repository costs one look-up. A repository that cannot be indexed is listed, and the others are built. A run
    that was interrupted continues where it stopped.
    """
    from codelens.fleet.build import index_fleet, read_fleet_status
    from codelens.fleet.sources import read_fleet
    from codelens.fleet.workers import open_client
    from codelens.render.reports import build_fleet_record

    place = find_fleet_workplace(flags)
    assert place.fleet
    fleet = read_fleet(place.cwd / flags.fleet, besides=place.index_path)
    report = (lambda line: None) if flags.quiet or flags.json else say
    store, network = place.fleet.store, flags.may_fetch
    with open_client(flags.scheduler or "", flags.workers or os.cpu_count() or 1) as client:
        manifest = index_fleet(
            client, fleet, store, place.settings, allow_network=network, verify=flags.verify, report=report
        )
    exit_code = FilesFailed.exit_code if manifest.failures else 0
    if flags.json:
        write_record(build_fleet_record(read_fleet_status(store, place.settings, looking=False), exit_code))
    elif not flags.quiet:
        shards = quantity(len(manifest.shards), "shard")
        repositories = quantity(len(manifest.repositories), "repository", "repositories")
        say(f"{len(manifest.searched)} of {repositories} in {shards}")
    return exit_code


class FleetStatusFlags(CommonFlags, JsonFlags):
    store: str | None = STORE
    no_check: bool = option("--no-check", "Do not check whether repositories have changed")
    verify: bool = option("--verify", "Read all shards, and compare them with what was stored")
    db: Path | None = option("--db", "Not for fleets", is_hidden=True)


@command(epilog="Exit: 0, 2 error, 3 no store.")
def status(flags: FleetStatusFlags) -> int:
    """Show what a fleet's store holds. Lists repositories, shards, sizes, failures, and what has changed since."""
    from codelens.fleet.build import read_fleet_status
    from codelens.render.reports import build_fleet_record, format_fleet

    place = find_fleet_workplace(flags)
    assert place.fleet
    looking = not flags.no_check
    status = read_fleet_status(place.fleet.store, place.settings, looking=looking, verify=flags.verify)
    if flags.json:
        write_record(build_fleet_record(status, 0))
    else:
        write(format_fleet(status))
    return 0


def adapt_command_for_fleet(asking: Command) -> Command:
    """Derive a command for fleets: options about a store replace those about one index."""
    hidden = {name: hides for name, hides in ONE_INDEX.items() if hasattr(asking.flags, name)}
    flags = type(f"Fleet{asking.flags.__name__}", (FleetFlags, asking.flags), hidden)
    brief = (*SHOWN, *(name for name in asking.brief if name not in hidden)) if asking.brief else ()
    epilog = asking.epilog.replace(", 4 not fresh", "").replace("3 no index", "3 no store, 7 not complete")
    return Command(asking.name, flags, asking.run, epilog, frozenset(brief))


QUESTIONS = tuple(
    map(adapt_command_for_fleet, (search, search_files, why, symbols, refs, callers, callees, impact, context))
)
cluster = CommandGroup("cluster", (index, *QUESTIONS, status), "Index many repositories, and search them as one.")

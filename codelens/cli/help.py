"""codelens help: topics that concern more than one command."""

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from codelens.cli.declare import Command, CommandGroup, argument, command
from codelens.cli.streams import write
from codelens.errors import UsageError

EXIT_CODES = """\
 0   search, why, context, symbols, refs and the like: at least one result; other commands: done
 1   search, context, symbols, refs and the like: no result; why: it exists but is not among the results
 2   usage or runtime error; no such target, or an ambiguous one; why --check: scores differ
 3   no index, or one that cannot be used (damaged, not made here for you, or by a newer codelens)
 4   the tree has changed since it was indexed, and --require-fresh was given
 5   another process is writing this index
 6   files had errors, and --strict was given
 7   a shard of a fleet does not answer, and --require-complete was given; or none answers
 130 interrupted
 143 ended by SIGTERM; watch and mcp: 0
"""

QUERY = """\
A query is a list of words. Each may be part of a name, a word of prose, or misspelled; results are ranked.

  parse config file          words, in any order; hits that contain more of them rank higher
  parseConfig                a name: getHTTPResponse and get_http_response find each other
  "exact phrase"             exactly this text
  `identifier`               exactly this name
  /reg(ular)? ex/            a regular expression; --regex takes the whole query as one
  a OR b    NOT a    -a      alternatives, exclusion; ( ) group

  lang:py  path:src/  file:conf.py  sym:Parser  kind:method  repo:name  content:text
  is:test  -is:test  kind:doc  kind:code  case:yes|no|auto        filters; a `-` before one excludes
  after:2026-01-31  before:2026  author:ann  the last change

-F takes the query literally. -F, --regex, a "phrase" alone and grep's flags (-l -c -o -n -w …) with one word print
every matching line. Several words are always ranked, and the flags apply to the hits.
Text that only looks like syntax is searched as text, and a note on stderr says so;
--strict-query makes it an error that points to the position.
"""

TOPICS: Mapping[str, str] = {"exit-codes": EXIT_CODES, "query": QUERY}


COMMANDS: Mapping[str, Mapping[str, str]] = {
    "Start here": {"index": "index:index", "search": "search:search", "why": "why:why"},
    "Read code": {n: f"relations:{n}" for n in ("symbols", "refs", "callers", "callees", "path", "impact", "hierarchy")}
    | {"map": "relations:show_map", "files": "search:search_files"},
    "Context and agents": {"context": "context:context", "test-scope": "relations:test_scope"}
    | {"mcp": "stdio:mcp", "install": "install:install"},
    "Many repositories": {"cluster": "cluster:cluster"},
    "Keep it fresh": {**{name: f"{name}:{name}" for name in ("status", "watch", "hooks", "serve")}, "lsp": "stdio:lsp"},
    "Your notes and results": {"note": "note:note", "memory": "memory:memory"},
    "History and graph": {"snapshot": "snapshot:snapshot", "graph": "graph:graph"},
    "Measure and tune": {"eval": "eval:command", "model": "model:model"},
    "Set-up": {"config": "config:config", "doctor": "doctor:doctor"},
    "": {"help": "help:show_topic"},
}
"""Group in help → command → MODULE:NAME below codelens.cli. Help does not list a group without a name. Any other
command has the name of its module; help lists it last."""
ENTRY_POINTS: Mapping[str, Mapping[str, str]] = {
    heading: {name: f"codelens.cli.{place}" for name, place in names.items()} for heading, names in COMMANDS.items()
}


def find_entry_point(name: str) -> str:
    """Find the place of a command, as MODULE:NAME; empty if no command has this name."""
    places = (names[name] for names in ENTRY_POINTS.values() if name in names)
    return next(places, "") or find_unlisted(name).get(name, "")


def find_unlisted(word: str) -> dict[str, str]:
    """Find commands that are not in COMMANDS, with their places: the one of this name, or all if the word asks for help."""
    listed = {place.partition(":")[0] for names in COMMANDS.values() for place in names.values()}
    modules = [path.stem for path in Path(__file__).parent.glob("*.py")] if word in ("-h", "--help") else []
    if word.replace("-", "_").isidentifier() and find_spec(f"{__package__}.{word.replace('-', '_')}"):
        modules.append(word.replace("-", "_"))
    places = {}
    for module in sorted({*modules} - listed):
        declared = getattr(import_module(f"{__package__}.{module}"), module, None)
        if isinstance(declared, Command | CommandGroup):
            places[declared.name] = f"{__package__}.{module}:{module}"
    return places


class HelpFlags:
    topic: str | None = argument(
        "[TOPIC]", "A command, or exit-codes, or query", values="codelens.cli.help:list_topics"
    )


def list_topics() -> list[str]:
    """List all that can be explained: the topics, then the commands."""
    return [*TOPICS, *(name for names in COMMANDS.values() for name in names)]


@command("help", epilog=f"Topics: {', '.join(TOPICS)}.")
def show_topic(flags: HelpFlags) -> int:
    """Explain a command or a topic."""
    text = TOPICS.get(flags.topic or "")
    if text is None:  # for a command, `main` shows its help
        raise UsageError(f"no help on '{flags.topic}'", f"topics: {', '.join(list_topics())}")
    write([text])
    return 0

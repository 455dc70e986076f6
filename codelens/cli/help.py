"""codelens help: the topics that no single command's --help can hold."""

from collections.abc import Mapping
from importlib import import_module

from codelens.cli.declare import argument, command
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


class HelpFlags:
    """Which topic; without one, the list of commands."""

    topic: str | None = argument(
        None, "[TOPIC]", "A command, or exit-codes, or query", values="codelens.cli.help:topics"
    )


def topics() -> list[str]:
    """The topics, then the commands: all that can be explained."""
    main = import_module("codelens.cli.main")
    return [*TOPICS, *(name for names in main.COMMANDS.values() for name in names)]


@command("help", epilog=f"Topics: {', '.join(TOPICS)}.")
def help_topic(flags: HelpFlags) -> int:
    """Explain a command or a topic."""
    main = import_module("codelens.cli.main")
    topic = flags.topic
    if topic is None:
        return int(main.main(["--help"]))
    if any(topic in names for names in main.COMMANDS.values()):
        return int(main.main([topic, "--help"]))
    if topic not in TOPICS:
        raise UsageError(f"no help on '{topic}'", f"topics: {', '.join(topics())}")
    write([TOPICS[topic]])
    return 0

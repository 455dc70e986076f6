"""codelens memory: what is recorded of results, to be looked at, taken out and erased."""

from codelens.cli.declare import group

COMMANDS = {
    "show": "codelens.cli.memory.show",
    "forget": "codelens.cli.memory.forget",
    "export": "codelens.cli.memory.export",
}

command = group(
    "memory",
    COMMANDS,
    help="Look at what is recorded of results, write it out, or erase it.",
    epilog="Nothing is recorded unless the setting `memory` is on: in your own configuration, or CODELENS_MEMORY=1.",
)

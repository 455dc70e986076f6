"""codelens serve: an HTTP server for one index, and the keys that let others in."""

from __future__ import annotations

from codelens.cli.declare import declare_group
from codelens.cli.serve.run import ServeFlags, serve

COMMANDS = {"keys": "codelens.cli.serve.keys"}

command = declare_group(
    "serve",
    ServeFlags,
    serve,
    COMMANDS,
    epilog="Exit: 2 error, 3 no index, 130 interrupted.",
)

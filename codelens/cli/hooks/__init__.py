"""codelens hooks: have git bring the index up to date."""

from codelens.cli.declare import group

COMMANDS = {name: f"codelens.cli.hooks.{name}" for name in ("install", "remove", "status", "run")}

command = group(
    "hooks",
    COMMANDS,
    help="Have git bring the index up to date after a checkout, merge, commit or rebase.",
    epilog="A marked block is put into the hooks of this repository; what else is in them stays as it is.",
)

"""Command line: run the server, back the database up, reset a password."""

import argparse
import secrets
import sys
from wsgiref.simple_server import make_server

from notes.app import Application
from notes.auth import hash_password
from notes.config import load_config
from notes.store import NoteStore


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="notes", description=__doc__)
    parser.add_argument("--config", default="notes.toml")
    commands = parser.add_subparsers(dest="command")
    backup = commands.add_parser("backup", help="copy the database while the server runs")
    backup.add_argument("target")
    reset = commands.add_parser("reset-password", help="give an account a new password")
    reset.add_argument("name")
    return parser


def main(argv: list[str] | None = None) -> int:
    options = build_parser().parse_args(argv)
    config = load_config(options.config)
    with NoteStore(config.database) as store:
        if options.command == "backup":
            store.backup(options.target)
            return 0
        if options.command == "reset-password":
            return reset_password(store, options.name)
        serve(Application(store, config), config.host, config.port)
    return 0


def reset_password(store: NoteStore, name: str) -> int:
    """Give an account a random password and print it once."""
    password = secrets.token_urlsafe(12)
    if not store.set_password_hash(name, hash_password(password)):
        print(f"no account named {name}", file=sys.stderr)
        return 1
    print(password)
    return 0


def serve(app: Application, host: str, port: int) -> None:
    with make_server(host, port, app) as server:
        print(f"notes on http://{host}:{port}/")
        server.serve_forever()


if __name__ == "__main__":
    sys.exit(main())

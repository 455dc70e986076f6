"""codelens doctor: check what works on this machine, and name the consequences of what does not."""

import codecs
import os
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from codelens import __version__
from codelens.cli.declare import argument, command, option
from codelens.cli.flags import CommonFlags, JsonFlags
from codelens.cli.streams import inform, wants_color, write, write_fields
from codelens.errors import CodelensError, IndexCorrupt, UsageError, format_install_command
from codelens.render.visible import escape_text

OLDEST_PYTHON = (3, 11)
CODECS = ("utf-16", "cp1252", "gb18030", "gbk", "big5", "shift_jis", "euc_jp", "euc_kr", "koi8_r")
"""Encodings that the decoder is tested with; a stripped-down Python may lack some."""

OK, LESS, BROKEN, ABSENT = "ok", "less", "broken", "absent"


class Check(NamedTuple):
    """A check. `state`: ok; less if codelens works with less; broken if it does not work; absent for an extra that few need."""

    state: str
    what: str
    text: str


class DoctorFlags(CommonFlags, JsonFlags):
    depth: str | None = argument(
        "[quick|full]", "With --check: quick (the default), or full: every row", choices=("quick", "full")
    )
    check: bool = option("--check", "Check the index instead: its pages, its schema and its counts")
    all_grammars: bool = option("--all", "Compile the queries of all grammars (takes some seconds), and list them")


@command(epilog="Exit: 0 it works, 2 something that it needs is broken, 3 --check found damage.")
def doctor(flags: DoctorFlags) -> int:
    """Check the installation. Looks at Python, SQLite and its extensions, grammars, git, encodings, terminal, index."""
    if flags.depth and not flags.check:
        raise UsageError(f"'{flags.depth}' needs --check", "`codelens doctor --check`, or `--check full`")
    if flags.check:
        return _check_index(flags)
    checks = [*_check_libraries(), *_check_model(flags), *_check_extras(), *_check_grammars(flags.all_grammars)]
    checks += [*_check_environment(), *_check_place(flags)]
    return _show_checks(checks, 2 if any(c.state == BROKEN for c in checks) else 0, flags)


def _check_index(flags: DoctorFlags) -> int:
    """Check the index for damage, and print what was found; returns the exit code."""
    from codelens.cli.workplace import find_workplace
    from codelens.index import Index

    place = find_workplace(flags)
    path, accepted = place.index_path, place.settings.trust_indexes
    damage = [Check(BROKEN, f.table, f.text) for f in Index.check(path, flags.depth == "full", accepted)]
    if not damage:
        return _show_checks([Check(OK, "index", f"{path}: no damage found")], 0, flags)
    exit_code = _show_checks(damage, IndexCorrupt.exit_code, flags)
    inform(flags, f"hint: {IndexCorrupt.hint}")
    return exit_code


def _show_checks(checks: Sequence[Check], exit_code: int, flags: DoctorFlags) -> int:
    if flags.json:
        write_fields(exit_code, checks=[check._asdict() for check in checks])
    else:
        write(f"{c.state:6}  {escape_text(f'{c.what}: {c.text}')}\n" for c in checks)
    return exit_code


def _make_check(what: str, is_there: object, text: str, otherwise: str, state: str = LESS) -> Check:
    """Make a check: OK with `text` if the thing is there, else `state` with the text `otherwise`."""
    return Check(OK, what, text) if is_there else Check(state, what, otherwise)


def _check_libraries() -> Iterator[Check]:
    import platform

    from codelens.store.connection import probe_abilities

    state = OK if sys.version_info >= OLDEST_PYTHON else BROKEN
    yield Check(state, "codelens", __version__)
    yield Check(state, "Python", f"{platform.python_version()} ({sys.executable}) on {platform.system()}")  # noqa: TID251 - shown
    abilities = probe_abilities()
    yield Check(OK, "SQLite", f"{abilities.sqlite}, apsw {abilities.driver}")
    yield _make_check("FTS5", abilities.fts5, "full-text search", "missing: nothing can be indexed", BROKEN)
    without_trigram = "missing: no substrings, no typing mistakes"
    yield _make_check("trigram", abilities.trigram, "substrings and typing mistakes", without_trigram)
    without_vector = "cannot be loaded: no vector results; `pip install sqlite-vec`"
    yield _make_check("sqlite-vec", abilities.vector, str(abilities.vector), without_vector)


def _check_model(flags: CommonFlags) -> Iterator[Check]:
    from codelens.cli.workplace import load_settings_here
    from codelens.embed.registry import SHIPPED, find_shipped_model, open_embedder

    try:
        settings = load_settings_here(flags).values
        embedder = open_embedder(settings.model, settings.allow_network)
        embedder.compute_fingerprint()  # reads its files and sends nothing
    except CodelensError as fault:
        yield Check(LESS, "model", f"{fault}; {fault.hint}")
        return
    is_missing = settings.model == SHIPPED and not find_shipped_model()
    yield Check(OK, "model", embedder.name + ": no trained model came with this installation" * is_missing)


def _check_extras() -> Iterator[Check]:
    """Check the optional packages: those that run other models, and those of `watch` and `cluster`."""
    from codelens.embed.folder_models import EXTRAS, list_missing_modules

    for extra in EXTRAS:
        missing = f"not installed; only its models need it: {format_install_command(extra)}"
        yield _make_check(extra, not list_missing_modules(extra), "its models can be used", missing, ABSENT)
    for extra, package, text, without in (
        ("watch", "watchfiles", "`watch` and --watch work", "`watch` works with --poll only"),
        ("cluster", "distributed", "fleets can be indexed", "fleets can only be searched"),
    ):
        missing = f"not installed: {without}; {format_install_command(extra)}"
        yield _make_check(extra, find_spec(package), text, missing, ABSENT)


def _check_grammars(all_of_them: bool) -> Iterator[Check]:
    from codelens.lang.parser import GrammarMissing, check_grammar, find_grammar_version, load_grammar
    from codelens.lang.registry import languages

    good = []
    for name in sorted(n for n, row in languages().items() if row.grammar):
        try:
            check_grammar(name)
            if all_of_them:
                load_grammar(name)
            good.append(f"{name} ({find_grammar_version(name)})")
        except GrammarMissing as fault:
            yield Check(LESS, f"grammar {name}", f"no symbols, only text: {fault}")
    yield Check(OK if good else LESS, "grammars", ", ".join(good) if all_of_them else f"{len(good)} languages work")


def _check_environment() -> Iterator[Check]:
    """Check git, encodings and the terminal."""
    from shutil import which

    git = which("git")
    yield _make_check("git", git, str(git), "not found: ignore files are read all the same, histories are not")
    missing = []
    for codec in CODECS:
        try:
            codecs.lookup(codec)
        except LookupError:
            missing.append(codec)
    if not missing and find_spec("chardet") is None:
        missing.append("chardet")
    without = f"missing: {', '.join(missing)}"
    yield _make_check("encodings", not missing, "detected, and kept exact to the byte", without)
    terminal = sys.stdout.isatty()
    color = "colour" if wants_color("auto", terminal) else "no colour"
    text = f"stdout is {'a' if terminal else 'not a'} terminal, {color}"
    yield Check(OK, "terminal", f"{text}, encoding {sys.stdout.encoding}, TERM={os.environ.get('TERM', '')}")


def _check_place(flags: CommonFlags) -> Iterator[Check]:
    from codelens.cli.workplace import find_workplace
    from codelens.render.reports import format_history

    try:
        place = find_workplace(flags)
        with place.open() as index:
            info, histories = index.info(), index.list_histories()
    except CodelensError as fault:
        yield Check(LESS, "index", f"{fault}; {fault.hint}")
        return
    documents = sum(r.documents for r in info.repositories)
    yield Check(OK, "index", f"{Path(info.path)}, schema {info.schema}, {documents} files, embedder {info.embedder}")
    for name, history in histories:
        yield Check(OK if history and not history.fault else LESS, f"history of {name}", format_history(history))


def print_versions() -> int:
    """Print a line each with the version of tool, schema, SQLite, sqlite-vec, model and Python; returns the exit code 0."""
    from codelens.embed.registry import SHIPPED, open_embedder
    from codelens.store.connection import probe_abilities
    from codelens.store.migrate import find_newest_version

    abilities = probe_abilities()
    versions = (
        f"codelens {__version__}",
        f"schema {find_newest_version()}",
        f"SQLite {abilities.sqlite} (apsw {abilities.driver})",
        f"sqlite-vec {abilities.vector or 'missing'}",
        f"model {open_embedder(SHIPPED).name}",
        f"Python {sys.version.split()[0]}",
    )
    write(f"{version}\n" for version in versions)
    return 0

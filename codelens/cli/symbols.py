"""codelens symbols: the outline of one file, as it was indexed."""

from pathlib import Path

from codelens.cli.declare import argument, declare, option
from codelens.cli.flags import OUTPUT, CommonFlags, JsonFlags
from codelens.cli.freshness import current_index
from codelens.cli.streams import write, write_record
from codelens.cli.workplace import reading_place, scope_of
from codelens.errors import UsageError


class SymbolsFlags(CommonFlags, JsonFlags):
    """The file, and the form of its outline."""

    file: Path | None = argument(None, "The file, relative to the working directory or to its root", "FILE")
    changes: bool = option(
        False, "--changes", section=OUTPUT, help="When each last changed, by whom, and by how many commits"
    )
    ctags: bool = option(False, "--ctags", section=OUTPUT, help="Lines for a tags file")


def symbols(flags: SymbolsFlags) -> int:
    """List the symbols of a file."""
    from codelens.render.outline import changed_lines, ctags_lines, outline_lines, outline_record, symbols_of

    if flags.file is None:
        raise UsageError("no file", "`codelens symbols FILE`")
    if flags.changes and flags.ctags:
        raise UsageError("use either --changes or --ctags, not both")
    place = reading_place(flags)
    with current_index(place, flags) as index:
        path = _indexed_path(flags.file, place.cwd, index.info().repositories)
        units = index.symbols(path)
        last = index.history.last_changes(units) if flags.changes else None
    exit_code = 0 if symbols_of(units) else 1
    if flags.quiet:
        return exit_code
    if flags.json:
        write_record(outline_record(path, units, exit_code, last))
    elif last is not None:
        write(changed_lines(units, last))
    else:
        write(ctags_lines(units, str(flags.file)) if flags.ctags else outline_lines(units))
    return exit_code


def _indexed_path(file: Path, cwd: Path, repositories: object) -> str:
    """The path below its root; as it was given, where it lies below none."""
    from codelens.worktree.files import shown_path

    try:
        scope = scope_of(repositories, cwd, [file])  # type: ignore[arg-type]
    except UsageError:
        return shown_path(file.as_posix())
    return shown_path(scope.paths[0]) if scope.paths and (cwd / file).exists() else shown_path(file.as_posix())


command = declare("symbols", SymbolsFlags, symbols, epilog="Exit: 0 symbols, 1 none, 2 not indexed, 3 no index.")

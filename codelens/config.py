"""Settings: default < user's file < project's file < environment < flag, each value with its origin.

The ranking's numbers are data in weights.toml; every other number of the program that a person may want to
change is a field here. A project's file may not name commands, networks or paths outside its root, so
`NOT_FROM_PROJECTS` lists what it may not set and `PATHS` what it may set only to something below it. What is wrong in it is
left out and told: a repository cannot stop its user. A fault in the user's own file, in a variable or a flag is an error.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from codelens.errors import SettingsError
from codelens.notation import parse_toml
from codelens.nouns import dataclass


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings, with the defaults and where each default comes from."""

    max_file_size: int = 2_000_000
    """Bytes; larger files are skipped. Zoekt's limit is 2 MB too: what is above is data, not source."""
    max_precise_size: int = 200_000_000
    """Bytes; a SCIP index or LSIF dump that is larger is not read. Django's (55 MB) takes 6 CPU seconds, and memory for itself
    and its largest document; an LSIF dump 130 ms and 2.5 MB for each of its MB. The limit is chosen, not measured."""
    hidden: bool = False
    """Index files whose name starts with a dot."""
    no_ignore: bool = False
    """Do not apply ignore files."""
    include_vendored: bool = False
    """Index vendored, minified and generated files too."""
    jobs: int = 0
    """Worker processes; 0 means one for each core, at most 8."""
    fuzzy: bool = True
    """Build the trigram index."""
    vector: bool = True
    """Build vectors."""
    model: str = "codelens"
    """What makes them: `codelens` for the embedding that is shipped, `hashing`, a model of your own by its name, a model's file
    or folder, or an endpoint's address with the model's name, as https://host/v1#name."""
    allow_network: bool = False
    """Send texts to a model that has an address. Nothing else goes over a network."""
    parse_seconds: float = 10.0
    """CPU seconds a worker may spend on one file before it is ended. The slowest honest file seen took under 2."""
    encoding_threshold: float = 0.7
    """Below this confidence a detected encoding is not believed (CodexLens' figure)."""
    commit_bytes: int = 16_000_000
    """Source bytes per committed batch of a first build: a kill loses some seconds of work, and the log stays small."""
    limit: int = 20
    """Hits shown (the marketplace's default)."""
    context_lines: int = 0
    """Lines before and after a hit, where no flag says how many; 0 shows the lines that say most instead."""
    profile: str = "codelens"
    """Named set of weights in weights.toml."""
    mode: str = "hybrid"
    """Named set of channels: see CHOICES."""
    color: str = "auto"
    """auto, always or never; auto asks the terminal and NO_COLOR."""
    path_style: str = "cwd"
    """How text shows paths: relative to the working directory, to the repository's root, or absolute."""
    query_seconds: float = 2.0
    """CPU seconds that all parts of one query share; 0 sets no limit. What is not done by then is left out, and said. Chosen: as
    long as a person waits before trying another."""
    classes: str = ""
    """A TOML file of equivalence classes of one's own, beside those that are shipped; empty for none."""
    aliases: str = ""
    """A TOML file of short forms of one's own and the words they stand for; empty for none."""
    metadata: str = ""
    """A JSON or CSV file of stars, ratings, installs, categories … of paths and repositories; empty for none."""
    weights: str = ""
    """A TOML file of weights of one's own, as `codelens tune --keep` writes it, in place of the shipped; empty for none."""
    snapshots_kept: int = 10
    """States of the index whose symbols and edges `diff` can still tell; 0 logs none."""
    pack_cache: bool = True
    """Keep written context packs in the user's cache folder. A pack says nothing of what was asked."""
    memory: bool = False
    """Record what is found, opened and said of results in a file beside the index, and let the ranking use it."""
    trust_indexes: bool = False
    """Open indexes that codelens did not make here for this user: of another machine, a CI cache, a container."""
    requests_per_minute: int = 120
    """What each key of `codelens serve` may ask in a minute, all of it at once if need be; 0 sets no limit. Chosen: a person's
    editor asks twice a second at most."""
    hyperlink_format: str = ""
    """A URL with {path}, or a name for one, that paths on a terminal link to; empty for none."""


NOT_FROM_PROJECTS = frozenset({"hyperlink_format", "allow_network", "memory", "requests_per_minute", "trust_indexes"})
"""A link may name a network or start a program: the user says where it leads, what leaves the machine, what is recorded of
searches and whose indexes are opened; no repository does.
`model` it may set to a name alone: a model is run, or asked over a network."""
PATHS = frozenset({"aliases", "classes", "metadata", "model", "weights"})
"""Settings that name a file: in a configuration file relative to its folder, and in a project's file only below that."""
MODEL_ENDING = ".model"
FOR_PROJECTS = frozenset({"codelens", "hashing"})
"""What a project's file may set `model` to: they are the same for everybody."""
ADDRESSES = ("http://", "https://")
"""What a model's address begins with."""


LARGEST_FILE = 100_000
"""Bytes of a configuration file. One with every setting has 2 000; chosen."""
MOST_TOLD = 5
"""Faults of a project's file that are told one by one."""


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """Settings together with who set each of them."""

    values: Settings
    origin: Mapping[str, str]
    """Setting → 'default', a file's path, an environment variable's name or 'flag'."""
    ignored: tuple[str, ...] = ()
    """What of the project's file does not count, a sentence each: file, key and reason."""


Check = Callable[[str, Any, str], None]
"""(setting, value, the file that sets it) → nothing. Raises SettingsError where the file that it names cannot be taken."""


def load_settings(
    start: Path,
    stop: Path | None = None,
    flags: Mapping[str, Any] | None = None,
    use_files: bool = True,
    check: Check | None = None,
) -> LoadedSettings:
    """Settings for work in `start`, with .codelens.toml from there up to `stop` (the root). Flags that are None are unset.

    `check` is asked about each value of the project's file. Raises SettingsError for a fault anywhere but in that file.
    """
    values, origin, ignored = Settings(), {f.name: "default" for f in fields(Settings)}, list[str]()
    project = _project_file(start, stop) if use_files else None
    for source, key, value in _layers(project, flags or {}, use_files, ignored):
        try:
            assigned = _assign(values, key, value, source)
            if check and source == str(project):
                check(key, getattr(assigned, key), source)
        except SettingsError as fault:
            if source != str(project):
                raise
            ignored.append(_left_out(fault))
        else:
            values, origin[key] = assigned, source
    more = [f"{project}: {len(ignored) - MOST_TOLD} more settings are ignored"] if len(ignored) > MOST_TOLD else []
    return LoadedSettings(values, origin, (*ignored[:MOST_TOLD], *more))


def _layers(
    project: Path | None, flags: Mapping[str, Any], use_files: bool, ignored: list[str]
) -> Iterator[tuple[str, str, Any]]:
    """(who says it, setting, value), the strongest last."""
    if use_files and (user := _user_file()):
        yield from ((str(user), key, value) for key, value in _with_places(_read_toml(user), user).items())
    if project:
        yield from ((str(project), key, value) for key, value in _from_project(project, ignored).items())
    yield from ((f"${name}", key, value) for key, name, value in _environment())
    yield from (("flag", key, value) for key, value in flags.items() if value is not None)


def _left_out(fault: SettingsError) -> str:
    own = f"; {fault.hint}" if fault.hint == OWN_FILE else ""
    return f"{fault}: ignored{own}"


def _assign(values: Settings, key: str, value: Any, source: str) -> Settings:
    known = {f.name: type(getattr(values, f.name)) for f in fields(Settings)}
    if key not in known:
        raise SettingsError(f"{source}: unknown setting '{key[:80]}'", f"known settings: {', '.join(sorted(known))}")
    wanted = known[key]
    said = f"--{key.replace('_', '-')}" if source == "flag" else f"{source}: '{key}'"
    if isinstance(value, int) and abs(value) > MOST:
        raise SettingsError(f"{said} is at most {MOST:,}, not {_shown(value)}")
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        raise SettingsError(f"{said} wants {wanted.__name__}, not {_shown(value)}")
    allowed = tuple(load_weights()) if key == "profile" else CHOICES.get(key, (value,))
    if value not in allowed:
        raise SettingsError(f"{said} is one of {', '.join(allowed)}, not {_shown(value)}")
    if not isinstance(value, (bool, str)) and not LEAST.get(key, 0) <= value < float("inf"):
        raise SettingsError(f"{said} is at least {LEAST.get(key, 0):g}, not {_shown(value)}")
    return replace(values, **{key: value})


def _shown(value: Any) -> str:
    """A value in a message. Tables are named, not written: they may be deep."""
    text = "a table" if isinstance(value, dict) else "a list" if isinstance(value, list) else repr(value)
    return text if len(text) <= 80 else f"{text[:80]}…"


CHOICES: Mapping[str, tuple[str, ...]] = {
    "mode": ("hybrid", "keyword", "vector", "exact", "fuzzy"),
    "color": ("auto", "always", "never"),
    "path_style": ("cwd", "root", "absolute"),
}
LEAST: Mapping[str, float] = {"max_file_size": 1, "commit_bytes": 1, "limit": 1, "parse_seconds": 0.1}
"""The least that a number may be, where that is not 0. No number is infinite or none (NaN)."""
MOST = 2**63 - 1
"""The largest integer: what SQLite keeps."""


def _environment() -> list[tuple[str, str, Any]]:
    found: list[tuple[str, str, Any]] = []
    for f in fields(Settings):
        name = f"CODELENS_{f.name.upper()}"
        raw = os.environ.get(name)
        if raw is not None:
            found.append((f.name, name, _from_text(raw, type(f.default), name)))
    return found


def _from_text(raw: str, wanted: type, source: str) -> Any:
    try:
        if wanted is bool:
            return {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False, "": False}[
                raw.lower()
            ]
        return wanted(raw)
    except (KeyError, ValueError):
        raise SettingsError(f"${source} wants {wanted.__name__}, not {raw!r}") from None


def _read_toml(path: Path) -> Mapping[str, Any]:
    try:
        with path.open("rb") as file:
            raw = file.read(LARGEST_FILE + 1)
        if len(raw) > LARGEST_FILE:
            raise ValueError(f"too large for a configuration file, {LARGEST_FILE:,} bytes at most")
        return parse_toml(raw.decode("utf-8"))
    except OSError as fault:
        raise SettingsError(f"{path}: {fault.strerror or fault}") from None
    except ValueError as fault:
        raise SettingsError(f"{path}: {fault}") from None


def _from_project(path: Path, ignored: list[str]) -> Mapping[str, Any]:
    """What a project's file sets, without what it may not: that is told in `ignored`."""
    try:
        values = _read_toml(path)
    except SettingsError as fault:
        ignored.append(_left_out(fault))
        return {}
    taken: dict[str, Any] = {}
    for key, value in values.items():
        try:
            _allow(key, value, path)
            taken[key] = value
        except SettingsError as fault:
            ignored.append(_left_out(fault))
    return _with_places(taken, path)


def _allow(key: str, value: Any, path: Path) -> None:
    """Raises SettingsError for what a project's file may not set."""
    if key in NOT_FROM_PROJECTS and value != getattr(Settings(), key):
        raise SettingsError(f"{path}: a project may not set '{key}'", OWN_FILE)
    if key == "model" and isinstance(value, str) and value and value not in FOR_PROJECTS:
        raise SettingsError(f"{path}: a project may set 'model' to {' or '.join(sorted(FOR_PROJECTS))} alone", OWN_FILE)
    folder = path.parent.resolve()
    if key in PATHS and _names_a_file(key, value) and not _lies_below(path.parent.absolute() / value, folder):
        raise SettingsError(f"{path}: '{key}' leads out of {folder}: {_shown(value)}", OWN_FILE)


def _names_a_file(key: str, value: Any) -> bool:
    return (
        isinstance(value, str) and bool(value) and not (key == "model" and (is_model_name(value) or is_address(value)))
    )


def is_address(model: object) -> bool:
    """Whether a model's setting names an endpoint, not a file."""
    return isinstance(model, str) and model.lower().startswith(ADDRESSES)


def is_model_name(value: str) -> bool:
    """Whether a value of `model` is a name, as of a model in `models_folder`; else it is a file's path."""
    return bool(value) and not value.endswith(MODEL_ENDING) and not {"/", "\\"} & set(value)


OWN_FILE = "set it in your own configuration file"


def _lies_below(path: Path, folder: Path) -> bool:
    """Whether a path lies there when its links are followed; one that cannot be followed does not."""
    try:
        return path.resolve().is_relative_to(folder)
    except (OSError, ValueError, RuntimeError):  # a name too long, a zero byte, a loop of links
        return False


def _with_places(values: Mapping[str, Any], path: Path) -> Mapping[str, Any]:
    """Paths as absolute ones; what is no text is left for the check of types."""
    named = {key: values[key] for key in PATHS & values.keys() if _names_a_file(key, values[key])}
    return {**values, **{key: str(path.parent.absolute() / value) for key, value in named.items()}}


def with_absolute_paths(settings: Settings) -> Settings:
    """The same settings for a process that works in another folder."""
    here = Path("here")
    return replace(settings, **_with_places({key: getattr(settings, key) for key in PATHS}, here))


def _user_file() -> Path | None:
    path = user_file_place()
    return path if path and path.is_file() else None


def user_file_place() -> Path | None:
    """Where the user's configuration file belongs; None where there is no home. It may not be there yet."""
    return folder / "config.toml" if (folder := _users("XDG_CONFIG_HOME", "APPDATA", ".config")) else None


def keys_file() -> Path | None:
    """Where the keys of `codelens serve` are listed; None where there is no home. It may not be there yet."""
    return folder / "keys.json" if (folder := _users("XDG_CONFIG_HOME", "APPDATA", ".config")) else None


def models_folder() -> Path | None:
    """Where a user's own models are, each as NAME.model; None where there is no home. It may not be there yet."""
    return folder / "models" if (folder := data_folder()) else None


def data_folder() -> Path | None:
    """Where the key is that marks the user's own indexes; None where there is no home. It may not be there yet."""
    return _users("XDG_DATA_HOME", "LOCALAPPDATA", ".local/share")


def pack_folder() -> Path | None:
    """Where context packs are kept; None where there is no home. It may not be there yet."""
    return folder / "packs" if (folder := _users("XDG_CACHE_HOME", "LOCALAPPDATA", ".cache")) else None


def vectors_file() -> Path | None:
    """Where vectors of slow embedders are kept; None where there is no home. It may not be there yet."""
    return folder / "vectors.db" if (folder := _users("XDG_CACHE_HOME", "LOCALAPPDATA", ".cache")) else None


def _users(variable: str, windows: str, below_home: str) -> Path | None:
    """The folder `codelens` where a user keeps things of a kind: by the XDG variable, else by Windows' own, else in the home."""
    base = os.environ.get(variable) or (os.environ.get(windows) if os.name == "nt" else None)
    try:
        return (Path(base) if base else Path.home() / below_home) / "codelens"
    except RuntimeError:  # no home directory
        return None


def _project_file(start: Path, stop: Path | None) -> Path | None:
    for folder in (start, *start.parents):
        if _is_file(path := folder / ".codelens.toml"):
            return path
        if folder == stop or stop is None:
            return None
    return None


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a folder that may not be searched, as that of a link's target
        return False


@cache
def load_weights() -> Mapping[str, Any]:
    """weights.toml as shipped: profile → section → number. A profile that is `like` another has its other sections too."""
    rows = tomllib.loads(Path(__file__).with_name("weights.toml").read_text(encoding="utf-8"))
    return {name: {**rows.get(row.get("like", ""), {}), **row} for name, row in rows.items()}

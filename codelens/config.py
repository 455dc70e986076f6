"""Loads the settings: default < user's file < project's file < environment < flag, each value with its origin.

The ranking's numbers are data in weights.toml; every other number that a user may want to change is a field here.
A project's file may not name commands, networks or paths outside its root: `NOT_FROM_PROJECTS` lists the settings that it may not
set, `PATHS` those that it may set only to a path below its folder. A faulty setting in it is ignored with a notice, so that a
repository cannot stop its user. A fault in the user's own file, in a variable or a flag is an error.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from codelens.errors import CodelensError, SettingsError, UnsafePath
from codelens.files import resolve_below
from codelens.model.fast_dataclass import dataclass, list_field_names, replace
from codelens.text.notation import parse_toml


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings with their defaults, and the reasons for these."""

    max_file_size: int = 2_000_000  # Bytes; larger files, which are data and not source, are skipped (Zoekt's limit)
    max_precise_size: int = 200_000_000
    """Bytes; a larger SCIP index is not read. Django's (55 MB) takes 6 CPU seconds, and memory for itself and its largest file."""
    hidden: bool = False  # Index files whose name starts with a dot
    no_ignore: bool = False  # Do not apply ignore files
    include_vendored: bool = False  # Index vendored, minified and generated files too
    jobs: int = 0  # Worker processes; 0 means one for each core, at most 8
    fuzzy: bool = True  # Build the trigram index
    vector: bool = True  # Build vectors
    model: str = "codelens"
    """The embedder: `codelens` for the shipped embedding, `hashing`, the name of your own model, a model's file or folder, or
    an endpoint's address with the model's name, as https://host/v1#name."""
    allow_network: bool = False
    """Send texts to a model behind an address. Nothing else uses the network, except git for the URLs of a fleet."""
    parse_seconds: float = 10.0
    """CPU seconds a worker may spend on one file before it is stopped. The slowest real file measured took under 2."""
    encoding_threshold: float = 0.7  # The least confidence at which a detected encoding is used (CodexLens' figure)
    detect_encoding: bool = True
    """Detect the encoding of files that are neither UTF-8 nor UTF-16; else they are read as cp1252 or Latin-1, no byte lost."""
    commit_bytes: int = 16_000_000
    """Source bytes per committed batch of a first build: a kill loses some seconds of work, and the log stays small."""
    limit: int = 20  # Hits shown (the marketplace's default)
    context_lines: int = 0  # Lines before and after a hit, unless a flag sets them; 0: the most relevant lines
    profile: str = "codelens"  # Named set of weights in weights.toml
    mode: str = "hybrid"  # Named set of channels; CHOICES lists them
    color: str = "auto"  # auto, always or never; auto asks the terminal and NO_COLOR
    # Paths in text are relative to the working directory, to the repository's root, or absolute
    path_style: str = "cwd"
    refresh: str = "never"
    """never, or auto: before it answers, a command updates the index if files have changed and that takes less than a second."""
    query_seconds: float = 2.0
    """CPU seconds for all parts of one query together; 0 sets no limit. Unfinished work is left out, with a notice."""
    classes: str = ""  # A TOML file of your own equivalence classes, added to the shipped ones; empty for none
    aliases: str = ""  # A TOML file of your own abbreviations and the words that they stand for; empty for none
    lexicon: bool = True  # Let a query in everyday words also find the programmers' terms for them
    history: bool = True  # Let the words of recent commits' messages count for the files that they changed
    metadata: str = ""  # A JSON or CSV file of stars, ratings, installs … of paths and repositories; empty for none
    weights: str = ""  # A TOML file of weights, as `codelens eval tune --keep` writes it; empty for the shipped ones
    snapshots_kept: int = 10  # Number of earlier index states whose symbols and edges `diff` can compare; 0 logs none
    pack_cache: bool = True  # Keep written context packs, which do not contain requests, in the user's cache folder
    shard_cache: int = 50_000_000_000
    """Most bytes of shards that a machine caches from fleets in a bucket; the least recently used are dropped first."""
    store: str = ""  # The store of `codelens cluster` without --store: a folder, or a URL such as s3://BUCKET/NAME
    warm: bool = True
    """Let `codelens search`, `files` and `why` be answered by a running `codelens watch` or `serve` of the same index."""
    memory: bool = False
    """Record results, the ones you open and your feedback in a file next to the index, and let the ranking use them."""
    trust_indexes: bool = False
    """Open indexes that were not made on this machine for this user: from another machine, a CI cache, a container."""
    requests_per_minute: int = 120
    """Requests per minute for each key of `codelens serve`; 0 sets no limit. An editor sends at most two a second."""
    hyperlink_format: str = ""  # A URL with {path}, or a name for one, that paths on a terminal link to; empty for none
    editor_link: str = "vscode"
    """A URL with {path}, or an editor's name, that the page of a server on this machine links to; `none` for no link."""
    host_link: str = "auto"
    """A URL with {path}, or the name of a known form, for the page's links to a file on its host: `auto` chooses the form by
    the host of git's remote; `none` for no link."""

    @property
    def least_confidence(self) -> float:
        """The confidence that a detected encoding needs; more than possible if detection is off."""
        return self.encoding_threshold if self.detect_encoding else math.inf


NOT_FROM_PROJECTS = {
    *("hyperlink_format", "editor_link", "host_link", "allow_network", "memory", "refresh", "requests_per_minute"),
    *("shard_cache", "store", "trust_indexes"),
}
"""Settings that only the user may change: links, which may name a network or start a program; what leaves the machine; what is
recorded, written or kept; whose indexes and stores are opened. A project may set `model` only to a name in `FOR_PROJECTS`,
because codelens runs a model, or sends texts to it."""
PATHS = frozenset({"aliases", "classes", "metadata", "model", "store", "weights"})
"""Settings that name a file: relative to the configuration file's folder and, for a project's file, below it."""
MODEL_ENDING = ".model"
FOR_PROJECTS = frozenset({"codelens", "hashing"})  # Models that a project's file may name: the same for everybody
LARGEST_FILE = 100_000  # Most bytes of a configuration file; one with every setting has 2 000
MOST_REPORTED = 5  # Most faults of a project's file that are reported one by one


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """The settings in effect, each with its origin."""

    values: Settings
    origin: Mapping[str, str]  # Setting → 'default', a file's path, an environment variable's name or 'flag'
    ignored: tuple[str, ...] = ()  # Ignored settings of the project's file, a sentence each: file, key and reason


SettingsLoader = Callable[[Path], LoadedSettings]  # Loads the settings for one root


def load_settings(
    start: Path,
    stop: Path | None = None,
    flags: Mapping[str, Any] | None = None,
    use_files: bool = True,
    check: Callable[[str, Any, str], None] | None = None,
) -> LoadedSettings:
    """Load the settings for `start`, with the first .codelens.toml from there up to `stop` (the root). None marks an unset flag.

    `check` is called with each setting of the project's file, its value and that file, and raises SettingsError for one that
    cannot be used. Raises SettingsError for a fault in any other source.
    """
    values, origin = Settings(), dict.fromkeys(list_field_names(Settings), "default")
    faults: list[CodelensError] = []  # of the project's file
    project = _find_project_file(start, stop) if use_files else None
    layers: list[tuple[str, Mapping[str, Any]]] = []  # The strongest last
    if use_files and (user := find_user_place("config.toml")) and user.is_file():
        layers.append((str(user), _make_paths_absolute(_read_toml(user), user)))
    if project:
        layers.append((str(project), _read_project_file(project, faults)))
    layers += [(f"$CODELENS_{key.upper()}", {key: value}) for key, value in _read_environment()]
    layers.append(("flag", {key: value for key, value in (flags or {}).items() if value is not None}))
    for source, key, value in ((source, key, value) for source, layer in layers for key, value in layer.items()):
        try:
            assigned = _replace_setting(values, key, value, source)
            if check and source == str(project):
                check(key, getattr(assigned, key), source)
        except SettingsError as fault:
            if source != str(project):
                raise
            faults.append(fault)
        else:
            values, origin[key] = assigned, source
    ignored = [f"{fault}: ignored" + f"; {fault.hint}" * (fault.hint == OWN_FILE) for fault in faults]
    if len(ignored) > MOST_REPORTED:
        ignored[MOST_REPORTED:] = [f"{project}: {len(ignored) - MOST_REPORTED} more settings are ignored"]
    return LoadedSettings(values, origin, tuple(ignored))


def _replace_setting(values: Settings, key: str, value: Any, source: str) -> Settings:
    """Replace a setting's value. Raises SettingsError for an unknown setting or a value that is not allowed."""
    known = {name: type(getattr(values, name)) for name in list_field_names(Settings)}
    if key not in known:
        raise SettingsError(f"{source}: unknown setting '{key[:80]}'", f"known settings: {', '.join(sorted(known))}")
    wanted = known[key]
    place = f"--{key.replace('_', '-')}" if source == "flag" else f"{source}: '{key}'"
    if isinstance(value, int) and abs(value) > MOST:
        raise SettingsError(f"{place} must be at most {MOST:,}, not {_format_value(value)}")
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        raise SettingsError(f"{place} must be {NOUNS[wanted]}, not {_format_value(value)}")
    allowed = tuple(load_weights()) if key == "profile" else CHOICES.get(key, (value,))
    if value not in allowed:
        raise SettingsError(f"{place} must be one of {', '.join(allowed)}, not {_format_value(value)}")
    if not isinstance(value, (bool, str)) and not LEAST.get(key, 0) <= value < float("inf"):
        raise SettingsError(f"{place} must be at least {LEAST.get(key, 0):g}, not {_format_value(value)}")
    return replace(values, **{key: value})


def _format_value(value: Any) -> str:
    """Format a value for a message. For tables and lists only the type is named, because they may be deeply nested."""
    text = "a table" if isinstance(value, dict) else "a list" if isinstance(value, list) else repr(value)
    return text if len(text) <= 80 else f"{text[:80]}…"


MODES = ("hybrid", "keyword", "vector", "exact", "fuzzy")
CHOICES: Mapping[str, tuple[str, ...]] = {
    "mode": MODES,
    "color": ("auto", "always", "never"),
    "path_style": ("cwd", "root", "absolute"),
    "refresh": ("never", "auto"),
}
LEAST: Mapping[str, float] = {"max_file_size": 1, "commit_bytes": 1, "limit": 1, "parse_seconds": 0.1}
"""Setting → its minimum if that is not 0. Infinity and NaN are not allowed."""
NOUNS: Mapping[type, str] = {str: "a string", int: "a whole number", float: "a number", bool: "true or false"}
MOST = 2**63 - 1  # The largest integer that SQLite stores


def _read_environment() -> Iterator[tuple[str, Any]]:
    """Yield (setting, value) for each CODELENS_* variable. Raises SettingsError."""
    words = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False, "": False}
    for setting in list_field_names(Settings):
        name = f"CODELENS_{setting.upper()}"
        if (text := os.environ.get(name)) is not None:
            wanted = type(getattr(Settings(), setting))
            try:
                yield setting, words[text.lower()] if wanted is bool else wanted(text)
            except (KeyError, ValueError):
                raise SettingsError(f"${name} must be {NOUNS[wanted]}, not {text!r}") from None


def _read_toml(path: Path) -> Mapping[str, Any]:
    try:
        with path.open("rb") as file:
            raw = file.read(LARGEST_FILE + 1)
        if len(raw) > LARGEST_FILE:
            raise ValueError(f"too large for a configuration file, {LARGEST_FILE:,} bytes at most")
        return parse_toml(raw.decode("utf-8"))
    except (OSError, ValueError) as fault:
        raise SettingsError(f"{path}: {getattr(fault, 'strerror', None) or fault}") from None


def _read_project_file(path: Path, faults: list[CodelensError]) -> Mapping[str, Any]:
    """Read the settings that a project's file may set. Adds a fault for each of the others."""
    try:
        values = _read_toml(resolve_below(path))
    except (SettingsError, UnsafePath) as fault:
        faults.append(fault)
        return {}
    allowed_values: dict[str, Any] = {}
    folder = path.parent.resolve()
    for key, value in values.items():
        what = ""
        if key in NOT_FROM_PROJECTS and value != getattr(Settings(), key):
            what = f"a project may not set '{key}'"
        elif key == "model" and isinstance(value, str) and value and value not in FOR_PROJECTS:
            what = f"a project may set 'model' to {' or '.join(sorted(FOR_PROJECTS))} alone"
        elif key in PATHS and _is_file_path(key, value) and not _is_below(path.parent.absolute() / value, folder):
            what = f"'{key}' leads out of {folder}: {_format_value(value)}"
        if what:
            faults.append(SettingsError(f"{path}: {what}", OWN_FILE))
        else:
            allowed_values[key] = value
    return _make_paths_absolute(allowed_values, path)


def _is_file_path(key: str, value: Any) -> bool:
    """True if a setting's value is a path, and not an address or the name of a model."""
    if not isinstance(value, str) or not value:
        return False
    if key == "store":
        return "://" not in value
    return not (key == "model" and (is_model_name(value) or is_address(value)))


def is_address(model: object) -> bool:
    """True if a value of `model` is the address of an endpoint."""
    return isinstance(model, str) and model.lower().startswith(("http://", "https://"))


def is_model_name(value: str) -> bool:
    """True if a value of `model` is a name, such as that of your own model, and not a file's path."""
    return bool(value) and not value.endswith(MODEL_ENDING) and not {"/", "\\"} & set(value)


OWN_FILE = "set it in your own configuration file"


def _is_below(path: Path, folder: Path) -> bool:
    """True if a path lies below the folder after following links; False if they cannot be followed."""
    try:
        return path.resolve().is_relative_to(folder)
    except (OSError, ValueError, RuntimeError):  # a name too long, a zero byte, a loop of links
        return False


def _make_paths_absolute(values: Mapping[str, Any], path: Path) -> Mapping[str, Any]:
    """Make the paths among the values absolute. Values that are not text are left to the check of types."""
    named = {key: values[key] for key in PATHS & values.keys() if _is_file_path(key, values[key])}
    return {**values, **{key: str(path.parent.absolute() / value) for key, value in named.items()}}


def resolve_paths(settings: Settings) -> Settings:
    """Make the paths of settings absolute, for a process that works in another folder."""
    here = Path("here")
    return replace(settings, **_make_paths_absolute({key: getattr(settings, key) for key in PATHS}, here))


_CONFIG, _DATA, _CACHE = (  # XDG variable, Windows' variable, and path below the home folder
    *(("XDG_CONFIG_HOME", "APPDATA", ".config"), ("XDG_DATA_HOME", "LOCALAPPDATA", ".local/share")),
    ("XDG_CACHE_HOME", "LOCALAPPDATA", ".cache"),
)
USER_PLACES: Mapping[str, tuple[str, str, str]] = {
    "config.toml": _CONFIG,  # The user's settings
    "keys.json": _CONFIG,  # Keys for `codelens serve`
    "": _DATA,  # Folder with the key that signs the user's own indexes
    "models": _DATA,  # The user's own models, each as NAME.model
    "packs": _CACHE,  # Context packs
    "shards": _CACHE,  # Copies of shards of fleets
    "vectors.db": _CACHE,  # Vectors of slow embedders
}


def find_user_place(name: str) -> Path | None:
    """Find the path of a name in USER_PLACES, whether it exists or not; None without a home directory."""
    return next(iter(list_user_places(name)), None)


def list_user_places(name: str) -> list[Path]:
    """List the paths at which processes of the user find a name: below the folder of the XDG variable, and by default.

    A process that an editor or an agent starts may lack the variable. A relative folder is ignored, as the XDG
    specification says: it would lead into the tree that is indexed.
    """
    variable, windows, below_home = USER_PLACES[name]
    bases = [os.environ.get(variable, "")]
    default = os.environ.get(windows, "") if os.name == "nt" else ""
    if not default:
        with suppress(RuntimeError):  # no home directory
            default = str(Path.home() / below_home)
    bases.append(default)
    places = [Path(base, "codelens", name) for base in bases if Path(base).is_absolute()]
    return list(dict.fromkeys(places))


def _find_project_file(start: Path, stop: Path | None) -> Path | None:
    for folder in (start, *start.parents):
        with suppress(OSError):  # a folder without search permission, such as that of a link's target
            if (path := folder / ".codelens.toml").is_file():
                return path
        if folder == stop or stop is None:
            return None
    return None


@cache
def load_weights() -> Mapping[str, Any]:
    """Load the shipped weights.toml: profile → section → number. A profile that is `like` another inherits missing sections."""
    import tomllib  # imported here because it brings datetime and string

    rows = tomllib.loads(Path(__file__).with_name("weights.toml").read_text(encoding="utf-8"))
    return {name: {**rows.get(row.get("like", ""), {}), **row} for name, row in rows.items()}

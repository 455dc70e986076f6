"""Opens the embedder that the setting `model` names: a shipped or own model, a file, a folder, or an endpoint."""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path

from codelens.config import MODEL_ENDING, find_user_place, is_address, is_model_name
from codelens.embed.base import Embedder
from codelens.errors import UsageError

SHIPPED, HASHING = "codelens", "hashing"  # Settings that name an embedder without a file
MODELS = Path(__file__).with_name("models")


@cache
def find_shipped_model() -> Path | None:
    return next(iter(sorted(MODELS.glob(f"*{MODEL_ENDING}"))), None)


def find_model(setting: str) -> Path | None:
    """Find the file or folder that a setting names, which may not exist if it is a path. None for an address and for hashing,
    which also replaces a missing shipped model. Raises UsageError for an unknown name."""
    if setting == HASHING or is_address(setting):
        return None
    if setting == SHIPPED:
        return find_shipped_model()
    if not is_model_name(setting):
        return Path(setting)
    models = list_own_models()
    if setting not in models:
        hint = f"known: {', '.join((SHIPPED, HASHING, *models))}; a file is named by its path, as ./x.model"
        raise UsageError(f"no model is called '{setting}'", hint)
    return models[setting]


def list_own_models() -> dict[str, Path]:
    """Map the names of the models in the user's folder to their files, sorted by name."""
    folder = find_user_place("models")
    try:
        files = sorted(folder.glob(f"*{MODEL_ENDING}")) if folder else []
    except OSError:
        files = []
    return {file.name.removesuffix(MODEL_ENDING): file for file in files}


def resolve_setting(setting: str) -> str:
    """Make the path in a setting absolute; names and addresses stay as they are."""
    return setting if is_model_name(setting) or is_address(setting) else str(Path(setting).absolute())


def open_embedder(setting: str, allow_network: bool = False) -> Embedder:
    """Open the embedder of a setting: `codelens` (hashing if no model was shipped), `hashing`, a model's name, file or folder,
    or an endpoint's address. Raises UsageError if it or its package is missing, or if the network is not allowed."""
    if is_address(setting):
        from codelens.embed.endpoint import EndpointEmbedder, parse_address

        address = parse_address(setting)
        if not allow_network:
            hint = "--allow-network allows it for this command, the setting allow_network for all"
            raise UsageError(f"{address.model} at {address.host} needs the network, which is not allowed", hint)
        return EndpointEmbedder(address)
    path, stamp = find_model(setting), tuple[object, ...]()
    try:
        if path and path.is_dir():
            from codelens.embed.folder_models import stamp_files

            stamp = stamp_files(path)
        elif path:
            if not path.is_file():  # a pipe would never end
                raise UsageError(f"no model at {path}", "name a model's file or folder, `codelens` or `hashing`")
            status = path.stat()
            stamp = (status.st_ino, status.st_size, status.st_mtime_ns)
    except (OSError, ValueError) as fault:
        raise UsageError(f"cannot read the model {path}: {fault}") from None
    return _open_stamped(path, stamp)


@lru_cache(maxsize=8)
def _open_stamped(path: Path | None, stamp: tuple[object, ...]) -> Embedder:
    """Open a model; a changed file or folder has another stamp, and is opened again."""
    if path is None:
        from codelens.embed.hashing import HashingEmbedder

        return HashingEmbedder()
    if path.is_dir():
        from codelens.embed.folder_models import open_folder

        return open_folder(path)
    from codelens.embed.static import StaticEmbedder

    return StaticEmbedder(path)


def open_indexed_embedder(setting: str) -> Embedder:
    """Open the embedder that an index names. The index may be foreign, so only names and files are accepted: they hold only
    numbers. Folders, whose graphs a runtime executes, and addresses must come from the user's settings. Raises UsageError."""
    if is_address(setting) or Path(setting).is_dir():
        raise UsageError(f"the index names {setting}, which is used only if your own settings name it")
    return open_embedder(setting)

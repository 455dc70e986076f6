"""Text → vector, by the embedder that a setting names. The one by hashing needs no training and no file."""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path

from codelens.config import is_address
from codelens.embed.base import Embedder
from codelens.embed.hashing import HashingEmbedder
from codelens.embed.places import HASHING, SHIPPED, lasting_name, model_place, shipped_model
from codelens.errors import UsageError

__all__ = ["HASHING", "SHIPPED", "lasting_name", "open_embedder", "shipped_model"]


def open_embedder(setting: str, allow_network: bool = False) -> Embedder:
    """The embedder of `codelens` (the shipped model, or hashing where none was shipped), of `hashing`, of a model that is
    named by its name, its file or its folder, or of an endpoint's address.

    Raises UsageError where there is no such model, what runs it is not installed, or it wants the network and that is not
    allowed. Nothing is sent before a text is embedded.
    """
    if is_address(setting):
        return _endpoint(setting, allow_network)
    path = model_place(setting)
    return _hashing() if path is None else _model(path)


def open_noted(setting: str) -> Embedder:
    """The embedder that an index names, which may have come with somebody's repository: a name, or a file, which holds nothing
    but numbers. Folders, whose graphs a runtime executes, and addresses count only where the user's settings name them.

    Raises UsageError.
    """
    if is_address(setting) or Path(setting).is_dir():
        raise UsageError(f"the index names {setting}, which counts only as a setting of yours")
    return open_embedder(setting)


@cache
def _hashing() -> Embedder:
    return HashingEmbedder()


def _endpoint(setting: str, allow_network: bool) -> Embedder:
    from codelens.embed.endpoint import EndpointEmbedder, parse_address

    address = parse_address(setting)
    if not allow_network:
        raise UsageError(
            f"{address.model} at {address.host} is asked over the network, which is not allowed",
            "--allow-network allows it to this command, the setting allow_network to all",
        )
    return EndpointEmbedder(address)


def _model(path: Path) -> Embedder:
    try:
        if path.is_dir():
            from codelens.embed.folders import stamp

            return _opened_folder(path, stamp(path))
        if not path.is_file():  # a pipe would never end
            raise UsageError(f"no model at {path}", "name a model's file or folder, `codelens` or `hashing`")
        found = path.stat()
    except (OSError, ValueError) as fault:
        raise UsageError(f"cannot read the model {path}: {fault}") from None
    return _opened(path, (found.st_ino, found.st_size, found.st_mtime_ns))


@lru_cache(maxsize=4)
def _opened(path: Path, stamp: tuple[int, int, int]) -> Embedder:
    """A file that has changed has another stamp, and is opened anew."""
    from codelens.embed.static import StaticEmbedder

    return StaticEmbedder(path)


@lru_cache(maxsize=4)
def _opened_folder(path: Path, stamp: tuple[object, ...]) -> Embedder:
    """As above."""
    from codelens.embed.folders import open_folder

    return open_folder(path)

"""Text → vector, by the embedder that a setting names. The one by hashing needs no training and no file."""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path

from codelens.embed.base import Embedder
from codelens.embed.hashing import HashingEmbedder
from codelens.errors import UsageError

SHIPPED, HASHING = "codelens", "hashing"
"""Settings that name an embedder without naming a file."""
MODELS = Path(__file__).with_name("models")


def open_embedder(setting: str) -> Embedder:
    """The embedder of `codelens` (the shipped model, or hashing where none was shipped), of `hashing`, or of a model file.

    Raises UsageError where there is no such file, or it is no model.
    """
    if setting == HASHING:
        return _hashing()
    path = shipped_model() if setting == SHIPPED else Path(setting)
    return _hashing() if path is None else _model(path)


def lasting_name(setting: str) -> str:
    """The setting as one that means the same in any working folder."""
    return setting if setting in (SHIPPED, HASHING) else str(Path(setting).absolute())


@cache
def shipped_model() -> Path | None:
    """The model file of this installation; None where it has none."""
    return next(iter(sorted(MODELS.glob("*.model"))), None)


@cache
def _hashing() -> Embedder:
    return HashingEmbedder()


def _model(path: Path) -> Embedder:
    try:
        if not path.is_file():  # a pipe would never end
            raise UsageError(f"no model at {path}", "name a model file, `codelens` or `hashing`")
        found = path.stat()
    except (OSError, ValueError) as fault:
        raise UsageError(f"cannot read the model {path}: {fault}") from None
    return _opened(path, (found.st_ino, found.st_size, found.st_mtime_ns))


@lru_cache(maxsize=4)
def _opened(path: Path, stamp: tuple[int, int, int]) -> Embedder:
    """A file that has changed has another stamp, and is opened anew."""
    from codelens.embed.static import StaticEmbedder

    return StaticEmbedder(path)

"""A setting of `model` → the file that it names: the shipped one, one of the user's own by its name, or any by its path."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from codelens.config import MODEL_ENDING, is_address, is_model_name, models_folder
from codelens.errors import UsageError

SHIPPED, HASHING = "codelens", "hashing"
"""Settings that name an embedder without naming a file."""
MODELS = Path(__file__).with_name("models")


@cache
def shipped_model() -> Path | None:
    """The model file of this installation; None where it has none."""
    return next(iter(sorted(MODELS.glob(f"*{MODEL_ENDING}"))), None)


def model_place(setting: str) -> Path | None:
    """The file or folder that a setting names, which may not be there if it is a path; None for an address and for hashing,
    also where that stands in for a model that was not shipped. Raises UsageError for a name of no model."""
    if setting == HASHING or is_address(setting):
        return None
    if setting == SHIPPED:
        return shipped_model()
    if not is_model_name(setting):
        return Path(setting)
    found = own_models()
    if setting not in found:
        known = ", ".join((SHIPPED, HASHING, *found))
        raise UsageError(
            f"no model is called '{setting}'", f"known: {known}; a file is named by its path, as ./x.model"
        )
    return found[setting]


def own_models() -> dict[str, Path]:
    """Name → file of the models in the user's folder, by name."""
    folder = models_folder()
    try:
        files = sorted(folder.glob(f"*{MODEL_ENDING}")) if folder else []
    except OSError:
        files = []
    return {file.name.removesuffix(MODEL_ENDING): file for file in files}


def lasting_name(setting: str) -> str:
    """The setting as one that means the same in any working folder."""
    return setting if is_model_name(setting) or is_address(setting) else str(Path(setting).absolute())

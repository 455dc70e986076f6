"""Which extra of the installation an embedder needs, and whether it is here, without importing it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec

from codelens.errors import UsageError

EXTRAS: Mapping[str, tuple[str, ...]] = {
    "model2vec": ("model2vec",),
    "onnx": ("onnxruntime", "tokenizers", "numpy"),
    "sentence-transformers": ("sentence_transformers",),
}
"""Name of the extra → the modules that it brings."""


def is_installed(extra: str) -> bool:
    """Whether all modules of an extra can be found."""
    return all(find_spec(module) is not None for module in EXTRAS[extra])


def demand(extra: str, what: str) -> None:
    """Raises UsageError where the extra that `what` needs is not installed."""
    missing = [module for module in EXTRAS[extra] if find_spec(module) is None]
    if missing:
        raise UsageError(f"{what} needs {' and '.join(missing)}", f"pip install 'codelens[{extra}]'")

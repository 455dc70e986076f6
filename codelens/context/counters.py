"""Token counters: tiktoken if it is installed with a vocabulary on this machine, else characters ÷ 4, rounded up.

Without a local vocabulary tiktoken would fetch it from the network. So the file is checked first in tiktoken's cache, and
tiktoken is used only if the file has the digest that tiktoken expects.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import tempfile
from pathlib import Path

from codelens.errors import UsageError
from codelens.model.context import Counter

AUTO, CHARS, TIKTOKEN = "auto", "chars", "tiktoken"
KINDS = (AUTO, CHARS, TIKTOKEN)
CHARS_PER_TOKEN = 4  # Characters per token, as knowing estimates
ADDRESS = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"  # From tiktoken's openai_public.py
VOCABULARIES = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
}  # Encoding → SHA-256 of its file, newest first


def open_counter(kind: str) -> Counter:
    """Open a counter by kind: auto, chars or tiktoken. Raises UsageError for an unknown or unavailable one."""
    if kind not in KINDS:
        raise UsageError(f"no counter '{kind}'", f"counters: {', '.join(KINDS)}")
    if kind != CHARS and importlib.util.find_spec("tiktoken") and (name := next(filter(_is_cached, VOCABULARIES), "")):
        import tiktoken

        encoding = tiktoken.get_encoding(name)
        return Counter(f"tiktoken {name}", lambda text: len(encoding.encode_ordinary(text)))
    if kind == TIKTOKEN:
        hint = "put one in the folder TIKTOKEN_CACHE_DIR, or use --counter chars"
        raise UsageError("tiktoken is not installed, or has no vocabulary on this machine", hint)
    return Counter("chars/4", estimate_tokens)


def estimate_tokens(text: str) -> int:
    """Estimate the number of tokens: characters ÷ 4, rounded up."""
    return -(-len(text) // CHARS_PER_TOKEN)


def _is_cached(encoding: str) -> bool:
    """Decide if tiktoken can load a vocabulary without the network: its cache has the file with the right digest."""
    named = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    if named == "":  # tiktoken then keeps nothing, and fetches each time
        return False
    folder = Path(named) if named else Path(tempfile.gettempdir()) / "data-gym-cache"
    try:
        address = ADDRESS.format(encoding).encode()
        raw = (folder / hashlib.sha1(address, usedforsecurity=False).hexdigest()).read_bytes()
    except OSError:
        return False
    return hashlib.sha256(raw).hexdigest() == VOCABULARIES[encoding]

"""Runs in the Python of semble, and needs nothing of codelens.

    in_semble.py model FOLDER TREE    prints the model to use: semble's own where it was downloaded, else one made in FOLDER
    in_semble.py warm TREE            reads questions as JSON from stdin, and prints the seconds of each

The model that it makes has random vectors and the true shape: as many words and dimensions, and words of the tree, so that
its tokenizer has the work that a real one has.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections import Counter
from pathlib import Path

WORDS, DIMENSIONS = 62_500, 256  # The shape of minishlab/potion-code-16M-v2
LONGEST = 1_000_000  # Bytes of a file that words are read from


def model(folder: Path, tree: Path) -> str:
    """The name or folder of a model."""
    from huggingface_hub import try_to_load_from_cache
    from semble.utils import resolve_model_name

    name: str = resolve_model_name()
    if Path(name).is_dir() or isinstance(try_to_load_from_cache(name, "model.safetensors"), str):
        return name
    import numpy as np
    from model2vec import StaticModel
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    letters = [chr(code) for code in range(33, 127)]
    words = ["[PAD]", "[UNK]", *letters, *(f"##{letter}" for letter in letters)]
    counted: Counter[str] = Counter()
    for file in sorted(tree.rglob("*")):
        if file.is_file() and file.stat().st_size <= LONGEST and ".git" not in file.parts:
            counted.update(re.findall(r"[a-z0-9]+", file.read_bytes().decode("utf-8", "replace").lower()))
    common = sorted(counted, key=lambda word: (-counted[word], word))
    words = list(dict.fromkeys([*words, *common]))[:WORDS]
    words += [f"[unused{number}]" for number in range(WORDS - len(words))]
    tokenizer = Tokenizer(models.WordPiece({word: at for at, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    vectors = np.random.default_rng(0).standard_normal((WORDS, DIMENSIONS), dtype=np.float32)
    StaticModel(vectors, tokenizer, normalize=True).save_pretrained(folder)
    return str(folder)


def warm(tree: str) -> list[float]:
    """Seconds of each question."""
    from semble.index import SembleIndex

    index, spent = SembleIndex.from_path(tree), []
    for question in json.load(sys.stdin):
        started = time.perf_counter()
        index.search(question, top_k=5)
        spent.append(time.perf_counter() - started)
    return spent


if __name__ == "__main__":
    print(model(*map(Path, sys.argv[2:])) if sys.argv[1] == "model" else json.dumps(warm(sys.argv[2])))

"""Embedders for other people's models in a folder (ONNX graphs, model2vec tables, sentence-transformers), and the files they read.

A graph runs each text separately on one thread, because kernels round differently in batches of other shapes; several texts run
in parallel. sentence-transformers is kept off the network in three ways, and runs no code from the folder."""

from __future__ import annotations

import os
import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import xxhash

from codelens.embed.base import LEAST_COSINE, EmbeddedFields, Embedder, format_fields, scale_to_int8
from codelens.errors import MissingExtra, UsageError
from codelens.model.fast_dataclass import dataclass
from codelens.processes.python import count_cores
from codelens.text.notation import parse_json

if TYPE_CHECKING:
    from model2vec import StaticModel
    from onnxruntime import InferenceSession
    from tokenizers import Encoding, Tokenizer

WEIGHTS = "model.safetensors"
TOKENIZER = "tokenizer.json"
_BLOCK = 1 << 20


def read_json(path: Path) -> Any:
    """Read the JSON content of a file; None for a missing file. Raises UsageError if it is not JSON."""
    try:
        return parse_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as fault:
        raise UsageError(f"cannot read {path}: {fault}", "copy the model again") from None


def stamp_files(path: Path) -> tuple[object, ...]:
    """List (name, size, time) of each file of a model. Raises OSError."""
    return tuple((str(file), (status := file.stat()).st_size, status.st_mtime_ns) for file in list_model_files(path))


def list_model_files(path: Path) -> list[Path]:
    """List the files that may decide vectors, sorted by name: settings, tokenizers and weights."""
    others = ("*.json", "*.txt", "*.model", "*.safetensors", "*.onnx", "*.onnx_data", "*.onnx.data")
    patterns = (below + kind for kind in others for below in ("", "*/"))
    return sorted({file for pattern in patterns for file in path.glob(pattern) if file.is_file()})


MEAN, CLS = "mean", "cls"
LONGEST = 512  # Default token limit: that of BERT's encoders
QUERY_PROMPTS, CODE_PROMPTS = ("query", "Query", "s2p_query"), ("document", "passage", "Document")
"""Names of prompts; the first that exists counts. `query` and `document` are sentence-transformers' own."""


@dataclass(frozen=True, slots=True)
class SentenceSettings:
    """Settings of a model's folder; the defaults hold for a folder without files of settings."""

    pooling: str = MEAN
    most_tokens: int = LONGEST
    lower_case: bool = False


def read_settings(path: Path) -> SentenceSettings:
    """Read the settings. Raises UsageError for modules other than pooling, and for other poolings than mean and cls."""
    transformer, pooling = path, Path()
    modules = read_json(path / "modules.json")
    for module in modules if isinstance(modules, list) else ():
        if not isinstance(module, dict):
            continue
        kind, folder = str(module.get("type", "")).rpartition(".")[2], path / str(module.get("path", ""))
        if kind == "Transformer":
            transformer = folder
        elif kind == "Pooling":
            pooling = folder / "config.json"
        elif kind != "Normalize":
            raise UsageError(f"the model {path} has an unknown module: {kind}", "use another model")
    config = _read_mapping(pooling) if pooling.name else {}
    if isinstance(named := config.get("pooling_mode"), str):  # since version 5.2, before it `pooling_mode_…: true`
        modes = [named]
    else:
        modes = [k.removeprefix("pooling_mode_") for k, value in config.items() if value is True and "_mode_" in k]
    mode = ", ".join(sorted(modes)) or MEAN
    pooled_by = {"mean_tokens": MEAN, "cls_token": CLS}.get(mode, mode)
    if pooled_by not in (MEAN, CLS):
        raise UsageError(f"the model {path} pools by {pooled_by}; only mean and cls are supported", "use another model")
    name = "sentence_bert_config.json"
    limits = _read_mapping(transformer / name) or _read_mapping(path / name)
    places = _read_mapping(transformer / "config.json").get("max_position_embeddings")
    numbers = (limits.get("max_seq_length"), min(places, LONGEST) if isinstance(places, int) else None)
    most_tokens = next((number for number in numbers if isinstance(number, int) and number > 0), LONGEST)
    return SentenceSettings(pooled_by, most_tokens, limits.get("do_lower_case") is True)


def read_prompts(path: Path) -> tuple[str, str]:
    """Read the texts that the model wants before queries and before code; empty if it has no prompts."""
    config = _read_mapping(path / "config_sentence_transformers.json")
    prompts, default = config.get("prompts"), config.get("default_prompt_name")
    if not isinstance(prompts, dict):
        return "", ""

    def choose(names: tuple[str, ...]) -> str:
        candidates = (*names, default) if isinstance(default, str) else names
        return next((str(prompts[name]) for name in candidates if prompts.get(name)), "")

    return choose(QUERY_PROMPTS), choose(CODE_PROMPTS)


def _read_mapping(path: Path) -> Mapping[str, Any]:
    content = read_json(path)
    return content if isinstance(content, dict) else {}


EXTRAS: Mapping[str, tuple[str, ...]] = {
    "model2vec": ("model2vec",),
    "onnx": ("onnxruntime", "tokenizers", "numpy"),
    "sentence-transformers": ("sentence_transformers",),
}
"""Extra → the modules that it installs."""


def list_missing_modules(extra: str) -> list[str]:
    """List the modules of an extra that are not installed."""
    return [module for module in EXTRAS[extra] if find_spec(module) is None]


_WORD = re.compile(r"[^\W\d_]{3,}")  # At least three letters: shorter words are in every vocabulary
UNKNOWN = frozenset({"[UNK]", "<unk>"})
WHOLE_OUTPUT = "sentence_embedding"  # Name of an output that is already pooled
MOST_THREADS = 8  # At most as many threads as index workers
FATAL = 4  # Log level of onnxruntime: its errors reach us as exceptions


def is_any_word_known(tokenizer: Tokenizer, text: str) -> bool:
    """True if any word of the text is a single known token: in pieces a model accepts every word."""
    words = (tokenizer.encode(word, add_special_tokens=False).tokens for word in _WORD.findall(text))
    return any(len(pieces) == 1 and pieces[0] not in UNKNOWN for pieces in words)


class FolderEmbedder(Embedder):
    """The base of embedders for folders. Raises UsageError if a package is missing, or the model does not embed texts."""

    is_slow = True
    least_cosine = LEAST_COSINE
    extra: ClassVar[str]  # The key of EXTRAS for the packages that it needs
    rules: ClassVar[str]  # Part of the fingerprint. Raise its number with any change of the vectors.
    lacks = ""  # What the folder lacks, for the message about missing packages
    query_prompt = code_prompt = ""

    def __init__(self, path: Path) -> None:
        if missing := list_missing_modules(self.extra):
            raise MissingExtra(f"the model {path}{self.lacks}", missing, self.extra)
        self.name, self._path = path.name, path

    @property
    def dimensions(self) -> int:
        """Dimensions of the stored vectors."""
        return len(self._embed(""))

    def compute_fingerprint(self) -> str:
        """Hash the files to 16 hex digits. Versions of packages are left out: their rounding mostly vanishes in int8."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        digest = xxhash.xxh3_64(self.rules.encode())
        try:
            for file in self._list_files():
                digest.update(f"\0{file.relative_to(self._path).as_posix()}\0{file.stat().st_size}\0".encode())
                with file.open("rb") as content:
                    while block := content.read(_BLOCK):
                        digest.update(block)
        except OSError as fault:
            raise UsageError(f"cannot read the model {self._path}: {fault}") from None
        return digest.hexdigest()

    def embed_code(self, fields: Sequence[EmbeddedFields]) -> list[bytes]:
        """Embed each entry after the model's prompt for documents, one at a time: padding would change rounding."""
        return [self._embed(self.code_prompt + format_fields(entry)) for entry in fields]

    def embed_query(self, text: str) -> bytes:
        """Embed a text after the model's prompt for queries; empty if the vector is zero."""
        vector = self._embed(self.query_prompt + text) if text.strip() else b""
        return vector if any(vector) else b""

    @abstractmethod
    def _list_files(self) -> list[Path]:
        """List the files that decide vectors."""

    @abstractmethod
    def _embed(self, text: str) -> bytes:
        """Embed one text."""


class GraphEmbedder(FolderEmbedder):
    """An embedder that runs an ONNX graph."""

    extra, rules = "onnx", "onnx 1"

    def __init__(self, path: Path, graph: Path) -> None:
        super().__init__(path)
        self._graph, self._settings = graph, read_settings(path)
        self.query_prompt, self.code_prompt = read_prompts(path)

    def knows_any_word(self, text: str) -> bool:
        return is_any_word_known(self._tokenizer, text)

    def embed_code(self, fields: Sequence[EmbeddedFields]) -> list[bytes]:
        """Embed each entry after the model's prompt for documents, in parallel."""
        _ = self._session, self._tokenizer  # made here: threads would make several
        with ThreadPoolExecutor(min(count_cores(), MOST_THREADS)) as pool:
            return list(pool.map(lambda entry: self._embed(self.code_prompt + format_fields(entry)), fields))

    def _list_files(self) -> list[Path]:
        graphs = self._graph.parent.glob(f"{self._graph.name}*")
        return sorted({*(f for f in list_model_files(self._path) if f.suffix in (".json", ".txt", ".model")), *graphs})

    def _embed(self, text: str) -> bytes:
        tokens = self._tokenizer.encode(text.lower() if self._settings.lower_case else text)
        try:
            return scale_to_int8(self._pool_output(tokens))
        except UsageError:
            raise
        except Exception as fault:  # the runtime has many classes of errors, whose texts do not help people
            raise UsageError(f"the model {self._path} fails: {_format_fault(fault)}", "use another model") from None

    def _pool_output(self, tokens: Encoding) -> list[float]:
        """Pool the output to one vector: the graph's own, the first token's, or the mean of all attended tokens."""
        import numpy as np

        given = {
            "input_ids": tokens.ids,
            "attention_mask": tokens.attention_mask,
            "token_type_ids": tokens.type_ids,
            "position_ids": list(range(len(tokens.ids))),
        }
        inputs = {}
        for wanted in self._session.get_inputs():
            if wanted.name not in given:
                raise UsageError(f"the model {self._path} needs an unknown input: {wanted.name}")
            kind = np.int32 if "int32" in wanted.type else np.int64
            inputs[wanted.name] = np.array([given[wanted.name]], kind)
        names = [output.name for output in self._session.get_outputs()]
        name = WHOLE_OUTPUT if WHOLE_OUTPUT in names else names[0]
        output = np.asarray(self._session.run([name], inputs)[0], np.float64)[0]
        mask = np.array(tokens.attention_mask, np.float64)
        if output.ndim > 1:
            output = output[0] if self._settings.pooling == CLS else mask @ output / max(mask.sum(), 1.0)
        values: list[float] = output.tolist()
        return values

    @cached_property
    def _session(self) -> InferenceSession:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = FATAL
        try:
            return onnxruntime.InferenceSession(str(self._graph), options, providers=["CPUExecutionProvider"])
        except Exception as fault:  # as above
            text = f"onnxruntime cannot read {self._graph}: {_format_fault(fault)}"
            raise UsageError(text, "copy it again") from None

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        from tokenizers import Tokenizer

        file = self._path / TOKENIZER
        try:
            tokenizer = Tokenizer.from_file(str(file))
        except Exception as fault:  # as above
            raise UsageError(f"cannot read {file}: {_format_fault(fault)}", "copy it again") from None
        tokenizer.no_padding()
        tokenizer.enable_truncation(self._settings.most_tokens)
        return tokenizer


def _format_fault(fault: Exception) -> str:
    return " ".join(str(fault).split())[:200]


class StaticTableEmbedder(FolderEmbedder):
    """An embedder that averages rows of a model2vec table."""

    # Slow: 2048 characters take 1.5 CPU ms, and its table may have hundreds of MB, which not every worker should hold.
    extra, rules = "model2vec", "model2vec 1"

    @property
    def dimensions(self) -> int:
        """Dimensions of the table; stored vectors may have up to seven more, see `scale_to_int8`."""
        return int(self._model.dim)

    def knows_any_word(self, text: str) -> bool:
        return is_any_word_known(self._model.tokenizer, text)

    def embed_code(self, fields: Sequence[EmbeddedFields]) -> list[bytes]:
        """Embed each entry; zeros if no token has a row."""
        return self._embed_all([format_fields(entry) for entry in fields]) if fields else []

    def _list_files(self) -> list[Path]:
        return [self._path / name for name in ("config.json", WEIGHTS, TOKENIZER)]

    def _embed(self, text: str) -> bytes:
        return self._embed_all([text])[0]

    def _embed_all(self, texts: list[str]) -> list[bytes]:
        """Embed several texts; all tokens count, because pieces are short."""
        rows = self._model.encode(texts, max_length=None, use_multiprocessing=False)
        try:
            return [scale_to_int8(row) for row in rows.tolist()]
        except ValueError as fault:
            raise UsageError(f"the model {self._path} gives {fault}", "use another model") from None

    @cached_property
    def _model(self) -> StaticModel:
        from model2vec import StaticModel

        try:
            return StaticModel.from_pretrained(self._path)
        except Exception as fault:  # the package has no error class of its own
            raise UsageError(f"model2vec cannot read {self._path}: {fault}", "copy the model again") from None


class SentenceEmbedder(FolderEmbedder):
    """An embedder that runs sentence-transformers. Some of its tokenizers do not reveal their vocabulary."""

    extra, rules = "sentence-transformers", "sentence-transformers 1"
    lacks = ", which has no ONNX graph,"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.query_prompt, self.code_prompt = read_prompts(path)

    def _list_files(self) -> list[Path]:
        return [f for f in list_model_files(self._path) if "onnx" not in f.name]

    def _embed(self, text: str) -> bytes:
        try:
            rows = self._model.encode([text], prompt="", batch_size=1, show_progress_bar=False, convert_to_numpy=True)
            return scale_to_int8(rows[0].tolist())
        except Exception as fault:  # the package has no error class of its own, either
            raise UsageError(f"the model {self._path} fails: {fault}", "use another model") from None

    @cached_property
    def _model(self) -> Any:
        os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
        from sentence_transformers import SentenceTransformer

        try:
            return SentenceTransformer(str(self._path), device="cpu", local_files_only=True, trust_remote_code=False)
        except Exception as fault:  # as above
            raise UsageError(f"sentence-transformers cannot read {self._path}: {fault}", "copy it again") from None


GRAPHS = ("model.onnx", "onnx/model.onnx")
HINT = (
    f"it needs {TOKENIZER} and either {WEIGHTS} with a config.json of model2vec, or {' or '.join(GRAPHS)}, "
    f"or sentence-transformers' modules.json and {WEIGHTS}"
)


def open_folder(path: Path) -> Embedder:
    """Open a model's folder with the lightest embedder that can run it. The model is loaded with the first text. Raises
    UsageError if the folder holds no model, or its package is not installed."""
    is_table = all((path / name).is_file() for name in (WEIGHTS, TOKENIZER, "config.json"))
    if is_table and _read_mapping(path / "config.json").get("model_type") == "model2vec":
        return StaticTableEmbedder(path)
    graph = next((path / name for name in GRAPHS if (path / name).is_file()), None)
    if graph and (path / TOKENIZER).is_file():
        return GraphEmbedder(path, graph)
    if (path / "modules.json").is_file() and any(path.glob(f"**/{WEIGHTS}")):
        return SentenceEmbedder(path)
    raise UsageError(f"the folder {path} contains no usable model", HINT)

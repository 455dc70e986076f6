"""Turns a path inside an archive into the answer whether training reads it: source code that the package's own authors wrote.

Vendored copies and test data are left out by their folders' names, for they have other authors and other licences, and may be
copies of an evaluation repository; generated and minified files because nobody wrote them.
"""

import re
from pathlib import PurePosixPath

# By suffix; a header counts as C, whichever of both it is.
_LANGUAGES = {
    "python": ".py .pyi",
    "javascript": ".js .mjs .cjs .jsx",
    "typescript": ".ts .tsx .mts .cts",
    "go": ".go",
    "rust": ".rs",
    "java": ".java",
    "kotlin": ".kt .kts",
    "scala": ".scala",
    "csharp": ".cs",
    "ruby": ".rb",
    "php": ".php",
    "lua": ".lua",
    "swift": ".swift",
    "c": ".c .h",
    "cpp": ".cc .cpp .cxx .hh .hpp .hxx .inl",
}
_BY_SUFFIX = {suffix: language for language, suffixes in _LANGUAGES.items() for suffix in suffixes.split()}
_LEFT_OUT = (
    "_vendor vendor vendored _vendored vendors third_party"
    " third-party thirdparty 3rdparty 3rd_party 3rd-party node_modules"
    " fixtures __fixtures__ testdata test_data test-data syntax-tests bower_components extern external"
    " externals _extern bundled _bundled contrib-libs deps dist min site-packages Godeps"
    " dist.webgl-only _esm _cjs __cjs cjs umd amd submodules m4 autom4te.cache .git .yarn .pc debian"
)
LEFT_OUT_FOLDERS = frozenset(word.lower() for word in _LEFT_OUT.split())
_GENERATED = re.compile(
    r"([.-](min|bundle|umd|debug|coverage|esm-browser))\.[cm]?js$|\.pb\.(go|cc|h)$|_pb2(_grpc)?\.pyi?$|^zz_generated|_generated\.(go|rs|py)$|\.d\.[cm]?ts$"
)
MAX_BYTES = 600_000  # chosen, not measured: larger files are tables, bundles and amalgamations


def language_of(name: str) -> str | None:
    """The language of a source file by its name's suffix, or None for every other file."""
    return _BY_SUFFIX.get(PurePosixPath(name).suffix.lower())


def is_source_name(name: str) -> bool:
    """Whether a file of this name is code that a person wrote."""
    return language_of(name) is not None and not _GENERATED.search(name)


def is_left_out_folder(name: str) -> bool:
    """Whether a folder of this name holds other people's code, or none."""
    return name.lower() in LEFT_OUT_FOLDERS or name.endswith((".dist-info", ".egg-info", ".data", ".dbg", ".prf"))


def is_kept(path: str) -> bool:
    """Whether training reads the file at this path inside its package (`/` between parts)."""
    *folders, name = PurePosixPath(path).parts or ("",)
    return is_source_name(name) and not any(map(is_left_out_folder, folders))

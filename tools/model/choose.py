"""Turn candidates into rows of the manifest, or refuse them: `python -m tools.model.choose CANDIDATES…`.

A candidate is `registry:name` or `registry:name@version`; the default is the newest version. Names of the exclusion list,
licences that are not permissive, archives over the size limit, and packages without sources are refused. An excluded name is
never requested.
"""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from shutil import rmtree

from tools.model.archives import BadArchive, language_of, unpack_sources
from tools.model.fetch import sha256
from tools.model.licences import declared
from tools.model.manifest import REGISTRIES, SPLITS, Package, write_manifest
from tools.model.registries import NotDownloaded, Registries

# Packages cut from a listed repository, ports of it, and copies that go by another name.
_OTHER_NAMES = {
    "black": "blib2to3 blackd",
    "cal.com": "calcom",
    "commons-lang": "commons-lang2 commons-lang3 commonslang",
    "curl": "libcurl",
    "eslint": "espree",
    "flask": "werkzeug",  # they share documentation
    "gson": "google-gson",
    "kubernetes": "k8s kubectl kubelet apimachinery",
    "kafka": "libkafka",
    "lodash": "underscore",  # one came of the other, and they share documentation
    "pandas": "modin pyspark snowpark",  # with its documentation in them
    "playwright": "puppeteer",  # one came of the other
    "rails": "railties activerecord activesupport activemodel activejob activestorage"
    " actionpack actionview actionmailer actioncable",
    "redis": "hiredis valkey keydb",
    "ripgrep": "globset ignore grep-cli grep-matcher grep-printer grep-regex grep-searcher",
    "scikit-learn": "sklearn",
    "slim": "slimphp",
    "vscode": "monaco",
    "vue-core": "vue",
    "zoekt": "csearch",
}


def excluded_names(text: str) -> frozenset[tuple[str, ...]]:
    """The names of an exclusion list, each as its words. Text after `#` and in brackets is comment."""
    lines = (re.sub(r"\([^)]*\)", " ", line.partition("#")[0]) for line in text.splitlines())
    names = {name for line in lines for name in line.lower().split()}
    names |= {other for name in names for other in _OTHER_NAMES.get(name, "").split()}
    return frozenset(words for name in names if (words := _words(name)))


def exclusion(package: str, names: Iterable[tuple[str, ...]]) -> str | None:
    """The excluded name that forbids a package of this name, or None."""
    words = _words(package)
    bare = tuple(re.sub(r"(?<=[a-z])\d+$|^lib", "", word) for word in words)
    for name in sorted(names):
        spans = (form[start : start + len(name)] for form in (words, bare) for start in range(len(form)))
        if name in spans or "".join(name) in words:
            return "-".join(name)
    return None


def _words(name: str) -> tuple[str, ...]:
    return tuple(word for word in re.split(r"[^a-z0-9]+", name.lower()) if word)


MAX_ARCHIVE_BYTES = 30_000_000  # chosen: above are generated clients and bundled binaries


class Refused(Exception):
    """A candidate that may not be trained on, or is not worth it; the text says why."""


def choose(
    candidate: str, folder: Path, split: str, excluded: frozenset[tuple[str, ...]], registries: Registries
) -> Package:
    """The manifest's row of a candidate, whose archive and tree stay below `folder`. Raises Refused, NotDownloaded, BadArchive."""
    registry, name, version = _parts(candidate)
    if word := exclusion(name, excluded):
        raise Refused(f"excluded, for {word}")
    package = Package(registry, name, version or "", "", "", split, "")
    place = folder / "archives" / package.folder
    rmtree(place, ignore_errors=True)
    archive = registries.download(registry, name, version, place, packaging=True)
    if (size := archive.path.stat().st_size) > MAX_ARCHIVE_BYTES:
        raise Refused(f"{size} bytes are over the cap")
    found = declared(registry, name, archive)
    if found.licence is None:
        raise Refused(f"not permissive: {found.refusal}")
    tree = folder / "trees" / package.folder
    unpack_sources(archive.path, tree)
    language = main_language(tree)
    if language is None:
        raise Refused("no sources")
    return Package(registry, name, found.version, found.licence, sha256(archive.path), split, language)


def main_language(tree: Path) -> str | None:
    """The language with most bytes in an unpacked tree (a tie goes to the first name), or None for an empty one."""
    sizes: Counter[str] = Counter()
    for path in tree.rglob("*"):
        if path.is_file() and (language := language_of(path.name)):
            sizes[language] += path.stat().st_size
    return min(sizes, key=lambda language: (-sizes[language], language), default=None)


def _parts(candidate: str) -> tuple[str, str, str | None]:
    registry, colon, rest = candidate.partition(":")
    if not colon or registry not in REGISTRIES or not rest:
        raise Refused(f"not a candidate: {' | '.join(REGISTRIES)}, a colon, a name, and @version if need be")
    name, _, version = rest[1:].partition("@")  # the @ before a scope of npm is part of the name
    return registry, rest[0] + name, version or None


def main(arguments: list[str] | None = None) -> int:
    """Prints the rows of all candidates that may be used; the others' reasons go to stderr. Returns 1 when a download failed."""
    parser = argparse.ArgumentParser(prog="python -m tools.model.choose", description="Makes rows of the manifest.")
    parser.add_argument("candidates", nargs="+", metavar="REGISTRY:NAME[@VERSION]")
    parser.add_argument("--folder", type=Path, required=True, help="where archives and trees go")
    parser.add_argument("--excluded", type=Path, required=True, help="the list of evaluation repositories")
    parser.add_argument("--split", choices=SPLITS, default="train")
    options = parser.parse_args(arguments)
    excluded = excluded_names(options.excluded.read_text("utf-8"))
    registries = Registries(options.folder / "state")
    rows, failed = [], False
    for candidate in options.candidates:
        try:
            rows.append(choose(candidate, options.folder, options.split, excluded, registries))
        except Refused as reason:
            print(f"{candidate}: {reason}", file=sys.stderr)
        except (NotDownloaded, BadArchive) as error:
            failed = True
            print(f"{candidate}: {error}", file=sys.stderr)
    sys.stdout.write(write_manifest(rows))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

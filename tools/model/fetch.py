"""Fetch the source trees of the manifest's packages: `python -m tools.model.fetch FOLDER`.

Each package goes to FOLDER/trees/<registry>-<name>; an archive with another hash than the manifest's is refused. A second run
resumes the first.
"""

import argparse
import hashlib
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from shutil import rmtree

from tools.model.archives import BadArchive, unpack_sources
from tools.model.manifest import Package, manifest_text, read_manifest
from tools.model.registries import NotDownloaded, Registries

_AT_ONCE = 3  # downloads; chosen: a registry is a guest's table


def fetch(package: Package, folder: Path, registries: Registries) -> str | None:
    """Makes the tree of one package, unless it is there, and returns what went wrong, or None."""
    tree, mark = folder / "trees" / package.folder, folder / "done" / package.folder
    if tree.is_dir() and mark.is_file() and mark.read_text("utf-8") == package.sha256:
        return None
    try:
        archive = _archive(package, folder / "archives" / package.folder, registries)
        if (found := sha256(archive)) != package.sha256:
            archive.unlink()
            return f"the archive has the hash {found}, not {package.sha256}"
        unpack_sources(archive, tree)
    except (NotDownloaded, BadArchive) as error:
        return str(error)
    mark.parent.mkdir(parents=True, exist_ok=True)
    mark.write_text(package.sha256, "utf-8")
    return None


def _archive(package: Package, folder: Path, registries: Registries) -> Path:
    """The archive that an earlier run left, or a new one."""
    for path in sorted(folder.glob("*")) if folder.is_dir() else []:
        if path.is_file() and sha256(path) == package.sha256:
            return path
    rmtree(folder, ignore_errors=True)
    return registries.download(package.registry, package.name, package.version, folder).path


def sha256(path: Path) -> str:
    """The hexadecimal SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def main(arguments: list[str] | None = None) -> int:
    """Fetches all packages of a manifest. Returns 1 when one is missing, each with its line on stderr, and 2 for a bad
    manifest."""
    description = "Gets the training packages' sources."
    parser = argparse.ArgumentParser(prog="python -m tools.model.fetch", description=description)
    parser.add_argument("folder", type=Path, help="where archives and trees go")
    parser.add_argument("--manifest", type=Path, help="a manifest other than the shipped one")
    options = parser.parse_args(arguments)
    try:
        packages = read_manifest(manifest_text(options.manifest))
    except (OSError, ValueError) as error:
        print(f"{options.manifest or 'manifest'}: {error}", file=sys.stderr)
        return 2
    registries = Registries(options.folder / "state")
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        faults = list(pool.map(lambda package: fetch(package, options.folder, registries), packages))
    for package, fault in zip(packages, faults, strict=True):
        if fault:
            print(f"{package.label}: {fault}", file=sys.stderr)
    print(f"{faults.count(None)} of {len(packages)} packages are in {options.folder / 'trees'}")
    return 0 if all(fault is None for fault in faults) else 1


if __name__ == "__main__":
    sys.exit(main())

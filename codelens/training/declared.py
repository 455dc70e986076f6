"""Turns an archive's own metadata into name, version and licence.

A wheel's METADATA, a package.json and Debian's copyright file are read, never a file called LICENSE: texts vary, and the fields
are what the authors answer for. Of several fields the most exact that is there counts alone.
"""

import json
import re
from email.parser import HeaderParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from codelens.nouns import dataclass
from codelens.training.copyrights import read_copyright
from codelens.training.licences import joined, permissive
from codelens.training.registries import Archive
from codelens.training.unpack import kept_names, read_member


@dataclass(frozen=True, slots=True)
class Declared:
    """What an archive says of itself: `licence` is SPDX and permissive, or None with the `refusal` that says why."""

    version: str
    licence: str | None
    refusal: str | None


def declared(registry: str, name: str, archive: Archive) -> Declared:
    """Reads the metadata of a downloaded archive."""
    if registry == "pypi":
        return _of_wheel(archive.path)
    if registry == "npm":
        return _of_npm(archive.path)
    if registry == "debian-binary":
        return _of_binary(name, archive.path)
    return _of_debian(name, archive)


def _of_wheel(wheel: Path) -> Declared:
    fields = HeaderParser().parsestr(read_member(wheel, "METADATA") or "")
    classifiers = [
        value.split(" :: ")[-1] for value in fields.get_all("Classifier", []) if value.startswith("License ::")
    ]
    classifiers = [value for value in classifiers if value != "OSI Approved"]
    words = fields.get("License", "").strip()
    if exact := fields.get("License-Expression"):
        said, licence = exact, permissive(exact)
    elif classifiers:
        found = [permissive(value) for value in classifiers]
        said, licence = "; ".join(classifiers), joined(spdx or "" for spdx in found) if all(found) else None
        if licence == "LicenseRef-BSD" and "\n" not in words:  # the classifier has no clauses; the field may
            licence = permissive(words) or licence
    else:
        said = words.partition("\n")[0]
        licence = permissive(words) if "\n" not in words else None
    return _verdict(wheel.name.split("-")[1], said, licence)


def _of_npm(tarball: Path) -> Declared:
    found: Any = json.loads(
        read_member(tarball, "package/package.json") or read_member(tarball, "package.json") or "{}"
    )
    licence = found.get("license") or found.get("licenses") or ""
    parts = licence if isinstance(licence, list) else [licence]
    said = " OR ".join(str(part.get("type", "")) if isinstance(part, dict) else str(part) for part in parts)
    return _verdict(str(found.get("version", "")), said, permissive(said))


def _of_debian(name: str, archive: Archive) -> Declared:
    if archive.packaging is None:
        return Declared(version="", licence=None, refusal="no packaging")
    verdict = read_copyright(read_member(archive.packaging, "debian/copyright") or "")
    # The changelog's first line has the epoch of the version (`1:2.0-1`), which names of files lack.
    newest = re.match(r"\S+ \(([^)]+)\)", read_member(archive.packaging, "debian/changelog") or "")
    version = newest[1] if newest else archive.packaging.name.removeprefix(f"{name}_").partition(".debian.tar")[0]
    return Declared(version=version, licence=verdict.licence, refusal=verdict.refusal)


def _of_binary(name: str, package: Path) -> Declared:
    verdict = read_copyright(read_member(package, f"usr/share/doc/{name}/copyright") or "", kept_names(package))
    version = unquote(package.name.split("_")[1])  # an epoch's colon is %3a there
    return Declared(version=version, licence=verdict.licence, refusal=verdict.refusal)


def _verdict(version: str, said: str, licence: str | None) -> Declared:
    said = re.sub(r"\s+", " ", said)[:80] or "no licence"
    return Declared(version=version, licence=licence, refusal=None if licence else said)

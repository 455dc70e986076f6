"""Read the licence of a package from its metadata, as an SPDX expression, and refuse every one that is not permissive.

Unknown names are refused: a wrong refusal costs a package, a wrong admission the right to ship the weights. A wheel's METADATA,
a package.json and Debian's copyright file are read, never a file called LICENSE; the most exact field counts alone.
"""

import json
import re
from collections.abc import Collection, Iterable
from email.parser import HeaderParser
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

from codelens.model.fast_dataclass import dataclass
from tools.model.archives import is_left_out_folder, is_source_name, kept_names, read_member
from tools.model.registries import Archive

# SPDX ids by the spellings met in package metadata (lower case, without "licen[sc]e", "the" and version words).
_SPELLINGS = {
    "MIT": "mit expat mit/x11 mit-x11 x11/mit mit/expat expat/mit",
    "MIT-0": "mit-0 mit-no-attribution",
    "BSD-3-Clause": "bsd-3-clause bsd-3 bsd3 bsd-3-clauses 3-clause-bsd bsd-3clause bsd-3clauses"
    " new-bsd bsd-new bsd-modified modified-bsd revised-bsd bsd-3-clause-new-or-revised bsd-new-style"
    " bsd-3-clause-google bsd-c3 bsd-3-clause-like google-bsd bsd-google",
    "BSD-2-Clause": "bsd-2-clause bsd-2 bsd2 bsd-2-clauses 2-clause-bsd bsd-2clause simplified-bsd bsd-simplified"
    " bsd-2-clause-freebsd freebsd bsd-2-clause-views bsd-2-clause-netbsd bsd-2-clause-simplified",
    "BSD-1-Clause": "bsd-1-clause bsd-1",
    "0BSD": "0bsd bsd-0-clause bsd-0",
    "LicenseRef-BSD": "bsd bsd-style bsd-like bsd-derivative",  # a BSD whose clauses the package does not count
    "ISC": "isc iscl",
    "Apache-2.0": "apache-2.0 apache-2 apache2 apache2.0 apache-software apache-software-2.0"
    " apache-2.0-asl apache-software-apache-2.0 asl-2.0 asl2 asl2.0 apache",
    "Zlib": "zlib zlib/libpng libpng",
    "BSL-1.0": "bsl-1.0 bsl-1 bsl1.0 boost-1.0 boost-software-1.0 boost boost-software",
    "PSF-2.0": "psf-2.0 psf-2 psf psfl python-software-foundation python-psf",
    "Python-2.0": "python-2.0 python-2 python",
    "CC0-1.0": "cc0-1.0 cc0 cc0-1.0-universal cc-0 cc-0-1.0",
    "LicenseRef-Public-Domain": "public-domain pd",
    "WTFPL": "wtfpl wtfpl-2",
    "ZPL-2.1": "zpl-2.1 zope-public-2.1",
    "Unicode-3.0": "unicode-3.0 unicode-dfs-2016 unicode unicode-dfs-2015",
    "PHP-3.01": "php-3.01 php-3.0",
    **{name: name.lower() for name in ("X11", "Unlicense", "PostgreSQL", "curl", "NCSA", "HPND", "NTP", "W3C", "FTL")},
    "BlueOak-1.0.0": "blueoak-1.0.0",
}
_SPDX = {spelling: spdx for spdx, spellings in _SPELLINGS.items() for spelling in spellings.split()}
_NOISE = re.compile(r"\b(licen[sc]es?|the|version|v(?=\d))\b")
# "Expat~Example Inc", "BSD-3-clause-Example": Debian tells apart the same terms by their holder.
_HOLDER = re.compile(r"^(expat|mit|isc|zlib|bsd-[0-4]-clause|apache-2(?:\.0)?|bsd-[23])[~-].*$")
_PERMITTED_EXCEPTION = re.compile(
    r"\s+with\s+llvm[- ]exceptions?\b|-with-llvm-exceptions?\b|\s+with\s+autoconf exception", re.I
)


def spdx_id(name: str) -> str | None:
    """The SPDX id of one permissive licence by any of its usual names, or None for every other one."""
    plain = _NOISE.sub(" ", name.strip().strip("()\"'").lower()).strip(" -.,")
    plain = re.sub(r"[\s_,]+", "-", re.sub(r"^(osi approved ::)", "", plain).strip()).strip("-")
    if plain in _SPDX:
        return _SPDX[plain]
    holder = _HOLDER.match(plain)
    return _SPDX.get(holder[1]) if holder else None


def permissive(expression: str) -> str | None:
    """The SPDX expression of `expression` if its terms are permissive, else None.

    It may be SPDX, Debian's `A or B, and C`, or npm's `(A OR B)`. Of `A or B` the permissive alternatives stay, of `A and B` both
    must be. Commas and brackets are read as the strictest of what they may mean.
    """
    text = re.sub(r",\s*(?=v(ersion)?\b)", " ", expression.replace("(", " ").replace(")", " "), flags=re.I)
    text = _PERMITTED_EXCEPTION.sub("", text)
    kept: list[str] = []
    for term in re.split(r"\s*(?:,\s*and\b|;|&|,|\band\b)\s*", text, flags=re.I):
        if not term.strip():
            continue
        choices = [spdx_id(choice) for choice in re.split(r"\s+or\s+|\s*\|\s*", term, flags=re.I)]
        known = [choice for choice in choices if choice]
        if not known:
            return None
        kept.append(" OR ".join(dict.fromkeys(known)))
    return joined(kept)


def joined(expressions: Iterable[str]) -> str | None:
    """The conjunction of SPDX expressions, each once, in order of text; None of none."""
    terms = sorted({expression for expression in expressions if expression})
    if not terms:
        return None
    return " AND ".join(f"({term})" if " OR " in term and len(terms) > 1 else term for term in terms)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The licence of a package, or what forbids its use: exactly one of both is a text."""

    licence: str | None
    refusal: str | None


def read_copyright(text: str, present: Collection[str] | None = None) -> Verdict:
    """The verdict on the text of a debian/copyright file.

    `present` are the names of the files of a binary package, which has a part of what the text is of: a stanza about files none of
    whose names is there does not count.
    """
    kept: list[str] = []
    for patterns, licence in _file_stanzas(text):
        if not any(_reaches_source(pattern, present) for pattern in patterns):
            continue
        spdx = permissive(licence)
        if spdx is None:
            return Verdict(licence=None, refusal=f"{licence or 'no licence'} ({patterns[0]})")
        kept.append(spdx)
    terms = sorted({term for spdx in kept for term in spdx.split(" AND ")})
    if not terms:
        return Verdict(licence=None, refusal="no stanza of files")
    return Verdict(licence=joined(term.strip("()") for term in terms), refusal=None)


def _file_stanzas(text: str) -> list[tuple[list[str], str]]:
    stanzas = []
    for stanza in re.split(r"\n\s*\n", text.replace("\r\n", "\n")):
        files = re.search(r"^Files:((?:.*)(?:\n[ \t].*)*)", stanza, re.M | re.I)
        licence = re.search(r"^Licen[sc]e:[ \t]*(.*(?:\n(?![ \t]).*)?)", stanza, re.M | re.I)
        if files:
            name = licence[1].split("\n")[0].strip() if licence else ""
            stanzas.append(([part for part in re.split(r"[\s,]+", files[1]) if part], name))
    return stanzas


def _reaches_source(pattern: str, present: Collection[str] | None) -> bool:
    """True if a pattern of DEP-5 (`*` also matches `/`) can name a file that is kept."""
    *folders, name = PurePosixPath(pattern.removeprefix("./")).parts or ("*",)
    if any(map(is_left_out_folder, folders)):
        return False
    ending = name.rpartition("*")[2] if "*" in name else name
    if "*" in name:
        return "." not in ending or is_source_name("x" + ending)
    return "." in name and is_source_name(name) and (present is None or name in present)


@dataclass(frozen=True, slots=True)
class Declared:
    """Metadata of an archive: a permissive SPDX `licence`, or None and the reason in `refusal`."""

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
    licences = [value for value in fields.get_all("Classifier", []) if value.startswith("License ::")]
    classifiers = [name for value in licences if (name := value.split(" :: ")[-1]) != "OSI Approved"]
    words = fields.get("License", "").strip()
    if exact := fields.get("License-Expression"):
        text, licence = exact, permissive(exact)
    elif classifiers:
        found = [permissive(value) for value in classifiers]
        text, licence = "; ".join(classifiers), joined(spdx or "" for spdx in found) if all(found) else None
        if licence == "LicenseRef-BSD" and "\n" not in words:  # the classifier has no clauses; the field may
            licence = permissive(words) or licence
    else:
        text = words.partition("\n")[0]
        licence = permissive(words) if "\n" not in words else None
    return _verdict(wheel.name.split("-")[1], text, licence)


def _of_npm(tarball: Path) -> Declared:
    texts = (read_member(tarball, name) for name in ("package/package.json", "package.json"))
    found: Any = json.loads(next(filter(None, texts), "{}"))
    licence = found.get("license") or found.get("licenses") or ""
    parts = licence if isinstance(licence, list) else [licence]
    text = " OR ".join(str(part.get("type", "")) if isinstance(part, dict) else str(part) for part in parts)
    return _verdict(str(found.get("version", "")), text, permissive(text))


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


def _verdict(version: str, text: str, licence: str | None) -> Declared:
    text = re.sub(r"\s+", " ", text)[:80] or "no licence"
    return Declared(version=version, licence=licence, refusal=None if licence else text)

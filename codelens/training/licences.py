"""Turns what packages say of their licences into SPDX expressions, and refuses every one that is not permissive.

What is not known by name is refused: a wrong refusal costs a package, a wrong admission costs the right to ship the weights.
"""

import re
from collections.abc import Iterable

# SPDX ids by the spellings met in package metadata (lower case, without "licen[sc]e", "the" and version words).
_SPELLINGS = {
    "MIT": "mit expat mit/x11 mit-x11 x11/mit mit/expat expat/mit",
    "MIT-0": "mit-0 mit-no-attribution",
    "X11": "x11",
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
    "Unlicense": "unlicense",
    "CC0-1.0": "cc0-1.0 cc0 cc0-1.0-universal cc-0 cc-0-1.0",
    "LicenseRef-Public-Domain": "public-domain pd",
    "PostgreSQL": "postgresql",
    "curl": "curl",
    "NCSA": "ncsa",
    "HPND": "hpnd",
    "NTP": "ntp",
    "WTFPL": "wtfpl wtfpl-2",
    "ZPL-2.1": "zpl-2.1 zope-public-2.1",
    "Unicode-3.0": "unicode-3.0 unicode-dfs-2016 unicode unicode-dfs-2015",
    "W3C": "w3c",
    "PHP-3.01": "php-3.01 php-3.0",
    "BlueOak-1.0.0": "blueoak-1.0.0",
    "FTL": "ftl",
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

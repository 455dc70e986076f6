"""Turns debian/copyright (DEP-5) into one SPDX expression over all files that training reads, or into the licence that forbids it.

Every stanza counts but those whose patterns name only files that are never read (`is_kept`): the packaging under debian/, macros
of autoconf, vendored folders, documents. A copyright file of another form is refused.
"""

import re
from collections.abc import Collection
from pathlib import PurePosixPath

from codelens.nouns import dataclass
from codelens.training.kept import is_left_out_folder, is_source_name
from codelens.training.licences import joined, permissive


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
    """Whether a pattern of DEP-5 (`*` also crosses `/`) can name a file that is kept."""
    *folders, name = PurePosixPath(pattern.removeprefix("./")).parts or ("*",)
    if any(map(is_left_out_folder, folders)):
        return False
    ending = name.rpartition("*")[2] if "*" in name else name
    if "*" in name:
        return "." not in ending or is_source_name("x" + ending)
    return "." in name and is_source_name(name) and (present is None or name in present)

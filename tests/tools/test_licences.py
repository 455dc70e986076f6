"""Which licences let a package be trained on."""

import pytest

from tools.model.licences import permissive, read_copyright


@pytest.mark.parametrize(
    ("said", "licence"),
    [
        ("MIT", "MIT"),
        ("MIT License", "MIT"),
        ("The MIT License", "MIT"),
        ("Expat", "MIT"),
        ("Expat~Example Inc", "MIT"),
        ("BSD-3-clause-Google", "BSD-3-Clause"),
        ("BSD License", "LicenseRef-BSD"),
        ("Apache License, Version 2.0", "Apache-2.0"),
        ("Apache Software License", "Apache-2.0"),
        ("Apache-2.0 with LLVM exception", "Apache-2.0"),
        ("Python Software Foundation License", "PSF-2.0"),
        ("(MIT OR Apache-2.0)", "MIT OR Apache-2.0"),
        ("Apache-2.0 or GPL-2+", "Apache-2.0"),
        ("Expat and BSD-3-clause", "BSD-3-Clause AND MIT"),
        ("Expat, and Apache-2.0 or ISC", "(Apache-2.0 OR ISC) AND MIT"),
        ("GPL-2+", None),
        ("LGPL-2.1+", None),
        ("AGPL-3.0-only", None),
        ("MPL-2.0", None),
        ("EPL-1", None),
        ("BSD-4-clause", None),
        ("MIT AND GPL-3.0-or-later", None),
        ("GPL-3+ with autoconf exception", None),
        ("LGPL-2.1+ or MPL-1.1", None),
        ("SEE LICENSE IN LICENSE.md", None),
        ("UNLICENSED", None),
        ("other", None),
        ("", None),
    ],
)
def test_a_declared_licence_becomes_spdx_or_nothing(said: str, licence: str | None) -> None:
    assert permissive(said) == licence


def _copyright(*stanzas: tuple[str, str]) -> str:
    head = "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: thing\n"
    files = [
        f"Files: {files}\nCopyright: 2020 Somebody\nLicense: {licence}\n Terms of it.\n" for files, licence in stanzas
    ]
    return "\n".join([head, *files])


def test_the_licences_of_all_stanzas_count() -> None:
    verdict = read_copyright(_copyright(("*", "Expat"), ("src/a.c\n src/b.c", "BSD-2-clause")))
    assert (verdict.licence, verdict.refusal) == ("BSD-2-Clause AND MIT", None)


def test_one_stanza_that_is_not_permissive_refuses_the_package() -> None:
    verdict = read_copyright(_copyright(("*", "Expat"), ("src/list.h", "GPL-2+")))
    assert (verdict.licence, verdict.refusal) == (None, "GPL-2+ (src/list.h)")


@pytest.mark.parametrize("files", ["debian/*", "*/debian/*", "m4/*.m4", "aclocal.m4", "vendor/*", "README.md", "*.svg"])
def test_files_that_are_never_read_do_not_count(files: str) -> None:
    assert read_copyright(_copyright(("*", "ISC"), (files, "GPL-3+"))).licence == "ISC"


@pytest.mark.parametrize("files", ["*", "src/*", "tests/x.py", "*.java", "lib/*/gen*"])
def test_patterns_that_reach_sources_count(files: str) -> None:
    assert read_copyright(_copyright((files, "GPL-3+"))).licence is None


def test_a_copyright_file_without_stanzas_is_refused() -> None:
    assert (
        read_copyright("This package was debianized by somebody.\nIt is free software.\n").refusal
        == "no stanza of files"
    )

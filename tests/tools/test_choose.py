"""Which candidates get a row in the manifest."""

from pathlib import Path

import pytest

from tests.tools.archives import deb, tarball, wheel
from tools.model.choose import excluded_names, exclusion, main
from tools.model.licences import declared
from tools.model.manifest import read_manifest, shipped_manifest
from tools.model.registries import Archive

EXCLUDED = """# Excluded repositories, forks included
flask django rails hugo kafka spark-java (perwendel/spark) commons-lang
eslint playwright vue-core kubernetes vscode cal.com redis scikit-learn pandas requests
"""


@pytest.mark.parametrize(
    "name",
    [
        "flask",
        "golang-github-spf13-hugo",
        "kafka-clients",
        "@vue/reactivity",
        "@eslint/js",
        "@playwright/test",
        "scikit-learn",
        "sklearn",
        "libcommons-lang3-java",
        "golang-k8s-apimachinery",
        "ruby-activerecord",
        "@calcom/embed",
        "monaco-editor",
        "hiredis",
        "pandas-stubs",
        "snowflake-snowpark-python",
        "puppeteer-core",
        "werkzeug",
    ],
)
def test_what_belongs_to_an_evaluation_repository_is_excluded(name: str) -> None:
    assert exclusion(name, excluded_names(EXCLUDED))


@pytest.mark.parametrize("name", ["numpy", "@reduxjs/toolkit", "commons-codec", "networkx", "jsonschema", "spark"])
def test_other_packages_are_not(name: str) -> None:
    assert exclusion(name, excluded_names(EXCLUDED)) is None


def test_no_package_of_the_shipped_manifest_is_excluded() -> None:
    names = excluded_names(EXCLUDED)
    assert not [package.label for package in read_manifest(shipped_manifest()) if exclusion(package.name, names)]


@pytest.mark.parametrize(
    ("metadata", "licence", "refusal"),
    [
        ("License-Expression: Apache-2.0\nLicense: GPL\n", "Apache-2.0", None),
        ("Classifier: License :: OSI Approved :: BSD License\nLicense: BSD 3-Clause\n", "BSD-3-Clause", None),
        ("Classifier: License :: OSI Approved :: BSD License\n", "LicenseRef-BSD", None),
        ("Classifier: License :: OSI Approved\nLicense: MIT\n", "MIT", None),
        (
            "Classifier: License :: OSI Approved :: MIT License\nClassifier: License :: OSI Approved :: Zope Public License\n",
            None,
            "MIT",
        ),
        ("License: GPLv3\n", None, "GPLv3"),
        ("Name: x\n", None, "no licence"),
    ],
)
def test_a_wheels_licence_is_its_most_exact_field(
    tmp_path: Path, metadata: str, licence: str | None, refusal: str | None
) -> None:
    archive = wheel(
        tmp_path / "x-2.1-py3-none-any.whl",
        {"x/a.py": "", "x-2.1.dist-info/METADATA": f"Metadata-Version: 2.4\n{metadata}"},
    )
    said = declared("pypi", "x", Archive(archive))
    assert (said.version, said.licence) == ("2.1", licence)
    assert (said.refusal or "").startswith(refusal or "")
    assert bool(said.refusal) is not bool(said.licence)


@pytest.mark.parametrize(
    ("field", "licence"),
    [
        ('"license": "(MIT OR GPL-3.0)"', "MIT"),
        ('"license": {"type": "ISC"}', "ISC"),
        ('"licenses": [{"type": "MIT"}, {"type": "Apache-2.0"}]', "MIT OR Apache-2.0"),
        ('"license": "SEE LICENSE IN x"', None),
        ('"private": true', None),
    ],
)
def test_an_npm_packages_licence_is_that_of_its_package_json(tmp_path: Path, field: str, licence: str | None) -> None:
    archive = tarball(tmp_path / "x.tgz", {"package/package.json": f'{{"version": "3.0.0", {field}}}'})
    said = declared("npm", "x", Archive(archive))
    assert (said.version, said.licence) == ("3.0.0", licence)


def test_a_debian_package_says_it_in_its_packaging(tmp_path: Path) -> None:
    files = {
        "debian/copyright": "Format: x\n\nFiles: *\nLicense: Zlib\n",
        "debian/changelog": "x (1:1.2-3) stable; urgency=low\n",
    }
    packaging = tarball(tmp_path / "x_1.2-3.debian.tar.gz", files)
    said = declared("debian", "x", Archive(tmp_path / "x_1.2.orig.tar.gz", packaging))
    assert (said.version, said.licence) == ("1:1.2-3", "Zlib")


def test_a_debian_binary_package_says_it_in_its_own_documents(tmp_path: Path) -> None:
    files = {"./usr/share/doc/lua-x/copyright": "Format: x\n\nFiles: *\nLicense: Expat\n", "./usr/share/lua/x.lua": ""}
    package = deb(tmp_path / "lua-x_1%3a1.2-3_all.deb", files)
    said = declared("debian-binary", "lua-x", Archive(package))
    assert (said.version, said.licence) == ("1:1.2-3", "MIT")
    assert declared("debian-binary", "lua-y", Archive(package)).refusal == "no stanza of files"


@pytest.mark.parametrize(("installed", "licence"), [("Form.php", "MIT"), ("Glob.php", None)])
def test_a_licence_of_files_that_a_binary_package_lacks_does_not_count(
    tmp_path: Path, installed: str, licence: str | None
) -> None:
    stanzas = "Format: x\n\nFiles: *\nLicense: Expat\n\nFiles: src/Finder/Glob.php\nLicense: Artistic\n"
    files = {"./usr/share/doc/php-x/copyright": stanzas, f"./usr/share/php/x/{installed}": "<?php\n"}
    package = deb(tmp_path / "php-x_1-1_all.deb", files)
    assert declared("debian-binary", "php-x", Archive(package)).licence == licence


def test_candidates_become_rows_or_reasons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The client is a script that copies what the test built; the excluded name would fail in it."""
    (tmp_path / "bin").mkdir()
    for name, licence in (("good", "MIT"), ("bad", "GPL-3.0")):
        files = {
            "package/package.json": f'{{"version": "1.0.0", "license": "{licence}"}}',
            "package/src/a.ts": "export {}\n",
        }
        tarball(tmp_path / f"{name}.tgz", files)
    client = tmp_path / "bin" / "npm"
    client.write_text(f'#!/bin/sh\nfor word; do :; done\n/bin/cp {tmp_path}/"$word".tgz .\n')
    client.chmod(0o755)
    monkeypatch.setenv("PATH", str(client.parent))
    (tmp_path / "excluded.txt").write_text(EXCLUDED)
    places = ["--folder", str(tmp_path / "out"), "--excluded", str(tmp_path / "excluded.txt"), "--split", "held-out"]
    assert main(["npm:good", "npm:bad", "npm:@eslint/js", "what", *places]) == 0
    told = capsys.readouterr()
    (row,) = read_manifest(told.out)
    assert (row.name, row.version, row.licence, row.split, row.language) == (
        "good",
        "1.0.0",
        "MIT",
        "held-out",
        "typescript",
    )
    assert told.err.splitlines()[:2] == ["npm:bad: not permissive: GPL-3.0", "npm:@eslint/js: excluded, for eslint"]
    assert main(["npm:missing", *places]) == 1

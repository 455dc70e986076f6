"""Manifests and configurations of scripts: tests/cases/manifests/NAME.txt, where NAME is what the file is called."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codelens.lang.manifests import (
    Manifest,
    ScriptConfig,
    is_manifest,
    is_script_config,
    read_manifest,
    read_script_config,
)
from tests.conftest import case_files

NAMES = [path.stem for path in case_files("manifests")]


def described(name: str, text: str) -> str:
    path = f"till/{name}"
    found = read_script_config(path, text) if is_script_config(path) else read_manifest(path, text)
    assert found is not None
    return "\n".join(_of_config(found) if isinstance(found, ScriptConfig) else _of_manifest(found)) + "\n"


def _of_manifest(found: Manifest) -> list[str]:
    return [
        f"{found.ecosystem} {found.name}".rstrip(),
        *(f"needs {' '.join(filter(None, [d.name, d.group]))} {d.line}" for d in found.dependencies),
        *(f"root {prefix!r} {folder}" for prefix, folder in found.roots),
        *(f"entry {entry}" for entry in found.entries),
    ]


def _of_config(found: ScriptConfig) -> list[str]:
    return [
        f"base {found.base}",
        *(f"path {pattern} {' '.join(targets)}" for pattern, targets in found.paths),
        *(f"extends {path}" for path in found.extends),
    ]


@pytest.mark.parametrize("path", case_files("manifests"), ids=lambda p: p.stem)
def test_manifest_of_a_case_is_as_written(path: Path, case: Callable[[Path, Callable[[str], str]], None]) -> None:
    case(path, lambda source: described(path.stem, source))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[1]",
        "-7",
        "<a",
        "[" * 100_000,
        "[" + "a." * 50_000,
        "<a>" * 50_000,
        "\0",
        '{"name": 1, "dependencies": []}',
    ],
)
def test_a_bad_file_yields_nothing_or_no_names(name: str, text: str) -> None:
    config, manifest = read_script_config(name, text), read_manifest(name, text)
    assert config is None or config.paths == ()
    assert manifest is None or (manifest.name, manifest.dependencies) in [("", ()), ("Till.Core", ())]


@given(st.sampled_from(case_files("manifests")), st.randoms(use_true_random=False))
def test_a_manifest_cut_off_anywhere_raises_nothing(path: Path, random: object) -> None:
    source = path.read_text(encoding="utf-8")
    start = random.randrange(len(source))  # type: ignore[attr-defined]
    torn = source[:start] + source[start + random.randrange(20) :]  # type: ignore[attr-defined]
    read_manifest(path.stem, torn)
    read_script_config(path.stem, torn)


def test_xml_entities_are_not_expanded() -> None:
    assert (
        read_manifest("pom.xml", '<!DOCTYPE x [<!ENTITY a "b">]><project><artifactId>&a;</artifactId></project>')
        is None
    )


def test_strings_keep_what_looks_like_a_comment() -> None:
    found = read_script_config("tsconfig.json", '{"extends": "./a//b,]/*c*/d"}')
    assert found and found.extends == ("a/b,]/*c*/d.json",)


def test_other_files_are_not_manifests() -> None:
    assert not any(map(is_manifest, ["a/b.json", "src/pom.xml.bak", "requirements.py", "go.sum", "tsconfig.json"]))
    assert all(
        map(is_manifest, ["a/package.json", "x/A.csproj", "requirements/dev.txt".replace("/", "-"), "a.gemspec"])
    )

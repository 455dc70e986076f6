"""What is built elsewhere — the image, the formula, the workflow, the hook — names things that exist here."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from codelens import __version__
from codelens.cli.arguments import read_arguments
from codelens.cli.index import index
from codelens.lang.parser import load_parser
from tools.manual import SHARE, shared_files

ROOT = Path(__file__).parents[2]
FORMULA = (ROOT / "packaging/codelens.rb").read_text(encoding="utf-8")
IMAGE = (ROOT / "packaging/Dockerfile").read_text(encoding="utf-8")


def test_the_image_copies_what_is_there_and_not_ignored() -> None:
    kept = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    copied = [words[:-1] for words in map(str.split, re.findall(r"^COPY (?!--)(.+)$", IMAGE, re.MULTILINE))]
    assert copied
    for source in (source for sources in copied for source in sources):
        assert (ROOT / source).exists() and f"!{source}" in kept, source


def test_the_formula_is_ruby_and_installs_what_the_wheel_has() -> None:
    assert not load_parser("ruby").parse(FORMULA.encode()).root_node.has_error
    assert f"codelens-{__version__}.tar.gz" in FORMULA
    installed = {SHARE / path for path in re.findall(r'libexec/"share/([^"]+)"', FORMULA)}
    assert installed == set(shared_files())


def test_the_hook_is_a_command() -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    program, name, *arguments = hook["entry"].split()
    assert (program, name) == ("codelens", index.name)
    assert read_arguments(index, arguments) is not None


def test_the_release_names_targets_and_files_that_exist() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))
    scripts = "\n".join(step.get("run", "") for job in workflow["jobs"].values() for step in job["steps"])
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert all(f"\n{target}:" in makefile for target in re.findall(r"\bmake (\w+)", scripts))
    assert all((ROOT / path).exists() for path in re.findall(r"\bpackaging/[\w.]+|sample_repos/[\w/]+", scripts))
    assert "SHA256_OF_THE_SOURCE_DISTRIBUTION" in scripts and "SHA256_OF_THE_SOURCE_DISTRIBUTION" in FORMULA

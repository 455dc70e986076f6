"""Owners by CODEOWNERS; the cases follow GitHub's description of the syntax."""

from __future__ import annotations

import pytest

from codelens.worktree.patterns import Owners

TEXT = """\
# all that nothing below speaks of
*       @all @all2

*.js    @js #inline comment
/build/logs/ @logs
docs/*  writers@example.com
apps/   @apps
/docs/  @docs
/scripts/deploy @deploy
**/cache @cache
/apps/github
with\\ space/ @space
!no.txt @not
"""


@pytest.mark.parametrize(
    ("path", "owners"),
    [
        ("README.md", ("@all", "@all2")),
        ("src/a.js", ("@js",)),
        ("build/logs/a/b.txt", ("@logs",)),
        ("x/build/logs/a", ("@all", "@all2")),
        ("docs/a.md", ("@docs",)),
        ("docs/deep/a.md", ("@docs",)),
        ("x/apps/a.js", ("@apps",)),
        ("apps/github/x/y", None),
        ("scripts/deploy/x.sh", ("@deploy",)),
        ("x/scripts/deploy", ("@all", "@all2")),
        ("a/b/cache/c", ("@cache",)),
        ("with space/a", ("@space",)),
        ("no.txt", ("@all", "@all2")),
    ],
)
def test_the_last_line_that_fits_decides(path: str, owners: tuple[str, ...] | None) -> None:
    found = Owners(TEXT).find_owners(path)
    assert (found.owners if found else None) == owners


def test_a_star_at_the_end_keeps_to_its_folder() -> None:
    owners = Owners("docs/* @a\n")
    assert owners.find_owners("docs/deep/x.md") is None
    assert owners.find_owners("docs/x.md") == (("@a",), 1)


def test_a_section_gives_owners_to_lines_without() -> None:
    owners = Owners("[Docs][2] @docs\n*.md\n*.rst @rst\n^[Code]\n*.py\n")
    assert owners.find_owners("a.md") == (("@docs",), 2)
    assert owners.find_owners("a.rst") == (("@rst",), 3)
    assert owners.find_owners("a.py") is None


def test_invalid_lines_are_ignored() -> None:
    assert Owners("\n\\\n/ @x\n[ @y\n\0 @z\n").find_owners("a") is None

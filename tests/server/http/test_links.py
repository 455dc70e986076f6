"""Links from the page to the host of the code and to an editor."""

from __future__ import annotations

from pathlib import Path

import pytest

from codelens.config import Settings
from codelens.errors import UsageError
from codelens.index import Index
from codelens.server.http.gate import Rules
from codelens.server.http.links import SourceLinks, fill_in_line, find_web_address
from tests.server.http.conftest import Serve
from tests.server.http.test_page import read
from tests.worktree.conftest import git, git_tree


@pytest.mark.parametrize(
    ("remote", "address"),
    [
        ("git@github.com:owner/name.git", "https://github.com/owner/name"),
        (
            "https://bob:s3cret@gitlab.example.org:8443/group/sub/name.git",
            "https://gitlab.example.org:8443/group/sub/name",
        ),
        ("ssh://git@codeberg.org:2222/owner/name", "https://codeberg.org/owner/name"),
        ("git@git.sr.ht:~owner/name", "https://git.sr.ht/~owner/name"),
        ("http://git.example.org/name/", "http://git.example.org/name"),
        (
            'https://h.example/"><script>alert(1)</script>',
            "https://h.example/%22%3E%3Cscript%3Ealert%281%29%3C/script%3E",
        ),
        ("/srv/git/name.git", ""),
        ("../name", ""),
        ("file:///srv/name.git", ""),
        ("C:\\code\\name.git", ""),
        ("work:owner/name", ""),
        ("javascript:alert(1)//h.example/name", ""),
        ("https://h.example/two words", ""),
        ("ext::sh -c touch% /tmp/x", ""),
    ],
)
def test_only_a_host_on_the_web_has_an_address(remote: str, address: str) -> None:
    assert find_web_address(remote) == address


@pytest.fixture
def cloned(tmp_path: Path) -> Path:
    """A work tree with a commit, and a file below a folder."""
    root = git_tree(tmp_path / "clone", {"lib/a b.py": "def lamp():\n    return 1\n"})
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    return root


def links(**settings: str) -> SourceLinks:
    return SourceLinks.from_settings(Settings(**settings), is_local=True)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("host", "setting", "url"),
    [
        ("github.com", "auto", "https://github.com/o/r/blob/{commit}/lib/a%20b.py#L2"),
        ("gitlab.example.org", "auto", "https://gitlab.example.org/o/r/-/blob/{commit}/lib/a%20b.py#L2"),
        ("codeberg.org", "auto", "https://codeberg.org/o/r/src/commit/{commit}/lib/a%20b.py#L2"),
        ("bitbucket.org", "auto", "https://bitbucket.org/o/r/src/{commit}/lib/a%20b.py#lines-2"),
        ("git.sr.ht", "auto", "https://git.sr.ht/o/r/tree/{commit}/item/lib/a%20b.py#L2"),
        ("code.example.org", "auto", ""),
        ("code.example.org", "gitea", "https://code.example.org/o/r/src/commit/{commit}/lib/a%20b.py#L2"),
        ("github.com", "gitea", "https://github.com/o/r/blob/{commit}/lib/a%20b.py#L2"),
        (
            "code.example.org",
            "{address}/+/{commit}/{path}#{line}",
            "https://code.example.org/o/r/+/{commit}/lib/a%20b.py#2",
        ),
        ("github.com", "https://mirror.example/x/{path}", "https://mirror.example/x/lib/a%20b.py"),
        ("github.com", "none", ""),
    ],
)
def test_each_host_has_its_form(cloned: Path, host: str, setting: str, url: str) -> None:
    git(cloned, "remote", "add", "origin", f"git@{host}:o/r.git")
    commit = git(cloned, "rev-parse", "HEAD").decode().strip()
    for root, path in ((cloned, "lib/a b.py"), (cloned / "lib", "a b.py")):
        assert fill_in_line(links(host_link=setting).link_host(str(root), path), 2) == url.replace("{commit}", commit)


def test_the_commit_is_one_that_the_remote_has(cloned: Path) -> None:
    git(cloned, "remote", "add", "origin", "https://github.com/o/r")
    pushed = git(cloned, "rev-parse", "HEAD").decode().strip()
    branch = git(cloned, "symbolic-ref", "--short", "HEAD").decode().strip()
    git(cloned, "update-ref", f"refs/remotes/origin/{branch}", pushed)
    git(cloned, "commit", "-q", "--allow-empty", "-m", "not pushed")
    assert pushed in links().link_host(str(cloned), "a.py")
    git(cloned, "pack-refs", "--all")
    assert pushed in links().link_host(str(cloned), "a.py")
    git(cloned, "checkout", "-q", "--detach")
    assert git(cloned, "rev-parse", "HEAD").decode().strip() in links().link_host(str(cloned), "a.py")


def test_without_a_remote_or_a_repository_there_is_no_link(cloned: Path, tmp_path: Path) -> None:
    assert links().link_host(str(cloned), "a.py") == ""
    (tmp_path / "plain").mkdir()
    assert links().link_host(str(tmp_path / "plain"), "a.py") == ""
    assert links().link_host("elsewhere", "a.py") == ""
    assert links().link_editor(str(tmp_path / "gone"), "a.py") == ""


def test_links_open_the_configured_editor(tmp_path: Path) -> None:
    place = f"{tmp_path.as_posix()}/a%20%22%3Cb%3E.py"
    url = links().link_editor(str(tmp_path), 'a "<b>.py')
    assert fill_in_line(url, 3, 7) == f"vscode://file{place}:3:7"
    assert fill_in_line(links(editor_link="idea").link_editor(str(tmp_path), "a.py"), 3).endswith(
        "a.py&line=3&column=1"
    )
    assert links(editor_link="none").link_editor(str(tmp_path), "a.py") == ""
    assert SourceLinks.from_settings(Settings(), is_local=False).link_editor(str(tmp_path), "a.py") == ""


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"editor_link": "javascript:alert({path})"}, "is not a URL with {path}"),
        ({"editor_link": "emacs"}, "is not a URL with {path}"),
        ({"host_link": "javascript:alert({path})"}, "is not an http URL with {path}"),
        ({"host_link": "https://h.example/"}, "is not an http URL with {path}"),
    ],
)
def test_faulty_urls_are_refused(settings: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        links(**settings)


def test_the_page_links_to_host_and_editor(cloned: Path, serve: Serve, tmp_path: Path) -> None:
    git(cloned, "remote", "add", "origin", "https://bob:s3cret@github.com/o/r.git")
    Index.build(tmp_path / "index.db", [cloned], Settings(jobs=1, vector=False))
    found = read(serve(tmp_path / "index.db"), "/?q=lamp")
    (editor,), (host,) = found.links("editor"), found.links("host")
    assert editor == f"vscode://file{cloned.as_posix()}/lib/a%20b.py:1:5"
    assert host.startswith("https://github.com/o/r/blob/")
    assert host.endswith("/lib/a%20b.py#L1")
    assert "s3cret" not in str(found.tags)
    elsewhere = serve(tmp_path / "index.db", rules=Rules(False, None))
    page = read(elsewhere, "/file?path=lib/a b.py")
    assert page.links("editor") == [], "the reader's editor has no such file"
    assert page.links("host")

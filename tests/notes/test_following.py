"""Places that notes are linked to, when the code moves: lines above, another file, another name, gone."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from codelens.config import Settings
from codelens.errors import TargetError
from codelens.index import Index
from codelens.notes.finder import AnchorPlace, AnchorState
from codelens.notes.note import Anchor, parse_anchor
from tests.search.trees import QUICK, Tree

pytestmark = pytest.mark.slow

NET = '''import socket


class Client:
    """Talks."""

    def connect(self, host):
        return socket.create_connection((host, 80))

    def close(self):
        self.socket.close()


def listen(port):
    server = socket.create_server(("", port))
    return server


LIMIT = 3
RETRIES = LIMIT * 2
'''


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    made = Tree(tmp_path, {"src/net.py": NET, "src/other.py": "def other():\n    return LIMIT\n"})
    made.index().close()
    return made


@contextmanager
def indexed(tree: Tree) -> Iterator[Index]:
    with tree.index() as index:
        yield index


def made(tree: Tree, said: str) -> Anchor:
    with Index.open(tree.db) as index, index.open_anchors(tree.root) as finder:
        anchor, remark = finder.make_anchor(said, tree.root)
    assert remark == ""
    return anchor


def now(tree: Tree, anchor: Anchor) -> AnchorPlace:
    with indexed(tree) as index, index.open_anchors(tree.root) as finder:
        return finder.find_place(anchor)


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


@pytest.mark.parametrize(
    ("said", "line", "symbol"),
    [
        ("src/net.py:8", 8, "Client.connect"),
        ("Client.close", 10, "Client.close"),
        ("listen", 14, "listen"),
        ("src/net.py:1", 1, ""),
        ("src/net.py", 0, ""),
    ],
)
def test_a_place_is_kept_with_what_stands_there(tree: Tree, said: str, line: int, symbol: str) -> None:
    anchor = made(tree, said)
    assert (anchor.path, anchor.line, anchor.symbol) == ("src/net.py", line, symbol)
    assert anchor.digest
    assert anchor.text == NET.split("\n")[(line or 1) - 1].strip()
    found = now(tree, anchor)
    assert (found.state, found.description) == (AnchorState.HERE, f"src/net.py:{line}" if line else "src/net.py")
    assert parse_anchor(anchor.build_item()) == anchor


PLACES = ("src/net.py:8", "Client.close", "listen", "src/net.py:15", "src/net.py:20")


@pytest.mark.parametrize("said", PLACES)
def test_lines_added_above_move_a_place(tree: Tree, said: str) -> None:
    anchor = made(tree, said)
    tree.write({"src/net.py": "# one\n\nimport os\n" + NET})
    found = now(tree, anchor)
    assert found.description == f"src/net.py:{anchor.line + 3} (was src/net.py:{anchor.line})"
    assert found.symbol == anchor.symbol


@pytest.mark.parametrize("said", PLACES)
def test_a_renamed_file_moves_its_places(tree: Tree, said: str) -> None:
    anchor = made(tree, said)
    subprocess.run(["git", "init", "-q"], cwd=tree.root, check=True)
    subprocess.run(["git", "add", "."], cwd=tree.root, check=True)
    (tree.root / "lib").mkdir()
    subprocess.run(["git", "mv", "src/net.py", "lib/network.py"], cwd=tree.root, check=True)
    found = now(tree, anchor)
    assert found.description == f"lib/network.py:{anchor.line} (was src/net.py:{anchor.line})"


def test_a_renamed_and_changed_file_moves_what_has_a_name(tree: Tree) -> None:
    anchor = made(tree, "src/net.py:8")
    (tree.root / "src/net.py").rename(tree.root / "src/web.py")
    tree.write({"src/web.py": "# new\n" + NET.replace('    """Talks."""\n\n', "").replace("def close", "def end")})
    assert now(tree, anchor).description == "src/web.py:7 (was src/net.py:8)"


@pytest.mark.parametrize("said", ["src/net.py:8", "Client.connect"])
def test_a_place_in_a_deleted_function_is_lost(tree: Tree, said: str) -> None:
    anchor = made(tree, said)
    before, _, after = NET.partition("    def connect")
    tree.write({"src/net.py": before + "    def close" + after.partition("    def close")[2]})
    found = now(tree, anchor)
    assert (found.state, found.path, found.line) == (AnchorState.LOST, "", 0)
    assert found.description == f"lost: was src/net.py:{anchor.line}"


def test_a_namesake_is_not_taken_for_a_lost_function(tree: Tree) -> None:
    anchor = made(tree, "listen")
    tree.write(
        {
            "src/net.py": NET.replace("def listen(port)", "def serve(port)"),
            "src/other.py": "def listen(port):\n    return 1\n",
        }
    )
    assert now(tree, anchor).state is AnchorState.LOST


def test_a_function_that_moved_to_another_file_is_followed(tree: Tree) -> None:
    anchor = made(tree, "src/net.py:15")
    head, _, rest = NET.partition("def listen")
    function, _, tail = rest.partition("\n\n\n")
    tree.write({"src/net.py": head + tail, "src/serving.py": f"import socket\n\n\ndef listen{function}\n"})
    found = now(tree, anchor)
    # What follows the last lines of the function was hashed with them, and stayed behind.
    assert found.description in ("src/serving.py:5 (was src/net.py:15)", "lost: was src/net.py:15")
    anchor = Anchor("src/net.py", 14, "listen", "", "")
    assert now(tree, anchor).state is AnchorState.LOST, "without its text nothing tells that it is the same"


def test_a_line_that_changed_is_lost_and_one_whose_surroundings_did_is_not(tree: Tree) -> None:
    anchor = made(tree, "src/net.py:1")
    assert anchor.symbol == ""
    tree.write({"src/net.py": NET.replace("class Client", "class Other")})
    assert now(tree, anchor).state is AnchorState.HERE
    tree.write({"src/net.py": NET.replace("import socket", "import ssl")})
    assert now(tree, anchor).state is AnchorState.LOST


def test_among_equal_lines_the_nearest_is_taken(tree: Tree) -> None:
    repeated = "".join(f"def f{n}(x):\n    y = x\n    return y\n\n\n" for n in range(4))
    tree.write({"src/many.py": repeated})
    tree.index().close()
    anchor = made(tree, f"src/many.py:{line_of(repeated, 'f2') + 1}")
    tree.write({"src/many.py": repeated.replace("def f0(x):\n    y = x\n    return y\n\n\n", "")})
    found = now(tree, anchor)
    assert (found.symbol, found.line) == ("f2", anchor.line - 5)


def test_places_written_by_hand_are_found(tree: Tree) -> None:
    assert now(tree, parse_anchor("src/net.py:8")).description == "src/net.py:8"
    assert now(tree, parse_anchor("src/net.py:800")).description == "lost: was src/net.py:800"
    assert now(tree, parse_anchor("Client.connect")).description == "src/net.py:7"
    assert now(tree, parse_anchor("Nobody.knows")).description == "lost: was Nobody.knows"
    assert now(tree, parse_anchor({"path": "src/net.py", "line": 2, "symbol": "Client.connect"})).line == 7


def test_renewing_keeps_what_is_lost(tree: Tree) -> None:
    here, gone = made(tree, "listen"), Anchor("src/gone.py", 3, "gone", "0" * 16, "def gone():")
    tree.write({"src/net.py": "# up\n" + NET})
    with indexed(tree) as index, index.open_anchors(tree.root) as finder:
        assert [finder.renew_anchor(finder.find_place(anchor)) for anchor in (here, gone)] == [
            Anchor(here.path, here.line + 1, "listen", here.digest, here.text),
            gone,
        ]


@pytest.mark.parametrize("said", ["../x.py:1", "/etc/passwd:1", "src/none.py:1", "src/net.py:99", "nobody_knows"])
def test_an_unknown_place_is_refused(tree: Tree, said: str) -> None:
    with Index.open(tree.db) as index, index.open_anchors(tree.root) as finder, pytest.raises(TargetError):
        finder.make_anchor(said, tree.root)


def test_a_link_out_of_the_tree_is_refused(tree: Tree, tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text("x = 1\n")
    (tree.root / "src/leak.py").symlink_to(tmp_path / "secret.py")
    refused = pytest.raises(TargetError, match="no such file")
    with Index.open(tree.db) as index, index.open_anchors(tree.root) as finder, refused:
        finder.make_anchor("src/leak.py:1", tree.root)


def test_a_changed_file_is_kept_by_its_lines(tree: Tree) -> None:
    tree.write({"src/net.py": "# up\n" + NET})
    with Index.open(tree.db) as index, index.open_anchors(tree.root) as finder:
        anchor, remark = finder.make_anchor("src/net.py:8", tree.root)
    assert (anchor.line, anchor.symbol, anchor.text) == (8, "", "def connect(self, host):")
    assert "src/net.py changed since it was indexed" in remark
    assert now(tree, anchor).description == "src/net.py:8"


def test_without_trigrams_places_are_followed_in_their_files(tmp_path: Path) -> None:
    tree = Tree(tmp_path, {"src/net.py": NET}, Settings(jobs=1, fuzzy=False))
    tree.index().close()
    anchor = made(tree, "src/net.py:1")
    tree.write({"src/net.py": "# up\n" + NET})
    assert now(tree, anchor).description == "src/net.py:2 (was src/net.py:1)"
    (tree.root / "src/net.py").rename(tree.root / "src/web.py")
    assert now(tree, anchor).state is AnchorState.LOST
    assert QUICK.fuzzy

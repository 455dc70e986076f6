"""What of an archive is written, and where."""

from pathlib import Path

import pytest

from tests.tools.archives import deb, tarball, wheel
from tools.model.archives import BadArchive, is_kept, read_member, unpack_sources


def _written(tree: Path) -> list[str]:
    return sorted(str(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    "path",
    [
        "pip/_vendor/requests/api.py",
        "vendor/github.com/x/y.go",
        "third_party/zlib/zlib.c",
        "node_modules/lodash/map.js",
        "extern/lib.c",
        "Bundled/a.js",
        "src/app.min.js",
        "dist/app.js",
        "yui/yui-debug.js",
        "api/v1.pb.go",
        "api/v1_pb2.py",
        "types/index.d.ts",
        "testdata/input.go",
        "debian/tests/x.py",
        "x.dist-info/a.py",
        "README.md",
        "logo.svg",
    ],
)
def test_other_peoples_and_generated_files_are_left_out(path: str) -> None:
    assert not is_kept(path)


@pytest.mark.parametrize(
    "path", ["a.py", "src/vendors_list.go", "src/Main.java", "lib/x.rb", "include/box.hpp", "a/b/c.tsx"]
)
def test_sources_are_kept(path: str) -> None:
    assert is_kept(path)


def test_a_wheel_keeps_its_paths(tmp_path: Path) -> None:
    archive = wheel(
        tmp_path / "a-1-py3-none-any.whl",
        {"a/x.py": "X = 1\n", "a/_vendor/y.py": "Y = 2\n", "a-1.dist-info/METADATA": "Name: a\n"},
    )
    assert unpack_sources(archive, tmp_path / "tree") == 1
    assert _written(tmp_path / "tree") == ["a/x.py"]
    assert read_member(archive, "METADATA") == "Name: a\n"


def test_the_folder_around_a_tarball_is_left_off_and_links_are_not_made(tmp_path: Path) -> None:
    archive = tarball(tmp_path / "a.tar.gz", {"a-1/src/x.c": "int x;\n"}, {"a-1/src/passwd.c": "/etc/passwd"})
    unpack_sources(archive, tmp_path / "tree")
    assert _written(tmp_path / "tree") == ["src/x.c"]


@pytest.mark.parametrize("ending", ["xz", "gz", "zst", ""])
def test_a_binary_package_keeps_what_is_below_the_folders_around_all(tmp_path: Path, ending: str) -> None:
    place = "usr/share/cargo/registry/x-1.0"
    files = {
        f"./{place}/src/lib.rs": "pub mod a;\n",
        f"./{place}/build.rs": "fn main() {}\n",
        f"./{place}/debian/x.rs": "",
        "./usr/share/doc/librust-x-dev/copyright": "Files: *\n",
        "./usr/share/doc/librust-x-dev/examples/copied.rs": "",
    }
    package = deb(tmp_path / "librust-x-dev_1.0-1_amd64.deb", files, ending)
    assert unpack_sources(package, tmp_path / "tree") == 2
    assert _written(tmp_path / "tree") == ["build.rs", "src/lib.rs"]
    assert (tmp_path / "tree/src/lib.rs").read_text() == "pub mod a;\n"
    assert read_member(package, "usr/share/doc/librust-x-dev/copyright") == "Files: *\n"


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"none", "not an ar archive"),
        (b"!<arch>\n", "no data.tar"),
        (b"!<arch>\n" + b"data.tar.xz".ljust(60), "a broken header"),
        (b"!<arch>\n" + f"{'data.tar.zst':<48}{4:<10}`\n".encode() + b"none", r"a\.deb"),
        (b"!<arch>\n" + f"{'data.tar.xz':<48}{4:<10}`\n".encode() + b"none", r"a\.deb"),
    ],
)
def test_what_is_no_binary_package_says_so(tmp_path: Path, content: bytes, fault: str) -> None:
    (tmp_path / "a.deb").write_bytes(content)
    with pytest.raises(BadArchive, match=fault):
        unpack_sources(tmp_path / "a.deb", tmp_path / "tree")


@pytest.mark.parametrize("name", ["../evil.py", "a/../../evil.py", "/evil.py", "a\\..\\evil.py"])
def test_a_member_that_would_leave_the_folder_refuses_the_archive(tmp_path: Path, name: str) -> None:
    tree = tmp_path / "deep" / "tree"
    for archive in (
        tarball(tmp_path / "a.tgz", {"package/ok.py": "", name: ""}),
        wheel(tmp_path / "a.whl", {"ok.py": "", name: ""}),
        deb(tmp_path / "a.deb", {"ok.py": "", name: ""}),
        deb(tmp_path / "b.deb", {"ok.py": "", name: ""}, "zst"),
    ):
        with pytest.raises(BadArchive, match="outside"):
            unpack_sources(archive, tree)
        assert not tree.exists()
    assert not list(tmp_path.rglob("evil.py"))


def test_a_file_that_is_also_a_folder_refuses_the_archive(tmp_path: Path) -> None:
    with pytest.raises(BadArchive, match="at once"):
        unpack_sources(tarball(tmp_path / "a.tar.gz", {"a/x.py": "", "a/x.py/y.py": ""}), tmp_path / "tree")


def test_what_is_no_archive_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.tgz").write_text("not found")
    with pytest.raises(BadArchive, match=r"a\.tgz"):
        unpack_sources(tmp_path / "a.tgz", tmp_path / "tree")


def test_of_an_npm_package_one_form_of_the_code_stays(tmp_path: Path) -> None:
    names = ["src/a.ts", "lib/a.js", "es/a.js", "plugins/lib/b.js", "plugins/es/b.js", "c.js", "c.cjs", "d.mjs"]
    unpack_sources(tarball(tmp_path / "a.tgz", {f"package/{name}": "1;" for name in names}), tmp_path / "tree")
    assert _written(tmp_path / "tree") == ["c.js", "d.mjs", "plugins/es/b.js", "src/a.ts"]

"""Fetching a manifest's packages from archives of an earlier run, without requests to a registry."""

from pathlib import Path

import pytest

from tests.tools.archives import deb, tarball, wheel
from tools.model.fetch import main, sha256
from tools.model.manifest import Package, read_manifest, shipped_manifest, write_manifest

SPLIT_MINIMUM = 14


def _package(registry: str, name: str, digest: str) -> Package:
    return Package(registry, name, "1.0", "MIT", digest, "train", "python")


def _laid(folder: Path, package: Package) -> Path:
    place = folder / "archives" / package.folder
    place.mkdir(parents=True)
    return place


def _manifest(folder: Path, *packages: Package) -> list[str]:
    path = folder / "packages.tsv"
    path.write_text(write_manifest(packages), "utf-8")
    return [str(folder), "--manifest", str(path)]


def test_archives_become_trees_and_a_second_run_changes_nothing(tmp_path: Path) -> None:
    one = wheel(_laid(tmp_path, _package("pypi", "one", "")) / "one.whl", {"one/a.py": "A = 1\n"})
    two = tarball(_laid(tmp_path, _package("npm", "@x/two", "")) / "two.tgz", {"package/b.js": "b\n"})
    arguments = _manifest(tmp_path, _package("pypi", "one", sha256(one)), _package("npm", "@x/two", sha256(two)))
    assert main(arguments) == 0
    assert (tmp_path / "trees/pypi-one/one/a.py").read_text() == "A = 1\n"
    assert (tmp_path / "trees/npm-@x__two/b.js").read_text() == "b\n"
    one.unlink()  # what is done is not asked for again
    assert main(arguments) == 0


def test_an_archive_with_another_hash_is_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The archive on disk is not the manifest's, and the client, which is not there, cannot bring that."""
    wrong = tarball(_laid(tmp_path, _package("npm", "two", "")) / "two.tgz", {"package/b.js": "b\n"})
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert main(_manifest(tmp_path, _package("npm", "two", "0" * 64))) == 1
    assert capsys.readouterr().err == "npm:two@1.0: npm is not installed\n"
    assert not wrong.exists()
    assert not (tmp_path / "trees").exists()


def test_what_a_client_brings_is_checked_against_the_manifest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    served = tarball(tmp_path / "served.tgz", {"package/b.js": "b\n"})
    client = tmp_path / "bin" / "npm"
    client.parent.mkdir()
    client.write_text(f"#!/bin/sh\n/bin/cp {served} two-1.0.tgz\n")
    client.chmod(0o755)
    monkeypatch.setenv("PATH", str(client.parent))
    assert main(_manifest(tmp_path, _package("npm", "two", "0" * 64))) == 1
    assert f"the archive has the hash {sha256(served)}, not {'0' * 64}" in capsys.readouterr().err
    assert not (tmp_path / "trees").exists()
    assert main(_manifest(tmp_path, _package("npm", "two", sha256(served)))) == 0
    assert (tmp_path / "trees/npm-two/b.js").is_file()


def test_a_debian_binary_package_is_downloaded_by_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client is a script that gives the archive for `download lua-x=1.0` alone."""
    served = deb(tmp_path / "served.deb", {"./usr/share/lua/5.1/x.lua": "return 1\n"})
    client = tmp_path / "bin" / "apt-get"
    client.parent.mkdir()
    client.write_text(f'#!/bin/sh\ncase "$*" in *" download lua-x=1.0") /bin/cp {served} lua-x_1.0_all.deb;; esac\n')
    client.chmod(0o755)
    monkeypatch.setenv("PATH", str(client.parent))
    assert main(_manifest(tmp_path, _package("debian-binary", "lua-x", sha256(served)))) == 0
    assert (tmp_path / "trees/debian-binary-lua-x/x.lua").is_file()


def test_a_clients_own_word_is_the_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    client = tmp_path / "bin" / "npm"
    client.parent.mkdir()
    client.write_text("#!/bin/sh\necho noise >&2\necho 'npm error 404 no such version' >&2\nexit 1\n")
    client.chmod(0o755)
    monkeypatch.setenv("PATH", str(client.parent))
    assert main(_manifest(tmp_path, _package("npm", "two", "0" * 64))) == 1
    assert capsys.readouterr().err == "npm:two@1.0: npm: npm error 404 no such version\n"


def test_an_invalid_manifest_names_the_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = _manifest(tmp_path)
    (tmp_path / "packages.tsv").open("a").write("cpan\tx\t1\tMIT\t0\ttrain\tperl\n")
    assert main(arguments) == 2
    assert "line 2: not a package" in capsys.readouterr().err


def test_the_shipped_manifest_is_sorted_permissive_and_holds_packages_out() -> None:
    packages = read_manifest(shipped_manifest())
    assert write_manifest(packages) == shipped_manifest()
    assert all(len(package.sha256) == 64 and package.version for package in packages)
    assert not [
        package for package in packages if "GPL" in package.licence or "MPL" in package.licence or not package.licence
    ]
    held_out = [package for package in packages if package.split == "held-out"]
    assert len(held_out) >= SPLIT_MINIMUM
    assert len({package.language for package in held_out}) >= 5
    assert len({package.language for package in packages}) >= 10

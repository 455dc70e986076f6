"""The whole way from a manifest to a model, on wheels of the test's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from codelens.embed.static import StaticEmbedder
from tests.tools.archives import wheel
from tools.model.__main__ import main
from tools.model.fetch import sha256
from tools.model.manifest import Package, write_manifest

VERBS = {"open": "Opens", "close": "Closes", "count": "Counts", "send": "Sends", "sort": "Sorts", "check": "Checks"}
THINGS = ("letter", "socket", "basket", "invoice", "picture", "account", "message", "parcel")
SMALL = ["--words", "150", "--pieces", "50", "--dimensions", "16", "--steps", "20", "--batch", "64", "--run", "16"]


def _module(package: int) -> str:
    functions = [
        f'def {verb}_{thing}(given, limit):\n    """{said} one {thing} of pile {package} after the other."""\n'
        f"    for {thing} in given:\n        {verb}{package}({thing}, limit)\n    return limit + {package}\n"
        for verb, said in VERBS.items()
        for thing in THINGS
    ]
    return "\n\n".join(functions)


@pytest.mark.slow
def test_one_command_makes_the_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = []
    for number, split in enumerate(("train", "train", "held-out")):
        row = Package("pypi", f"pile{number}", "1", "MIT", "", split, "python")
        place = tmp_path / "data" / "archives" / row.folder
        place.mkdir(parents=True)
        archive = wheel(place / "pile.whl", {f"pile{number}/piles.py": _module(number)})
        rows.append(Package("pypi", row.name, "1", "MIT", sha256(archive), split, "python"))
    (tmp_path / "packages.tsv").write_text(write_manifest(rows))
    given = [str(tmp_path / "data"), "--manifest", str(tmp_path / "packages.tsv"), "--jobs", "1", *SMALL]
    assert main(given) == 1, "a model of three piles is not the shipped one"
    told = capsys.readouterr().out
    assert "3 of 3 packages" in told
    assert "held out: " in told
    embedder = StaticEmbedder(tmp_path / "data" / "codelens.model")
    assert any(embedder.embed_query("open the letter"))


def test_what_cannot_be_fetched_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = Package("npm", "none", "1", "MIT", "0" * 64, "train", "javascript")
    (tmp_path / "packages.tsv").write_text(write_manifest([row]))
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert main([str(tmp_path / "data"), "--manifest", str(tmp_path / "packages.tsv")]) == 1
    assert not (tmp_path / "data" / "pairs").exists()

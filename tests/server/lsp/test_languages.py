"""Every request in every language, also in texts that are cut or edited: answers or refusals, never a fault."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from codelens.cli.main import main
from codelens.lang.registry import languages
from tests.conftest import SEPARATOR, case_files
from tests.server.lsp.client import LspClient, RequestError, lsp_server
from tests.tiers import many

REFUSED = -32803
AT_NAMES = (
    *("hover", "definition", "declaration", "typeDefinition", "implementation", "documentHighlight", "references"),
    *("prepareCallHierarchy", "prepareTypeHierarchy", "rename"),
)
MORE = {
    "prepareCallHierarchy": ("callHierarchy/incomingCalls", "callHierarchy/outgoingCalls"),
    "prepareTypeHierarchy": ("typeHierarchy/supertypes", "typeHierarchy/subtypes"),
}


def write_sources(folder: Path) -> list[Path]:
    """The sources of the case files of extraction, as files of their languages."""
    written = list[Path]()
    for case in case_files("extraction"):
        row = languages().get(case.parent.name)
        if row and row.extensions:
            path = folder / row.name / f"{case.stem}{row.extensions[0]}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(case.read_text("utf-8").partition(SEPARATOR)[0] + "\n", encoding="utf-8")
            written.append(path)
    return written


def ask_at_names(client: LspClient, path: Path, text: str, chance: random.Random) -> None:
    names = [found.start() for found in re.finditer(r"\w+", text)]
    for at in chance.sample(names, min(2, len(names))):
        line, character = text.count("\n", 0, at), at - (text.rfind("\n", 0, at) + 1)
        for request in AT_NAMES:
            try:
                found = client.at(request, path, line, character, newName="other", context={"includeDeclaration": True})
            except RequestError as fault:
                assert fault.code == REFUSED, (request, path.name, line, character, str(fault))
                continue
            for further in MORE.get(request, ()) if found else ():
                client.ask(further, {"item": found[0]})


@pytest.mark.slow
def test_names_of_every_language_get_answers_or_refusals(tmp_path: Path) -> None:
    root, chance = tmp_path / "sources", random.Random(1)
    paths = write_sources(root)[:: 1 if many() else 2]
    assert len({path.parent.name for path in paths}) > 30
    assert main(["index", str(root), "--db", str(tmp_path / "index.db"), "-q", "--no-config"]) == 0
    with lsp_server(tmp_path, "--no-index", "--db", str(tmp_path / "index.db")) as client:
        client.initialize(root, options={"codeLens": True})
        for path in paths:
            text = client.open(path)
            if chance.random() < 0.5:
                middle = chance.randrange(len(text))
                text = text[:middle] + chance.choice(["", "x", "(", "\n\n", '"']) + text[middle + chance.randrange(3) :]
                client.change(path, text)
            for request in ("documentSymbol", "foldingRange", "codeLens"):
                client.ask(f"textDocument/{request}", {"textDocument": {"uri": path.as_uri()}})
            ask_at_names(client, path, text, chance)
            if chance.random() < 0.7:
                client.close(path)

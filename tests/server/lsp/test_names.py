"""Cost of the meanings of names: linear in the tokens of a file."""

from __future__ import annotations

from pathlib import Path

from codelens.config import Settings
from codelens.server.lsp.workspace import LspRequest, NameInFile, SourceText, WorkspaceFolder
from codelens.server.upkeep import ServedIndex, Upkeep


def count_steps(project: Path, methods: int) -> int:
    """Steps to find all places of a parameter in a class of so many methods."""
    text = "class Many:\n" + "".join(
        f"    def m{n}(self, value):\n        self.a{n} = value\n        return self\n" for n in range(methods)
    )
    served = ServedIndex(project, project / ".codelens/index.db", Settings())
    path = project / "many.py"
    folder = WorkspaceFolder(project, served, Upkeep(served, "a test"))
    request = LspRequest({project: folder}, {path: SourceText.from_editor(path, text, "utf-8")}, "utf-8", {})

    def count(name: NameInFile) -> int:
        assert len(list(name.names.find_same_tokens(name.meaning))) == 2
        return name.names.steps

    position = request.texts[path].to_position(text.index("value"))
    steps = request.answer_about_name(path.as_uri(), position, count)
    assert steps is not None
    return steps


def test_highlights_cost_a_few_steps_for_each_token(project: Path) -> None:
    small, large = count_steps(project, 50), count_steps(project, 500)
    assert large <= 10.5 * small

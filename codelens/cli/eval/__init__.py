"""codelens eval: how good the ranking is, by tasks whose answers are known. What is named after it are tasks, or a command."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar

import typer

from codelens.cli.typed import APP, CONTEXT, LazyGroup, typed


class EvalGroup(LazyGroup):
    """Without the name of a command below it, `eval` is the command that measures, with its own arguments and help."""

    places: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "Commands": {"make-tasks": "codelens.cli.eval.make_tasks:make_tasks", "tune": "codelens.cli.eval.tune:tune"}
    }

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Called by typer with what follows `eval`; a context knows whose it is."""
        if args[:1] and args[0] in self.list_commands(None):
            return super().make_context(info_name, args, parent, **extra)
        measure = typed(import_module("codelens.cli.eval.measure").measure)
        return measure.make_context(info_name, args, parent, **extra)


_app = typer.Typer(name="eval", cls=EvalGroup, context_settings=CONTEXT, **APP)


@_app.callback()
def _eval() -> None:
    """Measure the ranking by tasks with known answers, or tune it."""


command = typer.main.get_command(_app)

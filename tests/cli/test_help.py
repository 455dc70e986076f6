from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import codelens.cli
from codelens.cli.declare import import_object
from codelens.cli.help import COMMANDS, ENTRY_POINTS
from codelens.cli.typed import LazyGroup, build_root_group
from tests.commands import Run

GOLDEN = Path(__file__).parents[1] / "golden" / "help"


NAMES = [name for names in COMMANDS.values() for name in names]


@pytest.mark.parametrize("command", ["codelens", *NAMES])
def test_the_help_of_each_command_is_golden(command: str, run: Run, golden: Callable[[Path, str], None]) -> None:
    ran = run(*([] if command == "codelens" else [command]), "--help")
    assert ran.code == 0
    golden(GOLDEN / f"{command}.txt", ran.out)


BELOW = {
    name: import_object(f"codelens.cli.{name}:{name}").commands
    for name in ("cluster", "memory", "model", "hooks", "note")
}


@pytest.mark.parametrize(("above", "command"), [(above, name) for above, names in BELOW.items() for name in names])
def test_the_help_of_commands_below_groups_is_golden(
    above: str, command: str, run: Run, golden: Callable[[Path, str], None]
) -> None:
    ran = run(above, command, "--help")
    assert ran.code == 0
    golden(GOLDEN / f"{above}-{command}.txt", ran.out)


@pytest.mark.parametrize("command", ["keys", "keys add", "keys list", "keys revoke"])
def test_the_help_of_commands_below_serve_is_golden(
    command: str, run: Run, golden: Callable[[Path, str], None]
) -> None:
    ran = run("serve", *command.split(), "--help")
    assert ran.code == 0
    golden(GOLDEN / f"serve-{command.replace(' ', '-')}.txt", ran.out)


def test_the_help_of_eval_tune_is_golden_and_its_old_name_is_known(
    run: Run, golden: Callable[[Path, str], None]
) -> None:
    golden(GOLDEN / "eval-tune.txt", run("eval", "tune", "--help").out)
    moved = run("tune", "--keep", "own.toml")
    assert (moved.code, moved.out) == (2, "") and "did you mean 'eval tune'?" in moved.err


@pytest.mark.parametrize("topic", ["exit-codes", "query"])
def test_the_topics_of_help_are_golden(topic: str, run: Run, golden: Callable[[Path, str], None]) -> None:
    golden(GOLDEN / f"topic-{topic}.txt", run("help", topic).out)


def test_no_arguments_show_help(run: Run) -> None:
    assert run().out == run("--help").out == run("-h").out == run("help").out


def test_help_with_a_command_prints_its_help(run: Run) -> None:
    assert run("help", "search").out == run("search", "-h").out


def test_version_names_the_parts(run: Run) -> None:
    lines = run("--version").out.splitlines()
    assert [line.split()[0] for line in lines] == ["codelens", "schema", "SQLite", "sqlite-vec", "model", "Python"]


def test_no_summary_of_a_command_is_cut() -> None:
    def check(group: LazyGroup) -> None:
        for name in group.list_commands(None):
            command = group.get_command(None, name)
            assert not command.get_short_help_str(72).endswith("..."), name
            if isinstance(command, LazyGroup):
                check(command)

    check(build_root_group(ENTRY_POINTS))


def test_a_command_needs_its_module_alone(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "say_hello.py").write_text(
        "from codelens.cli.declare import command\nfrom codelens.cli.flags import CommonFlags\n\n"
        '@command()\ndef say_hello(flags: CommonFlags) -> int:\n    """Say hello."""\n    print(\'hello\')\n    return 0\n'
    )
    monkeypatch.setattr("codelens.cli.__path__", [*codelens.cli.__path__, str(tmp_path)])
    assert run("say-hello").out == "hello\n"
    assert "Say hello." in run("help", "say-hello").out

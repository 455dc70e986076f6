"""codelens eval: measure the ranking by tasks whose answers are known. Its arguments are task files or a command."""

from codelens.cli.declare import CommandGroup

command = CommandGroup(
    "eval",
    places=(("make-tasks", "codelens.cli.eval.history:make_tasks"), ("tune", "codelens.cli.eval.history:tune")),
    default="codelens.cli.eval.measure:measure",
    help="Measure the ranking by tasks with known answers, or tune it.",
)

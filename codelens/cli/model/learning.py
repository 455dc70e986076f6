"""codelens model eval and model train: measure how well models find the user's own code, and adapt one to it.

Evaluation searches for definitions by their documentation. Training keeps a model only if it is better on held-out code.
"""

from __future__ import annotations

import re
import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from codelens.cli.declare import argument, command, option
from codelens.cli.flags import CommonFlags, JsonFlags, Paths, ProgressFlags, Texts
from codelens.cli.model import describe_model, find_model_file, resolve_trees
from codelens.cli.progress import show_progress, write_json_step
from codelens.cli.streams import inform, say, say_without_prefix, write, write_fields
from codelens.cli.workplace import load_settings_here
from codelens.config import MODEL_ENDING, find_user_place
from codelens.embed.model_file import ModelFile
from codelens.embed.registry import HASHING, SHIPPED, resolve_setting
from codelens.errors import CannotWrite, UsageError
from codelens.model.fast_dataclass import replace

if TYPE_CHECKING:
    from codelens.training.finetune import FineTuned, TrainingStep

TreeFigures = Mapping[str, Mapping[str, Sequence[float]]]  # Model → way of ranking → reciprocal ranks of the answers
Figures = Mapping[str, TreeFigures]  # By tree
LONGEST_NAME = 60
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")


class ModelEvalFlags(CommonFlags, JsonFlags):
    paths: Paths = argument("[PATH]...", "Folders of documented code [default: this repository]")
    models: Texts = option(
        "--models A,B", "Models to compare, separated by commas or repeated [default: the one in use, and hashing]"
    )


@command("eval", epilog="Exit: 0 measured, 1 nothing to ask, 2 error, or no such model.")
def evaluate(flags: ModelEvalFlags) -> int:
    """Measure models on your own code. The first sentence of each definition's documentation, removed from the code, must find it.

    The table shows the mean reciprocal rank of the first ten for words (BM25), vectors, both, and search.
    """
    trees = resolve_trees(flags.paths)
    chosen = load_settings_here(flags).values
    named = [name.strip() for listed in flags.models or () for name in listed.split(",") if name.strip()]
    if flags.models is not None and not named:
        raise UsageError("--models is empty", "as in --models codelens,hashing")
    models = list(dict.fromkeys(named or [chosen.model, HASHING]))
    for model in models:  # a faulty model is reported before the work
        learnt = describe_model(model, chosen.allow_network).card.get("repositories", ())
        for tree in (tree for tree in trees if tree.name in learnt):
            card = f"`model info {model}`"
            inform(flags, f"note: {model} has learnt from {tree.name}; what it gained there is in its card: {card}")
    with tempfile.TemporaryDirectory() as folder:
        figures = {str(tree): _measure_tree(flags, tree, models, Path(folder) / str(n)) for n, tree in enumerate(trees)}
    questions = sum(len(next(iter(ways.values()), ())) for tree in figures.values() for ways in [tree[models[0]]])
    ways = list(dict.fromkeys(way for tree in figures.values() for model in tree.values() for way in model))
    if flags.json:
        write_fields(
            0 if questions else 1,
            questions=questions,
            mrr={model: {way: round(_compute_mean(figures, model, way), 4) for way in ways} for model in models},
            trees={
                tree: {
                    model: {way: round(statistics.mean(ranks), 4) for way, ranks in by_way.items()}
                    for model, by_way in by_model.items()
                }
                for tree, by_model in figures.items()
            },
        )
    elif questions:
        write(_tabulate(figures, models, ways))
    if not questions and not flags.quiet:
        say("no questions: no definition has documentation that is not also in its code")
        say_without_prefix(["hint: name folders with documented code\n"])
    return 0 if questions else 1


def _measure_tree(flags: ModelEvalFlags, tree: Path, models: Sequence[str], folder: Path) -> TreeFigures:
    """Measure the models on a tree, by questions that its documentation answers."""
    from codelens.config import Settings
    from codelens.evaluation.docstrings import ask_questions, write_code_without_documentation
    from codelens.index import Index

    bare, index = folder / "tree", folder / "index.db"
    questions = write_code_without_documentation(tree, bare, Settings())
    figures: dict[str, dict[str, list[float]]] = {model: {} for model in models}
    for model in models if questions else ():
        settings = Settings(model=resolve_setting(model), allow_network=load_settings_here(flags).values.allow_network)
        Index.build(index, [bare], settings)  # after the first model it only embeds
        figures[model] = ask_questions(questions, index, settings)
        inform(flags, f"{tree.name}: {len(questions)} documented definitions, asked with {model}")
    return figures


def _compute_mean(figures: Figures, model: str, way: str) -> float:
    """Average the trees' means, so that a large tree does not outweigh the others."""
    means = [statistics.mean(tree[model][way]) for tree in figures.values() if tree[model].get(way)]
    return statistics.mean(means) if means else 0.0


def _tabulate(figures: Figures, models: Sequence[str], ways: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a table: the mean of each way of ranking (row) with each model (column)."""
    heads = [Path(model).name for model in models]
    widths = [max(8, len(head) + 2) for head in heads]
    yield f"{'MRR@10':16}{''.join(f'{head:>{width}}' for head, width in zip(heads, widths, strict=True))}\n"
    for way in ways:
        cells = (f"{_compute_mean(figures, m, way):{width}.3f}" for m, width in zip(models, widths, strict=True))
        yield f"{way:16}{''.join(cells)}\n"


class TrainFlags(ProgressFlags, JsonFlags, CommonFlags):
    paths: Paths = argument("[PATH]...", "Folders to learn from, with their histories [default: this repository]")
    name: str | None = option("--name NAME", "The model's name [default: the first folder's name]")
    base: str = option("--from MODEL", "The model to begin with [default: codelens, the shipped one]", default=SHIPPED)
    steps: int | None = option("--steps N", "Batches to learn [default: 120]")
    seed: int = option("--seed N", "Seed of the random numbers [default: 1]", default=1)
    keep_anyway: bool = option("--keep-anyway", "Write the model even if it did not improve")
    force: bool = option("--force", "Overwrite a model of this name that was trained on other folders")


@command(epilog="Exit: 0 written, 1 no gain and nothing written, 2 error, or too little to learn from.")
def train(flags: TrainFlags) -> int:
    """Adapt a model to your own code. It learns from documentation, names, comments and commits, on this machine, in minutes.

    A fifth of the files and the last fifth of the commits are held out. The table shows how well questions about them find
    their code, before and after. The model is kept only if it is better on a third part; `model use NAME` then finds it.
    """
    from codelens.training.finetune import OWN, fine_tune

    trees = resolve_trees(flags.paths)
    base = find_model_file(flags.base)
    place = _choose_place(flags, trees)
    steps = OWN.steps if flags.steps is None else flags.steps
    if steps < 1 or flags.seed < 0:
        raise UsageError("--steps must be at least 1 and --seed at least 0")

    def report(step: TrainingStep) -> None:
        if flags.progress == "json":
            figures = {"loss": round(step.loss, 4), "validation": round(step.validation, 4)}
            write_json_step(phase="train", done=step.step, total=step.steps, path="", **figures)
        elif flags.progress == "auto":
            text = f"step {step.step} of {step.steps}: loss {step.loss:.3f}, validation {step.validation:.3f}"
            inform(flags, text)

    with show_progress(flags.progress, flags.quiet) as progress:
        tuned = fine_tune(base, trees, replace(OWN, steps=steps, seed=flags.seed), report, progress)
    for note in tuned.notes:
        say(f"note: {note}")
    written = tuned.gained or flags.keep_anyway
    if written:
        _write_model(place, tuned, flags, base, trees)
    _show_training(flags, tuned, place if written else None)
    return 0 if written else 1


def _choose_place(flags: TrainFlags, trees: Sequence[Path]) -> Path:
    """Choose the file to write the model to, and check before training that this is possible."""
    folder, name = find_user_place("models"), flags.name
    if folder is None:
        raise UsageError("there is no home directory for models", "set XDG_DATA_HOME")
    if name is None:
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", trees[0].name).strip(".-").removesuffix(MODEL_ENDING)
        name = name[:LONGEST_NAME].rstrip(".-") or "own"
        name += "-code" if name in (SHIPPED, HASHING) else ""
    if not _NAME.fullmatch(name) or len(name) > LONGEST_NAME or name.endswith(MODEL_ENDING):
        hint = "letters, digits, `_`, `-` and `.`, as --name our-code"
        raise UsageError(f"'{name}' is not a valid name for a model", hint)
    if name in (SHIPPED, HASHING):
        raise UsageError(f"'{name}' is the name of a shipped model", "choose another, as --name our-code")
    place = folder / f"{name}{MODEL_ENDING}"
    if place.exists() and not flags.force:
        learnt_from = None
        with suppress(UsageError):
            learnt_from = ModelFile(place).header.get("repositories")
        if learnt_from != [tree.name for tree in trees]:
            hint = "choose another --name, or overwrite it with --force"
            raise UsageError(f"{place} already exists, trained on other code", hint)
    return place


def _write_model(place: Path, tuned: FineTuned, flags: TrainFlags, base: ModelFile, trees: Sequence[Path]) -> None:
    from codelens.training.model import write_quantised

    measured = {m.kind: m for m in tuned.measured}
    names = [tree.name for tree in trees]
    options = f"--from {flags.base} --seed {flags.seed} --steps {tuned.recipe.steps}"
    card = {
        "name": place.name.removesuffix(MODEL_ENDING),
        "from": {"name": base.header["name"], "hash": base.digest()},
        "repositories": names,
        "recipe": asdict(tuned.recipe),
        "kept": {"step": tuned.steps, "share": tuned.share, "new_rows": tuned.new_rows},
        "temperature": round(tuned.model.temperature, 4),
        "pairs": {kind: m.pairs for kind, m in measured.items()},
        "validation": {"before": round(tuned.validation[0], 4), "after": round(tuned.validation[1], 4)},
        "held_out": {
            kind: {"pairs": m.held_out, "mrr_before": round(m.before, 4), "mrr": round(m.after, 4)}
            for kind, m in measured.items()
            if m.before is not None and m.after is not None
        },
        "repeat": " ".join(("codelens model train", *names, options)),
    }
    try:
        write_quantised(place, tuned.model, tuned.names, card)
    except OSError as fault:
        raise CannotWrite(f"{place}: {fault.strerror or fault}", "set XDG_DATA_HOME to a folder for it") from None


def _show_training(flags: TrainFlags, tuned: FineTuned, kept: Path | None) -> None:
    before, after = tuned.validation
    if flags.json:
        write_fields(
            0 if kept else 1,
            path=str(kept) if kept else None,
            gained=tuned.gained,
            validation={"before": before, "after": after},
            held_out=[asdict(measured) for measured in tuned.measured],
            new_rows=tuned.new_rows,
            steps=tuned.steps,
            seconds=round(tuned.seconds, 1),
        )
    else:
        write([f"{'MRR@10':10}{'pairs':>8}{'held out':>10}{'before':>9}{'after':>9}\n"])
        for m in tuned.measured:
            figures = ("-" if value is None else f"{value:.3f}" for value in (m.before, m.after))
            write([f"{m.kind:10}{m.pairs:8}{m.held_out:10}{''.join(f'{figure:>9}' for figure in figures)}\n"])
    if flags.quiet:
        return
    if kept is None:
        say(f"nothing written: {before:.3f} on the validation part, and no step was better")
        say_without_prefix(["hint: name more repositories, or write it all the same with --keep-anyway\n"])
        return
    say(f"validation {before:.3f} → {after:.3f} in {tuned.seconds:.0f} s; written to {kept}")
    say_without_prefix([f"hint: `codelens model use {kept.name.removesuffix(MODEL_ENDING)}`, then `codelens index`\n"])

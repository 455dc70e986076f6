"""codelens model train: the shipped embedding, adapted to one's own code, and the proof that it is better there."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codelens.cli.declare import argument, command, option
from codelens.cli.flags import CommonFlags, JsonFlags, ProgressFlags
from codelens.cli.model import find_trees, model_file
from codelens.cli.progress import watcher
from codelens.cli.streams import say, say_plain, write, write_record
from codelens.config import MODEL_ENDING, user_place
from codelens.embed.model_file import ModelFile
from codelens.embed.registry import HASHING, SHIPPED
from codelens.errors import CannotWrite, UsageError
from codelens.model.fast_dataclass import replace

if TYPE_CHECKING:
    from codelens.training.finetune import FineTuned, TrainingStep

LONGEST_NAME = 60
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")


class TrainFlags(ProgressFlags, JsonFlags, CommonFlags):
    """Options: the trees to learn from, the effort, and the model's name."""

    paths: list[Path] | None = argument(
        None, "[PATH]...", "Folders to learn from, with their histories [default: this repository]"
    )
    name: str | None = option(None, "--name NAME", "The model's name [default: the first folder's name]")
    base: str = option(SHIPPED, "--from MODEL", "The model to begin with [default: codelens, the shipped one]")
    steps: int | None = option(None, "--steps N", "Batches to learn [default: 120]")
    seed: int = option(1, "--seed N", "Seed of the random numbers [default: 1]")
    keep_anyway: bool = option(False, "--keep-anyway", "Write the model even if it did not improve")
    force: bool = option(False, "--force", "Overwrite a model of this name that was trained on other folders")


@command(epilog="Exit: 0 written, 1 no gain and nothing written, 2 error, or too little to learn from.")
def train(flags: TrainFlags) -> int:
    """Adapt a model to your own code. It learns from documentation, names, comments and commits, on this machine, in minutes.

    A fifth of the files and the last fifth of the commits are held out. The table shows how well questions about them find
    their code, before and after. The model is kept only if it is better on a third part; `model use NAME` then finds it.
    """
    trees = find_trees(flags.paths)
    base = model_file(flags.base)
    place = _place(flags, trees)
    tuned = _fine_tune(flags, base, trees)
    for note in tuned.notes:
        say(f"note: {note}")
    written = tuned.gained or flags.keep_anyway
    if written:
        _write(place, tuned, _card(flags, place, base, trees, tuned))
    _show(flags, tuned, place if written else None)
    return 0 if written else 1


def _place(flags: TrainFlags, trees: Sequence[Path]) -> Path:
    """The file to write, asked for before the work."""
    folder = user_place("models")
    if folder is None:
        raise UsageError("there is no home directory for models", "set XDG_DATA_HOME")
    name = flags.name if flags.name is not None else _name_from_folder(trees[0].name)
    if not _NAME.fullmatch(name) or len(name) > LONGEST_NAME or name.endswith(MODEL_ENDING):
        raise UsageError(
            f"'{name}' is not a valid name for a model", "letters, digits, `_`, `-` and `.`, as --name our-code"
        )
    if name in (SHIPPED, HASHING):
        raise UsageError(f"'{name}' is the name of a shipped model", "choose another, as --name our-code")
    place = folder / f"{name}{MODEL_ENDING}"
    if place.exists() and not flags.force and _training_folders(place) != _names(trees):
        raise UsageError(
            f"{place} already exists, trained on other code", "choose another --name, or overwrite it with --force"
        )
    return place


def _name_from_folder(name: str) -> str:
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip(".-").removesuffix(MODEL_ENDING)[:LONGEST_NAME].rstrip(".-")
    return f"{plain}-code" if plain in (SHIPPED, HASHING) else plain or "own"


def _training_folders(place: Path) -> list[str] | None:
    try:
        return ModelFile(place).header.get("repositories")
    except UsageError:
        return None


def _names(trees: Sequence[Path]) -> list[str]:
    return [tree.name for tree in trees]


def _fine_tune(flags: TrainFlags, base: ModelFile, trees: Sequence[Path]) -> FineTuned:
    from codelens.training.finetune import OWN, fine_tune

    steps = OWN.steps if flags.steps is None else flags.steps
    if steps < 1 or flags.seed < 0:
        raise UsageError("--steps must be at least 1 and --seed at least 0")
    recipe = replace(OWN, steps=steps, seed=flags.seed)
    with watcher(flags.progress, flags.quiet) as progress:
        return fine_tune(base, trees, recipe, _progress_reporter(flags), progress)


def _progress_reporter(flags: TrainFlags) -> Callable[[TrainingStep], None]:
    """A callback that reports the progress of a training: a line on stderr, or an object for programs."""

    def tell(step: TrainingStep) -> None:
        if flags.progress == "json":
            record = {"type": "progress", "phase": "train", "done": step.step, "total": step.steps, "path": ""}
            record |= {"loss": round(step.loss, 4), "validation": round(step.validation, 4)}
            sys.stderr.write(json.dumps(record) + "\n")
            sys.stderr.flush()
        elif flags.progress == "auto" and not flags.quiet:
            say(f"step {step.step} of {step.steps}: loss {step.loss:.3f}, validation {step.validation:.3f}")

    return tell


def _card(flags: TrainFlags, place: Path, base: ModelFile, trees: Sequence[Path], tuned: FineTuned) -> dict[str, Any]:
    measured = {m.kind: m for m in tuned.measured}
    again = " ".join(
        (
            "codelens model train",
            *_names(trees),
            f"--from {flags.base} --seed {flags.seed} --steps {tuned.recipe.steps}",
        )
    )
    return {
        "name": place.name.removesuffix(MODEL_ENDING),
        "from": {"name": base.header["name"], "hash": base.digest()},
        "repositories": _names(trees),
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
        "repeat": again,
    }


def _write(place: Path, tuned: FineTuned, card: dict[str, Any]) -> None:
    from codelens.training.model import write_quantised

    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        write_quantised(place, tuned.model, tuned.names, card)
    except OSError as fault:
        raise CannotWrite(f"{place}: {fault.strerror or fault}", "set XDG_DATA_HOME to a folder for it") from None


def _show(flags: TrainFlags, tuned: FineTuned, kept: Path | None) -> None:
    if flags.json:
        from codelens.render.records import SCHEMA

        write_record({"schema": SCHEMA, **_record(tuned, kept), "exit_code": 0 if kept else 1})
    elif not flags.quiet:
        write(_table(tuned))
    if flags.quiet:
        return
    before, after = tuned.validation
    if kept is None:
        say(f"nothing written: {before:.3f} on the validation part, and no step was better")
        say_plain(["hint: name more repositories, or write it all the same with --keep-anyway\n"])
        return
    say(f"validation {before:.3f} → {after:.3f} in {tuned.seconds:.0f} s; written to {kept}")
    say_plain([f"hint: `codelens model use {kept.name.removesuffix(MODEL_ENDING)}`, then `codelens index`\n"])


def _record(tuned: FineTuned, kept: Path | None) -> dict[str, Any]:
    return {
        "path": str(kept) if kept else None,
        "gained": tuned.gained,
        "validation": {"before": tuned.validation[0], "after": tuned.validation[1]},
        "held_out": [asdict(measured) for measured in tuned.measured],
        "new_rows": tuned.new_rows,
        "steps": tuned.steps,
        "seconds": round(tuned.seconds, 1),
    }


def _table(tuned: FineTuned) -> Iterator[str]:
    yield f"{'MRR@10':10}{'pairs':>8}{'held out':>10}{'before':>9}{'after':>9}\n"
    for m in tuned.measured:
        before, after = (f"{value:.3f}" if value is not None else "-" for value in (m.before, m.after))
        yield f"{m.kind:10}{m.pairs:8}{m.held_out:10}{before:>9}{after:>9}\n"

"""codelens model eval: measures how well models find definitions by their documentation, on the user's trees."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from codelens.cli.declare import argument, command, option
from codelens.cli.flags import CommonFlags, JsonFlags
from codelens.cli.model import describe_model, find_trees
from codelens.cli.streams import inform, say, say_plain, write, write_fields
from codelens.cli.workplace import settings_here
from codelens.embed.registry import HASHING, absolute_setting
from codelens.errors import UsageError

Figures = Mapping[str, Mapping[str, Mapping[str, Sequence[float]]]]
"""Tree → model → way of ranking → the reciprocal rank of each question's answer."""


class ModelEvalFlags(CommonFlags, JsonFlags):
    """Which trees, and which models."""

    paths: list[Path] | None = argument("[PATH]...", "Folders of documented code [default: this repository]")
    models: list[str] | None = option(
        "--models A,B", "Models to compare, separated by commas or repeated [default: the one in use, and hashing]"
    )


@command("eval", epilog="Exit: 0 measured, 1 nothing to ask, 2 error, or no such model.")
def evaluate(flags: ModelEvalFlags) -> int:
    """Measure models on your own code. The first sentence of each definition's documentation, removed from the code, must find it.

    The table shows the mean reciprocal rank of the first ten for words (BM25), vectors, both, and search.
    """
    trees = find_trees(flags.paths)
    chosen = settings_here(flags).values
    named = [name.strip() for listed in flags.models or () for name in listed.split(",") if name.strip()]
    if flags.models is not None and not named:
        raise UsageError("--models is empty", "as in --models codelens,hashing")
    models = list(dict.fromkeys(named or [chosen.model, HASHING]))
    for model in models:  # opened before the work
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
            mrr={model: {way: round(_mean(figures, model, way), 4) for way in ways} for model in models},
            trees={
                tree: {
                    model: {way: round(statistics.mean(ranks), 4) for way, ranks in by_way.items()}
                    for model, by_way in by_model.items()
                }
                for tree, by_model in figures.items()
            },
        )
    elif questions and not flags.quiet:
        write(_tabulate(figures, models, ways))
    if not questions and not flags.quiet:
        say("no questions: no definition has documentation that is not also in its code")
        say_plain(["hint: name folders with documented code\n"])
    return 0 if questions else 1


def _measure_tree(
    flags: ModelEvalFlags, tree: Path, models: Sequence[str], folder: Path
) -> dict[str, dict[str, list[float]]]:
    from codelens.config import Settings
    from codelens.evaluation.docstrings import ask_questions, write_code_without_documentation
    from codelens.index import Index

    bare, index = folder / "tree", folder / "index.db"
    questions = write_code_without_documentation(tree, bare, Settings())
    figures: dict[str, dict[str, list[float]]] = {model: {} for model in models}
    for model in models if questions else ():
        settings = Settings(model=absolute_setting(model), allow_network=settings_here(flags).values.allow_network)
        Index.build(index, [bare], settings)  # from the second on it only embeds
        figures[model] = ask_questions(questions, index, settings)
        inform(flags, f"{tree.name}: {len(questions)} documented definitions, asked with {model}")
    return figures


def _mean(figures: Figures, model: str, way: str) -> float:
    """The mean over the trees' means, so that a large tree does not outweigh the others."""
    means = [statistics.mean(tree[model][way]) for tree in figures.values() if tree[model].get(way)]
    return statistics.mean(means) if means else 0.0


def _tabulate(figures: Figures, models: Sequence[str], ways: Sequence[str]) -> Iterator[str]:
    heads = [Path(model).name for model in models]
    widths = [max(8, len(head) + 2) for head in heads]
    yield f"{'MRR@10':16}{''.join(f'{head:>{width}}' for head, width in zip(heads, widths, strict=True))}\n"
    for way in ways:
        cells = (f"{_mean(figures, m, way):{width}.3f}" for m, width in zip(models, widths, strict=True))
        yield f"{way:16}{''.join(cells)}\n"

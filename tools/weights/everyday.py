"""Learn the weights for everyday questions: `python -m tools.weights.everyday --clones CLONES --work WORK --questions FOLDER`.

They are learned from the part `learn` of tools/questions, together with the tasks of `python -m tools.weights`; only the set
`everyday` is written, and the other sets stay. Each fifth of the packages is measured with query vectors that were trained on the
other packages: those of its own questions would look better than they are.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from codelens.config import Settings, load_weights
from codelens.embed.model_file import ModelFile
from codelens.embed.registry import find_shipped_model
from codelens.embed.static import QUERIES_ENDING
from codelens.errors import CodelensError
from codelens.evaluation import fitting
from codelens.evaluation.fitting import Sample, sample_tasks
from codelens.evaluation.tasks import UNANSWERED
from codelens.model.fast_dataclass import replace
from codelens.search.intent import EVERYDAY
from tools.model.queries import QueryEncoder, QueryRecipe, least_cosine, read_package, train, write_queries
from tools.questions.collection import LEARN, index_place, read_part
from tools.weights.__main__ import WEIGHTS, replace_sets, with_features
from tools.weights.folds import fit_shipped
from tools.weights.repositories import measure_all, read_manifest, sources

FOLDS = 5
ASKED = "asked "  # Before the kind of a question: the kinds of made tasks have the same names
KINDS = {"concept": 2.0, "symptom": 0.7, "behaviour": 0.3, "task": 1.0}
"""Kind → total weight of all its questions. With twice and four times as much, MRR of 242 concepts is within .004, and tasks and
commits rank worse."""


def sample_questions(folder: Path, work: Path) -> Iterator[Sample]:
    """The samples of the part `learn`, each package measured with query vectors that did not see it."""
    shipped, parts = find_shipped_model(), read_part(LEARN)
    if shipped is None:
        raise SystemExit("this installation has no shipped model")
    packages = {name: read_package(index_place(folder, name), tasks) for name, tasks in parts.items()}
    for fold in range(FOLDS):
        held_out = sorted(packages)[fold::FOLDS]
        learned = [package for name, package in packages.items() if name not in held_out and package.questions]
        encoder = QueryEncoder(ModelFile(shipped), QueryRecipe())
        train(learned, encoder, QueryRecipe())
        encoder.blend()
        place = work / f"fold-{fold}"
        place.mkdir(parents=True, exist_ok=True)
        model = place / shipped.name
        shutil.copy(shipped, model)
        card = {"name": "queries", "model": encoder.file.digest(), "least_cosine": least_cosine(learned, encoder)}
        write_queries(model.with_suffix(QUERIES_ENDING), encoder, card)
        for name in held_out:
            tasks = [replace(task, kind=ASKED + task.kind) for task in parts[name] if task.kind not in UNANSWERED]
            yield from sample_tasks(tasks, index_place(folder, name), Settings(model=str(model)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Fit, and write weights.toml."""
    parser = argparse.ArgumentParser(prog="python -m tools.weights.everyday", description=__doc__)
    parser.add_argument("--clones", type=Path, required=True, help="as for `python -m tools.weights`")
    parser.add_argument("--work", type=Path, required=True, help="the same")
    parser.add_argument("--questions", type=Path, required=True, help="the folder of `python -m tools.questions.lay`")
    options = parser.parse_args(arguments)
    try:
        found = sources(read_manifest(None), options.clones.absolute(), options.work.absolute())
        measured = [one for own in measure_all(found, None) for one in own]
        measured += sample_questions(options.questions, options.work / "questions")
    except CodelensError as error:
        parser.error(str(error))
    fitting.KINDS = {**fitting.KINDS, **{ASKED + kind: weight for kind, weight in KINDS.items()}}
    fitted = fit_shipped(measured)
    weights = replace_sets(load_weights()["codelens"]["features"], fitted.weights, [EVERYDAY])
    WEIGHTS.write_text(with_features(WEIGHTS.read_text("utf-8"), weights), "utf-8")
    print(f"loss {fitted.loss:.4f}; learned from {fitted.tasks}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

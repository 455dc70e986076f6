"""Fine-tuning on a user's own trees: its pairs, its gain on held-out pairs, and when it refuses."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from codelens.embed.model_file import PIECE, ModelFile, find_word_rows
from codelens.errors import UsageError
from codelens.training.corpus import Encoder, map_to_rows
from codelens.training.finetune import OWN, FineTuned, fine_tune, interpolate_models
from codelens.training.histories import HELD_OUT, LEARNT, VALIDATION, collect_pairs, read_history_pairs, strip_subject
from codelens.training.model import FEWEST_TIMES, Model, Recipe, add_rows, load_model, write_quantised
from codelens.training.trainer import train_model
from codelens.worktree.commits import read_commits, read_texts
from codelens.worktree.repository import Repository, find_enclosing_repository
from tests.embed.models import make_model
from tests.training.own_trees import COMMITS, SAID, WRITTEN, question, source, write_repository, write_tree
from tests.training.small import corpus
from tests.worktree.conftest import git
from tools.model.build import begin, build, frequencies

SHORT = replace(OWN, steps=60, rate=0.02)  # The small model's 32 dimensions want larger steps than 256 do


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> ModelFile:
    """A small model of other code, which knows none of the tree's verbs."""
    words = corpus()
    names = build(frequencies(words), 150, 60)
    recipe = Recipe(dimensions=32, steps=40, batch=128, run=32, rate=0.02, sif=0.1)
    found = map_to_rows(words, names)
    model = begin(np.bincount(found.ids, minlength=len(names)).astype(np.int64), recipe)
    train_model(found, np.arange(len(found)), recipe, model)
    path = tmp_path_factory.mktemp("models") / "small.model"
    write_quantised(path, model, names, {"name": "small"})
    return ModelFile(path)


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trees") / "port"
    write_repository(folder, seed=1)
    return folder


def repository_of(folder: Path) -> Repository:
    found = find_enclosing_repository(folder.resolve())
    assert found is not None
    return found


@pytest.fixture(scope="module")
def learnt(base: ModelFile, port: Path) -> FineTuned:
    return fine_tune(base, [port], SHORT)


@pytest.mark.slow
def test_it_finds_better_what_it_was_not_shown(learnt: FineTuned) -> None:
    found = {measured.kind: measured for measured in learnt.measured}
    assert found["doc"].pairs > 200
    for kind in ("doc", "history"):
        measured = found[kind]
        assert measured.before is not None
        assert measured.after is not None
        assert measured.after > measured.before + 0.05, kind
    assert learnt.gained
    assert learnt.validation[1] > learnt.validation[0] + 0.05
    assert len({*SAID, *WRITTEN} & set(learnt.names[-learnt.new_rows :])) > 60


@pytest.mark.slow
def test_it_can_be_repeated(base: ModelFile, port: Path, learnt: FineTuned) -> None:
    again = fine_tune(base, [port], SHORT)
    assert again.model.rows.tobytes() == learnt.model.rows.tobytes()
    assert (again.names, again.measured) == (learnt.names, learnt.measured)


@pytest.mark.slow
def test_a_training_that_moves_nothing_gains_nothing(base: ModelFile, port: Path) -> None:
    tuned = fine_tune(base, [port], replace(OWN, steps=5, rate=0.0))
    assert not tuned.gained
    assert all(measured.before == measured.after for measured in tuned.measured)


def test_parts_share_no_file_no_time_and_no_question(port: Path, tmp_path: Path) -> None:
    write_tree(tmp_path / "copy", seed=1)  # the same files: the same parts
    own = collect_pairs([port, tmp_path / "copy"])
    assert {pair.tree for pair in own.pairs} == {0, 1}
    asked = {
        part: {pair.pair.query.casefold() for pair in own.pairs if pair.part == part}
        for part in (LEARNT, VALIDATION, HELD_OUT)
    }
    assert all(
        not asked[one] & asked[other]
        for one in (LEARNT, VALIDATION, HELD_OUT)
        for other in (LEARNT, VALIDATION, HELD_OUT)
        if one != other
    )
    files: dict[str, set[str]] = {}
    for pair in own.pairs:
        if pair.pair.kind == "doc":
            files.setdefault(pair.pair.path, set()).add(pair.part)
    assert {len(parts) for parts in files.values()} == {1}
    order = [commit.subject for commit in read_commits(repository_of(port), 1000)]
    newest = {strip_subject(subject) for subject in order[: COMMITS // 5]}
    committed = [pair for pair in own.pairs if pair.pair.kind == "history"]
    held_out = {pair.pair.query for pair in committed if pair.part == HELD_OUT}
    assert held_out
    assert held_out <= newest
    assert not newest & {pair.pair.query for pair in committed if pair.part == LEARNT}


def test_ignored_files_teach_nothing(port: Path, tmp_path: Path) -> None:
    write_tree(tmp_path, seed=2)
    (tmp_path / ".gitignore").write_text("dock1*\n")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/HEAD").write_text("ref: refs/heads/main\n")
    for name in ("objects", "refs"):
        (tmp_path / ".git" / name).mkdir()
    paths = {pair.pair.path for pair in collect_pairs([tmp_path]).pairs}
    assert "port/dock2.py" in paths
    assert not any("dock1" in path for path in paths)


def test_a_commit_gives_a_pair_for_each_function_that_it_changed(port: Path) -> None:
    found = list(read_history_pairs(repository_of(port)))
    assert len(found) == COMMITS  # the first commit changes too many files
    assert Counter(commit for commit, _ in found).most_common(1)[0][1] == 1
    for _, pair in found[:20]:
        assert pair.query.partition(" ")[0].lower() in SAID
        assert "assert plan" in pair.fields.body
        assert pair.fields.name.split("_")[1] == pair.query.split()[2]


def test_a_merge_a_large_commit_and_what_is_no_source_give_no_pairs(tmp_path: Path) -> None:
    def commit(subject: str, **files: str | bytes) -> None:
        for name, text in files.items():
            (tmp_path / name.replace("_py", ".py")).write_bytes(text if isinstance(text, bytes) else text.encode())
        git(tmp_path, "add", "-A")
        git(tmp_path, "commit", "-q", "-m", subject)

    git(tmp_path, "init", "-q", "-b", "main")
    one = source([(0, "sail")])
    commit("Write a first sail", a_py=one)
    commit("Say many things at once", **{f"f{n}_py": one for n in range(5)})
    commit("Explain what sails are", readme="text")
    commit("Bring bytes that are no text", b_py=b"def f():\n    return '\xff'\n")
    commit("Tidy", a_py=one + "\n")
    git(tmp_path, "checkout", "-q", "-b", "side", "HEAD~1")
    commit("Hoist the mast at last", c_py=source([(1, "mast")]))
    git(tmp_path, "checkout", "-q", "main")
    git(tmp_path, "merge", "-q", "--no-edit", "-m", "Merge what came from the side", "side")
    found = {pair.query: pair.fields.name for _, pair in read_history_pairs(repository_of(tmp_path))}
    assert found == {"Write a first sail": f"{WRITTEN[0]}_sail", "Hoist the mast at last": f"{WRITTEN[1]}_mast"}


def test_files_are_read_as_a_commit_left_them(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/a b.py").write_bytes(b"one\n\ntwo")
    (tmp_path / "empty").write_bytes(b"")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "first")
    first = git(tmp_path, "rev-parse", "HEAD").decode().strip()
    (tmp_path / "sub/a b.py").write_bytes(b"three")
    git(tmp_path, "commit", "-q", "-am", "second")
    second = git(tmp_path, "rev-parse", "HEAD").decode().strip()
    wanted = [
        (first, "sub/a b.py"),
        (first, "sub"),
        (second, "gone"),
        (first, "x\ny"),
        (second, "sub/a b.py"),
        (first, "empty"),
    ]
    assert list(read_texts(repository_of(tmp_path), wanted)) == [b"one\n\ntwo", None, None, None, b"three", b""]
    assert list(read_texts(repository_of(tmp_path), [])) == []


@pytest.mark.parametrize(
    ("subject", "bare"),
    [
        ("fix(parser): take an empty list (#12)", "take an empty list"),
        ("[core] Add a way out", "Add a way out"),
        ("lib/parse.c: free what was read", "free what was read"),
        ("feat!: drop the old form", "drop the old form"),
        ("Fix tests", ""),
        ("chore: release", ""),
        ("Use a::b in the loop", "Use a::b in the loop"),
        ("", ""),
    ],
)
def test_a_subject_without_what_stands_around_it(subject: str, bare: str) -> None:
    assert strip_subject(subject) == bare


def test_new_words_begin_as_their_pieces_or_by_chance(tmp_path: Path) -> None:
    model, names = load_model(ModelFile(make_model(tmp_path / "letters.model")))
    encoder = Encoder()
    record = {"kind": "doc", "name": "a", "context": "a", "signature": "", "body": "flotsam"}
    queries = ["flotsam of jetsam"] * (FEWEST_TIMES - 1) + ["jetsam"]
    encoder.add("one", [{**record, "query": query} for query in queries])
    words = encoder.build_corpus()
    wide, found = add_rows(model, names, words, np.arange(len(words)))
    assert found[: len(names)] == names
    assert found[len(names) :] == ["flotsam", "jetsam"]
    place = found.index("flotsam")
    pieces = find_word_rows("flotsam", {name: i for i, name in enumerate(names)}.get)
    assert pieces
    summed = sum(np.exp(model.code[piece]) * model.rows[piece] for piece in pieces)
    assert np.exp(wide.code[place]) * wide.rows[place] == pytest.approx(summed, abs=1e-4)
    assert np.linalg.norm(wide.rows[place]) == pytest.approx(1, abs=1e-5)
    assert add_rows(model, names, words, np.arange(1))[1] == names, "what stands in too few texts has no row"
    whole = [name for name in names if not name.startswith(PIECE)]
    alone = Model(model.rows[: len(whole)], model.query[: len(whole)], model.code[: len(whole)], model.factors, 20.0)
    rows = [add_rows(alone, whole, words, np.arange(len(words)))[0].rows[-2:] for _ in range(2)]
    assert np.linalg.norm(rows[0], axis=1) == pytest.approx(1, abs=1e-5)
    assert rows[0].tobytes() == rows[1].tobytes()


@pytest.mark.slow
def test_between_two_models_lie_their_means(base: ModelFile) -> None:
    one, _ = load_model(base)
    other = one.copy()
    other.rows += 1
    other.temperature = one.temperature + 4
    middle = interpolate_models(one, other, 0.25)
    assert middle.rows == pytest.approx(one.rows + 0.25, abs=1e-6)
    assert (middle.temperature, middle.factors.tolist()) == (one.temperature + 1, one.factors.tolist())


@pytest.mark.slow
def test_too_little_to_learn_from_is_reported(base: ModelFile, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(f'def f(x):\n    """{question((0, "sail"))}."""\n    return x\n')
    with pytest.raises(UsageError, match="only 1 pairs") as fault:
        fine_tune(base, [tmp_path])
    assert "name more repositories" in fault.value.hint


@pytest.mark.slow
def test_a_history_that_cannot_be_read_is_reported(base: ModelFile, tmp_path: Path) -> None:
    write_tree(tmp_path, seed=1)
    git(tmp_path, "init", "-q")  # no commit
    own = collect_pairs([tmp_path])
    assert {pair.pair.kind for pair in own.pairs} >= {"doc", "name"}
    assert len(own.notes) == 1
    assert own.notes[0].startswith(f"nothing is learnt from the history of {tmp_path}: ")

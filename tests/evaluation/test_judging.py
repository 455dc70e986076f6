"""When a hit is right: names, places and credit, by each rule."""

from __future__ import annotations

import pytest

from codelens.evaluation.metrics import NamedHit, Rule, judge_hits, loose, same_file, split_hit_name, strict
from codelens.evaluation.tasks import Relevant, Task


def task(*relevant: Relevant) -> Task:
    return Task("t", "r", "q", relevant)


def named(*symbols: str) -> Task:
    return task(*(Relevant(symbol, ()) for symbol in symbols))


@pytest.mark.parametrize(
    ("hit", "truth", "is_loose", "is_strict"),
    [
        (("Flask.run", "src/app.py"), "Flask.run", True, True),
        (("Flask.run", "src/app.py"), "run", True, True),
        (("run", "src/app.py"), "Flask.run", True, False),
        (("Scaffold.run", "src/app.py"), "Flask.run", False, False),
        (("app.Flask.run", "src/app.py"), "Flask.run", True, True),
        (("flask.RUN", "src/x.py"), "Flask.run", True, False),
        (("Flask", "src/app.py"), "Flask.run", True, False),
        (("a.b.Flask.run", "src/x.py"), "b.Flask", True, False),
        (("Flask::run<T>", "src/app.rs"), "Flask#run", True, True),
    ],
)
def test_when_a_hit_is_right(hit: tuple[str, str], truth: str, is_loose: bool, is_strict: bool) -> None:
    assert loose(NamedHit(*hit), Relevant(truth, ())) is is_loose
    assert strict(NamedHit(*hit), Relevant(truth, ())) is is_strict


def test_the_rule_for_commits_wants_the_file() -> None:
    truth = Relevant("Flask.run", ("src/app.py",))
    assert same_file(NamedHit("Other.run", "src/app.py"), truth)
    assert not same_file(NamedHit("Flask.run", "src/cli.py"), truth)


def test_package_parts_that_repeat_the_path_are_left_out() -> None:
    assert split_hit_name(NamedHit("crate.fs.walk.Walker.next", "fs/walk.rs")) == ("Walker", "next")
    assert split_hit_name(NamedHit("Walker.next", "fs/Walker.java")) == ("Walker", "next")


@pytest.mark.parametrize("rule", [loose, strict, same_file])
def test_an_entry_without_a_symbol_is_a_file(rule: Rule) -> None:
    truth = Relevant("", ("src/app.py",))
    assert rule(NamedHit("anything", "src/app.py"), truth)
    assert not rule(NamedHit("anything", "src/cli.py"), truth)


@pytest.mark.parametrize("rule", [loose, strict, same_file])
def test_an_entry_that_is_pinned_is_right_in_its_file_only(rule: Rule) -> None:
    truth = Relevant("Flask.run", ("src/app.py",), pinned=True)
    assert rule(NamedHit("Flask.run", "src/app.py"), truth)
    assert not rule(NamedHit("Flask.run", "docs/app.py"), truth)


def test_an_entry_is_credited_once_and_the_loose_rule_counts_every_hit() -> None:
    found = judge_hits(named("a", "b", "c"), [NamedHit(name, "") for name in ("x", "b", "b", "a")], strict)
    assert found.credited == (None, 1, None, 0)
    assert found.loosely_right == (False, True, True, True)
    assert found.loosely_found == (0, 1)


def test_of_two_entries_that_fit_the_first_is_credited_first() -> None:
    assert judge_hits(named("run", "Flask.run"), [NamedHit("Flask.run", "")] * 3, strict).credited == (0, 1, None)


def test_only_the_first_ten_are_judged() -> None:
    found = judge_hits(named("a"), [*([NamedHit("x", "")] * 10), NamedHit("a", "")], strict)
    assert found.credited == (None,) * 10
    assert found.loosely_found == ()


def test_files_count_where_the_truth_names_some() -> None:
    hits = [NamedHit("a", "one.py"), NamedHit("b", "two.py")]
    assert judge_hits(named("a"), hits, strict).in_files is None
    assert judge_hits(task(Relevant("z", ("two.py",)), Relevant("y", ())), hits, strict).in_files == (False, True)


def test_what_is_among_the_candidates() -> None:
    order = [NamedHit(name, f"{name[0]}.py") for name in ("x", "y", "Cart.add", "z")]
    truth = task(
        Relevant("add", ("elsewhere.py",)), Relevant("z", ("z.py",)), Relevant("missing", ()), Relevant("", ("y.py",))
    )
    order = [NamedHit("none", "")] * 10 + order
    assert judge_hits(truth, order, strict).among_candidates == (0, 1, 3)
    assert judge_hits(truth, order, same_file).among_candidates == (1, 3)
    assert judge_hits(truth, order[:11], strict).among_candidates == ()

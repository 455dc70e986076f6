"""knowing's keywords: what is taken from a task, in what order it is looked for, and what its texts and paths add."""

from __future__ import annotations

from pathlib import Path

import pytest

from codelens.config import load_weights
from codelens.search.channels.keywords import find_keywords, load_lists
from codelens.search.seeds import LEAN, OTHER, RICH
from codelens.search.terms import expand_query
from codelens.store.store import Store
from tests.search.test_knowing import ranked, seeds_of
from tests.search.trees import Tree, functions


def names(task: str, tier: str) -> list[str]:
    return [term.origin for term in find_keywords([task], [], task).names if term.tier == tier]


def words(task: str) -> list[str]:
    return [term.text for term in find_keywords([task], [], task).words]


def ranking(tree: Tree, task: str, channel: str) -> list[tuple[str, str]]:
    """(name, reason) of what a channel found, best first."""
    matches = ranked(tree.db, task).run.trace.rankings[channel]
    with Store.read(tree.db) as store, store.reading():
        rows = store.units.read_rows({match.unit for match in matches})
    return [(rows[match.unit].qualified_name, match.reason) for match in matches]


def indexed(folder: Path, files: dict[str, str]) -> Tree:
    tree = Tree(folder, files)
    tree.index().close()
    return tree


# The text


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ("add proxy support", ["proxy"]),  # verbs are no keywords
        ("refactor the type of an err in func var is", []),
        (
            "implement a cache for long sessions",
            ["cache", "sessions", "long"],
        ),  # the noun behind the verb, then by length
        ("long sessions in a cache", ["sessions", "cache", "long"]),
        ("fix getUserName", ["getusername", "user", "name"]),  # a compound and its parts
    ],
)
def test_words_of_a_task(task: str, expected: list[str]) -> None:
    found = words(task)
    assert found == expected or (
        not expected and set(found) == set(task.split())
    )  # nothing left: all of it is looked for


def test_the_noun_behind_the_verb_is_told_apart() -> None:
    def tiers(task: str) -> dict[str, str]:
        return {term.text: term.tier for term in find_keywords([task], [], "").words}

    assert tiers("add snapshot diffing") == {"snapshot": "priority", "diffing": "component"}
    assert tiers("add a new MCP tool for snapshot diffing")["mcp"] == "priority"


def test_words_of_programming_are_no_stop_words() -> None:
    """Graph Memory's examples of both, by all profiles but knowing's."""
    for word in ("for", "do", "if", "not", "is", "has", "can"):
        assert word in [term.text for term in expand_query([f"{word} barge"], [], "").words]
    for word in ("the", "and", "of", "with", "it", "she", "would", "should"):
        assert [term.text for term in expand_query([f"{word} barge"], [], "").words] == ["barge"]
    assert [term.text for term in expand_query(["the of"], [], "").words] == ["the", "of"], "there is nothing else"


@pytest.mark.parametrize(
    ("task", "compounds", "pairs"),
    [
        ("find the blast radius of changes", [], ["blast radius"]),
        (
            "call ModelAdmin.get_inlines() in django.utils.html_escape",
            ["ModelAdmin.get_inlines", "django.utils.html_escape"],
            [],
        ),
        ("support version 3.9 of it, e.g. now", [], []),
        ("an io go of db", [], []),  # too short to be joined
        ("old car", [], []),  # one must have four letters
        ("old cars", [], ["old cars"]),
        ("rename the add button", [], []),  # neither is a verb
    ],
)
def test_names_of_a_task(task: str, compounds: list[str], pairs: list[str]) -> None:
    assert (names(task, "compound"), names(task, "pair")) == (compounds, pairs)


def test_back_ticks_are_exact_unless_they_hold_more_than_a_name() -> None:
    found = find_keywords(["the hook"], ["before_request", "a b", "x" * 101], "").names
    assert [(term.tier, term.origin) for term in found] == [("exact", "`before_request`")]


def test_a_verb_that_no_name_says_is_not_read_as_another_word(tmp_path: Path) -> None:
    """Corrections are for words that may be mistyped; `refactor` is no name here, and `reactor` is."""
    tree = indexed(tmp_path, {"a.py": "def reactor():\n    pass\n\n\ndef ledger():\n    pass\n"})
    found = ranked(tree.db, "refactor the ledger")
    assert seeds_of(found)[:1] == ["ledger"]
    assert not [term for term in found.run.trace.terms if term[0] == "spelling"]


# Tiers


def test_tiers_in_order_and_words_only_below_five_names(tmp_path: Path) -> None:
    files = {
        "a.py": "".join(
            f"def {n}():\n    pass\n\n\n" for n in ("user_token", "user_token_store", "token", "tokens_of")
        ),
        "token/b.py": "def other():\n    pass\n",
    }
    found = dict(ranking(indexed(tmp_path, files), "user token", "symbol"))
    assert found["user_token"] == "tier 1: is named user token"
    assert found["user_token_store"] == "tier 2: name begins with user token"
    assert found["token"] == "tier 1: is named token"
    assert found["tokens_of"] == "tier 2: name begins with token"
    assert found["other"] == "tier 3: qualified name holds token"  # its path is part of the qualified name


def test_names_that_are_enough_leave_single_words_out(tmp_path: Path) -> None:
    text = (
        "".join(f"class C{n}:\n    def user_token(self):\n        pass\n\n\n" for n in range(5))
        + "def token():\n    pass\n"
    )
    found = ranking(indexed(tmp_path, {"a.py": text}), "user token", "symbol")
    assert [name for name, _ in found] == [f"C{n}.user_token" for n in range(5)]


def test_exact_names_have_no_cap_and_others_do(tmp_path: Path) -> None:
    def found(tier: str, files: dict[str, str]) -> list[str]:
        """The tiers of what `token` finds, best first."""
        return [reason[:6] for _, reason in ranking(indexed(tmp_path / tier, files), "token", "symbol")]

    text = "".join(f"class C{n:03}:\n    def token(self):\n        pass\n\n\n" for n in range(150))
    assert found("exact", {"a.py": text + functions(9, "token_of")}) == ["tier 1"] * 150
    assert found("begun", {"a.py": functions(50, "token")}) == ["tier 2"] * 30
    assert found("held", {"a.py": functions(50, "my_token")}) == ["tier 3"] * 20
    assert found("lies", {"token/a.py": functions(50)}) == ["tier 3"] * 20 + ["tier 4"] * 20


def test_folders_and_files_named_so_are_the_last_tier(tmp_path: Path) -> None:
    files = {f"x{n}.py": f"def token_{n}():\n    pass\n" for n in range(6)}
    files |= {"token/b.py": "class Later:\n    pass\n", "tokens/c.py": "def never():\n    pass\n"}
    found = dict(ranking(indexed(tmp_path, files), "token", "symbol"))
    assert found["Later"] == "tier 4: lies in token"
    assert "never" not in found


@pytest.mark.parametrize(("number", "tiers"), [(3, {"tier 2", "tier 4"}), (4, {"tier 2"})])
def test_a_word_on_many_paths_names_no_place(number: int, tiers: set[str], tmp_path: Path) -> None:
    files = {f"brook/f{n}.py": f"def later_{n}():\n    pass\n" for n in range(number)}
    files |= (
        {f"x{n}.py": f"def brook_{n}():\n    pass\n" for n in range(6)}
        if number < 4
        else {"x.py": functions(6, "brook")}
    )
    found = ranking(indexed(tmp_path, files), "brook", "symbol")
    assert {reason[:6] for _, reason in found} == tiers


# Texts


def test_neighbouring_words_are_a_phrase_in_the_texts(tmp_path: Path) -> None:
    near = 'def one():\n    """Code actions of it."""\n'
    apart = 'def two():\n    """Code for actions."""\n\n\ndef three():\n    """Actions and no code."""\n'
    found = ranking(indexed(tmp_path, {"a.py": near + "\n\n" + apart}), "code actions", "exact")
    assert found[0][0] == "one"
    score = {name: float(reason.split()[1]) for name, reason in found}
    assert score["one"] > 1.5 * score["two"]


def test_words_of_one_cluster_stand_for_one_another(tmp_path: Path) -> None:
    files = {"a.py": 'def run_it():\n    """The subscriber of a thing."""\n\n\ndef none():\n    """Not this."""\n'}
    tree = indexed(tmp_path, files)
    assert ("run_it", "BM25") in [(name, reason.split()[0]) for name, reason in ranking(tree, "consumers", "exact")]
    assert ("thesaurus", "subscriber", "consumers ~ subscriber") in ranked(tree.db, "consumers").run.trace.terms
    assert len(load_lists().clusters) >= 80


def test_a_compound_is_looked_for_in_names_and_the_beginning_of_a_folder_in_paths(tmp_path: Path) -> None:
    files = {
        "migrations/a.py": "def forwards():\n    pass\n",
        "b.py": "def send_mail():\n    pass\n\n\ndef other():\n    '''It calls xsend_mail.'''\n",
    }
    tree = indexed(tmp_path, files)
    assert "forwards" in dict(ranking(tree, "migration", "exact"))


def test_columns_weigh_as_knowing_says(tmp_path: Path) -> None:
    """Units of one word each, in another column of each: what weighs more comes first, and bodies are not read."""
    fields = load_weights()["knowing"]["fields"]
    weights = {"name": 10.0, "concepts": 5.0, "path": 4.0, "container": 3.0, "doc": 3.0, "signature": 1.0}
    assert {column: weight for column, weight in fields.items() if weight} == weights
    files = {
        "a.py": "def barge():\n    pass\n",
        "b.py": 'def told():\n    "Barge."\n',
        "c.py": "def taken(barge):\n    pass\n",
        "d.py": "def held():\n    barge = 1\n",
    }
    assert [name for name, _ in ranking(indexed(tmp_path, files), "barge", "exact")] == ["barge", "told", "taken"]


# Paths


def test_path_seeds_are_rich_types_before_lean_ones_before_others(tmp_path: Path) -> None:
    rich = "".join(f"class Rich{n}:\n    def go(self):\n        pass\n\n\n" for n in range(7))
    said = "class Said:\n    def rollback(self):\n        pass\n\n\n"
    lean = "".join(f"class Lean{n}:\n    pass\n\n\n" for n in range(12))
    files = {"migrations/base.py": lean + functions(20, "helper") + rich + said, "run.py": functions(3)}
    ranking = ranked(
        indexed(tmp_path, files).db,
        "migration rollback",
        seeds={"seeds": {"0": 0}, "fewest": 0},
        walk={"hops": 0, "steps": 0, "faint": 0.0},
    )
    found = [c.unit.name for c in ranking.candidates]
    assert "Said" in found
    assert sum(name.startswith("Rich") for name in found) == RICH
    assert sum(name.startswith("Lean") for name in found) == LEAN
    assert sum(name.startswith("helper") for name in found) == 30 - 1 - RICH - LEAN < OTHER


def test_all_that_implements_a_type_among_the_matches_is_a_seed(tmp_path: Path) -> None:
    files = {"Codec.java": "package a;\n\ninterface Codec {\n    void go();\n}\n"}
    files |= {
        f"M{n:02}.java": f"package a;\n\nclass M{n:02} implements Codec {{\n    public void go() {{}}\n}}\n"
        for n in range(25)
    }
    found = seeds_of(ranked(indexed(tmp_path, files).db, "`Codec`", seeds={"fewest": 0, "seeds": {"0": 1}}))
    assert [name for name in found if name.startswith("M")] == [f"M{n:02}" for n in range(25)]

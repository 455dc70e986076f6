"""Each option of `search` that no other test asks for, with all that it prints. Sorted by path, where ranks say nothing."""

from __future__ import annotations

import io
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from codelens.cli.main import main
from codelens.config import load_weights
from tests.cli.lamps import write_lamps
from tests.commands import Run, SpanRun


@pytest.fixture(scope="module")
def lamps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_lamps(tmp_path_factory.mktemp("lamps"))
    assert main(["index", "-q", "--no-config", "--db", str(folder / ".codelens/index.db"), str(folder)]) == 0
    return folder


def said(ran: SpanRun) -> str:
    assert (ran.code, ran.err) == (0 if ran.out else 1, "")
    return ran.out


LIGHT = "lamps.py:4:11:def light_lamp(level):\n"
EVERY = "lamps.py:5:13:    # every Lamp has a level\n"
COUNT = "lamps.py:9:5:def LAMP_count(rows):\n"
SAYS = "shop/lamp.go:3:17:// Sell sells a lamp.\n"
SELL = "shop/lamp.go:4:11:func Sell(lamp string) string {\n"
GIVE = "shop/lamp.go:5:9:\treturn lamp\n"
ALL = LIGHT + EVERY + COUNT + SAYS + SELL + GIVE
PLACE = re.compile(r"(?m)^([^:]+:\d+:)\d+:")

PRINTED = {
    "": ALL,
    "-A 1": f"{LIGHT}{EVERY}lamps.py-6-    return level + 1\n--\n{COUNT}lamps.py-10-    return len(rows)\n--\n"
    f"{SAYS}{SELL}{GIVE}shop/lamp.go-6-}}\n",
    "-B 1": f"lamps.py-3-\n{LIGHT}{EVERY}--\nlamps.py-8-\n{COUNT}--\nshop/lamp.go-2-\n{SAYS}{SELL}{GIVE}",
    "-C 1 -m 1": f"lamps.py-3-\n{LIGHT}lamps.py-5-    # every Lamp has a level\n",
    "-B 1 -A 2 -m 1": f"lamps.py-3-\n{LIGHT}lamps.py-5-    # every Lamp has a level\nlamps.py-6-    return level + 1\n",
    "-C 2 -A 0 -m 1": f"lamps.py-2-\nlamps.py-3-\n{LIGHT}",
    "-A 1 -N -m 1": "lamps.py:def light_lamp(level):\nlamps.py-    # every Lamp has a level\n",
    "-m 2 --offset 2": COUNT + SAYS,
    "-l": "lamps.py\nshop/lamp.go\n",
    "-l -m 1": "lamps.py\n",
    "-l --offset 1": "shop/lamp.go\n",
    "-L": "guide.md\n",
    "-L -t go": "",
    "-c": "lamps.py:3\nshop/lamp.go:3\n",
    "-c -o": "lamps.py:3\nshop/lamp.go:3\n",
    "-n": PLACE.sub(r"\1", ALL),
    "-n --column": ALL,
    "--no-column": PLACE.sub(r"\1", ALL),
    "-N -m 2": "lamps.py:def light_lamp(level):\nlamps.py:    # every Lamp has a level\n",
    "-I -N -m 2": "def light_lamp(level):\n    # every Lamp has a level\n",
    "-o": "lamps.py:4:11:lamp\nlamps.py:5:13:Lamp\nlamps.py:9:5:LAMP\n"
    "shop/lamp.go:3:17:lamp\nshop/lamp.go:4:11:lamp\nshop/lamp.go:5:9:lamp\n",
    "-o -N -m 1": "lamps.py:lamp\n",
    "-0": ALL.replace("py:", "py\0").replace("go:", "go\0"),
    "-l0": "lamps.py\0shop/lamp.go\0",
    "-L0": "guide.md\0",
    "-c0": "lamps.py\x003\nshop/lamp.go\x003\n",
    "-o -0 -m 1": "lamps.py\x004:11:lamp\n",
    "--reverse": SAYS + SELL + GIVE + LIGHT + EVERY + COUNT,
    "--reverse -m 1": SAYS,
    "-i": ALL,
    "-s": LIGHT + SAYS + SELL + GIVE,
    "-S -H": ALL,
    "--case no": ALL,
    "--case yes": LIGHT + SAYS + SELL + GIVE,
    "--case yes -i": ALL,
    "-w": EVERY + SAYS + SELL + GIVE,
    "-w --case yes": SAYS + SELL + GIVE,
    "-x": "",
    "-v -t go": "shop/lamp.go:1:1:package shop\nshop/lamp.go:2:1:\nshop/lamp.go:6:1:}\n",
    "-v -c": "guide.md:3\nlamps.py:11\nshop/lamp.go:3\n",
    "-v -l": "guide.md\nlamps.py\nshop/lamp.go\n",
    "-v -L": "",
    "-v -o -t go": "shop/lamp.go:1:1:package shop\nshop/lamp.go:2:1:\nshop/lamp.go:6:1:}\n",
    "-n -M 22 -t go": "shop/lamp.go:3:// Sell sells a lamp.\nshop/lamp.go:4:[Omitted long matching line]\n"
    "shop/lamp.go:5:\treturn lamp\n",
    "--heading -n -m 4": "lamps.py\n     4  def light_lamp(level):\n     5      # every Lamp has a level\n"
    "     9  def LAMP_count(rows):\n\nshop/lamp.go\n     3  // Sell sells a lamp.\n",
    "--pretty --color never --no-heading": ALL,
    "--vimgrep": ALL,
    "--format {path}:{line}:{qualified_name} -t go": "shop/lamp.go:3:lamp.go\nshop/lamp.go:4:Sell\nshop/lamp.go:5:Sell\n",
}


@pytest.mark.parametrize("options", PRINTED)
def test_what_an_option_prints(options: str, lamps: Path, run: Run) -> None:
    ran = run("search", "-F", "lamp", *options.split(), cwd=lamps)
    assert said(ran) == PRINTED[options]


@pytest.mark.parametrize(("query", "printed"), [("LAMP", COUNT), ("Lamp", EVERY), ("lAMP", "")])
def test_upper_case_in_a_literal_query_matters(query: str, printed: str, lamps: Path, run: Run) -> None:
    assert said(run("search", "--sort", "path", "-F", query, cwd=lamps)) == printed
    assert said(run("search", "--sort", "path", "-i", "-F", query, cwd=lamps)) == ALL


@pytest.mark.parametrize(
    ("query", "printed"),
    [
        ('"lamp"', ALL),
        ('"lamp" case:yes', LIGHT + SAYS + SELL + GIVE),
        ('"LAMP"', COUNT),
        ('"LAMP" case:no', ALL),
        ("/LAM./ case:no", ALL),
        ("/lam./ case:yes", LIGHT + SAYS + SELL + GIVE),
    ],
)
def test_a_query_says_whether_case_matters(query: str, printed: str, lamps: Path, run: Run) -> None:
    assert said(run("search", "--sort", "path", query, cwd=lamps)) == printed


LEN = "lamps.py:10:12:    return len(rows)\n"
SELLS = "shop/lamp.go:3:9:// Sell sells a lamp.\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["-F", "-e", "sells", "-e", "len(rows)"],
        ["--regex", "-e", "se..s", "-e", r"len\("],
        ["-e", '"sells"', "-e", '"len(rows)"'],
        ["-e", "/se..s/", "-e", '"len(rows)"'],
    ],
)
def test_any_of_several_queries_may_fit(arguments: list[str], lamps: Path, run: Run) -> None:
    assert said(run("search", "--sort", "path", *arguments, cwd=lamps)) == LEN + SELLS


def test_queries_come_from_stdin_one_a_line(lamps: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty lines are no queries; what follows -f - is a path."""
    for paths, printed in (([], LEN + SELLS), (["shop"], SELLS)):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"sells\n\n  \nlen(rows)\n")))
        assert said(run("search", "--sort", "path", "-F", "-f", "-", *paths, cwd=lamps)) == printed


def test_no_queries_on_stdin_are_no_query(lamps: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\n\n")))
    ran = run("search", "-f", "-", cwd=lamps)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("codelens: error: no query\n")


def test_pages_are_a_partition_of_one_order(indexed: Path, run: Run) -> None:
    asked = ("search", "stock of a product", "--jsonl")

    def lines(*arguments: str) -> list[str]:
        *hits, _ = run(*asked, *arguments, cwd=indexed).out.splitlines()
        return hits

    whole = lines("-m", "1000")
    assert len(whole) > 20
    size = 7
    pages = [lines("-m", str(size), "--offset", str(at)) for at in range(0, len(whole), size)]
    assert [len(page) for page in pages[:-1]] == [size] * (len(pages) - 1)
    assert [line for page in pages for line in page] == whole
    behind = run(*asked, "--offset", str(len(whole)), cwd=indexed)
    assert (behind.code, len(behind.out.splitlines())) == (1, 1), "nothing but the end"


def scored(run: Run, folder: Path, *arguments: str) -> list[dict[str, Any]]:
    asked = ("search", "how is a level of a lamp counted", "--profile", "rrf", "--json", "--contributions")
    ran = run(*asked, *arguments, cwd=folder)
    found: list[dict[str, Any]] = json.loads(ran.out)["results"]
    assert len(found) >= 3
    return found


@pytest.mark.parametrize("k", [1, 7, 60, 1000])
def test_a_score_is_the_sum_of_weight_over_k_plus_rank(k: int, lamps: Path, run: Run) -> None:
    """From the ranks alone. Without --rrf-k it is the profile's 60."""
    shares = load_weights()["rrf"]["channels"]
    total = math.fsum(shares.values())
    for hit in scored(run, lamps, *([] if k == 60 else ["--rrf-k", str(k)])):
        expected = math.fsum(shares[channel] / total / (k + rank) for channel, rank in hit["channels"].items())
        assert hit["score"] == pytest.approx(expected, rel=1e-12)


def test_k_is_at_least_1(lamps: Path, run: Run) -> None:
    ran = run("search", "lamp", "--rrf-k", "0", cwd=lamps)
    assert (ran.code, ran.out) == (2, "")
    assert "--rrf-k must be at least 1, not 0" in ran.err


def test_weights_are_shares_of_their_sum(lamps: Path, run: Run) -> None:
    """Channels that are not named keep the profile's weight: here symbol 1, path 0.5 and equivalence 1."""
    weights = {"exact": 3.0, "fuzzy": 0.0, "vector": 0.5, "symbol": 1.0, "path": 0.5}
    for hit in scored(run, lamps, "--weights", "exact=3,fuzzy=0,vector=.5"):
        ranks = hit["channels"].items()
        assert hit["score"] == pytest.approx(math.fsum(weights[c] / 6.0 / (60 + r) for c, r in ranks), rel=1e-12)


def test_a_weight_turns_the_order_around(lamps: Path, run: Run) -> None:
    """With all the weight on one channel, its ranks are the order of the hits that it found."""
    for channel in ("exact", "vector"):
        used = [name for name, cut in load_weights()["rrf"]["cuts"].items() if cut]
        others = ",".join(f"{name}=0" for name in used if name != channel)
        found = scored(run, lamps, "--weights", f"{channel}=1,{others}")
        ranks = [hit["channels"][channel] for hit in found if hit["score"]]
        assert ranks == sorted(ranks) != []


LINK = re.compile(r"\x1b\]8;(?:id=[^;]*)?;([^\x1b]+)\x1b\\")


@pytest.mark.parametrize(
    ("url", "links"),
    [
        ("vscode", ["vscode://file{root}/lamps.py:4:11", "vscode://file{root}/shop/lamp.go:3:17"]),
        ("x://open?{path}&l={line}&c={column}", ["x://open?{root}/lamps.py&l=4&c=11", "x://open?{root}/shop/lamp.go&l=3&c=17"]),
        ("none", []),
    ],
)  # fmt: skip
def test_headings_are_links(url: str, links: list[str], lamps: Path, run: Run) -> None:
    asked = ("search", "--sort", "path", "-F", "lamp", "--pretty", "--hyperlink-format", url)
    expected = [link.replace("{root}", lamps.resolve().as_posix()) for link in links]
    assert LINK.findall(run(*asked, cwd=lamps).out) == expected


def test_links_are_for_terminals(lamps: Path, run: Run) -> None:
    asked = ("search", "--sort", "path", "-F", "lamp", "--hyperlink-format", "vscode")
    assert said(run(*asked, cwd=lamps)) == ALL
    assert "\x1b" not in run(*asked, "--color", "never", cwd=lamps).out


def test_a_link_without_a_path_is_refused(lamps: Path, run: Run) -> None:
    ran = run("search", "lamp", "--pretty", "--hyperlink-format", "https://example.org", cwd=lamps)
    assert (ran.code, ran.out) == (2, "")
    assert "--hyperlink-format: 'https://example.org' is not a URL with {path}" in ran.err

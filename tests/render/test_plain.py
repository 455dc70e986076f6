from __future__ import annotations

import os
from pathlib import Path

import pytest

from codelens.model.fast_dataclass import replace
from codelens.render.formats import render_counts, render_paths, render_plain, render_vimgrep
from codelens.render.lines import OutputOptions
from codelens.render.paths import PathStyle
from tests.render.results import ROOT, result

PATHS = PathStyle("root", ROOT)


def plain(output: OutputOptions) -> str:
    return "".join(render_plain(result(), output))


def test_one_line_a_hit_with_path_line_column_text() -> None:
    first, second = plain(OutputOptions(PATHS)).splitlines()
    assert first == "src/conf.py:10:9:    def parse_config(self):"
    assert second.startswith(os.fsdecode(b"src/n\xff b.py") + ":3:5:def parse(text):")


def test_text_is_raw_but_stays_on_its_line_and_can_be_encoded() -> None:
    second = plain(OutputOptions(PATHS)).splitlines()[1]
    assert "\u202e" in second
    assert "\\udc80" in second
    second.encode("utf-8", "surrogateescape")


def test_a_nul_byte_follows_the_path_if_wanted() -> None:
    assert plain(OutputOptions(PATHS, null=True)).startswith("src/conf.py\x0010:9:")


def test_line_numbers_may_be_left_out() -> None:
    assert plain(OutputOptions(PATHS, line_numbers=False)).startswith("src/conf.py:    def parse_config")


def test_context_lines_are_marked_as_grep_does() -> None:
    lines = plain(OutputOptions(PATHS, context=True)).split("\n")
    assert lines[0].startswith("src/conf.py-9-")
    assert lines[1].startswith("src/conf.py:10:9:")
    assert lines[2] == "--"


def test_paths_once_each_and_exact_to_the_byte() -> None:
    twice = replace(result(), hits=(*result().hits, *result().hits))
    paths = "".join(render_paths(twice, OutputOptions(PATHS, null=True)))
    assert paths.encode("utf-8", "surrogateescape") == b"src/conf.py\0src/n\xff b.py\0"


def test_hits_are_counted_by_file() -> None:
    counted = replace(result(), hits=(*result().hits, result().hits[0]))
    assert next(render_counts(counted, OutputOptions(PATHS))) == "src/conf.py:2\n"


def test_vimgrep_is_the_plain_line() -> None:
    assert "".join(render_vimgrep(result(), OutputOptions(PATHS))) == plain(OutputOptions(PATHS))


@pytest.mark.parametrize(
    ("style", "cwd", "shown"),
    [
        ("root", "/elsewhere", "src/conf.py"),
        ("absolute", "/elsewhere", "/srv/tree/src/conf.py"),
        ("cwd", ROOT, "src/conf.py"),
        ("cwd", f"{ROOT}/src", "conf.py"),
        ("cwd", f"{ROOT}/docs", "../src/conf.py"),
    ],
)
@pytest.mark.skipif(os.name == "nt", reason="POSIX paths")
def test_path_styles(style: str, cwd: str, shown: str) -> None:
    assert PathStyle(style, cwd).format_hit_path(result().hits[0]) == shown


def test_a_folder_keeps_its_slash() -> None:
    assert PathStyle("cwd", str(Path(ROOT))).format_path(ROOT, "node_modules/") == "node_modules/"

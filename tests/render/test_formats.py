from __future__ import annotations

import csv
import io
import json
import re

import pytest

from codelens.errors import UsageError
from codelens.render.formats import FIELDS, render_csv, render_format, render_markdown, render_sarif, render_tsv
from codelens.render.lines import OutputOptions
from codelens.render.paths import PathStyle
from codelens.render.records import build_search_record, to_json, to_jsonl
from codelens.render.why_json import RULES, build_why_record
from tests.render.results import ROOT, result, why
from tests.render.schema import check, schema

PATHS = PathStyle("root", ROOT)

HIT_FIELDS = [
    *("name", "qualified_name", "kind", "language", "path", "start_line", "end_line", "start_byte", "end_byte"),
    *("score", "rank", "channels", "contributions", "signature", "doc", "snippet", "freshness"),
    *("repository", "line", "column", "column_utf16"),
]


def test_json_fits_the_schema_and_keeps_the_order_of_keys() -> None:
    record = json.loads(to_json(build_search_record(result(), 0)))
    check(record, "search")
    assert list(record)[:3] == ["schema", "query", "results"]
    assert list(record)[-1] == "exit_code"
    assert list(record["results"][0]) == HIT_FIELDS
    assert list(record["results"][1]) == [*HIT_FIELDS[:9], "path_b64", *HIT_FIELDS[9:]]


def test_json_of_nothing_is_an_empty_list() -> None:
    record = json.loads(to_json(build_search_record(result(0), 1)))
    check(record, "search")
    assert record["results"] == []
    assert record["exit_code"] == 1


def test_json_is_valid_utf8_and_cannot_control_a_terminal() -> None:
    text = to_json(build_search_record(result(), 0))
    text.encode("utf-8")
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)
    assert json.loads(text)["results"][1]["snippet"][0]["text"].endswith("\udc80 \u202e\r\n")


def test_stats_only_if_requested() -> None:
    record = json.loads(to_json(build_search_record(result(), 0, {"exact": 0.001})))
    check(record, "search")
    assert record["stats"] == {"exact": 0.001}


@pytest.mark.slow
def test_jsonl_is_a_line_a_hit_and_an_end() -> None:
    *hits, end = map(json.loads, "".join(to_jsonl("hit", "results", build_search_record(result(), 0))).splitlines())
    for record in hits:
        check(record, "jsonl_hit")
    check(end, "jsonl_end")
    assert [h["rank"] for h in hits] == [1, 2]
    assert end["total"] == 3


def test_why_fits_the_schema() -> None:
    record = json.loads(to_json(build_why_record(why(), 1, stats=True)))
    check(record, "why")
    assert record["explanations"][0]["candidate"]["matches"]["exact"] == {
        "rank": 1,
        "raw_score": -1.5,
        "reason": "parse",
    }


def test_csv_reads_back() -> None:
    rows = list(csv.DictReader(io.StringIO("".join(render_csv(result(), OutputOptions(PATHS))))))
    assert rows[0]["qualified_name"] == "Loader.parse_config"
    assert float(rows[0]["score"]) == result().hits[0].score


def test_tsv_has_as_many_cells_in_each_row() -> None:
    rows = [line.split("\t") for line in "".join(render_tsv(result(), OutputOptions(PATHS))).splitlines()]
    assert len({len(row) for row in rows}) == 1


def test_format_fills_fields() -> None:
    lines = list(render_format(result(), OutputOptions(PATHS, "{path}:{start_line} {{{name}}}\\t{score}")))
    assert lines[0] == f"src/conf.py:10 {{parse_config}}\t{result().hits[0].score}\n"


def test_format_ends_lines_with_the_given_separator() -> None:
    assert next(render_format(result(), OutputOptions(PATHS, "{path}\\0"))) == "src/conf.py\0"


@pytest.mark.parametrize(
    "template", ["{nothing}", "{path.__class__}", "{path!r}", "{path:>10}", "{0}", "{}", "{path", "path}", "{path[0]}"]
)
def test_format_knows_only_fields(template: str) -> None:
    with pytest.raises(UsageError):
        list(render_format(result(), OutputOptions(PATHS, template)))


def test_every_field_has_a_value() -> None:
    template = " ".join(f"{{{name}}}" for name in FIELDS)
    assert len(list(render_format(result(), OutputOptions(PATHS, template)))) == 2


def test_sarif_points_at_the_place() -> None:
    run = json.loads("".join(render_sarif(result(), OutputOptions(PATHS))))["runs"][0]
    place = run["results"][1]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "src/n%FF%20b.py", "uriBaseId": "tree"}
    assert place["region"] == {"startLine": 3, "startColumn": 5}
    assert run["originalUriBaseIds"]["tree"]["uri"].endswith("/srv/tree/")


def test_markdown_fences_hold_their_text() -> None:
    text = "".join(render_markdown(result(), OutputOptions(PATHS)))
    assert text.count("```") == 4
    assert "\x1b" not in text


def test_the_schema_names_every_rule_that_can_be_recomputed() -> None:
    assert set(schema()["$defs"]["contribution"]["properties"]["rule"]["enum"]) == {*RULES, ""}

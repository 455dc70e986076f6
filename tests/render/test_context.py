"""Packs in every format, read back by parsers that others wrote."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from codelens.context.pack import fit_pack
from codelens.model.context import Form, Pack
from codelens.model.search import Notice
from codelens.render.visible import escape_text
from tests.context.layouts import LAYOUTS, offer, offers, request
from tests.render.schema import check

BODY = 'def f():\r\n    """`a` ```b``` ````"""\r\n    return "<x> & ]]> \x1b[31m \u202e"'
HEAD = "def f():"


def packed(body: str = BODY, budget: int = 5000) -> Pack:
    made = [
        offer(1, 0.9, body, HEAD, "Says `it`.\nAnd more."),
        offer(2, 0.5, "x = 1", "x = 1", path="src/a b\\xff.py", kind="constant"),
        offer(3, 0.1, "y\n" * 4000, "class Y:", kind="class", name="`Y`"),
    ]
    return fit_pack(offers(*made, notices=(Notice("no-vector", "none"),)), request(budget), LAYOUTS["markdown"])


def visible(text: str) -> str:
    return "\n".join(escape_text(line.removesuffix("\r")) for line in text.split("\n"))


@given(st.text(alphabet="`~\n ab<\x1b", max_size=60))
def test_a_fence_holds_any_body(body: str) -> None:
    tokens = MarkdownIt().parse(LAYOUTS["markdown"].format_pack(packed(body)))
    fences = [token for token in tokens if token.type == "fence"]
    assert fences[0].content == visible(body) + "\n"
    assert [token.info for token in fences] == ["python"] * 3


@given(st.text(max_size=80))
def test_xml_holds_any_body(body: str) -> None:
    root = ElementTree.fromstring(LAYOUTS["xml"].format_pack(packed(body)))
    code = root.findall("symbol/code")[0].text or ""
    assert code.replace("\\uffff", "\uffff").replace("\\ufffe", "\ufffe") == visible(body) or "\\ufff" in code


def test_xml_says_what_it_holds() -> None:
    pack = packed()
    root = ElementTree.fromstring(LAYOUTS["xml"].format_pack(pack))
    assert (root.attrib["tokens"], root.attrib["counter"]) == (str(pack.tokens), "chars/4")
    assert [e.attrib["form"] for e in root.findall("symbol")] == [str(e.form) for e in pack.entries]


def test_json_fits_the_schema_and_holds_the_text_as_it_is() -> None:
    record = json.loads(LAYOUTS["json"].format_pack(packed()))
    check(record, "context")
    assert record["results"][0]["text"] == BODY
    assert record["exit_code"] == 0
    empty = json.loads(LAYOUTS["json"].format_pack(fit_pack(offers(), request(500), LAYOUTS["json"])))
    check(empty, "context")
    assert (empty["results"], empty["exit_code"]) == ([], 1)


def test_json_counts_what_was_cut_and_has_the_token() -> None:
    made = [offer(n, 0.5, "pass\n" * 300, "def f():" * 20) for n in range(1, 40)]
    record = json.loads(LAYOUTS["json"].format_pack(fit_pack(offers(*made), request(2000), LAYOUTS["json"])))
    check(record, "context")
    assert record["more"] and record["cut_total"] + len(record["results"]) == 39


def test_compact_is_a_line_a_symbol() -> None:
    pack = fit_pack(offers(offer(1, 0.9, BODY, "def f(\n    a,\n):")), request(200), LAYOUTS["compact"])
    assert LAYOUTS["compact"].format_pack(pack).splitlines()[1:] == ["src/f1.py:10 function f1 def f( a, ):"]
    assert pack.entries[0].form is Form.SIGNATURE


@pytest.mark.parametrize("format", LAYOUTS)
def test_nothing_that_a_terminal_obeys_is_written(format: str) -> None:
    text = LAYOUTS[format].format_pack(packed("\x1b[31m\x9b\u202e\x00\ud800\x85\u2028"))
    assert text == "".join(c for c in text if c not in "\x1b\x9b\u202e\x00\ud800\x85\u2028")
    text.encode("utf-8")

"""Splitting identifiers: the table of retrieval.md, and what must hold for every text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codelens.text.identifiers import fold_identifier, is_short_for, split_cjk, split_identifier
from codelens.text.terms import MAX_TOKEN, index_terms, split_token, tokens

WORDS = {
    "BM25Nodes": "bm25 nodes",
    "parseJSON2XML": "parse json 2 xml",
    "x509Cert": "x509 cert",
    "getHTTPResponse": "get http response",
    "get_http_response": "get http response",
    "URLs": "urls",
    "userIDs": "user ids",
    "sha256sum": "sha256 sum",
    "base64Encode": "base64 encode",
    "Int32Array": "int32 array",
    "XMLHttpRequest2": "xml http request2",
    "k8s": "k8s",
    "K8sClient": "k8s client",
    "get_i18n_text": "get i18n text",
    "enable_2fa": "enable 2fa",
    "3DPoint": "3d point",
    "__init__": "init",
    "CClass": "c class",
    "ÜberName": "über name",
    "SCREAMING_SNAKE_CASE": "screaming snake case",
    "_": "",
}


@pytest.mark.parametrize(("identifier", "words"), WORDS.items())
def test_words(identifier: str, words: str) -> None:
    assert split_identifier(identifier) == words.split()


@given(st.from_regex(r"\w{1,40}", fullmatch=True))
def test_no_letter_is_lost(identifier: str) -> None:
    assert "".join(split_identifier(identifier)) == identifier.casefold().replace("_", "")


@given(st.text(alphabet=st.characters(categories=("Lu", "Ll", "Nd")), min_size=1, max_size=20))
def test_folding_ignores_how_a_name_is_written(name: str) -> None:
    assert fold_identifier(name) == fold_identifier("_".join(name)) == fold_identifier(f"__{name}__")


def test_terms_hold_the_whole_and_its_words() -> None:
    assert split_token("getHTTPResponse") == ["gethttpresponse", "get", "http", "response"]
    assert split_token("before_request") == ["before_request", "before", "request"]
    assert split_token("plain") == ["plain"]


def test_terms_of_cjk_are_pairs_so_that_a_part_is_found() -> None:
    assert split_cjk("数据库连接") == ["数据", "据库", "库连", "连接"]
    assert "连接" in index_terms("def 数据库连接(self): pass").split()
    assert "连接" in index_terms("get连接Pool").split()


def test_encoded_data_is_no_term() -> None:
    assert split_token("A" * (MAX_TOKEN + 1)) == []


@given(st.text(max_size=200))
def test_terms_of_a_text_are_those_of_its_tokens(text: str) -> None:
    assert index_terms(text).split() == [t for token in tokens(text) for t in " ".join(split_token(token)).split()]


@pytest.mark.parametrize(
    ("short", "name", "expected"),
    [
        ("ctx", "Context", True),
        ("c", "Context", True),
        ("res", "Response", True),
        ("df", "DataFrame", True),
        ("text", "Context", False),
        ("cxz", "Context", False),
        ("context", "Context", False),
        ("", "Context", False),
    ],
)
def test_short_forms_have_letters_of_a_name_in_order(short: str, name: str, expected: bool) -> None:
    assert is_short_for(short, name) is expected

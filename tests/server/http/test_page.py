"""The page without a browser: what it links to, and that whatever comes from outside is text."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote

import pytest
from markupsafe import Markup
from starlette.testclient import TestClient

from codelens.config import Settings
from codelens.index import Index
from codelens.render.records import MOST_REPOSITORIES
from codelens.server.http.page import compute_bars, highlight_each_line
from tests.server.http.conftest import Serve

HTML = {"Accept": "text/html"}
ODD = "<script>alert(1)</script>\"'&<img src=x onerror=alert(2)>"


class Tags(HTMLParser):
    """All tags with their attributes, and the text between."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def links(self, kind: str = "") -> list[str]:
        return [a.get("href") or "" for t, a in self.tags if t == "a" and kind in (a.get("class") or "")]


def read(client: TestClient, address: str, status: int = 200) -> Tags:
    got = client.get(address, headers=HTML)
    assert got.status_code == status, got.text
    assert got.headers["content-type"] == "text/html; charset=utf-8"
    return Tags(got.text)


def harmless(page: Tags) -> None:
    """Only our own script, no handler, no style of its own, no address elsewhere but that of the editor."""
    (script,) = (str(a.get("src")) for t, a in page.tags if t == "script")
    assert re.fullmatch(r"/static/page\.js\?v=[0-9a-f]{12}", script)
    for tag, attributes in page.tags:
        assert tag not in ("img", "iframe", "style", "object")
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
        for name in ("src", "href", "action"):
            assert re.match(r"/(?!/)|#|data:,$|vscode://file/[^\s<>\"']+$", attributes.get(name) or "/"), attributes


def test_from_the_form_to_a_file_by_links_alone(client: TestClient) -> None:
    start = read(client, "/")
    assert ("form", {"id": "search", "action": "/", "method": "get", "role": "search"}) in start.tags
    assert [a["name"] for t, a in start.tags if t == "input"] == ["q"]
    found = read(client, "/?q=PlaceOrder")
    assert "Checkout.PlaceOrder" in found.text
    file = read(client, found.links("open")[0])
    assert "server/internal/cart/order.go" in file.text
    assert ("li", {"class": "depth1"}) in file.tags, "its outline"
    line = found.links("open")[0].partition("#")[2]
    assert line in {a.get("id") for _, a in file.tags}
    assert read(client, file.links("back")[0]).links("open") == found.links("open")
    for page in (start, found, file):
        harmless(page)


def test_of_many_repositories_the_first_page_lists_some(tmp_path: Path, serve: Serve) -> None:
    roots = [tmp_path / f"tree{place:03}" for place in range(MOST_REPOSITORIES + 5)]
    for root in roots:
        root.mkdir()
    (roots[3] / "a.py").write_text("def settle():\n    return 1\n", encoding="utf-8")
    Index.build(tmp_path / "index.db", roots, Settings(jobs=1, vector=False))
    client = serve(tmp_path / "index.db")
    start = read(client, "/")
    assert "tree099" in start.text
    assert "tree100" not in start.text
    assert "and 5 more" in start.text
    assert "tree003" in read(client, "/?q=settle").text, "hits name their repository, where only theirs is listed too"


def test_why_draws_families_and_every_contribution(client: TestClient) -> None:
    found = read(client, "/?q=place+order")
    address = found.links("why")[0]
    why = read(client, address)
    record = client.get(address.replace("/why", "/api/why", 1)).json()
    (explanation,) = record["explanations"]
    assert explanation["rank"] == 1
    parts = explanation["candidate"]["contributions"]
    families = explanation["candidate"]["families"]
    assert len([t for t, _ in why.tags if t == "rect"]) == len(parts) + len(families)
    assert all(reason in why.text for family in families for reason in family["reasons"])
    assert families[0]["reasons"][0] in found.text, "the list of results shows the top reason of each hit"
    assert all(part["reason"] in why.text for part in parts)
    panel = read(client, address.replace("/why", "/why/panel", 1))
    assert "html" not in {t for t, _ in panel.tags}
    assert panel.text.strip() in why.text
    harmless(why)


def test_uses_of_a_hit_by_links_alone(client: TestClient) -> None:
    page = read(client, read(client, "/?q=PlaceOrder+lang:go").links("uses")[0])
    harmless(page)
    assert "Checkout.PlaceOrder" in page.text
    record = client.get("/api/refs?target=Checkout.PlaceOrder").json()
    places = {
        f"/file?path={quote(r['path'], safe='')}&repository={r['repository']}#L{r['line']}" for r in record["relations"]
    }
    assert places <= set(page.links())
    (definition,) = page.links("definition")
    assert "PlaceOrder" in read(client, definition).text
    several = read(client, "/name?target=Apply")
    assert len(several.links("definition")) > 1, "all definitions of the name"
    assert "nothing is named nowhereAtAll" in read(client, "/name?target=nowhereAtAll", 404).text
    assert "parameters" not in read(client, "/name/panel", 422).text


def test_the_form_filters_by_repository_language_and_path(client: TestClient) -> None:
    page = read(client, "/?q=order&repository=shop&lang=go&within=internal/cart&at=x&why=y")
    assert {name for tag, a in page.tags if tag in ("select", "input") for name in [a.get("name")]} == {
        *("q", "repository", "lang", "within")
    }
    assert len(page.links("open")) > 3
    assert all("path=server%2Finternal%2Fcart" in link and "repository=shop" in link for link in page.links("open"))
    everything = client.get(
        "/api/search", params={"q": "order path:internal/cart", "lang": "go", "repository": "shop"}
    ).json()
    assert f"of {everything['total']}" in page.text
    file = read(client, page.links("open")[0])
    assert read(client, file.links("back")[0]).links("open") == page.links("open"), "the filters stay"
    empty = read(client, "/?q=order&repository=&lang=&within=")
    assert empty.links("open") == read(client, "/?q=order").links("open")
    assert "No hits" in read(client, "/?q=order&within=no/such/folder").text
    quoted = read(client, "/?q=order&within=%22)(%20OR")
    assert "No hits" in quoted.text, "what is typed there is a path, not a query"


def test_further_hits_are_on_the_next_page(client: TestClient) -> None:
    first = read(client, "/?q=order&limit=3&lang=go")
    (further,) = [a["href"] for t, a in first.tags if t == "a" and a.get("rel") == "next"]
    second = read(client, str(further))
    assert not set(first.links("open")) & set(second.links("open"))
    assert "4–6 of" in second.text
    assert ("option", {"selected": None}) in second.tags, "the filter stays"
    (before,) = [a["href"] for t, a in second.tags if t == "a" and a.get("rel") == "prev"]
    assert read(client, str(before)).links("open") == first.links("open")


def test_the_page_of_files_lists_them(client: TestClient) -> None:
    page = read(client, "/files?lang=go&limit=2")
    assert len(page.links("open")) == 2
    harmless(page)
    assert "PlaceOrder" in read(client, "/file?path=server/internal/cart/order.go").text


@pytest.mark.parametrize(
    ("address", "status", "said"),
    [
        ("/nothing", 404, "not found"),
        ("/file?path=none.go", 404, "none.go is not in the index"),
        ("/?q=a&limit=1000", 422, "limit"),
        ("/why?q=order&target=nowhereAtAll", 404, "nothing is named nowhereAtAll"),
        ("/static/../page.py", 404, "not found"),
    ],
)
def test_faults_are_pages_for_a_browser(client: TestClient, address: str, status: int, said: str) -> None:
    page = read(client, address, status)
    assert said in page.text
    harmless(page)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree whose names, texts and folders are all markup."""
    folder = tmp_path_factory.mktemp("hostile")
    tree = folder / "<b>tree"
    tree.mkdir()
    (tree / "<img src=x onerror=alert(3)>.py").write_text(
        f'"""Wombats. {ODD}"""\n\n\ndef wombat(a="</code></pre>{ODD}"):\n    # \u202e{ODD} \x1b[31m \x0c\n    return a\n'
    )
    Index.build(folder / "index.db", [tree], Settings(jobs=1))
    return folder / "index.db"


def test_queries_and_code_are_escaped_in_html(serve: Serve, hostile: Path) -> None:
    client = serve(hostile)
    found = read(client, "/?q=wombat+" + "%3Cscript%3Ealert(1)%3C/script%3E%22onfocus=alert(1)")
    assert found.links("open")
    pages = [
        found,
        read(client, found.links("open")[0]),
        read(client, found.links("why")[0]),
        read(client, found.links("uses")[0]),
        read(client, "/name?target=%3Cimg%20src=x%20onerror=alert(3)%3E.py:4:wombat"),
        read(client, "/?q=wombat&within=%22%3E%3Cscript%3E&lang=python&repository=%3Cscript%3E"),
        read(client, "/"),
        read(client, "/files"),
        read(client, "/file?path=%3Cscript%3Ealert(1)%3C/script%3E", 404),
        read(client, "/?%3Cscript%3E=1&q=a", 422),
    ]
    for page in pages:
        harmless(page)
    assert ODD in pages[1].text
    assert "\\u202e" in pages[1].text, "what would turn the order of letters is shown"
    assert "\u202e" not in pages[1].text


def test_highlighted_code_keeps_every_character() -> None:
    lines = ["def f(x):", '    """a', '    b"""', "", "\treturn x < 1 & 2  # ü😀"]
    html = highlight_each_line(lines, "f.py", "python", [[(4, 5)], [], [], [], [(10, 13)]])
    plain = [Markup(re.sub(r"<[^>]+>", "", line)).unescape() for line in html]
    assert plain == lines
    assert html[0] == '<span class="k">def</span> <mark><span class="f">f</span></mark>(x):'
    assert html[1].startswith('    <span class="s">')
    assert '<mark>&lt; </mark><mark><span class="n">1</span></mark>' in html[4]


@pytest.mark.parametrize("language", ["", "python", "klingon", "go", "markdown", "html"])
@pytest.mark.parametrize("text", ["", "a\rb", "\x0b\x0c\x1c\u2028\u2029\x85", '"""', "`" * 50, "<" * 3000, "\ufeffx"])
def test_any_text_is_highlighted_line_by_line(language: str, text: str) -> None:
    html = highlight_each_line([text, "x = 1"], "f", language)
    assert len(html) == 2
    shown = Markup(re.sub(r"<[^>]+>", "", html[0])).unescape()
    assert len(shown) >= len(text)
    assert "\n" not in html[0]


def test_bars_share_one_scale() -> None:
    drawn = compute_bars([{"source": s, "amount": a, "reason": ""} for s, a in (("a", 0.3), ("b", -0.1), ("c", 0.0))])
    assert [(bar["start"], bar["width"]) for bar in drawn] == [(25.0, 75.0), (0.0, 25.0), (25.0, 0.4)]
    assert compute_bars([]) == []


@pytest.mark.parametrize("query", ["order OR cart", '"return nil"', '"an unfinished phrase of order'])
def test_a_part_of_the_path_filters_whatever_the_query_is(query: str, client: TestClient) -> None:
    found = read(client, f"/?q={quote(query)}&within=internal/cart").links("open")
    assert found
    assert all("path=server%2Finternal%2Fcart" in link for link in found)

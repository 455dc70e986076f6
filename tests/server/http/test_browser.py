"""The page in a real Chromium, where there is one: the one that CODELENS_CHROMIUM names, playwright's own, or the system's."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import uvicorn

from codelens.config import Settings
from codelens.server.http.app import format_address, make_application, open_listener
from codelens.server.http.desk import QueryDesk
from codelens.server.http.gate import make_rules

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
NAMES = ("chromium", "chromium-browser", "chromium-headless-shell", "google-chrome")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    named = os.environ.get("CODELENS_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    with playwright.sync_playwright() as driver:
        try:
            started = driver.chromium.launch(executable_path=named, args=["--no-sandbox"])
        except playwright.Error as fault:
            pytest.skip(f"no Chromium can be started: {str(fault).splitlines()[0]}")
        yield started
        started.close()


@pytest.fixture(scope="module")
def address(built: Path) -> Iterator[str]:
    """A server on a free port of loopback."""
    listener = open_listener("127.0.0.1", 0)
    desk = QueryDesk(built, Settings())
    app = make_application(desk, make_rules("127.0.0.1"), None)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    yield format_address(listener)
    server.should_exit = True
    thread.join()
    desk.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A tab that fails the test for whatever its console says, and for every request elsewhere."""
    context = browser.new_context(viewport={"width": 1200, "height": 800})
    tab = context.new_page()
    said: list[str] = []
    asked: list[str] = []
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.on("request", lambda request: asked.append(request.url))
    yield tab
    assert said == []
    assert {url.partition("/?")[0].split("/")[2].partition(":")[0] for url in asked if "//" in url} == {"127.0.0.1"}
    context.close()


@pytest.mark.slow
def test_search_by_keys_alone(page: Any, address: str) -> None:
    page.goto(address)
    page.wait_for_function("document.activeElement.id === 'q'")  # whoever comes to the page may type at once
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("place order")
    page.keyboard.press("Enter")
    page.wait_for_selector(".hit")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    assert page.locator(".hit.chosen").count() == 1
    first = page.locator(".hit").first
    assert "chosen" in first.get_attribute("class")
    name = first.locator("a.open").inner_text()
    page.keyboard.press("w")
    page.wait_for_selector("#panel table.bars")
    assert name in page.locator("#panel h2").first.inner_text()
    assert page.locator("#panel rect").first.bounding_box()["width"] > 0
    page.keyboard.press("j")
    page.wait_for_function("old => !document.querySelector('#panel h2').innerText.includes(old)", arg=name)
    page.keyboard.press("Escape")
    assert page.locator("#panel").is_hidden()
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.wait_for_selector("pre.whole")
    assert page.evaluate("document.querySelector('.line:target') !== null")
    page.keyboard.press("u")
    page.wait_for_selector(".hits")


def test_keys_are_listed_in_a_dialog(page: Any, address: str) -> None:
    page.goto(address)
    page.wait_for_function("document.activeElement.id === 'q'")  # whoever comes to the page may type at once
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open]")
    assert "next hit" in page.locator("dialog").inner_text()
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="hidden")


@pytest.mark.parametrize("width", [360, 800, 1400])
def test_nothing_is_wider_than_the_screen(page: Any, address: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 700})
    for place in ("", "?q=place+order", "file?path=server/internal/cart/order.go", "help", "files"):
        page.goto(address + place)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, place


def test_dark_and_light(browser: Any, address: str) -> None:
    colours = []
    for scheme in ("light", "dark"):
        context = browser.new_context(color_scheme=scheme)
        tab = context.new_page()
        tab.goto(address)
        colours.append(tab.evaluate("getComputedStyle(document.body).backgroundColor"))
        context.close()
    assert colours == ["rgb(251, 251, 250)", "rgb(20, 23, 26)"]


def test_without_javascript_the_basics_work(browser: Any, address: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    tab.goto(address)
    tab.fill("#q", "place order")
    tab.click("button")
    tab.click(".hit a.why")
    tab.locator("table.bars rect").nth(3).wait_for()
    tab.click("a.back")
    tab.select_option("select[name=lang]", "go")
    tab.fill("input[name=within]", "internal/cart")
    tab.click("button")
    tab.wait_for_url("**internal*")
    assert all("internal/cart" in place for place in tab.locator(".place").all_inner_texts())
    tab.click(".hit a.uses")
    tab.click("a.definition")
    tab.locator("pre.whole .line").nth(10).wait_for()
    context.close()


FILE = "file?path=server/internal/cart/order.go&repository=shop"


def place_of(page: Any, line: int, name: str) -> dict[str, float]:
    """The middle of a name on a line of the file that is shown."""
    return dict(
        page.evaluate(
            """([line, name]) => {
                const code = document.querySelector(`#L${line} code`), range = document.createRange();
                const walker = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
                for (let node; (node = walker.nextNode());) {
                    const start = node.data.indexOf(name);
                    if (start < 0) continue;
                    range.setStart(node, start);
                    range.setEnd(node, start + name.length);
                    code.scrollIntoView({ block: "center" });
                    const box = range.getBoundingClientRect();
                    return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
                }
            }""",
            [line, name],
        )
    )


def line_with(page: Any, text: str) -> int:
    """The number of the first line of the shown file that has this text."""
    return 1 + next(i for i, line in enumerate(page.locator("pre.whole .line code").all_inner_texts()) if text in line)


def requests_of(page: Any, act: Callable[[], None], selector: str) -> list[str]:
    """The addresses that the browser asks for after an action, until `selector` is there and nothing is on its way."""
    asked: list[str] = []
    page.on("request", note := lambda request: asked.append(request.url))
    act()
    page.wait_for_selector(selector)
    page.wait_for_load_state("networkidle")
    page.remove_listener("request", note)
    return asked


@pytest.mark.slow
def test_a_click_on_a_name_takes_one_request_and_back_and_forward_lead_through(page: Any, address: str) -> None:
    page.goto(address + FILE)
    line = line_with(page, "newOrderID()")
    place = place_of(page, line, "newOrderID")
    asked = requests_of(page, lambda: page.mouse.click(**place), "#panel a.definition")
    assert [url.partition("?")[0] for url in asked] == [f"{address}name/panel"]
    assert page.locator("#panel h2").inner_text() == "newOrderID"
    assert "Checkout.PlaceOrder" in page.locator("#panel .caller").first.inner_text()
    assert f"order.go:{line}:newOrderID" in unquote(page.url)
    named = page.url
    definition = page.locator("#panel a.definition")
    asked = requests_of(page, lambda: definition.click(), ".line:target")
    assert asked == [], "the definition is in the file that is shown"
    reference = page.locator("#panel li:not(.path) a", has_text="newOrderID").last
    requests_of(page, lambda: reference.click(), ".line:target")
    assert page.locator("#panel h2").inner_text() == "newOrderID", "the panel stays"
    page.go_back()
    page.go_back()
    page.wait_for_url(named)
    assert page.locator("#panel h2").inner_text() == "newOrderID"
    page.go_back()
    page.wait_for_selector("#panel", state="hidden")
    page.go_forward()
    page.wait_for_selector("#panel a.definition")
    page.reload()
    page.wait_for_selector("#panel a.definition"), "the address carries what is shown"
    page.click("button.close")
    page.wait_for_selector("#panel", state="hidden")


@pytest.mark.slow
def test_each_page_takes_one_request(page: Any, address: str) -> None:
    page.goto(address)
    page.evaluate("document.querySelector('#q').value = 'PlaceOrder'")  # typing it might ask at once
    steps = [
        (lambda: page.press("#q", "Enter"), ".hit", "/?q=PlaceOrder"),
        (lambda: page.locator(".hit a.uses").first.click(), "#panel a.definition", "/name/panel?"),
        (lambda: page.locator(".hit a.open").first.click(), "pre.whole .line:target", "/file?"),
        (lambda: page.click("a.back"), ".hits", "/?q=PlaceOrder"),
        (lambda: page.locator(".hit a.why").first.click(), "#panel table.bars", "/why/panel?"),
        (lambda: page.select_option("select[name=lang]", "go"), ".hits", "lang=go"),
    ]
    for act, selector, part in steps:
        asked = requests_of(page, act, selector)
        assert len(asked) == 1, asked
        assert part in asked[0]


def test_a_hit_opens_with_its_definition_in_sight(page: Any, address: str) -> None:
    for width in (360, 1200):
        page.set_viewport_size({"width": width, "height": 700})
        page.goto(f"{address}?q=PlaceOrder+lang:go")
        page.locator(".hit a.open").first.click()
        page.wait_for_selector(".line:target")
        header = page.locator("header").bounding_box()
        line = page.locator(".line:target").bounding_box()
        assert header["y"] + header["height"] <= line["y"], width
        assert line["y"] + line["height"] <= 700, width
        assert "PlaceOrder" in page.locator(".line:target").inner_text()


def test_a_name_is_opened_by_keys(page: Any, address: str) -> None:
    page.goto(f"{address}{FILE}")
    line = line_with(page, "newOrderID()")
    page.goto(f"{address}{FILE}#L{line - 1}")
    page.keyboard.press("j")
    page.wait_for_selector(f"#L{line}:target")
    for _ in range(20):
        page.keyboard.press("l")
        if page.evaluate("String(getSelection())") == "newOrderID":
            break
    page.keyboard.press("Enter")
    page.wait_for_selector("#panel a.definition")
    assert page.locator("#panel h2").inner_text() == "newOrderID"
    page.keyboard.press("Escape")
    page.wait_for_selector("#panel", state="hidden")
    assert page.locator("a.editor").get_attribute("href").endswith(f"server/internal/cart/order.go:{line}:1")


def titled(page: Any, title: str) -> None:
    """Wait until the page has this title."""
    playwright.expect(page).to_have_title(title)


FROZEN = "performance.now = () => 0; performance.getEntriesByType = () => []"
SLOW = "performance.now = (now => () => (now += 1000))(0)"


@pytest.mark.parametrize(("clock", "live"), [(FROZEN, True), (SLOW, False)])
def test_results_come_while_one_types_if_a_search_is_quick(page: Any, address: str, clock: str, live: bool) -> None:
    """The browser's clock stands still, or a second passes whenever it is read."""
    page.add_init_script(clock)
    page.goto(f"{address}?q=order")
    page.evaluate("document.querySelector('#q').value = ''")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.focus("#q")
    if not live:  # a search that takes long ends it
        page.keyboard.type("checkout")
        page.keyboard.press("Enter")
        titled(page, "checkout – codelens")
        asked.clear()
        page.focus("#q")
        page.keyboard.press("End")
        page.keyboard.type(" cart")
        page.evaluate("new Promise(done => setTimeout(done, 500))")  # runs after any shorter timer of the page
        assert asked == []
        page.keyboard.press("Enter")
    else:
        page.keyboard.type("checkout cart")
    titled(page, "checkout cart – codelens")
    assert page.locator(".hit").count() > 0
    assert page.evaluate("document.activeElement.id") == ("q" if live else "")
    page.go_back()
    titled(page, "order – codelens" if live else "checkout – codelens")


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1200])
def test_accessible_by_the_rules_of_axe(browser: Any, address: str, scheme: str, width: int) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    options = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"], "resultTypes": ["violations"]}
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 800})
    tab = context.new_page()
    target = "at=newOrderID"
    for place in (
        *("", "?q=place+order", f"?q=place+order&{target}", "?q=place+order&why=PlaceOrder"),
        *("?q=%22return+nil%22", "?q=zzzzqq", FILE, f"{FILE}&{target}#L9", "files", "help", "name?target=newOrderID"),
        *("why?q=place+order", "file?path=none.go"),
    ):
        tab.goto(address + place)
        if "at=" in place or "&why=" in place:
            tab.wait_for_selector("#panel h2")
        found = axe.Axe().run(tab, options=options).response["violations"]
        assert [(v["id"], [node["html"] for node in v["nodes"]][:3]) for v in found] == [], place
    context.close()

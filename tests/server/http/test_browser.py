"""The page in a real Chromium, where there is one: the one that CODELENS_CHROMIUM names, playwright's own, or the system's."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from codelens.config import Settings
from codelens.server.http.app import address_of, application, listening
from codelens.server.http.desk import QueryDesk
from codelens.server.http.gate import rules_for
from codelens.server.http.keys import KeyRing

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
    listener = listening("127.0.0.1", 0)
    desk = QueryDesk(built, Settings())
    app = application(desk, rules_for("127.0.0.1"), KeyRing(None))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    yield address_of(listener)
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
    tab.click(".hit a.open")
    tab.locator("pre.whole .line").nth(10).wait_for()
    context.close()

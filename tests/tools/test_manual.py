"""The manual as a site and as a man page: complete, without requests to other servers, searchable from disk."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tools.manual import SHARE, man_page, shared_files

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
BROWSER = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "google-chrome"))), None)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs")
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(out)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return out


def test_every_page_is_in_the_site_and_loads_nothing_from_elsewhere(site: Path) -> None:
    for page in (ROOT / "docs").glob("*.md"):
        html = (site / page.with_suffix(".html").name).read_text(encoding="utf-8")
        assert (
            re.findall(r'<(?:script|img|iframe)[^>]* src="https?://|<link[^>]* href="https?://(?!squidfunk)', html)
            == []
        )


@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_search_works_from_disk_without_any_request(site: Path) -> None:
    sync_api = pytest.importorskip("playwright.sync_api")
    asked: list[str] = []
    with sync_api.sync_playwright() as drive:
        browser = drive.chromium.launch(executable_path=BROWSER)
        page = browser.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.goto((site / "index.html").as_uri())
        page.keyboard.press("/")
        page.keyboard.type("trigram")
        page.locator(".md-search-result__item").first.wait_for(timeout=60_000)
        browser.close()
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:", "about:"))] == []


def test_the_shared_files_are_those_of_the_commands(golden: Callable[[Path, str], None]) -> None:
    for path, content in shared_files().items():
        golden(path, content)
    assert {path for path in SHARE.rglob("*") if path.is_file()} == set(shared_files())


def test_the_man_page_has_every_command_and_option() -> None:
    page = man_page()
    for command in ("index", "search", "eval tune", "cluster refs"):
        assert f".SS codelens {command}\n" in page
    for option in (".B \\-\\-rrf\\-k K\n", ".B \\-m, \\-\\-limit N\n", ".B \\-\\-ablate\n"):
        assert option in page
    assert not re.search(r"^'", page, re.MULTILINE)


@pytest.mark.skipif(shutil.which("groff") is None, reason="no groff on this machine")
def test_groff_has_nothing_to_say_about_the_man_page() -> None:
    command = ["groff", "-man", "-Tutf8", "-ww", "-z"]
    ran = subprocess.run(command, input=man_page().encode(), capture_output=True, check=True)
    assert ran.stderr == b""

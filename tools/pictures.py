"""Draws the pictures of README and manual from real runs over sample_repos: `python -m tools.pictures [FOLDER]`.

The terminal is drawn by rich from what the commands print; the page is a screenshot by the Chromium of this machine,
and left out without one.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parent.parent
QUERY = "reserve stock of several products atomically"
SESSIONS = {
    "search.svg": [["search", "-m", "3", QUERY], ["why", "-m", "1", QUERY]],
    "why.svg": [["why", QUERY, "Catalog.Reserve", "Checkout.PlaceOrder"]],
}
WIDTH = 110
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def draw(folder: Path) -> list[Path]:
    """Write all pictures that this machine can draw, and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        shutil.copytree(ROOT / "sample_repos", place / "sample_repos")
        repositories = sorted(str(path.relative_to(place)) for path in (place / "sample_repos").glob("*/repo"))
        _run(place, "index", "-q", *repositories)
        pictures = [_session(place, folder / name, commands) for name, commands in SESSIONS.items()]
        browser = next(filter(None, map(shutil.which, BROWSERS)), None)
        return [*pictures, *_pages(place, folder, browser)] if browser else pictures


def _environment(place: Path) -> dict[str, str]:
    keep = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
    wanted = {"COLUMNS": str(WIDTH), "TERM": "xterm-256color", "COLORTERM": "truecolor", "CODELENS_COLOR": "always"}
    return {
        **keep,
        **wanted,
        "HOME": str(place),
        "XDG_CONFIG_HOME": str(place),
        "XDG_DATA_HOME": str(place),
        "PYTHONPATH": str(ROOT),
    }


def _run(place: Path, *arguments: str) -> str:
    command = [sys.executable, "-P", "-m", "codelens", *arguments]
    env = _environment(place)
    return subprocess.run(command, cwd=place, env=env, capture_output=True, text=True, check=True).stdout


def _session(place: Path, out: Path, commands: list[list[str]]) -> Path:
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    for command in commands:
        words = " ".join(f'"{word}"' if " " in word else word for word in command)
        console.print(Text.assemble(("$ ", "bold green"), (f"codelens {words}", "bold")))
        console.print(Text.from_ansi(_run(place, *command, "--pretty", "--color", "always").rstrip()))
        console.print()
    console.save_svg(str(out), title="codelens", unique_id="codelens")
    return out


PAGES: dict[str, tuple[Literal["light", "dark"], str, str]] = {
    "page.png": ("light", "w", "#panel .bars"),
    "page-names.png": ("dark", "r", "#panel .definition"),
}  # Picture → (colours, the key that opens the panel at the first hit, the part that shows that it is complete)


def _pages(place: Path, folder: Path, browser: str) -> list[Path]:
    from playwright.sync_api import sync_playwright

    command = [sys.executable, "-P", "-m", "codelens", "serve", "--port", "0"]
    server = subprocess.Popen(command, cwd=place, env=_environment(place), stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout
        address = server.stdout.readline().strip()
        with sync_playwright() as drive:
            started = drive.chromium.launch(executable_path=browser)
            for name, (scheme, key, part) in PAGES.items():
                page = started.new_page(viewport={"width": 1200, "height": 760}, color_scheme=scheme)
                page.goto(f"{address}?q={QUERY.replace(' ', '+')}")
                page.keyboard.press(key)
                page.wait_for_selector(part)
                page.screenshot(path=str(folder / name))
            started.close()
    finally:
        server.terminate()
        server.wait()
    return [folder / name for name in PAGES]


if __name__ == "__main__":
    for path in draw(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "pictures"):
        print(path)

"""The recipes of docs/editors.md, each run as it stands there by the program that it is for."""

from __future__ import annotations

import json
import os
import re
import select
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/editors.md").read_text(encoding="utf-8")
PATIENCE = 120.0
HIT = "server/internal/pricing/pricing.go"
pytestmark = pytest.mark.skipif(os.name == "nt", reason="the recipes speak to POSIX programs")


def recipe(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return str(found)


def needs(program: str) -> str:
    return shutil.which(program) or pytest.skip(f"{program} is not installed")


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An indexed tree, and `codelens` as a command."""
    root, home = tmp_path / "shop", tmp_path / "home"
    shutil.copytree(ROOT / "sample_repos/shop/repo", root)
    (root / "wide.py").write_text("# naïve\né = 1; über_weite = 'ß'; naïve_größe = über_weite\n", encoding="utf-8")
    (home / "bin").mkdir(parents=True)
    (home / "bin/codelens").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m codelens "$@"\n')
    (home / "bin/codelens").chmod(0o755)
    for name, value in {
        "PATH": f"{home}/bin:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home),
        "XDG_CACHE_HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "TERM": "xterm",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("FZF_DEFAULT_OPTS", raising=False)
    monkeypatch.chdir(root)
    ran(["codelens", "index", "-q"])
    return root


def ran(command: list[str]) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=PATIENCE)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done


@pytest.mark.slow
def test_columns_are_bytes(shop: Path) -> None:
    lines = ran(["codelens", "search", "--vimgrep", "sym:naïve_größe"]).stdout.splitlines()
    path, line, column, text = lines[0].split(":", 3)
    assert (path, line, text) == ("wide.py", "2", "é = 1; über_weite = 'ß'; naïve_größe = über_weite")
    assert text.encode()[int(column) - 1 :].startswith("naïve_größe".encode())


VIM_ASKS = r"""
let mapleader = '\'
source recipe.vim
Codelens free shipping's %price
let found = getqflist()
call writefile([json_encode(map(copy(found), {_, q -> [bufname(q.bufnr), q.lnum, q.col, q.text]}))], 'grep.json')
cfirst
call writefile([json_encode([expand('%'), line('.'), col('.')])], 'at.json')
edit web/src/money.ts
call search('formatMoney')
normal \r
call writefile([json_encode(map(getqflist(), {_, q -> [bufname(q.bufnr), q.lnum, q.col]}))], 'refs.json')
Codelens sym:naïve_größe
cfirst
call writefile([json_encode([expand('%'), line('.'), strpart(getline('.'), col('.') - 1, 4)])], 'wide.json')
qall!
"""


@pytest.mark.slow
@pytest.mark.parametrize("program", ["vim", "nvim"])
def test_vim(program: str, shop: Path) -> None:
    needs(program)
    (shop / "recipe.vim").write_text(recipe("vim"))
    (shop / "asks.vim").write_text(VIM_ASKS)
    ran(["codelens", "index", "-q"])  # else a warning about these two files would be among the places
    quiet = ["-es"] if program == "vim" else ["--headless"]
    ran([program, *quiet, "-N", "-u", "NONE", "-i", "NONE", "-n", "-S", "asks.vim"])
    found = json.loads((shop / "grep.json").read_text())
    said = ran(["codelens", "search", "--vimgrep", "free shipping's %price"]).stdout.splitlines()
    assert [f"{path}:{line}:{column}:{text}" for path, line, column, text in found] == said
    assert any(path == HIT for path, *_ in found)
    assert json.loads((shop / "at.json").read_text()) == found[0][:3]
    refs = ran(["codelens", "refs", "formatMoney"]).stdout.splitlines()
    assert [":".join(map(str, place)) for place in json.loads((shop / "refs.json").read_text())] == [
        ":".join(line.split(":")[:3]) for line in refs
    ]
    assert json.loads((shop / "wide.json").read_text())[::2] == ["wide.py", "naï"]


EMACS_ASKS = """
(setq next-error-message-highlight nil)
(load (expand-file-name "recipe.el") nil t)
(codelens "free shipping's price")
(while (get-buffer-process "*codelens*") (accept-process-output nil 0.1))
(let (places)
  (set-buffer "*codelens*")
  (condition-case nil
      (while t
        (next-error)
        (with-current-buffer (window-buffer)
          (push (format "%s:%d" (file-relative-name buffer-file-name (getenv "TREE")) (line-number-at-pos (window-point))) places)))
    (user-error nil))
  (princ (format "GREP %s\\n" (mapconcat #'identity (reverse places) " "))))
(defun told (xref)
  (let ((marker (xref-location-marker (xref-item-location xref))))
    (with-current-buffer (marker-buffer marker)
      (goto-char marker)
      (format "%s:%d:%s" (file-relative-name buffer-file-name (getenv "TREE")) (line-number-at-pos) (thing-at-point 'symbol)))))
(find-file (expand-file-name "web/src/main.ts" (getenv "TREE")))
(princ (format "BACKEND %s\\n" (xref-find-backend)))
(princ (format "DEFINITION %s\\n" (told (car (xref-backend-definitions 'codelens "formatMoney")))))
(princ (format "REFERENCES %s\\n" (mapconcat #'told (xref-backend-references 'codelens "formatMoney") " ")))
"""


@pytest.mark.slow
def test_emacs(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs("emacs")
    monkeypatch.setenv("TREE", str(shop))
    (shop / "recipe.el").write_text(recipe("elisp"))
    (shop / "asks.el").write_text(EMACS_ASKS)
    told = dict(
        line.partition(" ")[::2] for line in ran(["emacs", "-Q", "--batch", "-l", "asks.el"]).stdout.splitlines()
    )
    said = ran(["codelens", "search", "--vimgrep", "free shipping's price"]).stdout.splitlines()
    assert told["GREP"].split() == [":".join(line.split(":")[:2]) for line in said]
    assert told["BACKEND"] == "codelens"
    assert told["DEFINITION"] == "web/src/money.ts:22:formatMoney"
    refs = ran(["codelens", "refs", "formatMoney"]).stdout.splitlines()
    assert told["REFERENCES"].split() == [f"{':'.join(line.split(':')[:2])}:formatMoney" for line in refs]


@pytest.mark.slow
def test_fzf(shop: Path) -> None:
    """On a terminal: a query is typed, the preview tells why, and enter opens the first hit."""
    import fcntl
    import pty
    import struct
    import termios

    needs("fzf")
    script = shop / "recipe.sh"
    script.write_text(recipe("sh"))
    child, terminal = pty.fork()
    if child == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 160, 0, 0))
        os.environ |= {"EDITOR": "echo OPENED", "SHELL": "/bin/sh"}
        os.execvp("sh", ["sh", str(script), "free"])
    screen = b""

    def until(part: bytes) -> None:
        nonlocal screen
        end = time.monotonic() + PATIENCE
        while part not in screen:
            assert time.monotonic() < end, screen
            if select.select([terminal], [], [], 0.5)[0]:
                with suppress(OSError):
                    screen += os.read(terminal, 65536)

    try:
        until(b"pricing.go")  # what it was started with
        until(b"vector")  # the preview's reasons
        screen = b""
        os.write(terminal, b"\x15formatMoney")
        until(b"function")
        until(b"money.ts:22")
        os.write(terminal, b"\r")
        until(b"OPENED +22 web/src/money.ts")
    finally:
        with suppress(ProcessLookupError):
            os.kill(child, 9)
        os.waitpid(child, 0)
        os.close(terminal)


@pytest.mark.slow
def test_vs_code_understands_the_hits(shop: Path) -> None:
    """VS Code cannot be run here: its task is read, run, and its pattern held against what comes out."""
    task = json.loads(recipe("json"))["tasks"][0]
    pattern = task["problemMatcher"]["pattern"]
    arguments = [argument.replace("${input:query}", "formatMoney") for argument in task["args"]]
    lines = ran([task["command"], *arguments]).stdout.splitlines()
    found = [re.fullmatch(pattern["regexp"], line) for line in lines]
    assert found
    assert all(found)
    assert [found[0][pattern[part]] for part in ("file", "line")] == ["web/src/money.ts", "22"]  # type: ignore[index]
    assert all((shop / one[pattern["file"]]).is_file() for one in found if one)

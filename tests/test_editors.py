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


NEOVIM_ASKS = r"""
local told = {}
local function tell(name, value) told[name] = value end
local function until_true(condition) assert(vim.wait(60000, condition, 50), vim.inspect(told)) end
local function place()
  return { vim.fn.fnamemodify(vim.api.nvim_buf_get_name(0), ":."), vim.fn.line("."), vim.fn.col(".") }
end
local function ready() -- the index is built in the background
  local params = vim.lsp.util.make_position_params()
  return pcall(function()
    local answers = vim.lsp.buf_request_sync(0, "textDocument/definition", params, 10000)
    for _, answer in pairs(answers) do
      assert(answer.result and #answer.result > 0)
    end
    assert(next(answers))
  end)
end
local function jump(from, word)
  vim.cmd("edit! " .. from)
  vim.fn.cursor(1, 1)
  vim.fn.search(word)
  local before = vim.inspect(place())
  until_true(ready)
  vim.lsp.buf.definition()
  until_true(function() return vim.inspect(place()) ~= before end)
  return place()
end
vim.o.hidden = true
dofile("recipe.lua")
tell("jump", jump("web/src/main.ts", [[formatMoney(]]))
vim.lsp.buf.references()
until_true(function() return #vim.fn.getqflist() > 0 end)
local listed = {}
for _, one in ipairs(vim.fn.getqflist()) do
  table.insert(listed, { vim.fn.fnamemodify(vim.fn.bufname(one.bufnr), ":."), one.lnum })
end
tell("references", listed)
vim.cmd("cclose")
vim.cmd("edit web/src/money.ts")
vim.fn.append(0, { "// one", "// two" }) -- not saved
vim.cmd("buffer web/src/main.ts")
tell("unsaved", jump("web/src/main.ts", [[formatMoney(]]))
until_true(function() -- it is refused while the index is being updated
  vim.lsp.buf.rename("showMoney")
  return vim.wait(10000, function() return vim.fn.search("showMoney", "nw") > 0 end, 50)
end)
vim.cmd("buffer web/src/main.ts")
tell("renamed", { vim.fn.search("showMoney", "nw") > 0, vim.fn.search("formatMoney", "nw") })
vim.cmd("wall")
local stopped = vim.lsp.get_active_clients()
vim.lsp.stop_client(stopped)
until_true(function() return #vim.lsp.get_active_clients() == 0 end)
local last
for _ = 1, 300 do -- until the index has the saved files, the import is the nearest place that is known
  last = jump("web/src/main.ts", [[showMoney(]])
  if last[1] == "web/src/money.ts" then break end
  vim.wait(200)
end
tell("restarted", last)
vim.fn.writefile({ vim.fn.json_encode(told) }, "told.json")
vim.cmd("qall!")
"""


@pytest.fixture
def bare(shop: Path) -> Path:
    """The tree as a git repository without an index."""
    shutil.rmtree(shop / ".codelens")
    ran(["git", "init", "-q"])
    return shop


@pytest.mark.slow
def test_neovim_with_the_language_server(bare: Path) -> None:
    needs("nvim")
    (bare / "recipe.lua").write_text(recipe("lua"))
    (bare / "asks.lua").write_text(NEOVIM_ASKS)
    ran(["nvim", "--headless", "-u", "NONE", "-i", "NONE", "-n", "-c", "luafile asks.lua", "-c", "cquit"])
    told = json.loads((bare / "told.json").read_text())
    assert told["jump"] == ["web/src/money.ts", 22, 17]
    assert sorted(told["references"]) == [["web/src/main.ts", 3], ["web/src/main.ts", 24], ["web/src/money.ts", 22]]
    assert told["unsaved"] == ["web/src/money.ts", 24, 17]
    assert told["renamed"] == [True, 0]
    assert told["restarted"] == ["web/src/money.ts", 24, 17]
    assert "showMoney" in (bare / "web/src/money.ts").read_text()


EGLOT_ASKS = r"""
(load (expand-file-name "recipe.el") nil t)
(setq eglot-sync-connect 60 eglot-confirm-server-initiated-edits nil make-backup-files nil)
(define-derived-mode ts-text-mode prog-mode "ts")
(add-to-list 'auto-mode-alist '("\\.ts\\'" . ts-text-mode))
(defun tell (name value) (princ (format "%s %s\n" name value)))
(defun told (xref)
  (let ((marker (xref-location-marker (xref-item-location xref))))
    (with-current-buffer (marker-buffer marker)
      (goto-char marker)
      (format "%s:%d:%d" (file-relative-name buffer-file-name (getenv "TREE")) (line-number-at-pos) (current-column)))))
(defun start () (call-interactively #'eglot))
(defun definition (word)
  (let (found (tries 600))
    (goto-char (point-min))
    (search-forward word)
    (goto-char (match-beginning 0))
    (while (and (not (setq found (ignore-errors (xref-backend-definitions 'eglot "LSP identifier at point."))))
                (> (setq tries (1- tries)) 0))
      (accept-process-output nil 0.1))
    (told (car found))))
(find-file (expand-file-name "web/src/main.ts" (getenv "TREE")))
(start)
(tell "DEFINITION" (definition "formatMoney("))
(tell "REFERENCES" (mapconcat #'told (xref-backend-references 'eglot "LSP identifier at point.") " "))
(with-current-buffer (find-file-noselect (expand-file-name "web/src/money.ts" (getenv "TREE")))
  (goto-char (point-min))
  (insert "// one\n// two\n")
  (eglot--signal-textDocument/didChange)) ; a timer does this where somebody types
(tell "UNSAVED" (definition "formatMoney("))
(let ((tries 600)) ; it is refused while the index is being updated
  (while (and (not (ignore-errors (eglot-rename "showMoney") t)) (> (setq tries (1- tries)) 0))
    (accept-process-output nil 0.1)))
(tell "RENAMED" (mapcar (lambda (name) (goto-char (point-min)) (and (search-forward name nil t) t)) '("showMoney" "formatMoney")))
(save-some-buffers t)
(eglot-shutdown (eglot-current-server))
(start)
(let ((tries 300) found) ; until the index has the saved files, the import is the nearest place that is known
  (while (and (not (string-prefix-p "web/src/money.ts" (setq found (definition "showMoney("))))
              (> (setq tries (1- tries)) 0))
    (sleep-for 0.2))
  (tell "RESTARTED" found))
(eglot-shutdown (eglot-current-server))
"""


@pytest.mark.slow
def test_emacs_with_the_language_server(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs("emacs")
    script = "(condition-case nil (progn (package-initialize) (require 'eglot)) (error (kill-emacs 7)))"
    if subprocess.run(["emacs", "-q", "--batch", "--eval", script], capture_output=True).returncode:
        pytest.skip("eglot is not installed")
    monkeypatch.setenv("TREE", str(bare))
    monkeypatch.chdir(bare.parent)  # these two files name what is renamed
    Path("recipe.el").write_text(recipe("emacs-lisp"))
    Path("asks.el").write_text(EGLOT_ASKS)
    shown = ran(["emacs", "-q", "--batch", "--eval", "(package-initialize)", "-l", "asks.el"]).stdout
    told = dict(line.partition(" ")[::2] for line in shown.splitlines())
    assert told["DEFINITION"] == "web/src/money.ts:22:16"
    assert told["REFERENCES"].split() == ["web/src/money.ts:22:16", "web/src/main.ts:3:9", "web/src/main.ts:24:33"]
    assert told["UNSAVED"] == "web/src/money.ts:24:16"
    assert told["RENAMED"] == "(t nil)"
    assert told["RESTARTED"] == "web/src/money.ts:24:16"

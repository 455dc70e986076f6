"""The WSGI application: routes, forms and pages."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import parse_qs, quote, unquote

from notes.auth import RateLimiter, SessionTable, TooManyAttempts, authenticate
from notes.config import Config
from notes.markup import render_markdown
from notes.search import excerpt, rank_notes
from notes.store import EditConflict, NoteStore

StartResponse = Callable[[str, list[tuple[str, str]]], Any]
Response = tuple[str, list[tuple[str, str]], str]

PAGE = "<!doctype html><title>{title}</title><h1>{title}</h1>{body}"


class Application:
    """One instance serves all requests; it keeps sessions and rate limits in memory."""

    def __init__(self, store: NoteStore, config: Config) -> None:
        self.store = store
        self.config = config
        self.sessions = SessionTable(config.session_lifetime_minutes * 60)
        self.limiter = RateLimiter(config.limits_login_attempts, config.limits_login_window_seconds)

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        status, headers, body = self.dispatch(environ)
        start_response(status, [("Content-Type", "text/html; charset=utf-8"), *headers])
        return [body.encode()]

    def dispatch(self, environ: dict[str, Any]) -> Response:
        """Find the handler of a request. Everything but the login form needs a session."""
        path, method = environ["PATH_INFO"], environ["REQUEST_METHOD"]
        if path == "/login":
            return self.log_in(read_form(environ)) if method == "POST" else self.login_form()
        user = self.current_user(environ)
        if user is None:
            return redirect("/login")
        if path.startswith("/note/"):
            title = unquote(path.removeprefix("/note/"))
            return self.save(title, read_form(environ), user) if method == "POST" else self.show_note(title)
        if path == "/search":
            return self.search(parse_qs(environ.get("QUERY_STRING", "")).get("q", [""])[0])
        return self.index()

    def current_user(self, environ: dict[str, Any]) -> str | None:
        cookie = SimpleCookie(environ.get("HTTP_COOKIE", "")).get(self.config.session_cookie)
        return self.sessions.user_of(cookie.value) if cookie else None

    def login_form(self, fault: str = "") -> Response:
        form = '<form method="post"><input name="name"><input name="password" type="password"><button>Log in</button></form>'
        return page("Log in", f"<p>{html.escape(fault)}</p>{form}")

    def log_in(self, form: dict[str, str]) -> Response:
        name = form.get("name", "")
        try:
            if not authenticate(self.store, self.limiter, name, form.get("password", "")):
                return self.login_form("Wrong name or password.")
        except TooManyAttempts:
            return self.login_form("Too many wrong passwords. Try again later.")
        cookie = f"{self.config.session_cookie}={self.sessions.open(name)}; HttpOnly; SameSite=Lax; Path=/"
        return redirect("/", [("Set-Cookie", cookie)])

    def index(self) -> Response:
        items = "".join(f'<li><a href="/note/{quote(n.title)}">{html.escape(n.title)}</a>' for n in self.store.list_notes())
        return page("Notes", f"<ul>{items}</ul>")

    def show_note(self, title: str) -> Response:
        note = self.store.get_note(title)
        if note is None:
            return page(title, "<p>There is no such note yet.</p>", "404 Not Found")
        return page(title, render_markdown(note.body, lambda t: self.store.get_note(t) is not None))

    def save(self, title: str, form: dict[str, str], user: str) -> Response:
        body = form.get("body", "")
        if len(body.encode()) > self.config.limits_note_bytes:
            return page(title, "<p>The note is too long.</p>", "413 Content Too Large")
        try:
            self.store.save_note(title, body, user, float(form.get("seen") or 0) or None)
        except EditConflict as conflict:
            return page(title, f"<p>{html.escape(str(conflict))}</p>", "409 Conflict")
        return redirect(f"/note/{quote(title)}")

    def search(self, query: str) -> Response:
        ranked = rank_notes(self.store.list_notes(limit=10_000), query)
        rows = "".join(f"<dt>{html.escape(n.title)}<dd>{html.escape(excerpt(n.body, query))}" for n, _ in ranked[:20])
        return page(f"Search: {query}", f"<dl>{rows}</dl>")


def page(title: str, body: str, status: str = "200 OK") -> Response:
    return status, [], PAGE.format(title=html.escape(title), body=body)


def redirect(target: str, headers: list[tuple[str, str]] | None = None) -> Response:
    return "303 See Other", [("Location", target), *(headers or [])], ""


def read_form(environ: dict[str, Any]) -> dict[str, str]:
    """The fields of a posted form; a field that comes twice keeps its first value."""
    raw = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    return {name: values[0] for name, values in parse_qs(raw.decode(errors="replace")).items()}

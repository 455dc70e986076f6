"""Passwords, sessions and the limit on wrong attempts."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections import defaultdict, deque

from notes.store import NoteStore

SCRYPT_COST = 2**14
SALT_BYTES = 16


class TooManyAttempts(Exception):
    """The account is locked until the window of wrong attempts has passed."""


def hash_password(password: str) -> str:
    """A salted scrypt hash as `salt$digest`, both in hexadecimal."""
    salt = secrets.token_bytes(SALT_BYTES)
    return f"{salt.hex()}${_digest(password, salt).hex()}"


def verify_password(password: str, stored: str) -> bool:
    """Compare in constant time."""
    salt, _, digest = stored.partition("$")
    return hmac.compare_digest(_digest(password, bytes.fromhex(salt)), bytes.fromhex(digest))


def _digest(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, n=SCRYPT_COST, r=8, p=1)


class RateLimiter:
    """Counts wrong attempts for each account in a sliding window."""

    def __init__(self, attempts: int, window_seconds: float) -> None:
        self._attempts = attempts
        self._window = window_seconds
        self._failures: dict[str, deque[float]] = defaultdict(deque)

    def check(self, name: str, now: float | None = None) -> None:
        """Raise TooManyAttempts if the account has used its attempts up."""
        recent = self._recent(name, now if now is not None else time.monotonic())
        if len(recent) >= self._attempts:
            raise TooManyAttempts(name)

    def record_failure(self, name: str, now: float | None = None) -> None:
        moment = now if now is not None else time.monotonic()
        self._recent(name, moment).append(moment)

    def _recent(self, name: str, now: float) -> deque[float]:
        failures = self._failures[name]
        while failures and failures[0] <= now - self._window:
            failures.popleft()
        return failures


class SessionTable:
    """Who is logged in. Sessions live in memory and end after their lifetime."""

    def __init__(self, lifetime_seconds: float) -> None:
        self._lifetime = lifetime_seconds
        self._sessions: dict[str, tuple[str, float]] = {}

    def open(self, name: str) -> str:
        """Start a session; the token goes into the cookie."""
        token = secrets.token_urlsafe(32)
        self._sessions[token] = (name, time.monotonic() + self._lifetime)
        return token

    def user_of(self, token: str) -> str | None:
        name, ends = self._sessions.get(token, ("", 0.0))
        return name if ends > time.monotonic() else None

    def close(self, token: str) -> None:
        self._sessions.pop(token, None)


def authenticate(store: NoteStore, limiter: RateLimiter, name: str, password: str) -> bool:
    """Check a login. Unknown accounts take as long as known ones, so that names cannot be probed."""
    limiter.check(name)
    stored = store.password_hash(name) or hash_password(secrets.token_hex(8))
    if verify_password(password, stored):
        return True
    limiter.record_failure(name)
    return False

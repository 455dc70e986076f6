import pytest

from notes.auth import RateLimiter, SessionTable, TooManyAttempts, hash_password, verify_password


def test_password_round_trip():
    stored = hash_password("correct horse")
    assert verify_password("correct horse", stored)
    assert not verify_password("wrong horse", stored)


def test_same_password_gets_different_salts():
    assert hash_password("x") != hash_password("x")


def test_limiter_locks_and_unlocks():
    limiter = RateLimiter(attempts=2, window_seconds=60)
    limiter.record_failure("ann", now=0)
    limiter.record_failure("ann", now=1)
    with pytest.raises(TooManyAttempts):
        limiter.check("ann", now=2)
    limiter.check("ann", now=61)


def test_session_ends():
    table = SessionTable(lifetime_seconds=-1)
    assert table.user_of(table.open("ann")) is None

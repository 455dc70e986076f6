"""Numbers with their nouns, and days, for messages."""


def quantity(number: int, noun: str, plural: str = "") -> str:
    """'1 edge', '2 edges'; with a plural of its own '2 repositories'."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def format_day(seconds: int) -> str:
    """The day (UTC) of a time in unix seconds, as 2024-05-02; '????-??-??' if the calendar does not reach that far."""
    from datetime import UTC, datetime

    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")
    except (ValueError, OverflowError, OSError):
        return "????-??-??"

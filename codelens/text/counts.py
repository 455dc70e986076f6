"""Format counts and days for messages."""


def quantity(number: int, noun: str, plural: str = "") -> str:
    """Format a number with its noun: '1 edge', '2 edges'. `plural` is for irregular plurals, as in '2 repositories'."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def format_day(seconds: int) -> str:
    """Format the UTC day of a time in unix seconds, as 2024-05-02; '????-??-??' if it is out of range."""
    from datetime import UTC, datetime

    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")
    except (ValueError, OverflowError, OSError):
        return "????-??-??"

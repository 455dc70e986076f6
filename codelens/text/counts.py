"""Numbers with their nouns, for messages."""


def quantity(number: int, noun: str, plural: str = "") -> str:
    """'1 edge', '2 edges'; with a plural of its own '2 repositories'."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"

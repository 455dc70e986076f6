"""The answer of the trigram index to a plan, computed on the text itself."""

from __future__ import annotations

from codelens.query.patterns import AllOf, AnyOf, Plan, Substring


def admits(plan: Plan, text: str) -> bool:
    """True if a folded text satisfies a plan: the answer of the index, computed on the text itself."""
    match plan:
        case Substring(literal):
            return literal in text
        case AllOf(parts):
            return all(admits(part, text) for part in parts)
        case AnyOf(parts):
            return any(admits(part, text) for part in parts)
    return True
